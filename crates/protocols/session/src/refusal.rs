//! Why a handshake was refused.

use core::fmt;
use quintet_errors::Code;

/// The reason, as it travels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum RefusalCode {
    /// No layout in common, or one side retransmits and the other does not.
    VersionMismatch = 1,
    /// Another cluster.
    WrongCluster = 2,
    /// A node with this id lives already, or a later life of this node was seen.
    DuplicateNode = 3,
    /// The HELLO cannot be read, or speaks for another node; or this peer was cut off for breaking the protocol.
    Malformed = 4,
    /// The session was closed here.
    Closed = 5,
}

/// A refusal received from a peer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// The reason.
    pub code: RefusalCode,
    /// The peer's words, with its values.
    pub text: String,
}

impl RefusalCode {
    pub(crate) fn from_number(number: u8) -> Option<Self> {
        Some(match number {
            1 => RefusalCode::VersionMismatch,
            2 => RefusalCode::WrongCluster,
            3 => RefusalCode::DuplicateNode,
            4 => RefusalCode::Malformed,
            5 => RefusalCode::Closed,
            _ => return None,
        })
    }

    /// The error that the user sees.
    #[must_use]
    pub fn error(self) -> Code {
        match self {
            RefusalCode::VersionMismatch => Code::VersionMismatch,
            RefusalCode::WrongCluster => Code::WrongCluster,
            RefusalCode::DuplicateNode => Code::DuplicateNode,
            RefusalCode::Malformed => Code::Malformed,
            RefusalCode::Closed => Code::Closed,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.error(), self.text)
    }
}

impl core::error::Error for Refusal {}

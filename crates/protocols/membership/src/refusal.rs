//! Why a request fails.

use core::fmt;
use quintet_errors::Code;
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

/// Bytes of a refusal's text.
pub const MAX_TEXT_BYTES: usize = 1024;

macro_rules! reasons {
    ($($(#[doc = $doc:literal])+ $name:ident = $number:literal, $code:ident;)*) => {
        /// Why a request fails.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u8)]
        pub enum Reason {
            $($(#[doc = $doc])+ $name = $number,)*
        }

        impl Reason {
            fn from_number(number: u8) -> Option<Reason> {
                match number {
                    $($number => Some(Reason::$name),)*
                    _ => None,
                }
            }

            /// The code that programs see.
            #[must_use]
            pub const fn code(self) -> Code {
                match self { $(Reason::$name => Code::$code,)* }
            }
        }
    };
}

reasons! {
    /// A member of another identity has the name.
    NameTaken = 1, DuplicateNode;
    /// A member has the identity.
    IdentityTaken = 2, DuplicateNode;
    /// The request names another cluster.
    WrongCluster = 3, WrongCluster;
    /// The name is empty.
    BadName = 4, BadValue;
    /// There are as many members as may be, or no number is left.
    Full = 5, TooLarge;
    /// No member has the number, and none had.
    UnknownNode = 6, BadValue;
    /// No majority of the voters was heard in time. The request may still have its effect.
    NoMajority = 7, PeerSilent;
    /// Who was asked on behalf of another does not lead. Nothing was changed.
    NotLeader = 8, Unreachable;
    /// This machine was removed, or a later life of it has come.
    Removed = 9, NotAllowed;
    /// The log cannot be read, or not be written any more.
    Damaged = 10, BadFile;
    /// As many requests wait as may.
    Busy = 11, Resource;
    /// The request cannot be read.
    Malformed = 12, Malformed;
    /// The change is so long ago that it is not kept: ask for the whole view.
    TooFarBehind = 13, BadValue;
    /// The member is the only voter, and cannot leave.
    LastVoter = 14, BadValue;
    /// The address is too long.
    BadAddress = 15, BadValue;
    /// Who asks has proved to be somebody who may not ask for this.
    NotAllowed = 16, NotAllowed;
}

/// Why a request failed, and what is particular to this time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// Which reason.
    pub reason: Reason,
    /// In words: who and what, and what to do.
    pub text: String,
}

impl Refusal {
    /// A refusal; the text is cut to [`MAX_TEXT_BYTES`].
    #[must_use]
    pub fn new(reason: Reason, text: impl Into<String>) -> Refusal {
        let mut text = text.into();
        text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES));
        Refusal { reason, text }
    }
}

impl Encode for Refusal {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u8(self.reason as u8);
        sink.counted(self.text.as_bytes());
    }
}

impl Decode<'_> for Refusal {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let number = reader.u8()?;
        let reason = Reason::from_number(number).ok_or_else(|| reader.invalid("reason", number, 1))?;
        Ok(Refusal { reason, text: reader.text("text of a refusal", MAX_TEXT_BYTES)?.to_owned() })
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.reason.code(), self.text)
    }
}

impl core::error::Error for Refusal {}

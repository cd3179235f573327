//! Why a link was not made.

use crate::{LinkAddress, TlsFault};
use core::fmt;
use core::time::Duration;
use quintet_errors::Code;
use rustix::io::Errno;
use std::path::PathBuf;

/// Why a link was not made: where, the cause, and in its text what to do.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BootstrapError {
    /// The path is longer than a socket's address, and so is the name of its file, or its folder cannot be opened.
    PathTooLong {
        /// Where.
        address: LinkAddress,
    },
    /// Another process listens there.
    InUse {
        /// Where.
        address: LinkAddress,
    },
    /// Another process keeps the lock under which a socket is made at that path, or removed from it.
    Locked {
        /// Where.
        address: LinkAddress,
        /// The lock's file.
        lock: PathBuf,
        /// How long was waited.
        waited: Duration,
    },
    /// A file that is no socket is there. It stays as it is.
    NotASocket {
        /// Where.
        address: LinkAddress,
    },
    /// Other machines could connect there, and nothing is encrypted.
    NotLoopback {
        /// Where.
        address: LinkAddress,
    },
    /// The host's name has no address.
    NameUnknown {
        /// Where.
        address: LinkAddress,
        /// What the system says about it.
        what: String,
    },
    /// It was to be connected to at port 0, which stands for a free port where it is listened at.
    PortZero {
        /// Where.
        address: LinkAddress,
    },
    /// Nobody listens there: its own system says so, or a firewall in its place.
    NobodyListens {
        /// Where.
        address: LinkAddress,
    },
    /// The network leads nowhere, or nothing answers there.
    NoWay {
        /// Where.
        address: LinkAddress,
        /// What the system said.
        errno: Errno,
    },
    /// Somebody listens there for links of another kind.
    OtherKind {
        /// Where.
        address: LinkAddress,
    },
    /// The other side runs as another user. Links within a machine connect processes of one user only.
    OtherUser {
        /// Where.
        address: LinkAddress,
        /// The other side's user id.
        theirs: u32,
        /// This process's user id.
        ours: u32,
    },
    /// The other side speaks another version.
    OtherVersion {
        /// Where.
        address: LinkAddress,
        /// The other side's version.
        theirs: u16,
        /// This program's version.
        ours: u16,
    },
    /// The other side refuses.
    Refused {
        /// Where.
        address: LinkAddress,
        /// Why, if it gave a reason that this program knows.
        code: Option<Code>,
    },
    /// The two sides do not trust each other, or one of them speaks no TLS as it should.
    Tls {
        /// Where.
        address: LinkAddress,
        /// What is wrong.
        fault: TlsFault,
    },
    /// The other side sent something that is no offer of this protocol.
    Malformed {
        /// Where.
        address: LinkAddress,
        /// What is wrong with it.
        what: String,
    },
    /// The other side accepted and then said nothing.
    Silent {
        /// Where.
        address: LinkAddress,
        /// How long was waited.
        waited: Duration,
    },
    /// The other side went away in the middle.
    Left {
        /// Where.
        address: LinkAddress,
    },
    /// The operating system does not allow it: the socket or its folder is another user's, as a rule.
    NotAllowed {
        /// Where.
        address: LinkAddress,
        /// What was tried.
        doing: &'static str,
        /// What it said.
        errno: Errno,
    },
    /// The operating system refused.
    System {
        /// Where.
        address: LinkAddress,
        /// What was tried.
        doing: &'static str,
        /// What it said.
        errno: Errno,
    },
}

impl BootstrapError {
    /// The operating system said `errno`.
    pub(crate) fn system(address: impl Into<LinkAddress>, doing: &'static str, errno: Errno) -> Self {
        let address = address.into();
        match errno {
            Errno::ACCESS | Errno::PERM => BootstrapError::NotAllowed { address, doing, errno },
            errno => BootstrapError::System { address, doing, errno },
        }
    }

    /// Where the link was to be made.
    #[must_use]
    pub fn address(&self) -> &LinkAddress {
        match self {
            BootstrapError::PathTooLong { address }
            | BootstrapError::InUse { address }
            | BootstrapError::Locked { address, .. }
            | BootstrapError::NotASocket { address }
            | BootstrapError::NotLoopback { address }
            | BootstrapError::NameUnknown { address, .. }
            | BootstrapError::PortZero { address }
            | BootstrapError::NobodyListens { address }
            | BootstrapError::NoWay { address, .. }
            | BootstrapError::OtherKind { address }
            | BootstrapError::OtherUser { address, .. }
            | BootstrapError::OtherVersion { address, .. }
            | BootstrapError::Refused { address, .. }
            | BootstrapError::Tls { address, .. }
            | BootstrapError::Malformed { address, .. }
            | BootstrapError::Silent { address, .. }
            | BootstrapError::Left { address }
            | BootstrapError::NotAllowed { address, .. }
            | BootstrapError::System { address, .. } => address,
        }
    }

    /// Whether this process's own system is short of something: what a listener should wait for before it accepts again. A peer that
    /// refuses for a shortage of its own says so with the same [`BootstrapError::code`].
    #[must_use]
    pub fn is_own_shortage(&self) -> bool {
        // Of descriptors, memory, room for what is watched (`NOSPC`) or for threads (`AGAIN`).
        let shortages = [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::NOBUFS, Errno::NOSPC, Errno::AGAIN];
        matches!(self, BootstrapError::System { errno, .. } if shortages.contains(errno))
    }

    /// The code under which this error travels and exits.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            BootstrapError::PathTooLong { .. } => Code::TooLarge,
            BootstrapError::InUse { .. } => Code::AddressInUse,
            BootstrapError::NotASocket { .. }
            | BootstrapError::OtherKind { .. }
            | BootstrapError::PortZero { .. } => Code::BadValue,
            BootstrapError::NobodyListens { .. }
            | BootstrapError::NoWay { .. }
            | BootstrapError::NameUnknown { .. } => Code::Unreachable,
            BootstrapError::OtherUser { .. }
            | BootstrapError::NotAllowed { .. }
            | BootstrapError::NotLoopback { .. } => Code::NotAllowed,
            BootstrapError::OtherVersion { .. } => Code::VersionMismatch,
            BootstrapError::Refused { code, .. } => code.unwrap_or(Code::NotAllowed),
            BootstrapError::Tls { fault, .. } => fault.code(),
            BootstrapError::Malformed { .. } => Code::Malformed,
            BootstrapError::Silent { .. } => Code::PeerSilent,
            BootstrapError::Left { .. } => Code::PeerDied,
            BootstrapError::Locked { .. } | BootstrapError::System { .. } => Code::Resource,
        }
    }
}

impl fmt::Display for BootstrapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.address())?;
        match self {
            BootstrapError::PathTooLong { .. } => {
                f.write_str(
                    "longer than the 107 bytes of a socket's address, and its folder is not to be opened or its name alone as long; use a shorter path",
                )
            }
            BootstrapError::InUse { .. } => {
                f.write_str("another process listens there; stop it or use another address")
            }
            BootstrapError::Locked { lock, waited, .. } => write!(
                f,
                "another process has kept the lock {} for {waited:?}; see who it is (fuser, lsof) and stop it, or use another \
                 path",
                lock.display()
            ),
            BootstrapError::NotASocket { .. } => {
                f.write_str("there is a file that is no socket; use another path")
            }
            BootstrapError::NotLoopback { .. } => f.write_str(
                "TCP is not encrypted, so it may be listened at only where other machines cannot connect; use 127.0.0.1, \
                 [::1] or localhost, or for other machines use tls: with an identity",
            ),
            BootstrapError::NameUnknown { what, .. } => {
                write!(f, "the host's name leads nowhere: {what}; check it, or write a numeric address")
            }
            BootstrapError::PortZero { .. } => f.write_str(
                "port 0 is only for listening, where it stands for a free port; connect to the port that the server shows",
            ),
            BootstrapError::NobodyListens { .. } => {
                f.write_str("nobody listens there; start the server or check the address")
            }
            BootstrapError::NoWay { errno, .. } => {
                write!(f, "nothing answers there: {errno}; check the network, the machine and the address")
            }
            BootstrapError::OtherKind { address } => f.write_str(match address {
                LinkAddress::Tcp { .. } => "the other side speaks TLS; write tls: instead of tcp:, and use an identity",
                LinkAddress::Tls { .. } => {
                    "the other side does not speak TLS; write tls: on both sides, or tcp: on both within a machine"
                }
                _ => "who listens there takes links of another kind; write unix: instead of shm:, or shm: instead of unix:",
            }),
            BootstrapError::OtherUser { theirs, ours, .. } => write!(
                f,
                "the other side runs as user {theirs}, this process as user {ours}; such a link is only for processes of \
                 one user: run both as one"
            ),
            BootstrapError::OtherVersion { theirs, ours, .. } => write!(
                f,
                "the other side speaks version {theirs}, this program version {ours}; update the older one"
            ),
            BootstrapError::Refused { code, .. } => {
                let why = code.map_or("for a reason this program does not know", Code::text);
                write!(f, "the other side refuses: {why}")
            }
            BootstrapError::Tls { fault, .. } => write!(f, "{fault}"),
            BootstrapError::Malformed { what, .. } => write!(
                f,
                "the other side is no Quintet process, or a damaged one: {what}; check what is at the other side"
            ),
            BootstrapError::Silent { waited, .. } => {
                write!(f, "no answer within {waited:?}; see whether the server hangs or is stopped")
            }
            BootstrapError::Left { .. } => {
                f.write_str("the other side left before the connection was made; try again")
            }
            BootstrapError::NotAllowed { doing, errno, .. } => write!(
                f,
                "not allowed to {doing}: {errno}; run both sides as one user, and check the rights of the file and its folder"
            ),
            BootstrapError::System { doing, errno, .. } => write!(f, "cannot {doing}: {errno}"),
        }
    }
}

impl core::error::Error for BootstrapError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_connection_met_is_no_shortage() {
        let met = |errno| BootstrapError::system(LinkAddress::Unix("/q".into()), "tune a socket", errno);
        for errno in [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::NOBUFS, Errno::NOSPC, Errno::AGAIN] {
            assert!(met(errno).is_own_shortage(), "{errno}");
        }
        for errno in [Errno::INVAL, Errno::CONNRESET, Errno::NOTCONN, Errno::PROTO, Errno::PERM] {
            assert!(!met(errno).is_own_shortage(), "{errno}");
        }
    }
}

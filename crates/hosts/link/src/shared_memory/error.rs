//! Why a connection over shared memory was not made.

use core::fmt;
use core::time::Duration;
use quintet_errors::Code;
use rustix::io::Errno;
use std::path::{Path, PathBuf};

/// Why a connection over shared memory was not made: where, the cause, and in its text what to do.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BootstrapError {
    /// The path is longer than a socket's address.
    PathTooLong {
        /// The path.
        path: PathBuf,
    },
    /// Another process listens there.
    InUse {
        /// The path.
        path: PathBuf,
    },
    /// A file that is no socket is there. It stays as it is.
    NotASocket {
        /// The path.
        path: PathBuf,
    },
    /// Nobody listens there.
    NobodyListens {
        /// The path.
        path: PathBuf,
    },
    /// The other side runs as another user. Memory is shared only between processes of one user.
    OtherUser {
        /// The path.
        path: PathBuf,
        /// The other side's user id.
        theirs: u32,
        /// This process's user id.
        ours: u32,
    },
    /// The other side speaks another version.
    OtherVersion {
        /// The path.
        path: PathBuf,
        /// The other side's version.
        theirs: u16,
        /// This program's version.
        ours: u16,
    },
    /// The other side refuses.
    Refused {
        /// The path.
        path: PathBuf,
        /// Why, if it gave a reason that this program knows.
        code: Option<Code>,
    },
    /// The other side sent something that is no offer of this protocol.
    Malformed {
        /// The path.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// The other side accepted and then said nothing.
    Silent {
        /// The path.
        path: PathBuf,
        /// How long was waited.
        waited: Duration,
    },
    /// The other side went away in the middle.
    Left {
        /// The path.
        path: PathBuf,
    },
    /// The operating system does not allow it: the socket or its folder is another user's, as a rule.
    NotAllowed {
        /// The path.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// What it said.
        errno: Errno,
    },
    /// The operating system refused.
    System {
        /// The path.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// What it said.
        errno: Errno,
    },
}

impl BootstrapError {
    /// The operating system said `errno`.
    pub(super) fn system(path: &Path, doing: &'static str, errno: Errno) -> Self {
        let path = path.to_owned();
        match errno {
            Errno::ACCESS | Errno::PERM => BootstrapError::NotAllowed { path, doing, errno },
            errno => BootstrapError::System { path, doing, errno },
        }
    }

    /// The code under which this error travels and exits.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            BootstrapError::PathTooLong { .. } => Code::TooLarge,
            BootstrapError::InUse { .. } => Code::DuplicateNode,
            BootstrapError::NotASocket { .. } => Code::BadValue,
            BootstrapError::NobodyListens { .. } => Code::Unreachable,
            BootstrapError::OtherUser { .. } | BootstrapError::NotAllowed { .. } => Code::NotAllowed,
            BootstrapError::OtherVersion { .. } => Code::VersionMismatch,
            BootstrapError::Refused { code, .. } => code.unwrap_or(Code::NotAllowed),
            BootstrapError::Malformed { .. } => Code::Malformed,
            BootstrapError::Silent { .. } => Code::PeerSilent,
            BootstrapError::Left { .. } => Code::PeerDied,
            BootstrapError::System { .. } => Code::Resource,
        }
    }
}

impl fmt::Display for BootstrapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BootstrapError::PathTooLong { path } => {
                write!(
                    f,
                    "{}: longer than the 107 bytes of a socket's address; use a shorter path",
                    path.display()
                )
            }
            BootstrapError::InUse { path } => {
                write!(f, "{}: another process listens there; stop it or use another path", path.display())
            }
            BootstrapError::NotASocket { path } => {
                write!(f, "{}: there is a file that is no socket; use another path", path.display())
            }
            BootstrapError::NobodyListens { path } => {
                write!(f, "{}: nobody listens there; start the server or check the path", path.display())
            }
            BootstrapError::OtherUser { path, theirs, ours } => write!(
                f,
                "{}: the other side runs as user {theirs}, this process as user {ours}; memory is shared only between \
                 processes of one user: run both as one, or connect over TCP",
                path.display()
            ),
            BootstrapError::OtherVersion { path, theirs, ours } => write!(
                f,
                "{}: the other side speaks version {theirs}, this program version {ours}; update the older one",
                path.display()
            ),
            BootstrapError::Refused { path, code } => {
                let why = code.map_or("for a reason this program does not know", Code::text);
                write!(f, "{}: the other side refuses: {why}", path.display())
            }
            BootstrapError::Malformed { path, what } => write!(
                f,
                "{}: the other side is no Quintet process, or a damaged one: {what}; check what listens there",
                path.display()
            ),
            BootstrapError::Silent { path, waited } => write!(
                f,
                "{}: no answer within {waited:?}; see whether the server hangs or is stopped",
                path.display()
            ),
            BootstrapError::Left { path } => {
                write!(f, "{}: the other side left before the connection was made; try again", path.display())
            }
            BootstrapError::NotAllowed { path, doing, errno } => write!(
                f,
                "{}: not allowed to {doing}: {errno}; run both sides as one user, and check the rights of the file and \
                 its folder",
                path.display()
            ),
            BootstrapError::System { path, doing, errno } => {
                write!(f, "{}: cannot {doing}: {errno}", path.display())
            }
        }
    }
}

impl core::error::Error for BootstrapError {}

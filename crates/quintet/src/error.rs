//! What went wrong, for a program and for a person.

use core::fmt;
use quintet_contract::SendError;
use quintet_errors::Code;
use quintet_link::BootstrapError;
use quintet_runtime::CallError;
use quintet_tuple_space::{TooLarge, ValueError};

/// An operation's error: a code for the program, words for a person.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    code: Code,
    text: String,
}

impl Error {
    /// An error of this code; `text` says what is particular to this time, and what to do. It may be empty.
    #[must_use]
    pub fn new(code: Code, text: impl Into<String>) -> Self {
        Error { code, text: text.into() }
    }

    /// A call that came to nothing on its way. `lost`: how its link failed, if it did.
    pub(crate) fn of_call(error: &CallError, lost: Option<String>) -> Error {
        let code = match error {
            CallError::NotSent(error @ SendError::TooLong { .. }) => {
                return Error::new(Code::TooLarge, error.to_string());
            }
            // A connection is made before the first call, so a call that finds nobody has lost it. Whether the link noticed
            // that before or after the request was handed over makes no difference to the caller.
            CallError::NotSent(_) | CallError::Failed(Code::Unreachable) => Code::PeerDied,
            CallError::Failed(code) => *code,
        };
        match lost.filter(|_| !matches!(code, Code::TooLarge | Code::Closed)) {
            Some(lost) => Error::new(code, format!("the connection is over: {lost}")),
            None => Error::new(code, why(code)),
        }
    }

    /// Whoever asks has closed the lab.
    pub(crate) fn closed() -> Error {
        Error::new(Code::Closed, why(Code::Closed))
    }

    /// Which error.
    #[must_use]
    pub fn code(&self) -> Code {
        self.code
    }

    /// What is particular to this time.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.text.is_empty() {
            return write!(f, "{}", self.code);
        }
        write!(f, "{}: {}", self.code, self.text)
    }
}

impl core::error::Error for Error {}

/// What a code means for a call whose link has not failed.
fn why(code: Code) -> &'static str {
    match code {
        Code::TooLarge => {
            "a single message of it does not fit into half of the server's link.window_bytes, or into the link; \
             this connection goes on"
        }
        Code::Closed => "this lab was closed by the program",
        Code::PeerSilent => "nothing was heard of the space for too long; the connection is over",
        Code::Malformed => "one side broke the protocol; the connection is over",
        Code::WrongCluster | Code::VersionMismatch | Code::DuplicateNode | Code::NotAllowed => {
            "the space refused this connection"
        }
        _ => "the space has ended, or closed the connection",
    }
}

impl From<BootstrapError> for Error {
    fn from(error: BootstrapError) -> Self {
        Error::new(error.code(), error.to_string())
    }
}

impl From<ValueError> for Error {
    fn from(error: ValueError) -> Self {
        Error::new(error.code(), error.to_string())
    }
}

impl From<TooLarge> for Error {
    fn from(error: TooLarge) -> Self {
        Error::new(Code::TooLarge, error.to_string())
    }
}

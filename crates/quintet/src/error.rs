//! What went wrong, for a program and for a person.

use crate::cause::{Cause, Limit, Size};
use core::fmt;
use quintet_contract::SendError;
use quintet_errors::Code;
use quintet_link::BootstrapError;
use quintet_runtime::CallError;
use quintet_tuple_space::{TooLarge, ValueError};
use std::io;

/// An operation's error: a cause for the program, words for a person.
///
/// ```
/// use quintet::{Cause, Lab, Limit, PeerGone, template};
/// use std::time::Duration;
///
/// let space = Lab::embedded().space();
/// let error = space.take_within(&template!["row", ?i64], Duration::ZERO).unwrap_err();
/// match error.cause() {
///     Cause::Limit(Limit::Time) => println!("none came: {}", error.text()),
///     Cause::PeerGone(PeerGone::Died | PeerGone::Silent) => println!("the space is gone"),
///     _ => println!("{error}"),
/// }
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    cause: Cause,
    text: String,
}

impl Error {
    /// An error of this cause, or of what a code alone says of it; `text` says what is particular to this time, and what to do.
    /// It may be empty.
    #[must_use]
    pub fn new(cause: impl Into<Cause>, text: impl Into<String>) -> Self {
        Error { cause: cause.into(), text: text.into() }
    }

    /// A call that came to nothing on its way. `lost`: how its link failed, if it did.
    pub(crate) fn of_call(error: &CallError, lost: Option<String>) -> Error {
        let code = match error {
            CallError::NotSent(error @ SendError::TooLong { len, limit }) => {
                let frame = Size::Frame { bytes: *len, limit: *limit };
                return Error::new(Cause::Limit(Limit::Size(frame)), error.to_string());
            }
            // A connection is made before the first call, so a call that finds nobody has lost it. Whether the link noticed
            // that before or after the request was handed over makes no difference to the caller.
            CallError::NotSent(_) | CallError::Failed(Code::Unreachable) => Code::PeerDied,
            CallError::Failed(code) => *code,
            CallError::Inherited => {
                return Error::new(Code::Closed, "this lab was made in another process; connect again");
            }
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

    /// Why, as a value.
    #[must_use]
    pub fn cause(&self) -> &Cause {
        &self.cause
    }

    /// Its cause as a code, which travels, and says whose fault it is and whether a retry is safe.
    #[must_use]
    pub fn code(&self) -> Code {
        self.cause.code()
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
            return write!(f, "{}", self.cause);
        }
        write!(f, "{}: {}", self.cause, self.text)
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
        Code::WrongCluster => {
            "the space's cluster has another number; set cluster.id to the same on both sides"
        }
        Code::VersionMismatch | Code::DuplicateNode | Code::NotAllowed => "the space refused this connection",
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
        Error::new(Cause::Misuse(Some(error)), error.to_string())
    }
}

impl From<TooLarge> for Error {
    fn from(error: TooLarge) -> Self {
        Error::new(Cause::Limit(Limit::Size(Size::Request(error))), error.to_string())
    }
}

/// The system refused a resource.
impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Error::new(Cause::System(Some(error.kind())), error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Lab, PeerGone, Tuple, Value};

    #[test]
    fn a_cause_carries_its_values() {
        let no_fields = Error::from(Tuple::new(Vec::new()).expect_err("a tuple has fields"));
        assert_eq!(no_fields.cause(), &Cause::Misuse(Some(ValueError::NoFields)));
        let too_long = CallError::NotSent(SendError::TooLong { len: 9, limit: 8 });
        let frame = Error::of_call(&too_long, Some("a link that failed".to_owned()));
        assert_eq!(frame.cause(), &Cause::Limit(Limit::Size(Size::Frame { bytes: 9, limit: 8 })));
        let lost = Error::of_call(&CallError::NotSent(SendError::Unreachable), None);
        assert_eq!((lost.cause(), lost.code()), (&Cause::PeerGone(PeerGone::Died), Code::PeerDied));
        let refused = Error::from(io::Error::from(io::ErrorKind::OutOfMemory));
        assert_eq!(refused.cause(), &Cause::System(Some(io::ErrorKind::OutOfMemory)));
    }

    #[test]
    fn a_request_that_can_never_be_sent_says_so_itself() {
        // Shared nine times it takes little memory here.
        let large = Value::from(vec![0u8; 1 << 28]);
        let tuple = Tuple::new(vec![large; 9]).expect("it has few fields");
        let error = Lab::embedded().space().out(tuple).expect_err("it has 2.25 GiB");
        let Cause::Limit(Limit::Size(Size::Request(TooLarge::Field { field, bytes, limit }))) = error.cause()
        else {
            panic!("{:?}", error.cause())
        };
        assert_eq!((*field, bytes > limit), (8, true));
        assert_eq!(error.to_string(), format!("above a size limit: {}", error.text()));
    }
}

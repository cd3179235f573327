//! Why a token cannot be made, used or revoked.

use crate::IdentityError;
use core::fmt;
use quintet_errors::Code;
use std::path::PathBuf;

/// Why a token cannot be made, used or revoked.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TokenError {
    /// No such token was made here, or it ended more than a week after its time.
    Unknown,
    /// It was used before.
    Used,
    /// It was revoked.
    Revoked,
    /// Its time has passed.
    Expired,
    /// The clock stands before the time when it was made.
    ClockSetBack,
    /// Several tokens have names that begin like that.
    SeveralOfThatId,
    /// No token can be called that.
    BadId,
    /// A note has signs that none may have, or too many.
    BadNote,
    /// No token may be valid for so long.
    TooLongValid,
    /// A token's file does not say what it should.
    Damaged {
        /// Which one.
        path: PathBuf,
    },
    /// A file cannot be read or written.
    Files(IdentityError),
}

impl TokenError {
    /// The code under which this error exits and travels.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            TokenError::Unknown
            | TokenError::Used
            | TokenError::Revoked
            | TokenError::Expired
            | TokenError::ClockSetBack => Code::NotAllowed,
            TokenError::SeveralOfThatId
            | TokenError::BadId
            | TokenError::BadNote
            | TokenError::TooLongValid => Code::BadValue,
            TokenError::Damaged { .. } => Code::BadFile,
            TokenError::Files(error) => error.code(),
        }
    }
}

impl From<IdentityError> for TokenError {
    fn from(error: IdentityError) -> Self {
        TokenError::Files(error)
    }
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TokenError::Unknown => f.write_str(
                "no such token is known here; see quintet token list on the machine where it was made",
            ),
            TokenError::Used => {
                f.write_str("the token was used before, and can be used once; make a new one with quintet token create")
            }
            TokenError::Revoked => {
                f.write_str("the token was revoked; make a new one with quintet token create")
            }
            TokenError::Expired => {
                f.write_str("the token has expired; make a new one with quintet token create")
            }
            TokenError::ClockSetBack => f.write_str(
                "the clock of the machine where the token was made stands before the time when that was; set the clock",
            ),
            TokenError::SeveralOfThatId => {
                f.write_str("several tokens begin like that; give more digits, as quintet token list shows them")
            }
            TokenError::BadId => f.write_str(
                "a token is named by the 16 digits that quintet token list shows, or at least the first 4 of them",
            ),
            TokenError::BadNote => {
                f.write_str("a note has up to 100 letters, digits and signs, without quotes and backslashes")
            }
            TokenError::TooLongValid => f.write_str("a token may be valid for a year at most"),
            TokenError::Damaged { path } => {
                write!(f, "{} does not say what a token's file says; remove it", path.display())
            }
            TokenError::Files(error) => write!(f, "{error}"),
        }
    }
}

impl core::error::Error for TokenError {}

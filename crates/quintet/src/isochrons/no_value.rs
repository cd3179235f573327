//! Reads without a value, and what is said of them.

use crate::{Bytes, Cause, Error, IsonetCause, NoValue};
use core::fmt;
use quintet_isotach::ReadValue;

/// What a read gave.
pub(super) fn of_read(read: ReadValue) -> Result<Bytes, NoValue> {
    match read {
        ReadValue::Value(value) => Ok(value),
        ReadValue::Aborted => Err(NoValue::WriterDied),
        ReadValue::Lost => Err(NoValue::Lost),
        ReadValue::Unanswered => Err(NoValue::Unanswered),
    }
}

impl fmt::Display for NoValue {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            NoValue::WriterDied => "the member that had reserved the place that was read has ended without giving a value: write the variable anew",
            NoValue::Unanswered => "a member ended before the one whose copy was read had answered: read it again",
            NoValue::Lost => "all members that had a copy of the variable have ended: write it anew",
        })
    }
}

impl std::error::Error for NoValue {}

/// As an error of an isonet, which tells why: [`IsonetCause::NoValue`].
impl From<NoValue> for Error {
    fn from(why: NoValue) -> Error {
        Error::new(Cause::Isonet(IsonetCause::NoValue(why)), format!("a read has no value: {why}"))
    }
}

//! How many descriptors this process may have.
//!
//! The usual limit is one for programs that ask the system about each descriptor below it. This one does not, and takes all that the
//! system allows; its children, who may, get back what it had.

use quintet::{Code, Error};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::sync::OnceLock;

/// The limit before it was raised.
static BEFORE: OnceLock<u64> = OnceLock::new();

/// Raises the limit to what the system allows.
pub(crate) fn raise() {
    let before = getrlimit(Resource::Nofile);
    let Some(current) = before.current.filter(|_| before.current != before.maximum) else { return };
    if setrlimit(Resource::Nofile, Rlimit { current: before.maximum, ..before }).is_ok() {
        // Raised before, it is not raised again.
        let _ = BEFORE.set(current);
    }
}

/// The limit of this process' children, if it is another than this process'.
pub(crate) fn of_children() -> Option<u64> {
    BEFORE.get().copied()
}

/// Lowers the limit to what it was in the process that started this one.
///
/// # Errors
/// The system refused.
pub(crate) fn lower(to: u64) -> Result<(), Error> {
    let limit = Rlimit { current: Some(to), ..getrlimit(Resource::Nofile) };
    setrlimit(Resource::Nofile, limit)
        .map_err(|errno| Error::new(Code::Resource, format!("limit the descriptors to {to}: {errno}")))
}

/// # Errors
/// This process may not have so many. `who` needs them.
pub(crate) fn need(number: u64, who: &str) -> Result<(), Error> {
    match getrlimit(Resource::Nofile).current {
        Some(limit) if limit < number => {
            let text = format!(
                "{who} need {number} descriptors, and this process may have {limit}: take fewer, or raise the limit (ulimit -Hn)"
            );
            Err(Error::new(Code::Resource, text))
        }
        _ => Ok(()),
    }
}

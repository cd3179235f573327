//! What a command says: what it found on standard output, the rest on standard error.
//!
//! Nothing here ends the program when its words cannot be written.

use quintet::{Code, Error};
use std::fmt::Display;
use std::io::{ErrorKind, Write, stderr, stdout};

/// Writes to standard output. False if its reader has gone: nothing is wrong with what the command does, but nobody will
/// read more.
///
/// # Errors
/// Standard output takes no more, because its disk is full say.
pub(crate) fn print(text: &str) -> Result<bool, Error> {
    let mut out = stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Error::new(Code::Resource, format!("the results cannot be shown: {error}"))),
    }
}

/// The same with a line.
///
/// # Errors
/// Those of [`print()`].
pub(crate) fn print_line(line: impl Display) -> Result<bool, Error> {
    print(&format!("{line}\n"))
}

/// Says something to a person, on standard error.
pub(crate) fn tell(text: impl Display) {
    // If that fails there is nobody to tell.
    let _ = writeln!(stderr(), "quintet: {text}");
}

/// The first of these errors; the others are told.
///
/// # Errors
/// There is one.
pub(crate) fn first(errors: impl IntoIterator<Item = Error>) -> Result<(), Error> {
    let mut errors = errors.into_iter();
    let Some(first) = errors.next() else { return Ok(()) };
    errors.for_each(tell);
    Err(first)
}

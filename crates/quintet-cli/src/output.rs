//! What a command says: what it found on standard output, the rest on standard error.
//!
//! Nothing here ends the program when its words cannot be written.

use quintet::{Code, Error};
use serde_json::Value;
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

/// The same with an object for programs. A terminal obeys nothing of it either: what is not seen in its texts is written as JSON escapes it, and
/// read as the same text.
///
/// # Errors
/// Those of [`print()`].
pub(crate) fn print_json(object: &Value) -> Result<bool, Error> {
    print_line(visible(&object.to_string()))
}

/// JSON in which everything that is not seen is escaped: controls from 0x7f on, marks that turn the direction of writing.
fn visible(json: &str) -> String {
    let mut line = String::with_capacity(json.len());
    for character in json.chars() {
        // Below 0x7f the format itself has done so.
        if character < '\u{7f}' || character.escape_debug().len() == 1 {
            line.push(character);
        } else {
            let units = &mut [0; 2];
            line.extend(character.encode_utf16(units).iter().map(|unit| format!("\\u{unit:04x}")));
        }
    }
    line
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_seen_is_escaped_in_json_and_reads_as_the_same() {
        let text = "a\u{9b}2K\u{202e}b\u{7f}\u{2028}\u{e0001} \u{fc} \u{1f600} \"";
        let object = serde_json::json!({"text": text});
        let line = visible(&object.to_string());
        assert_eq!(
            line,
            "{\"text\":\"a\\u009b2K\\u202eb\\u007f\\u2028\\udb40\\udc01 \u{fc} \u{1f600} \\\"\"}"
        );
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), object);
    }
}

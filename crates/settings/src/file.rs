//! Reading the settings file.

use crate::error::{Place, SettingError};
use rustix::fs::OFlags;
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use toml::de::{DeTable, DeValue};

/// The longest file that is read. One with every setting is far below it.
pub const LONGEST_FILE_BYTES: u64 = 1 << 20;

/// A key with its value, as the file has them.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Given {
    pub(crate) place: Place,
    pub(crate) name: String,
    /// As it would be written in an argument; none for a value that no argument can have.
    pub(crate) value: Option<String>,
    /// As the file has it.
    pub(crate) source: String,
}

/// The text of a plain file. Neither a pipe that nobody writes to nor a file without an end keeps a program from beginning.
///
/// # Errors
/// It is no plain file, is longer than [`LONGEST_FILE_BYTES`] or no text; what the system says.
pub(crate) fn text_of(path: &Path) -> io::Result<String> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).expect("a flag of open(2) fits an int");
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no plain file"));
    }
    let mut text = String::new();
    // The length may change meanwhile: what is read decides.
    if file.take(LONGEST_FILE_BYTES + 1).read_to_string(&mut text)? as u64 > LONGEST_FILE_BYTES {
        let text = format!("it is longer than {LONGEST_FILE_BYTES} bytes, the most that settings take");
        return Err(io::Error::other(text));
    }
    Ok(text)
}

/// Every key of the file, tables joined by dots.
///
/// # Errors
/// [`SettingError::NotToml`].
pub(crate) fn read(path: &Path, text: &str) -> Result<Vec<Given>, SettingError> {
    let place = |at: usize| Place::File(path.to_owned(), line(text, at));
    let table = DeTable::parse(text).map_err(|error| SettingError::NotToml {
        place: place(error.span().map_or(text.len(), |span| span.start)),
        cause: error.message().to_owned(),
    })?;
    let mut given = Vec::new();
    let mut pending = vec![(String::new(), table.get_ref())];
    while let Some((group, table)) = pending.pop() {
        for (key, value) in table {
            let name = if group.is_empty() {
                key.get_ref().to_string()
            } else {
                format!("{group}.{}", key.get_ref())
            };
            match value.get_ref() {
                DeValue::Table(inner) => pending.push((name, inner)),
                found => given.push(Given {
                    place: place(key.span().start),
                    name,
                    value: as_argument(found),
                    source: text.get(value.span()).unwrap_or("").to_owned(),
                }),
            }
        }
    }
    given.sort_by(|a, b| a.place.cmp(&b.place));
    Ok(given)
}

fn as_argument(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(integer) if integer.radix() == 10 => Some(integer.as_str().to_owned()),
        DeValue::Boolean(value) => Some(value.to_string()),
        _ => None,
    }
}

/// The line, counted from 1, in which the byte `at` stands.
fn line(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

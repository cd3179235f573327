//! What objects say of the program that they are to be: the notes that C-Linda's have, one or more each in a library.

use quintet::{Code, Error};
use quintet_clinda::{Note, Object, Whole};
use std::fs;
use std::path::{Path, PathBuf};

/// The whole program; none if of one of its objects nobody knows what it is.
///
/// # Errors
/// An object cannot be read, or is damaged; its note is, or is of another version.
pub(super) fn whole(objects: &[PathBuf]) -> Result<Option<Whole>, Error> {
    let mut notes: Vec<Note> = Vec::new();
    let (mut has_others, mut is_unknown) = (false, false);
    for path in objects {
        let object = read(path)?;
        has_others |= object.notes.is_empty();
        is_unknown |= object.is_unknown;
        notes.extend(object.notes);
    }
    Ok((!is_unknown).then(|| Whole::new(notes, has_others)))
}

fn read(path: &Path) -> Result<Object, Error> {
    let bad = |why: &dyn std::fmt::Display| Error::new(Code::BadFile, format!("{}: {why}", path.display()));
    let bytes = fs::read(path).map_err(|error| bad(&error))?;
    Object::read(&bytes).map_err(|error| bad(&error))
}

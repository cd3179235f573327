//! Finds the notes in an object file of ELF, or in a library of such.

use crate::note::{Note, NoteError};
use object::read::archive::ArchiveFile;
use object::{File, FileKind, Object as _, ObjectSection as _};
use std::fmt;

/// The section in which a note lies. A linker leaves it out of programs.
pub(crate) const SECTION: &str = ".quintet.clinda";

/// What GCC leaves for the link if it compiles then: sections of this name, and none of the others.
const COMPILED_LATER: &[u8] = b".gnu.lto_";

/// What is known of an object file, or of those of a library.
#[derive(Clone, PartialEq, Debug)]
pub struct Object {
    /// The notes in it.
    pub notes: Vec<Note>,
    /// Whether there is more in it of which nobody knows what it is: it is compiled when it is linked, or is no object.
    pub is_unknown: bool,
}

/// Why an object cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ObjectError {
    /// What it says of itself lies outside of it: it is damaged.
    Damaged,
    /// Its note is.
    Note(NoteError),
}

impl fmt::Display for ObjectError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ObjectError::Damaged => write!(out, "the object is damaged, or cut short: compile it again"),
            ObjectError::Note(error) => error.fmt(out),
        }
    }
}

impl std::error::Error for ObjectError {}

impl From<object::Error> for ObjectError {
    fn from(_: object::Error) -> ObjectError {
        ObjectError::Damaged
    }
}

impl Object {
    /// Reads a file.
    ///
    /// # Errors
    /// It is an object or an archive, and damaged; or a note in it is, or is of another version.
    pub fn read(bytes: &[u8]) -> Result<Object, ObjectError> {
        let mut found = Object { notes: Vec::new(), is_unknown: false };
        match FileKind::parse(bytes) {
            Ok(FileKind::Archive) => found.add_archive(bytes)?,
            _ => found.add(bytes)?,
        }
        Ok(found)
    }

    fn add(&mut self, bytes: &[u8]) -> Result<(), ObjectError> {
        if !matches!(FileKind::parse(bytes), Ok(FileKind::Elf32 | FileKind::Elf64)) {
            self.is_unknown = true;
            return Ok(());
        }
        let (mut has_note, mut is_later) = (false, false);
        for section in File::parse(bytes)?.sections() {
            let name = section.name_bytes()?;
            is_later |= name.starts_with(COMPILED_LATER);
            if name == SECTION.as_bytes() {
                has_note = true;
                self.notes.extend(Note::read_all(section.data()?).map_err(ObjectError::Note)?);
            }
        }
        self.is_unknown |= is_later && !has_note;
        Ok(())
    }

    fn add_archive(&mut self, bytes: &[u8]) -> Result<(), ObjectError> {
        let archive = ArchiveFile::parse(bytes)?;
        // The members of a thin archive are files elsewhere.
        self.is_unknown |= archive.is_thin();
        let members = archive.members().filter(|_| !archive.is_thin());
        for member in members {
            self.add(member?.data(bytes)?)?;
        }
        self.notes.iter_mut().for_each(|note| note.is_in_library = true);
        Ok(())
    }
}

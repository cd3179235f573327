//! A whole program: what all its files show only together, from the notes of each.

use crate::analysis::{Analysis, analyse, unmatched};
use crate::diagnostic::{Diagnostic, Place, Severity};
use crate::emit;
use crate::keys::keys;
use crate::note::{Note, Noted, Spot};

/// All files of a program, and with them its operations.
#[derive(Clone, Debug, Default)]
pub struct Whole {
    notes: Vec<Note>,
    has_others: bool,
}

impl Whole {
    /// Of the files that have left these notes. `has_others`: plain C is in it as well.
    #[must_use]
    pub fn new(notes: Vec<Note>, has_others: bool) -> Whole {
        Whole { notes, has_others }
    }

    pub(crate) fn operations(&self) -> impl Iterator<Item = &Noted> {
        self.notes.iter().flat_map(|note| &note.operations)
    }

    /// Its partitions, and their classes.
    #[must_use]
    pub fn analysis(&self) -> Analysis {
        analyse(self)
    }

    /// What is wrong with the files together: there is one `real_main`, and each tuple that is asked for can come.
    #[must_use]
    pub fn check(&self) -> Vec<Diagnostic> {
        let mut diagnostics = unmatched(self);
        diagnostics.extend(self.check_beginnings());
        diagnostics
    }

    /// The C in which all of it tells the space its keys, before the first operation.
    #[must_use]
    pub fn emit(&self) -> String {
        emit::keys(&keys(self))
    }

    fn check_beginnings(&self) -> Option<Diagnostic> {
        let beginnings: Vec<(&Note, &Spot)> =
            self.notes.iter().filter_map(|note| Some((note, note.real_main.as_ref()?))).collect();
        // Of a library a linker takes no second one.
        let mut own = beginnings.iter().filter(|(note, _)| !note.is_in_library);
        if let (Some((first, _)), Some((_, second))) = (own.next(), own.next()) {
            let message = format!("this is a second real_main: {} has one", first.file);
            let hint = "a program begins in one place; give this one another name";
            return Some(second.diagnostic(Severity::Error, message, Some(hint)));
        }
        let first = self.notes.first().filter(|_| beginnings.is_empty() && !self.has_others)?;
        let place = Place { file: first.file.clone(), line: 1, column: 1 };
        let message = "the program has no real_main, where it would begin".to_owned();
        let hint = "write void real_main(int argc, char *argv[]) where C has main";
        Some(Spot { place, source: String::new() }.diagnostic(Severity::Error, message, Some(hint)))
    }
}

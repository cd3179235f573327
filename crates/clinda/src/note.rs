//! What a file leaves in its object of its operations, so that a program of several files can be looked at as a whole when it is linked.

mod text;

use crate::diagnostic::{Diagnostic, Place, Severity};
use crate::field::Field;
use crate::operation::Verb;
use crate::unit::{Operation, Unit};

pub use text::NoteError;

/// The operations of a file, and whether a program begins in it.
#[derive(Clone, PartialEq, Debug)]
pub struct Note {
    /// The file, as it was named when it was compiled.
    pub(crate) file: String,
    /// Where its `real_main` ends, if it has one.
    pub(crate) real_main: Option<Spot>,
    pub(crate) operations: Vec<Noted>,
    /// Whether it lies in a library, from which a linker takes what others need.
    pub(crate) is_in_library: bool,
}

/// A place in a source, with its line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Spot {
    pub(crate) place: Place,
    pub(crate) source: String,
}

/// An operation, as far as others have to know it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Noted {
    pub(crate) verb: Verb,
    pub(crate) spot: Spot,
    /// Its words, on one line.
    pub(crate) words: String,
    /// As [`Field::noted`] has them.
    pub(crate) fields: Vec<Field>,
}

impl Note {
    /// That of a file.
    pub(crate) fn of(unit: &Unit) -> Note {
        let spot = |at: usize| {
            let place = unit.source.place(at);
            let source = unit.source.line_text(place.line);
            Spot { place, source }
        };
        let noted = |operation: &Operation| Noted {
            verb: operation.call.verb,
            spot: spot(operation.call.range.start),
            words: unit.source.on_one_line(operation.call.range.clone()),
            fields: operation.fields.iter().map(Field::noted).collect(),
        };
        Note {
            file: unit.source.name().to_owned(),
            real_main: unit.real_main().map(|defined| spot(defined.closing.unwrap_or(0))),
            operations: unit.operations.iter().map(noted).collect(),
            is_in_library: false,
        }
    }
}

impl Spot {
    /// Something that is wrong here.
    pub(crate) fn diagnostic(&self, severity: Severity, message: String, hint: Option<&str>) -> Diagnostic {
        Diagnostic {
            severity,
            place: self.place.clone(),
            source: self.source.clone(),
            message,
            hint: hint.map(str::to_owned),
        }
    }
}

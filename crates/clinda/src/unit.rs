//! One file: its operations with their types, and all that is wrong with them.

use crate::diagnostic::{Diagnostic, Severity};
use crate::expanded::Expanded;
use crate::field::Field;
use crate::operation::{Call, Misuse, Verb, find};
use crate::pairing::{Pairing, hiding_macro};
use crate::resolve::{Function, resolve};
use crate::source::Source;
use crate::standing::Standing;
use crate::tokens::tokenize;
use std::ops::Range;

/// A file that was read and checked.
#[derive(Debug)]
pub struct Unit {
    pub(crate) source: Source,
    pub(crate) operations: Vec<Operation>,
    pub(crate) functions: Vec<Defined>,
}

/// An operation of a file.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    /// In the source.
    pub(crate) call: Call,
    pub(crate) fields: Vec<Field>,
    pub(crate) standing: Standing,
}

/// A function that the file defines.
#[derive(Clone, Debug)]
pub(crate) struct Defined {
    pub(crate) function: Function,
    /// Where the brace that closes it stands in the source, if no macro made it.
    pub(crate) closing: Option<usize>,
}

impl Unit {
    /// Reads a source, of which a preprocessor made `expanded`.
    ///
    /// # Errors
    /// Everything that C-Linda forbids in it, in the order of the source.
    pub fn read(source: Source, expanded: &Expanded) -> Result<Unit, Vec<Diagnostic>> {
        let (mut calls, mut misuses) = find(expanded.text(), expanded.tokens());
        // What the system's headers have under these names is theirs.
        calls.retain(|call| !expanded.origin(call.range.start).is_system);
        misuses.retain(|misuse| !expanded.origin(misuse.at).is_system);
        let pairing = Pairing::new(&source, expanded);
        let reader = Reader { source: &source, expanded, pairing: &pairing };
        let mut diagnostics: Vec<Diagnostic> = misuses.iter().map(|misuse| reader.misuse(misuse)).collect();
        let resolved = resolve(expanded, &calls);
        let mut operations = Vec::new();
        let found = resolved.fields.into_iter().zip(resolved.standings);
        for (call, (fields, standing)) in calls.iter().zip(found) {
            let written = pairing.call(call);
            match (fields, written) {
                (_, None) => diagnostics.push(reader.hidden(call)),
                (Err(misuse), _) => diagnostics.push(reader.misuse(&misuse)),
                (Ok(fields), Some(written)) => {
                    operations.push(Operation { call: written.clone(), fields, standing });
                }
            }
        }
        let defined = |function: Function| {
            let closing = pairing.place(function.body.end.saturating_sub(1));
            Defined { function, closing }
        };
        let is_here = |function: &Function| expanded.origin(function.body.start).file == source.name();
        let functions = resolved.functions.into_iter().filter(is_here).map(defined).collect();
        diagnostics.sort_by(|one, other| one.place.cmp(&other.place));
        match diagnostics.is_empty() {
            true => Ok(Unit { source, operations, functions }),
            false => Err(diagnostics),
        }
    }

    /// The source.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Its evals, with their numbers among its operations.
    pub(crate) fn evals(&self) -> impl Iterator<Item = (usize, &Operation)> {
        self.operations.iter().enumerate().filter(|(_, operation)| operation.call.verb == Verb::Eval)
    }

    /// The file's own `real_main`.
    pub(crate) fn real_main(&self) -> Option<&Defined> {
        self.functions.iter().find(|defined| defined.function.name == "real_main")
    }

    /// Whether it defines `real_main`, where a program begins.
    #[must_use]
    pub fn has_real_main(&self) -> bool {
        self.real_main().is_some()
    }

    /// Whether this operation and the next one are statements, the one directly behind the other.
    pub(crate) fn is_next_statement(&self, number: usize) -> bool {
        let [one, next, ..] = &self.operations[number..] else { return false };
        let text = self.source.text().get(one.call.range.end..next.call.range.start).unwrap_or_default();
        let between = tokenize(text);
        let is_end = between.len() == 1 && &text[between[0].range()] == ";";
        is_end && one.standing.is_statement && next.standing.is_statement
    }

    pub(crate) fn words(&self, range: &Range<usize>) -> &str {
        &self.source.text()[range.clone()]
    }
}

/// Tells of what was found behind the preprocessor where it stands in the source.
struct Reader<'a> {
    source: &'a Source,
    expanded: &'a Expanded,
    pairing: &'a Pairing,
}

impl Reader<'_> {
    fn diagnostic(&self, at: usize, message: &str, hint: &str) -> Diagnostic {
        let place = self.pairing.place(at).or_else(|| Some(self.pairing.hiding(at)?.start));
        if let Some(place) = place {
            return self.source.diagnostic(Severity::Error, place, message, Some(hint));
        }
        let origin = self.expanded.origin(at);
        let mut diagnostic = self.source.diagnostic(Severity::Error, 0, message, Some(hint));
        diagnostic.place.file = origin.file.to_owned();
        diagnostic.place.line = origin.line;
        diagnostic.source = match origin.file == self.source.name() {
            true => self.source.line_text(origin.line),
            false => String::new(),
        };
        let indent = diagnostic.source.chars().take_while(|letter| letter.is_whitespace()).count();
        diagnostic.place.column = indent + 1;
        diagnostic
    }

    fn misuse(&self, misuse: &Misuse) -> Diagnostic {
        self.diagnostic(misuse.at, &misuse.message, misuse.hint)
    }

    /// An operation that does not stand in the source as it is.
    fn hidden(&self, call: &Call) -> Diagnostic {
        let verb = call.verb.name();
        let (at, origin) = (call.range.start, self.expanded.origin(call.range.start));
        if origin.file != self.source.name() {
            let message =
                format!("an included file has the operation `{verb}`: the compiler would not see it");
            let hint = "put it into a function of a .cl file, and compile both files";
            return self.diagnostic(at, &message, hint);
        }
        let hint = "write the operation where it happens; a macro may stand for a value in it";
        let Some(found) = hiding_macro(self.source, self.expanded, self.pairing, call) else {
            let message = format!("a macro hides the operation `{verb}`, or fields of it");
            return self.diagnostic(at, &message, hint);
        };
        let what = if self.pairing.place(at).is_some() { "fields of the operation" } else { "the operation" };
        let message = format!("the macro `{}` hides {what} `{verb}`", &self.source.text()[found.clone()]);
        self.source.diagnostic(Severity::Error, found.start, message, Some(hint))
    }
}

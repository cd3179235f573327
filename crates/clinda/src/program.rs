//! A program of several files: what each becomes, and what only all of them together show.

use crate::analysis::{Analysis, analyse, unmatched};
use crate::diagnostic::{Diagnostic, Severity};
use crate::emit::emit;
use crate::field::Field;
use crate::keys::keys;
use crate::plan::{Optimisations, Plan};
use crate::unit::Unit;
use std::collections::BTreeSet;

/// The files of a program, or some of them.
#[derive(Debug)]
pub struct Program {
    pub(crate) units: Vec<Unit>,
    is_whole: bool,
}

impl Program {
    /// Of these files.
    #[must_use]
    pub fn new(units: Vec<Unit>) -> Program {
        Program { units, is_whole: false }
    }

    /// Of these files, beside which it has no others: so it is known by which fields templates look, and the program tells the space before `real_main` begins.
    #[must_use]
    pub fn whole(units: Vec<Unit>) -> Program {
        Program { units, is_whole: true }
    }

    /// Its files.
    #[must_use]
    pub fn units(&self) -> &[Unit] {
        &self.units
    }

    /// The C of each file, in their order.
    #[must_use]
    pub fn emit(&self) -> Vec<String> {
        self.emit_optimised(Optimisations::default())
    }

    /// The same, with operations that are begun earlier than they are written, or go to the space together.
    #[must_use]
    pub fn emit_optimised(&self, optimisations: Optimisations) -> Vec<String> {
        let evaluated = self.evaluated();
        let plans = Plan::of(self, optimisations);
        let keys = if self.is_whole { keys(self) } else { Vec::new() };
        self.units.iter().zip(&plans).map(|(unit, plan)| emit(unit, plan, &evaluated, &keys)).collect()
    }

    /// The names of functions that evals call.
    fn evaluated(&self) -> BTreeSet<&str> {
        let operations = self.units.iter().flat_map(|unit| &unit.operations);
        operations
            .flat_map(|operation| &operation.fields)
            .filter_map(|field| match field {
                Field::Call(call) => Some(call.function.as_str()),
                _ => None,
            })
            .collect()
    }

    /// Its partitions, and their classes.
    #[must_use]
    pub fn analysis(&self) -> Analysis {
        analyse(self)
    }

    /// What is wrong with the files together, if they are the whole program: there is one `real_main`, and each tuple that is asked for can come.
    #[must_use]
    pub fn check(&self) -> Vec<Diagnostic> {
        let has: Vec<&Unit> = self.units.iter().filter(|unit| unit.has_real_main()).collect();
        let mut diagnostics = unmatched(self);
        match (has.as_slice(), self.units.first()) {
            ([], Some(first)) => {
                let message = "the program has no real_main, where it would begin";
                let hint = Some("write void real_main(int argc, char *argv[]) where C has main");
                diagnostics.push(first.source.diagnostic(Severity::Error, 0, message, hint));
            }
            ([first, second, ..], _) => {
                let at = second.real_main().and_then(|defined| defined.closing).unwrap_or(0);
                let message = format!("this is a second real_main: {} has one", first.source.name());
                let hint = Some("a program begins in one place; give this one another name");
                diagnostics.push(second.source.diagnostic(Severity::Error, at, message, hint));
            }
            _ => {}
        }
        diagnostics
    }
}

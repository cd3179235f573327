//! A program of several files: what each becomes.

use crate::analysis::Analysis;
use crate::diagnostic::Diagnostic;
use crate::emit::emit;
use crate::field::Field;
use crate::note::Note;
use crate::plan::{Optimisations, Plan};
use crate::unit::Unit;
use crate::whole::Whole;
use std::collections::BTreeSet;

/// The files of a program, or some of them.
#[derive(Debug)]
pub struct Program {
    pub(crate) units: Vec<Unit>,
}

impl Program {
    /// Of these files.
    #[must_use]
    pub fn new(units: Vec<Unit>) -> Program {
        Program { units }
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
        self.units.iter().zip(&plans).map(|(unit, plan)| emit(unit, plan, &evaluated)).collect()
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

    /// The note that each file leaves in its object, in their order.
    #[must_use]
    pub fn notes(&self) -> Vec<Note> {
        self.units.iter().map(Note::of).collect()
    }

    /// The same files as a whole program, beside which there are no others.
    #[must_use]
    pub fn whole(&self) -> Whole {
        Whole::new(self.notes(), false)
    }

    /// Its partitions, and their classes.
    #[must_use]
    pub fn analysis(&self) -> Analysis {
        self.whole().analysis()
    }

    /// What is wrong with the files together, if they are the whole program.
    #[must_use]
    pub fn check(&self) -> Vec<Diagnostic> {
        self.whole().check()
    }
}

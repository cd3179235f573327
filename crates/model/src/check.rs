//! `[check]`: statements about a run, and whether a run keeps them.
//!
//! A statement compares two expressions, in which quantities of the run stand by their names: `module.serve.waiting.longest <= 1 s`.
//! `ended by itself` is one, too. A quantity that a run does not have, such as the time of what never happened, breaks nothing.
//!
//! | file | holds |
//! | --- | --- |
//! | `check.rs` | which statements a run breaks: read this first |
//! | `check/statement.rs` | one statement: read, and computed |
//! | `check/names.rs` | the quantities that it may name |
//! | `check/search.rs` | the first seed whose run breaks one, and the shortest such run |

mod names;
mod search;
mod statement;

pub use search::{Finding, Search, shortest_end};

use crate::model::Model;
use crate::plan::Plan;
use crate::problem::{ModelError, Problem, ProblemKind};
use crate::result::RunResult;
use core::fmt;
use names::Names;
use statement::Statement;
use std::collections::BTreeMap;

/// A statement that a run breaks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// Its name in the file.
    pub check: String,
    /// As it was written.
    pub statement: String,
    /// What was found instead.
    pub found: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: found {}", self.check, self.statement, self.found)
    }
}

/// All statements of a model, by name.
pub(crate) struct Checks(BTreeMap<String, Statement>);

impl Checks {
    /// # Errors
    /// Every statement that is none, or names what the model does not have.
    pub(crate) fn of(
        model: &Model,
        plan: &Plan,
        parameters: &BTreeMap<String, f64>,
    ) -> Result<Checks, Vec<Problem>> {
        let names = Names::of(model, plan);
        let mut statements = BTreeMap::new();
        let mut problems = Vec::new();
        for (name, written) in &model.checks {
            match Statement::read(written.text(), &names, parameters) {
                Ok(statement) => {
                    statements.insert(name.clone(), statement);
                }
                Err(kind) => problems.push(placed(model, name, kind)),
            }
        }
        if problems.is_empty() { Ok(Checks(statements)) } else { Err(problems) }
    }

    fn violations(&self, run: &RunResult) -> Vec<Violation> {
        let values = names::values(run);
        let broken = |(check, statement): (&String, &Statement)| {
            let found = statement.broken(run, &values)?;
            Some(Violation { check: check.clone(), statement: statement.written().to_owned(), found })
        };
        self.0.iter().filter_map(broken).collect()
    }
}

fn placed(model: &Model, name: &str, kind: ProblemKind) -> Problem {
    let key = format!("check.{name}");
    Problem { file: model.file.clone(), line: model.line(&key), key, kind }
}

impl Model {
    /// Adds a statement about its runs: `"module.serve.waiting.longest <= 1 s"`, `"ended by itself"`.
    #[must_use]
    pub fn promise(mut self, name: &str, statement: &str) -> Model {
        self.checks.insert(name.to_owned(), statement.into());
        self
    }

    /// Whether it states anything about its runs.
    #[must_use]
    pub fn has_checks(&self) -> bool {
        !self.checks.is_empty()
    }

    /// The statements that runs of it break, each with the seed of the run, in the order of runs and names.
    ///
    /// # Errors
    /// Everything that is wrong with the model.
    pub fn violations(&self, runs: &[RunResult]) -> Result<Vec<(u64, Violation)>, ModelError> {
        let (_, checks) = self.planned()?;
        let of = |run: &RunResult| {
            let seed = run.seed;
            checks.violations(run).into_iter().map(move |violation| (seed, violation))
        };
        Ok(runs.iter().flat_map(of).collect())
    }
}

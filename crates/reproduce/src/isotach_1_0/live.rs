//! The study's experiments on a machine of today: isochrons and plain messages between processes, beside what is printed.
//!
//! | file | holds |
//! | --- | --- |
//! | `live/run.rs` | [`Run`]: one thing that is measured, and [`runs`] that are |
//! | `live/tables.rs` | the figures as tables, with medians and quartiles |
//! | `live/cost.rs` | what a send takes of the processor, as a table |
//! | `live/compared.rs` | each printed value, and what was measured for it |
//! | `live/report.rs` | all as text, page and objects |

mod compared;
mod cost;
mod report;
mod run;
mod tables;

pub use compared::Compared;
pub use cost::{Cost, Sent};
pub use run::{Experiment, Link, Others, Run, runs};
pub use tables::{Row, Table};

use super::Way;
use std::collections::BTreeMap;

/// Where it was measured.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Machine {
    /// Processors that this program may use.
    pub processors: usize,
    /// How many processes wanted one before it began: the system's mean over a minute.
    pub load_before: f64,
    /// The same when it had ended.
    pub load_after: f64,
}

/// All that was measured.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Live {
    /// Of each run a value a turn, in the order of turns: in [`Experiment::unit`], which is us or Mb/s of data.
    pub values: BTreeMap<Run, Vec<f64>>,
    /// Where.
    pub machine: Machine,
}

impl Live {
    /// The values of a run, none if it was not made.
    fn values(&self, run: &Run) -> &[f64] {
        self.values.get(run).map_or(&[], Vec::as_slice)
    }

    /// The values of one run by those of another, turn by turn: a machine's pace drifts, and only neighbours in time compare.
    fn ratios(&self, one: &Run, other: &Run) -> Vec<f64> {
        self.values(one).iter().zip(self.values(other)).map(|(one, other)| one / other).collect()
    }

    /// What safe isochrons have, by what plain messages have of the same.
    fn to_plain(&self, run: &Run) -> Vec<f64> {
        let isochrons = Run { way: Way::Safe, ..*run };
        self.ratios(&isochrons, &Run { way: Way::Plain, size: 1, ..*run })
    }
}

#[cfg(test)]
mod tests;

//! Simulation: models as text, and their runs as plain rows. What a program sees of it stands in `quintet/simulate`.
//!
//! | file | holds |
//! | --- | --- |
//! | `model.rs` | `SimulatedModel`: a model that was read and checked |
//! | `runs.rs` | runs on all processors, which a signal ends |
//! | `row.rs` | what a run says, as dictionaries |
//! | `shortest.rs` | the shortest run that is still broken |
//! | `problems.rs` | what is wrong with a model, as an exception |

mod model;
mod problems;
mod row;
mod runs;
mod shortest;

pub(crate) use model::{SimulatedModel, read_model};
pub(crate) use problems::raise;
pub(crate) use row::{PERCENTS, Row, TallyRow};
pub(crate) use runs::run_all;
pub(crate) use shortest::shortest_end;

use pyo3::prelude::*;

/// The value that a variable of Student's t distribution stays below with probability `part`.
#[pyfunction]
pub(crate) fn student_t_quantile(part: f64, freedom: f64) -> f64 {
    quintet_simulate::statistics::student_t_quantile(part, freedom)
}

//! What a run is summed up to, and what several runs say together.
//!
//! Nothing here is shared between threads: each run sums on its own, in the order of its events, and
//! [`Replications`] are added in the order of their seeds. Sums of rounded numbers depend on the order; so the results are
//! the same, bit for bit, however many threads ran.
//!
//! | file | holds |
//! | --- | --- |
//! | `tally.rs` | [`Tally`]: values one by one |
//! | `quantiles.rs` | [`Quantiles`]: how the values of a time are spread |
//! | `level.rs` | [`Level`]: utilisation, queue length |
//! | `replications.rs` | [`Replications`]: confidence over seeds |
//! | `student.rs` | Student's t |
//!
//! To leave out the warm-up, call `reset` of each at its end.

mod level;
mod quantiles;
mod replications;
mod student;
mod tally;

pub use level::Level;
pub use quantiles::Quantiles;
pub use replications::{Interval, IntervalError, Replications};
pub use student::student_t_quantile;
pub use tally::Tally;

#[cfg(test)]
pub(crate) use student::incomplete_beta;

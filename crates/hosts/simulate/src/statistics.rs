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
//! | `rate.rs` | [`Rate`]: throughput |
//! | `replications.rs` | [`Replications`]: confidence over seeds, or over batches of one run |
//! | `student.rs` | Student's t |
//! | `warm_up.rs` | how much of a run's beginning to leave out |
//!
//! To leave out the warm-up, call `reset` of each at its end.

mod level;
mod quantiles;
mod rate;
mod replications;
mod student;
mod tally;
mod warm_up;

pub use level::Level;
pub use quantiles::Quantiles;
pub use rate::Rate;
pub use replications::{Interval, IntervalError, Replications};
pub use student::student_t_quantile;
pub use tally::Tally;
pub use warm_up::suggest_warm_up;

#[cfg(test)]
pub(crate) use student::incomplete_beta;

//! One packet against two in Linda-LAN (Christian, 1997): figures 5.1 to 5.6, measured on this machine and simulated on the paper's.
//!
//! Two programs in C-Linda, a matrix product by workers (*jmatrix*) and blocks put and taken (*jblock*), were timed with messages whose header and data were
//! two packets, and one; on one DEC 5000 and on two. What is printed is a few times, and by what share one packet was faster.
//!
//! | file | holds |
//! | --- | --- |
//! | `published.rs` | what is printed |
//! | `sample.rs` | [`Sample`], [`Usage`]: one run of a program, as it was measured |
//! | `quartiles.rs`, `regression.rs` | middle and spread; the line through jblock's times |
//! | `measured.rs` | [`Measured`]: all runs, compared figure by figure; read this first |
//! | `kernels.rs` | [`KernelStudy`]: kernels against direct connections, measured |
//! | `explanation.rs` | why ours differ, in words that follow from the numbers |
//! | `simulated.rs` | the paper's machines, simulated |
//! | `measured/` | the same as text, page, objects and table |

mod explanation;
mod kernels;
mod measured;
mod published;
mod quartiles;
mod regression;
mod sample;
pub mod simulated;

pub use kernels::{KERNEL_RUNS, KernelRow, KernelSample, KernelStudy, Way};
pub use measured::{Curve, Drawing, DrawnLine, Fastest, Figure, Measured, PerOperation, Place};
pub use published::{Across, PUBLISHED, Published};
pub use quartiles::Quartiles;
pub use regression::Regression;
pub use sample::{Packets, Sample, Subject, Usage};

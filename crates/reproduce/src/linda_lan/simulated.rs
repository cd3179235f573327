//! The paper's two DEC 5000, simulated: figures 5.1 to 5.6, L-Kernels against direct connections, and workers until more are slower.
//!
//! Each process is a protocol on the simulated host: workers, the program itself, two managers (rows and columns are found by hash, all else is a queue) and an
//! L-Kernel a machine. A message costs its sender and its receiver some time of their processor, each packet of it some more. Who has read a header reads
//! nothing else until the data are there.
//!
//! | file | holds |
//! | --- | --- |
//! | `parameters.rs` | [`PARAMETERS`]: each with where it is from |
//! | `messages.rs` | messages in one packet or two |
//! | `managers.rs`, `programs.rs` | the processes |
//! | `machines.rs` | [`Experiment`], [`simulate`]: where they are |
//! | `study.rs` | [`Simulated`]: all experiments; read this first |
//! | `report.rs` | the same as text, page and objects |

mod machines;
mod managers;
mod messages;
mod parameters;
mod programs;
mod report;
mod study;

pub use crate::parameter::{Origin, Parameter};
pub use machines::{Experiment, Outcome, simulate};
pub use parameters::PARAMETERS;
pub use study::{KernelRow, Simulated, SimulatedFigure, Sweep};

//! The simulated host: runs the product's own protocols on a modelled network, under faults, from a seed.
//!
//! One seed gives one run, the same on every machine: time is a whole number of picoseconds, ties are broken by the
//! order of scheduling, every link and service draws from a random stream of its own.
//!
//! This crate models no hardware in detail; it holds the event loop, links with delay and faults, a disk and a device.
//!
//! | file | holds |
//! | --- | --- |
//! | `simulation.rs` | [`Simulation`]: read this first |
//! | `schedule.rs` | the queue of pending events |
//! | `link.rs` | [`LinkModel`]: delay, loss, duplication, reordering |
//! | `outbox.rs` | what protocols send to; refuses what a live host would refuse |
//! | `node.rs` | a modelled process: its instances, its inbox, its processor's time |
//! | `service.rs` | [`ServiceModel`]: disk and device |
//! | `replay.rs` | [`replay`](replay()): a live run again, byte for byte |
//! | `recording.rs`, `comparing.rs`, `verdict.rs` | its file, its outbox, its result |
#![forbid(unsafe_code)]

mod comparing;
mod digest;
mod link;
mod node;
mod outbox;
mod recording;
mod replay;
mod schedule;
mod service;
mod simulation;
mod verdict;

pub use link::LinkModel;
pub use node::Hosted;
pub use outbox::Costs;
pub use replay::{Factory, replay};
pub use service::ServiceModel;
pub use simulation::{Restart, Simulation};
pub use verdict::{Difference, ReplayError, Replayed};

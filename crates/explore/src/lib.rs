//! Random schedules and faults against the product's own tuple space, in the simulated host, with a checker of what it
//! promises.
//!
//! One seed is one schedule: a manager and a few clients on links drawn from the seed, good and bad, wide and narrow; clients
//! that put, take, lease with and without an end, renew, return and cancel at random, and try to end the leases of others; cut links, links that
//! keep frames for the next one and break, noticed at once, late or not at all, and new ones that one side or both dial at the same
//! time; divided networks, crashes after which a process remembers everything or nothing, slow and frozen processes, wrong clocks. Then
//! all faults end (the clocks stay wrong), everything comes to rest, all that was lent is counted, the space is emptied, and every
//! tuple is accounted for. Everything that clients saw is written down, and [`Rule`] says what must hold of it. A failure names its seed, which gives the same schedule again on every machine.
//!
//! Everything random in a schedule, the links' delays and losses included, is a choice of one [`Sequence`]. [`shrink()`] leaves
//! out and lowers choices until the schedule is small, and [`replay_sequence`] runs what is left.
//!
//! ```
//! use quintet_explore::{Options, explore};
//! let report = explore(&Options::of(0..20), &mut |_| {});
//! assert_eq!(report.schedules, 20);
//! assert!(report.failure.is_none());
//! ```
//!
//! This crate measures no time and prints nothing: its caller does. Protocols of one's own are explored by [`system`].
//!
//! | file | holds |
//! | --- | --- |
//! | `run.rs`, `run/links.rs` | one schedule from its first request to the account: read this first; its links that break |
//! | `plan.rs`, `fault.rs` | what choices make of it: links, limits, clients; what goes wrong |
//! | `shrink.rs`, `clients.rs`, `sequence.rs` | from a large failing schedule to a small one; choices as files |
//! | `system.rs` and its folder | [`system`]: protocols of one's own, explored in the same way |
//! | `spaces.rs` and its folder | [`spaces`]: spaces with a log, with replicas, with several managers |
//! | `isochrons.rs` and its folder | [`isochrons`]: nodes and token managers, through views that end |
//! | `client.rs`, `behaviour.rs`, `group.rs` | a client as a protocol; what it wants; its groups |
//! | `network.rs` | the manager, the clients, and the layers between them in the simulated host |
//! | `books.rs` | what was lent, and whether it came back |
//! | `item.rs`, `history.rs` | the tuples and templates of a run; what happened |
//! | `check.rs` and its folder | what must hold |
//! | `report.rs`, `failure.rs` | what a caller is told; what was broken, also of protocols of one's own |
#![forbid(unsafe_code)]

mod behaviour;
mod books;
mod check;
mod client;
mod clients;
#[cfg(feature = "seeded-defects")]
mod defect;
mod expiry;
mod failure;
mod fault;
mod group;
mod history;
pub mod isochrons;
mod item;
mod network;
mod plan;
mod report;
mod run;
mod sequence;
mod shrink;
pub mod spaces;
pub mod system;

pub use check::Rule;
#[cfg(feature = "seeded-defects")]
pub use defect::Defect;
pub use failure::{Failure, Shrunk};
pub use quintet_simulate::Sequence;
pub use report::{
    Options, Progress, Report, Size, choices, explore, explore_while, replay, replay_sequence, shrink,
};
pub use sequence::{SequenceError, read_sequence, write_sequence};

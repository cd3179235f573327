//! Clients of a space whose servers end at any moment, and an account of what they were told: what was acknowledged is there, and nothing was given twice.
//!
//! The simulated tests of what keeps a space (a log, replicas) have it in common; each brings its own servers, disks and faults.
//!
//! | file | holds |
//! | --- | --- |
//! | `worker.rs` | [`Worker`], one client: read this first |
//! | `account.rs` | [`account`] |
#![forbid(unsafe_code)]

mod account;
mod worker;

pub use account::account;
pub use worker::{Told, Worker};

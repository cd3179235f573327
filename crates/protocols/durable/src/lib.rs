//! Protocols that survive the end of their process.
//!
//! [`Logged`] wraps a protocol that can be saved ([`Snapshot`](quintet_contract::Snapshot)). Every input that can change it becomes a record in a
//! log on the host's disk, and what the protocol sends is held back until the sync that covers the input: whoever was
//! answered has been answered for good. The inputs of a burst share one sync, and so do those that come while it is under way. When the
//! process comes back, the log's snapshot and the inputs behind it bring the protocol to where it was.
//!
//! This crate has no files: the disk is an address of the host. It replicates nothing, and a machine that is lost takes its disk with it.
//!
//! | file | holds |
//! | --- | --- |
//! | `logged.rs` and its folder | [`Logged`]: read this first |
//! | `log.rs` and its folder | the file: records, batches, what a crash leaves of them |
//! | `record.rs` | what is kept: lives, snapshots, inputs |
//! | `clock.rs` | time that goes on where the log ended |
//! | `config.rs` | [`LoggedConfig`] |
//! | `news.rs` | [`LogNews`]: what a host is told of it |
//! | `defect.rs`, `fuzzing.rs` | built-in defects for tests; what the fuzz targets run |
#![forbid(unsafe_code)]

mod clock;
mod config;
mod defect;
pub mod fuzzing;
pub mod log;
mod logged;
mod news;
mod record;

pub use clock::LogClock;
pub use config::LoggedConfig;
#[cfg(feature = "seeded-defects")]
pub use defect::Defect;
pub use logged::Logged;
pub use logged::given::Given;
pub use logged::held::Held;
pub use logged::state::State;
pub use news::LogNews;
pub use record::Kept;

//! Protocols that outlive their machine.
//!
//! [`Replicated`] is one replica of a protocol that can be saved ([`Snapshot`](quintet_contract::Snapshot)). Three or five of them, each on a machine of
//! its own, agree by Raft (`quintet-raft`) on every input, and each keeps it on its disk. The protocol is given an input once a majority has it, and only
//! the replica that leads sends what it answers: whoever was answered has been answered for good, whichever replica is lost.
//!
//! This crate has no network, no files and no clock: they come as frames, and time is the log's, which the leader counts.
//!
//! | file | holds |
//! | --- | --- |
//! | `replicated.rs` and its folder | [`Replicated`]: read this first |
//! | `to_leader.rs` | [`ToLeader`]: the client's side |
//! | `codec.rs` | what replicas say to each other and to clients |
//! | `batch.rs`, `replicas.rs` | what is agreed on, and among whom |
//! | `record.rs` | what is kept on the disk |
//! | `config.rs` | [`ReplicatedConfig`] |
//! | `defect.rs`, `fuzzing.rs` | built-in defects for tests; what the fuzz targets run |
#![forbid(unsafe_code)]

mod batch;
pub mod codec;
mod config;
mod defect;
pub mod fuzzing;
mod record;
mod replicas;
mod replicated;
mod to_leader;

pub use codec::Leader;
pub use config::ReplicatedConfig;
#[cfg(feature = "seeded-defects")]
pub use defect::Defect;
#[cfg(feature = "seeded-defects")]
pub use quintet_raft::Defect as AgreementDefect;
pub use replicas::MAX_REPLICAS;
pub use replicated::{Replicated, Standing};
pub use to_leader::ToLeader;

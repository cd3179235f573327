//! Consensus: a log that a group agrees on, entry by entry (Raft: Ongaro, "Consensus: Bridging Theory and Practice", 2014).
//!
//! What an entry says, and who takes part, is for the owner to say ([`Agreed`]). [`Raft`] is one member's part: it is no protocol of its own, has no
//! address, link or disk, and is driven by a protocol that has: `quintet-membership` agrees on who belongs to a cluster, `quintet-replicated` on the inputs
//! of a protocol that several machines keep.
//!
//! | file | holds |
//! | --- | --- |
//! | `raft.rs` and its folder | [`Raft`]: read this first |
//! | `agreed.rs` | [`Agreed`], [`Entry`]: what is agreed on |
//! | `log.rs`, `message.rs` | the part of the log in memory; what members say to each other |
//! | `config.rs` | [`RaftConfig`] |
//! | `defect.rs` | built-in defects for tests |
#![forbid(unsafe_code)]

mod agreed;
mod config;
mod defect;
mod log;
mod message;
mod raft;

pub use agreed::{Agreed, Entry, Seat};
pub use config::RaftConfig;
#[cfg(feature = "seeded-defects")]
pub use defect::Defect;
pub use message::{MAX_ENTRIES, MAX_NUMBER, Message, NO_LEADERS, What, number};
pub use raft::{Effects, Kept, Leading, Progress, Raft, Restored, Said};

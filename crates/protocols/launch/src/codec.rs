//! What travels between a program and a launcher: requests and answers. All numbers are little-endian.
//!
//! Every request is a frame of the kind [`REQUEST`], and is answered exactly once, under its token, by one of the kind [`ANSWER`]. The first byte of
//! the body says which; large parts travel in the bulk. Everything that a client learns answers a request of its own: it asks for what
//! happens next, and waits (`Next`).
//!
//! | request | tag | body | bulk | answer |
//! | --- | --- | --- | --- | --- |
//! | `Have` | 0 | hashes | | `Missing`: those that are not kept |
//! | `Store` | 1 | hash 32 bytes | the contents | `Done` |
//! | `Start` | 2 | job u128 | a [`Start`](quintet_wire::services::process::Start) | `Started` |
//! | `Next` | 3 | job u128, longest wait u64 (nanoseconds) | | `Happened`: what has happened in the job since the last one; nothing, where nothing did in that time |
//! | `Signal` | 4 | process u64, signal u8, to its group u8 | | `Done`, also where it has ended |
//! | `End` | 5 | job u128 | | `Done`, once nothing of the job is left, also where there was none |
//! | `Info` | 6 | | | `Info` |
//! | `Grants` | 7 | for each identity: 32 bytes, run u8, code u8 | | `Done` |
//! | `Running` | 8 | after which process of the system u32 | | `Running`: processes of jobs, by their numbers in the system |
//!
//! Any of them is answered by `Error` instead: reason u8, text. A request that fails has changed nothing.
//!
//! | answer | tag | body |
//! | --- | --- | --- |
//! | `Missing` | 0 | hashes |
//! | `Done` | 1 | |
//! | `Started` | 2 | process u64, folder |
//! | `Happened` | 3 | count u32, of each: process u64, tag u8 (0 output: stream u8, bytes; 1 end: tag u8, number u8) |
//! | `Info` | 4 | cores u16, load u32, processes u32, jobs u32, version text |
//! | `Error` | 5 | reason u8, text |
//! | `Running` | 6 | are the last u8, count u32, of each: a [`RunningProcess`](quintet_wire::services::process::RunningProcess), name text, restarts u32, has an owner with a proof u8, 32 bytes |
//!
//! Text, paths and bytes are a length u32 and as many bytes; hashes are a count u32 and 32 bytes each.

mod answer;
mod process_info;
mod request;
#[cfg(test)]
mod tests;

pub use answer::{Answer, Happening, Info, What};
pub use process_info::ProcessInfo;
pub use request::{Grant, Request};

use quintet_contract::Kind;
use quintet_wire::registry::LAUNCH;

/// Every request to a launcher.
pub const REQUEST: Kind = LAUNCH.kind(0);
/// Every answer of one.
pub const ANSWER: Kind = LAUNCH.kind(1);
/// Tells the callers of the launcher's own node of a [`NotGranted`](crate::NotGranted). It goes over no link.
pub const NOT_GRANTED: Kind = LAUNCH.kind(2);

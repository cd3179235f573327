//! The C library `libquintet`: what C calls is translated to the crate [`quintet`] and back.
//!
//! | file | holds |
//! | --- | --- |
//! | `lab.rs` | connections; read this first |
//! | `space.rs` | the tuple space's operations |
//! | `spaces.rs` | named spaces: created, opened, listed, removed |
//! | `declare.rs` | by which field several managers have tuples |
//! | `tuple.rs`, `tuple/` | tuples and templates: made field by field, and read |
//! | `listing.rs` | what lies in a space, without taking it |
//! | `inspecting.rs`, `inspecting/` | who waits in a space, who is connected, how it is used, what its replicas do |
//! | `watch.rs` | what happens in a space, as it happens |
//! | `buffer.rs` | memory for large data that is copied nowhere |
//! | `lease.rs` | tuples taken until they are acknowledged |
//! | `group.rs` | takes, reads and puts that happen at one instant, or not at all |
//! | `pending.rs`, `begin.rs` | operations under way, and how they are begun |
//! | `messaging.rs`, `handler.rs` | calls of handlers in other processes; calls that this process handles |
//! | `evals.rs` | live tuples: functions by which this process makes them, calls of those of workers |
//! | `isonet.rs`, `isochron.rs` | operations of several processes that are executed at one instant, in one order |
//! | `server.rs` | spaces for other processes |
//! | `job.rs` | what part this process has in a job |
//! | `error.rs` | statuses, and the text of the last error |
//! | `boundary.rs` | what crosses the boundary: handles, pointers, outcomes, panics |
//! | `connection.rs`, `interrupt.rs`, `threads.rs` | what everything of a lab shares; how a wait is interrupted; the library's own threads |
//!
//! The comments of what is exported are written for C: the header, the manual pages and the version script come from them
//! (`cargo xtask docs`). The first paragraph of a file is the name of its manual page, the others its description.
//!
//! # Safety
//!
//! References among the parameters of an exported function are pointers of C, that may be NULL where they are optional. C promises
//! what the manual says: a handle is one that this library gave and did not free, and a pointer to data leads to as many bytes as stand
//! beside it. What can be checked is checked (`boundary.rs`).
#![allow(non_camel_case_types, reason = "the names are those of C")]

pub mod begin;
mod boundary;
pub mod buffer;
pub mod collect;
mod connection;
pub mod declare;
pub mod error;
pub mod evals;
pub mod further;
pub mod group;
pub mod handler;
pub mod inspecting;
pub mod interrupt;
pub mod isochron;
pub mod isonet;
pub mod job;
pub mod lab;
pub mod lease;
pub mod listing;
pub mod messaging;
pub mod pending;
pub mod server;
pub mod space;
pub mod spaces;
mod threads;
pub mod tuple;
pub mod watch;

//! The live host: runs protocols on real links, a real clock and real services.
//!
//! Two shapes, one contract:
//!
//! - **embedded** ([`Calls`]): a protocol behind a mutex, run by the very threads that call it. No other thread, no daemon.
//! - **served** ([`Node`]): one loop that owns several protocols and links.
//!
//! | file | holds |
//! | --- | --- |
//! | `calls.rs` | [`Calls`]: read this first; a caller's request from the first byte to the answer |
//! | `calls_core.rs` | what stands behind its lock: the protocol, fed one input at a time |
//! | `calls_outbox.rs` | where the frames of an embedded protocol go |
//! | `slots.rs` | where answers wait for their callers |
//! | `request.rs` | encoding a caller's request as the frame a remote one would be |
//! | `node.rs` | [`Node`]: the served host's loop |
//! | `listening.rs` | how that loop takes new links |
//! | `sleep.rs` | when that loop sleeps |
//! | `mailbox.rs` | frames from other threads of the process |
//! | `node_outbox.rs` | where the frames of a node's protocols go |
//! | `failure.rs` | what the failure of a link means to those who used it |
//! | `services.rs` | [`Services`]: disk and device, behind addresses |
//! | `instance.rs` | a protocol and its recorder |
//! | `watch.rs` | one descriptor for programs with an event loop of their own |
//! | `recorder.rs` | [`Recorder`]: the flight recorder |
#![forbid(unsafe_code)]

mod calls;
mod calls_core;
mod calls_outbox;
mod failure;
mod instance;
mod listening;
mod mailbox;
mod node;
mod node_outbox;
mod recorder;
mod request;
mod services;
mod sleep;
mod slots;
mod watch;

pub use calls::{CallError, Calls, Pending};
pub use instance::Instance;
pub use node::{Node, NodeHandle};
pub use recorder::Recorder;
pub use request::Request;
pub use services::{Device, Services};
pub use slots::Answer;

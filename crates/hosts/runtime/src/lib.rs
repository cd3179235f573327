//! The live host: runs protocols on real links, a real clock and real services.
//!
//! There is one host, the engine, and it is driven in two ways:
//!
//! - **by its callers** ([`Calls`]): whoever calls takes the lock and turns the engine until its answer is there. No other thread,
//!   no daemon. A program that uses Quintet is driven so, whether its protocol stands alone or talks to others over links.
//! - **by a loop** ([`Node`]): one thread that turns the engine for ever. What serves others is driven so.
//!
//! | file | holds |
//! | --- | --- |
//! | `engine.rs` | instances by port, links by node, services, slots: read this first, `turn` above all |
//! | `engine/ended.rs`, `engine/closing.rs` | how a link ends, and how a node does |
//! | `engine/link_news.rs` | what is found where a peer is dialled, for an instance that wants to know |
//! | `inlets.rs` | the receiving halves of links, and how a driver waits at them |
//! | `outlets.rs`, `outbox.rs` | the sending halves; where the frames of protocols go |
//! | `listening.rs`, `dialling.rs` | where new links come from; how this side makes one, and again when it was cut |
//! | `poller.rs` | the one epoll set |
//! | `mailbox.rs` | frames and orders from other threads of the process |
//! | `calls.rs`, `request.rs`, `slots.rs` | the first driver: [`Calls`]; encoding requests; where answers wait for their callers |
//! | `write_behind.rs` | writing many requests by one system call |
//! | `link_use.rs` | [`LinkUse`]: how a process that calls uses its link |
//! | `watch.rs` | one descriptor for programs with an event loop of their own |
//! | `node.rs` | the second driver: [`Node`] |
//! | `services.rs` | [`Services`]: disk, device and processes, behind addresses |
//! | `measuring.rs` | what a node tells of itself in numbers, when it is asked |
//! | `event.rs`, `failure.rs` | what the host saw, for whoever wants to know; what a link's failure means to protocols |
//! | `rarely.rs` | which of many alike is told of |
//! | `instance.rs`, `recorder.rs` | a protocol and its recorder: the flight recorder |
//! | `tracer.rs`, `traced.rs` | a process's part of a trace for Perfetto; what an instance adds to it |
//! | `histograms.rs`, `timed.rs` | how long callers' operations take, as files; where that is seen |
//! | `watching.rs` | notes what a protocol does, for both |
#![forbid(unsafe_code)]

mod calls;
mod dialling;
mod engine;
mod event;
mod failure;
mod histograms;
mod inlets;
mod instance;
mod link_use;
mod listening;
mod mailbox;
mod measuring;
mod node;
mod outbox;
mod outlets;
mod poller;
mod rarely;
mod recorder;
mod request;
mod services;
mod slots;
mod timed;
mod traced;
mod tracer;
mod watch;
mod watching;
mod write_behind;

pub use calls::{CallError, Calls, Kept, Pending};
pub use dialling::{Elsewhere, PlacesNow, Redial};
pub use event::{Event, EventSink};
pub use histograms::Histograms;
pub use inlets::NamingRule;
pub use instance::Instance;
pub use link_use::LinkUse;
pub use measuring::Measurement;
pub use node::{AfterTurns, Node, NodeHandle};
pub use quintet_perfetto::Detail;
pub use quintet_process::Config as ProcessConfig;
pub use recorder::Recorder;
pub use request::Request;
pub use services::{Device, Services};
pub use slots::Answer;
pub use traced::KindNames;
pub use tracer::{Slice, Tracer};

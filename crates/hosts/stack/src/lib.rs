//! Which protocols stand on which, and their configuration as a recording keeps it.
//!
//! The live host, the simulator, the replay and the explorer all make their stacks here, so that what is explored, predicted and
//! replayed is what ships. What one of them needs and the others do not (a link that loses frames, a narrow window, a seeded
//! defect) is a field of [`StackConfig`], not a stack of its own.
//!
//! ```text
//! client                               server
//!   callers (a port of the node)
//!   Relay                              Space            the service
//!   Messages  ──── credits, order ──── Messages
//!   Sessions  ──── handshake ───────── Sessions
//!             ────── frames ──────
//! ```
//!
//! [`Service`] is a row of the table of services: port, kinds, the class of each kind, the configuration's codec. A new service
//! adds its row to [`SERVICES`], its configuration to [`StackConfig`], and nothing anywhere else.
//!
//! ```
//! use quintet_contract::{Incarnation, Protocol};
//! use quintet_stack::{StackConfig, SERVED, SPACE, make, served};
//!
//! let config = StackConfig::of_server(7, Incarnation(1), 42);
//! assert_eq!(served(&config).deadline(), None);
//! make(SERVED, SPACE, &config.to_bytes())?; // as a replay does
//! # Ok::<(), quintet_stack::StackError>(())
//! ```
//!
//! # One session a pair of nodes
//!
//! Today a session joins one pair of addresses, so that a client of five services would have five. How it becomes one, with
//! credit and order still a pair of ports:
//!
//! ```text
//!   Space   Relay ...              one instance a port, each under its own Messages
//!   Messages Messages
//!        Ports                     who is meant: from port u16, to port u16 in front of each message
//!       Sessions                   at a port of the node's own, the same on every node
//! ```
//!
//! `Ports` owns the instances by port. Downward it adds its four bytes and turns `node:port` into the node's session; upward it
//! takes them off and hands the frame to the instance at `to`, as from `from`. When a node comes up it tells its instances of the
//! addresses that they were made to ask, and of any other at its first frame; when the node goes, of all that were told. Room in
//! the link is told to every instance that was refused, in the order of the refusals. The destination does not come from the
//! frame's header, whose port the host has used to find the session: so an input names its sender only, as now, and a
//! recording holds one instance a node. A frame for a port where nothing is cuts nobody off; it is refused like a service that a host
//! does not have.
//!
//! | file | holds |
//! | --- | --- |
//! | `stacks.rs` | the stacks: read this first |
//! | `service.rs` | [`Service`], and the table of all |
//! | `space.rs` | the row of the tuple space |
//! | `config.rs` | [`StackConfig`]: all that a stack is made with |
//! | `codec.rs` | the same as a recording keeps it |
//! | `error.rs` | [`StackError`]: what a recording's words may be refused for |
#![forbid(unsafe_code)]

mod codec;
mod config;
mod error;
mod service;
mod space;
mod stacks;

pub use codec::CONFIG_VERSION;
pub use config::{Liveness, StackConfig};
pub use error::StackError;
pub use service::{SERVICES, Service, class};
pub use stacks::{
    CLIENT, EMBEDDED, PORT_RELAY, SERVED, SPACE, SPACE_NODE, client, client_of, client_without_messages,
    make, served, served_without_messages,
};

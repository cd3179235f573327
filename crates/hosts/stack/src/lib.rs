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

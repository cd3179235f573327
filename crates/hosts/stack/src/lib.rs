//! Which protocols stand on which, and their configuration as a recording keeps it.
//!
//! The live host, the simulator, the replay and the explorer all make their stacks here, so that what is explored, predicted and
//! replayed is what ships. What one of them needs and the others do not (a link that loses frames, a narrow window, a seeded
//! defect) is a field of [`StackConfig`], not a stack of its own.
//!
//! ```text
//! client                               server
//!   callers (a port of the node)
//!   Relay, Relay                       Space, Broker      the instances, one a port
//!   Resuming                           Resumed            where the space outlives its server, which has
//!                                      Logged             a log of it: clients that come back
//!   Messages ── credits, order ─────── Messages           a pair of ports
//!         Ports ── from, to ───── Ports                   which instances a frame is between
//!        Sessions ─ handshake ─ Sessions                  a pair of nodes, at a port of the node's own
//!             ────── frames ──────
//! ```
//!
//! Between the two may stand the kernel of the client's machine, `Sessions<Kernel>`: what is above `Ports` passes it as it is.
//!
//! A node has one instance for its host: its sessions, at [`PORT_SESSION`](quintet_wire::registry::PORT_SESSION), with everything that stands on them.
//! So a client of several services has one link, one handshake and one keep-alive, and a recording holds one instance a node. A
//! server learns of a client's port by its first frame, which costs one more round trip when they meet.
//!
//! [`Service`] is a row of the table of services: port, kinds, the class of each kind, the configuration's codec. A new service
//! adds its row to [`SERVICES`], its configuration to [`StackConfig`], and nothing anywhere else. [`node`] makes a node of any
//! instances.
//!
//! ```
//! use quintet_contract::{Incarnation, Protocol};
//! use quintet_stack::{StackConfig, SERVED, SERVER, make, served};
//!
//! let config = StackConfig::of_server(7, Incarnation(1), 42);
//! assert_eq!(served(&config).deadline(), None);
//! make(SERVED, SERVER, &config.to_bytes())?; // as a replay does
//! # Ok::<(), quintet_stack::StackError>(())
//! ```
//!
//! | file | holds |
//! | --- | --- |
//! | `stacks.rs` | the stacks: read this first |
//! | `service.rs` | [`Service`], and the table of all |
//! | `space.rs`, `membership.rs`, `launch.rs`, `enrolment.rs`, `broker.rs` | the rows of the tuple space, the membership, the launcher, the enrolment and the broker |
//! | `isotach.rs` | the row of an isonet's members, and their stack |
//! | `config.rs` | [`StackConfig`]: all that a stack is made with |
//! | `codec.rs` | the same as a recording keeps it |
//! | `kinds.rs` | what kinds of frames are called where people read |
//! | `error.rs` | [`StackError`]: what a recording's words may be refused for |
#![forbid(unsafe_code)]

mod broker;
mod codec;
mod config;
pub mod enrolment;
mod error;
mod isotach;
mod kinds;
mod launch;
mod membership;
mod service;
mod space;
mod stacks;

pub use codec::CONFIG_VERSION;
pub use config::{Liveness, StackConfig};
pub use error::StackError;
pub use isotach::{ISOTACH_MEMBER, IsotachConfig, isotach_member, member_of_isonet};
pub use kinds::kind_name;
pub use service::{SERVICES, Service, class};
pub use space::SpaceRequests;
pub use stacks::{
    BROKER, CLIENT, EMBEDDED, EMBEDDED_BROKER, FIRST_MANAGER_NODE, PORT_RELAY, ResumedSpaces, ResumingRelay,
    SERVED, SERVER, SPACE, SPACE_NODE, Stack, asking_space, client, client_of, client_of_managers,
    client_of_replicas, kernel, launcher, logged_space, make, manager, manager_node, managers, member, node,
    replica_nodes, replicated_space, served, served_manager, sessions_of, space, without_messages,
};

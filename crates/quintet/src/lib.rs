//! Quintet coordinates a handful of machines. This crate is its public Rust interface; the same words exist in Python.
//!
//! ```
//! use quintet::{Lab, template, tuple};
//!
//! let lab = Lab::embedded();                       // in this process, nothing to start
//! let space = lab.space();
//! space.out(tuple!["row", 3i64, 2.5f64])?;
//! let row = space.take(&template!["row", ?i64, ?f64])?;
//! assert_eq!(row, tuple!["row", 3i64, 2.5f64]);
//! # Ok::<(), quintet::Error>(())
//! ```
//!
//! | file | holds |
//! | --- | --- |
//! | `lab.rs` | [`Lab`]: a connection to everything; read this first |
//! | `space.rs` | [`Space`]: the tuple space's operations |
//! | `spaces.rs` | named spaces: created, opened, listed, removed |
//! | `kept_spaces.rs` | [`KeptSpaces`]: those that the machines of a cluster keep on their disks |
//! | `begin.rs` | [`Begin`]: operations that are begun, and waited for later |
//! | `pending.rs` | [`Pending`]: an operation under way, to be waited for or cancelled |
//! | `lease.rs` | [`Lease`]: a tuple taken until it is acknowledged |
//! | `group.rs` | [`Group`]: takes, reads and puts that happen at one instant, or not at all |
//! | `collect.rs` | [`Collection`]: all tuples that match, a page at a time; and into another space |
//! | `listing.rs` | [`Listing`]: what lies in a space, who waits and who is connected, a page at a time |
//! | `event_stream.rs` | [`EventStream`]: what happens to tuples, as it happens |
//! | `eval.rs` | [`LiveTuple`]: a tuple whose fields are computed first |
//! | `evals.rs` | [`Evals`]: functions with which a worker makes live tuples that others ask for |
//! | `messaging.rs`, `messaging/` | [`Messaging`]: calls of handlers in other processes |
//! | `isochrons.rs`, `isochrons/` | [`Isonet`]: operations of several processes that are executed at one instant, in one order |
//! | `watch.rs` | [`Watch`]: a descriptor for the program's own event loop |
//! | `serve.rs` | [`Server`]: a space for other processes |
//! | `declare.rs` | what a program tells of its tuples beforehand |
//! | `connect_config.rs`, `job.rs` | [`ConnectConfig`], [`Job`]: what the environment says of the space, and of this process's part in a job |
//! | `identity.rs` | [`identity()`], [`identified`]: who this process proves to be over TLS |
//! | `space_address.rs` | [`SpaceAddress`]: a link's address, or a cluster whose space it is |
//! | `space_log.rs` | [`SpaceLog`]: where a space keeps a log of what it is given |
//! | `link_config.rs`, `packing.rs` | [`LinkConfig`]: how a process uses its links; [`Packing`]: whether long data go packed |
//! | `trace.rs`, `histograms.rs` | this process's part of its job's trace; how long its operations take |
//! | `events.rs` | what a server sees that no client does |
//! | `heartbeat.rs` | keeps leases alive, and the link, while the program computes |
//! | `life.rs` | what is particular to this life of a process |
//! | `error.rs`, `cause.rs` | [`Error`]; its [`Cause`] |
#![forbid(unsafe_code)]

#[cfg(target_endian = "big")]
compile_error!(
    "Quintet runs on little-endian machines: arrays travel between programs as they lie in memory, and nobody swaps their bytes (docs/guarantees.md, \"What is not promised\")"
);

mod begin;
mod cause;
mod collect;
mod connect_config;
mod declare;
mod error;
mod eval;
mod evals;
mod event_stream;
mod events;
mod further;
mod group;
mod heartbeat;
mod histograms;
mod identity;
mod isochrons;
mod job;
mod kept_spaces;
mod kernel;
mod lab;
mod lease;
mod life;
mod link_config;
mod listing;
mod messaging;
mod packing;
mod pending;
mod serve;
mod space;
mod space_address;
mod space_log;
mod spaces;
mod trace;
mod watch;

pub use begin::Begin;
pub use cause::{Cause, IsonetCause, Limit, NoValue, PeerGone, Refused, Size};
pub use collect::Collection;
pub use connect_config::ConnectConfig;
pub use error::Error;
pub use eval::{Evaluation, FAILED, IntoLiveField, LiveField, LiveTuple};
pub use evals::{EVAL, Evals, LiveFunction, MadeTuple};
pub use event_stream::{EventStream, Since};
pub use events::to_standard_error;
pub use group::Group;
pub use identity::{identified, identity};
pub use isochrons::{
    Executed, Isochron, IsochronMaker, Isonet, IsonetBuilder, LossCause, Lost, MAX_MEMBERS, PeerCounters,
    PendingIsochron, PendingPlain, PendingUpdate, PlainReceived, PresentView, Received, Reserved, Reserving,
};
pub use job::Job;
pub use kept_spaces::{KeptSpace, KeptSpaces};
pub use kernel::{Kernel, KernelConfig};
pub use lab::connecting::{Replica, ReplicaRole};
pub use lab::{Lab, SHORTEST_LEASE};
pub use lease::{Acknowledgement, Granted, Lease};
pub use link_config::LinkConfig;
pub use listing::{Listed, Listing};
pub use messaging::{Call, Handler, Messaging, PendingCall, PendingHandler, PendingReply, Recipient};
pub use packing::Packing;
pub use pending::{Outcome, Pending};
pub use quintet_broker::{HandlerLimits, limits::MAX_MESSAGE_BYTES};
pub use quintet_contract::{Address, Identity, LinkClass, Metric, MetricKind, NodeId};
pub use quintet_durable::LogNews;
pub use quintet_errors::{Code, Fault, Retry};
pub use quintet_isotach as isotach;
pub use quintet_isotach::{Delivery, Place, Variable};
pub use quintet_link::{
    AddressError, Buffer, Credentials, LinkAddress, Packets, before_fork, bulk_bytes_copied,
};
pub use quintet_messaging::Window;
pub use quintet_runtime::{Event, EventSink, Measurement, Recorder, Tracer};
pub use quintet_stack as stack;
pub use quintet_tuple_space::{
    Array, ArrayOf, Awaited, Bytes, Change, ClientState, CodeGrants, Collected, Cursor, DEAD_LETTER, Element,
    ElementType, Events, Field, Glimpse, HotKey, LeaseId, ListedLease, ListedTuple, MAX_CARRIED_BYTES,
    MAX_COLLECTED, MAX_GLIMPSE_BYTES, MAX_GROUP_USES, MAX_TEMPLATE_SHAPES, MAX_TUPLE_FIELDS, NotGranted,
    Operation, Page, PageSize, Partition, Policy, RESERVED_PREFIX, Rows, Signature, SignatureState,
    SpaceConfig, SpaceInfo, SpaceName, SpaceNameError, SpaceNumber, SpaceRights, SpaceSettings, SpacesConfig,
    SpacesPage, State, Subject, Template, TemplateShape, TooLarge, Tuple, TupleEvent, Type, Value,
    ValueError, ValueRange, WaitingRequest, Witness, template, tuple,
};
pub use serve::{
    CodeWatch, LeaderSink, ManagersSink, OtherManagers, Partitioning, Replication, ServeConfig, Server,
    ServerMeter,
};
pub use space::Space;
pub use space_address::SpaceAddress;
pub use space_log::{LogSink, SpaceLog};
pub use watch::Watch;

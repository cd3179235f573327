//! The contract between protocols and the hosts that run them.
//!
//! **A protocol sees frames, time and nothing else; everything it talks to is an [`Address`]**: a peer, the
//! local caller, a disk, a device. It is a state machine: inputs and the time come in as arguments, effects go
//! out through an [`Outbox`]. The same code therefore runs live, on real links, and simulated, on modelled ones.
//!
//! This crate is not a protocol and not a host. It holds the words both sides share:
//!
//! | file | holds |
//! | --- | --- |
//! | `protocol.rs` | [`Protocol`], [`Input`], [`PeerChange`]: read this first |
//! | `outbox.rs` | [`Outbox`], [`SendError`], [`Stage`] |
//! | `link_info.rs` | [`LinkInfo`]: what a link is, told when a peer comes |
//! | `address.rs` | [`Address`], [`NodeId`], [`Port`], [`Incarnation`] |
//! | `frame.rs` | [`Frame`], [`Kind`], [`Token`] |
//! | `time.rs` | [`Time`], [`Span`] |
//! | `metric.rs` | [`Metric`]: what a protocol tells of itself in numbers |
//! | `cell.rs` | [`cell()`]: the latest value shared by two halves of one protocol |
//! | `snapshot.rs` | [`Snapshot`]: protocols whose state can be moved; [`check_snapshots`]: whether that holds |
//! | `random.rs` | [`Random`]: the only randomness a protocol may use, keyed from its seed |
//! | `peer_map.rs` | [`PeerMap`]: what a layer keeps about each peer, looked up several times a frame |
//! | `limits.rs` | every size limit, with the relations between them proved at compile time |
//! | `draft.rs` | [`Draft`]: a frame between `begin` and `commit`, for outboxes that keep it |
//! | `effects.rs` | [`Effects`]: an outbox that collects what a protocol did, for tests and layers |
#![forbid(unsafe_code)]

mod address;
mod cell;
mod draft;
mod effects;
mod frame;
pub mod limits;
mod link_info;
mod metric;
mod outbox;
mod peer_map;
mod protocol;
mod random;
mod snapshot;
mod time;

pub use address::{Address, Incarnation, NodeId, Port};
pub use bytes::Bytes;
pub use cell::{CELL_WORDS, Cell, CellReader, CellWriter, Seen, Words, cell};
pub use draft::Draft;
pub use effects::{Effect, Effects};
pub use frame::{Frame, Kind, OwnedFrame, Stamps, Token};
pub use link_info::{Identity, LinkClass, LinkInfo};
pub use metric::{Meter, Metric, MetricKind, tell_all};
pub use outbox::{Disconnect, Outbox, SendError, Stage};
pub use peer_map::PeerMap;
pub use protocol::{DownCause, Input, PeerChange, Protocol};
pub use random::Random;
pub use snapshot::{Snapshot, SnapshotError, check_snapshots, digest_of};
pub use time::{Span, Time};

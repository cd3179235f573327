//! Links: how frames cross from one node to another.
//!
//! A link has a [`Sender`] and a [`Receiver`] at each end. What was committed arrives once, in order, or the link fails;
//! repairing a failed link is the business of `session`, not of this crate.
//!
//! | file | holds |
//! | --- | --- |
//! | `contract.rs` | [`Sender`], [`Receiver`], [`Listener`], [`Dialer`], [`Route`], [`LinkError`]: read this first |
//! | `dial.rs` | [`listen`], [`dial()`], [`connect`], whatever the kind of link |
//! | `address.rs` | [`LinkAddress`]: `shm:PATH`, `unix:PATH`, `tcp:HOST:PORT`, `tls:HOST:PORT` |
//! | `credentials.rs` | [`Credentials`]: what a process proves itself with over TLS |
//! | `bootstrap_error.rs` | [`BootstrapError`]: why a link was not made |
//! | `not_accepted.rs` | [`NotAccepted`]: the same where it was listened at, with who wanted it |
//! | `in_process.rs` | [`in_process_pair`]: both ends in one process |
//! | `shared_memory.rs` | [`SharedMemoryListener`], [`shared_memory_connect`]: two processes of one user; [`Buffer`]: bulk that is not copied |
//! | `stream.rs` | Unix sockets, TCP and TLS: [`StreamListener`], [`over_stream`] |
//! | `impaired.rs` | [`impaired()`]: a link made worse, for tests and demos |
//! | `renamed.rs` | [`renamed()`]: a listener whose peers know this node by another number |
//! | `wait.rs` | how a receiver waits: spin, yield, sleep, and when not to |
//! | `socket_file.rs`, `path_lock.rs`, `connecting.rs`, `spare.rs` | Unix sockets: who listens at a path, and connecting to it |
//! | `socket_peer.rs` | whose process is at the other end of a Unix socket |
//! | `moderation.rs` | when a receiver lets frames gather |
//! | `packets.rs` | [`Packets`]: a frame in one write or in two, for a measurement |
//! | `burst.rs` | [`Burst`]: how many frames of a link are handled together |
//! | `doorbell.rs` | [`Doorbell`]: how a sleeping thread of this process is woken |
//! | `pages.rs` | memory straight from the system, for buffers of which most is never used |
//! | `maker.rs` | [`Maker`]: whether this process made a thing, or was forked from the one that did |
#![warn(missing_docs)]

mod address;
#[cfg(not(loom))]
mod bootstrap_error;
mod burst;
#[cfg(not(loom))]
mod connecting;
mod contract;
mod credentials;
#[cfg(not(loom))]
mod dial;
mod doorbell;
mod impaired;
mod in_process;
mod maker;
#[cfg(not(loom))]
mod moderation;
#[cfg(not(loom))]
mod not_accepted;
mod packets;
#[cfg(not(loom))]
mod pages;
mod path_lock;
#[cfg(not(loom))]
mod renamed;
#[cfg(any(not(loom), test))]
mod shared_memory;
#[cfg(not(loom))]
mod socket_file;
#[cfg(not(loom))]
mod socket_peer;
#[cfg(not(loom))]
mod spare;
#[cfg(not(loom))]
mod stream;
#[cfg(any(not(loom), test))]
mod sync;
mod wait;

pub use address::{AddressError, LinkAddress};
#[cfg(not(loom))]
pub use bootstrap_error::BootstrapError;
pub use burst::Burst;
#[cfg(not(loom))]
pub use contract::{Dialer, Listener};
pub use contract::{LinkError, Receiver, Route, Sender};
pub use credentials::{Admission, Credentials, CredentialsError, Proof};
#[cfg(not(loom))]
pub use dial::{connect, dial, listen};
pub use doorbell::Doorbell;
pub use impaired::impaired;
pub use in_process::in_process_pair;
pub use maker::Maker;
#[cfg(not(loom))]
pub use not_accepted::NotAccepted;
pub use packets::Packets;
pub use quintet_line::Impairment;
#[cfg(not(loom))]
pub use renamed::renamed;
#[cfg(not(loom))]
pub use shared_memory::{
    Buffer, SharedMemoryDialer, SharedMemoryListener, before_fork, bulk_bytes_copied, shared_memory_connect,
};
#[cfg(not(loom))]
pub use stream::fuzzing;
#[cfg(not(loom))]
pub use stream::{Checksums, ListenLimits, StreamListener, TlsFault, over_stream};
pub use wait::{Patience, SPIN, Waiting};

/// One end of a link: what its owner sends with and receives from. The halves may be used from two threads, and only in the
/// process that made them: a process forked from it must connect anew.
pub struct End {
    /// Towards the peer.
    pub sender: Box<dyn Sender>,
    /// From the peer.
    pub receiver: Box<dyn Receiver>,
}

//! Links between processes of one user on one machine, over shared memory.
//!
//! Each side makes one memfd, writes it, and lets the other side read it: heads, bells and farewell in one page, a ring of
//! frames, a ring of bulk. The kernel holds both to it, so a peer can change what it sends at any time, and nothing else.
//!
//! ```text
//!      process A                                 process B
//!   memory of A, mapped for writing  ------>  the same, mapped for reading
//!   the same, mapped for reading    <------   memory of B, mapped for writing
//!   socket of A                     <------   its other end: shut down when A sleeps, which wakes it;
//!                                             hang-up tells a death
//! ```
//!
//! Bulk of 4 KiB and more is lent: it stays where it lies, or is copied once into memory that can be lent (`lending.rs`). Shorter bulk,
//! and what finds no place, goes through the ring: one copy each side, piece by piece at the same time.
//!
//! What is tested how: the orderings of ring and bell in every interleaving by loom (`loom_tests.rs`), raw access by Miri over
//! ordinary memory (`cargo +nightly miri test -p quintet-link --lib -- shared_memory::ring shared_memory::bulk
//! shared_memory::racing_copy`, with
//! `MIRIFLAGS=-Zmiri-disable-weak-memory-emulation`, for loom does that part), a death after any instruction by ptrace
//! (`tests/single_step.rs`), and peers that forge by `tests/shared_memory/`.
//!
//! | file | holds |
//! | --- | --- |
//! | `ring.rs`, `ring/` | the ring of frames: read its head first |
//! | `bulk.rs`, `bulk/` | the ring of bulk, and how a frame's bulk crosses in pieces |
//! | `lending.rs`, `lending/` | bulk that is not copied |
//! | `segment.rs`, `pool.rs`, `copied.rs` | the memory of such bulk; [`Buffer`]; what was copied after all |
//! | `bell.rs`, `wake_socket.rs` | who wakes whom, without lost wake-ups, and how |
//! | `store.rs`, `area.rs`, `racing_copy.rs` | where a ring's bytes lie; all raw access to them |
//! | `layout.rs`, `memory.rs` | what lies where; memfds, seals, mappings |
//! | `sender.rs`, `receiver.rs`, `connection.rs` | the two halves of an end and what they share |
//! | `bootstrap.rs`, `pending.rs`, `dialer.rs`, `handshake.rs`, `hello.rs` | how two processes find each other |
//! | `descriptors.rs` | descriptors over a Unix socket |
//! | `closing.rs` | how to close what a peer gave |

#[cfg(not(loom))]
mod area;
mod bell;
#[cfg(not(loom))]
mod bootstrap;
mod bulk;
#[cfg(not(loom))]
mod closing;
#[cfg(not(loom))]
mod connection;
#[cfg(not(loom))]
mod copied;
#[cfg(not(loom))]
mod descriptors;
#[cfg(not(loom))]
mod dialer;
#[cfg(not(loom))]
mod handshake;
#[cfg(all(test, not(loom)))]
mod heap;
#[cfg(not(loom))]
mod hello;
#[cfg(not(loom))]
mod layout;
mod lending;
#[cfg(all(loom, test))]
mod loom_tests;
#[cfg(not(loom))]
mod memory;
#[cfg(not(loom))]
mod pending;
#[cfg(not(loom))]
mod pool;
#[cfg(not(loom))]
mod racing_copy;
#[cfg(not(loom))]
mod receiver;
mod ring;
#[cfg(not(loom))]
mod segment;
#[cfg(not(loom))]
mod sender;
mod store;
#[cfg(not(loom))]
mod wake_socket;

#[cfg(not(loom))]
pub use bootstrap::{SharedMemoryListener, shared_memory_connect};
#[cfg(not(loom))]
pub use copied::bulk_bytes_copied;
#[cfg(not(loom))]
pub use dialer::SharedMemoryDialer;
#[cfg(not(loom))]
pub use pool::Buffer;
#[cfg(not(loom))]
pub use segment::before_fork;

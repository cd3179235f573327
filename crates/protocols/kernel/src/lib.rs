//! The kernel of a machine: clients of that machine ask through it, so that a server has one connection to the machine and not one to each of its
//! clients.
//!
//! ```text
//!   client   client   client        a session each, over shared memory, say
//!      \       |       /
//!       Kernel  (Sessions<Kernel>)  each client's pairs of ports become pairs of the kernel's own node
//!              |                    one session
//!           server
//! ```
//!
//! What two instances say to each other stays what it was: a kernel changes the four bytes that say which ports a frame is between, and reads nothing
//! behind them. Credit, order, large data in fragments, cancels, leases and the identities of clients that come back are therefore between the client
//! and the server, as without a kernel. A server sees clients behind a kernel as ports of one node ([`Ports`](quintet_session::Ports)), and learns by a
//! word of the kernel when one of them has gone ([`LEFT`](quintet_session::LEFT)).
//!
//! It is not a cache and not a second server: it answers nothing itself. After L-Kernels of the paper on Linda-LAN, which a Linda program's processes
//! ask instead of the managers of tuples.
//!
//! | file | holds |
//! | --- | --- |
//! | `kernel.rs` | [`Kernel`]: frames in, frames out; read this first |
//! | `kernel/ways.rs` | which port of the kernel's node stands for which client's pair |
//! | `kernel/held.rs` | frames for which there was no room |
//! | `news.rs` | [`ServerNews`]: what its host is told |
//! | `config.rs`, `counters.rs` | what the host decides and learns |
//! | `defect.rs`, `fuzzing.rs` | built-in defects for tests; what the fuzz target runs |
#![forbid(unsafe_code)]

mod config;
mod counters;
mod defect;
pub mod fuzzing;
mod kernel;
mod news;

pub use config::KernelConfig;
pub use counters::Counters;
#[cfg(feature = "seeded-defects")]
pub use defect::Defect;
pub use kernel::Kernel;
pub use news::{SERVER_NEWS, ServerNews};

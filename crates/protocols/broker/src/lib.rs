//! Calls of named handlers in other processes, queued and handed to them by a broker: a pure protocol.
//!
//! A program says that it **handles** calls of a name; others **call** that name with some bytes and get some bytes back, or call one-way. Both are
//! clients of the [`Broker`], which stands beside the tuple space: no process needs to know where another is, and what one of them owes another
//! when it dies is known in one place. (The idea of naming the code that handles a message is that of von Eicken, Culler, Goldstein, Schauser,
//! "Active Messages", 1992; a handler here may take its time, as a thread of the program runs it.)
//!
//! A handler asks for its next call and waits, as a take waits for a tuple; nothing is pushed at it. What it does not ask for waits here, and how
//! much may wait is bounded: of each name in calls, of all together in bytes. Who is one too many is told so at once.
//!
//! | file | holds |
//! | --- | --- |
//! | `codec.rs` | requests and answers: read this first |
//! | `broker.rs` | [`Broker`] |
//! | `broker/registry.rs` | handlers by their names; which call goes to whom |
//! | `broker/calls.rs` | calls that are not answered |
//! | `broker/peers.rs` | what each peer has asked, and until when |
//! | `broker/metrics.rs` | what it tells of itself |
//! | `config.rs`, `limits.rs`, `refusal.rs` | [`BrokerConfig`], [`HandlerLimits`]; every limit; [`Refusal`] |
//! | `fuzzing.rs` | what the fuzz targets run |
#![forbid(unsafe_code)]

mod broker;
pub mod codec;
mod config;
pub mod fuzzing;
pub mod limits;
mod refusal;

pub use broker::Broker;
pub use codec::{Answer, Handled, Place, Request};
pub use config::{BrokerConfig, HandlerLimits};
pub use refusal::{Reason, Refusal};

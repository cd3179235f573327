//! Small protocols that prove the contract on both hosts, each standing for something that will need it.
//!
//! | file | holds | stands for |
//! | --- | --- | --- |
//! | `ring.rs` | a token ring with timers | logical time |
//! | `halves.rs` | one protocol in two halves that race over a latest value | the TCP engine |
//! | `stamped.rs` | two clocks compared by frames that their link stamps | measuring |
//! | `log.rs` | a log on a disk that is read back after a crash | durable stores |
//! | `errand.rs` | an echo that waits for a disk write and a device | durability and accelerators |
#![forbid(unsafe_code)]

mod errand;
mod halves;
mod log;
mod ring;
mod stamped;

pub use errand::Errand;
pub use halves::{Follower, Found, Leader};
pub use log::Log;
pub use ring::{Ring, RingConfig};
pub use stamped::{ANSWERING, Stamped};

use quintet_contract::Kind;
use quintet_wire::registry::USER;

/// A probe's request.
pub const ASK: Kind = USER.kind(0);
/// A probe's answer.
pub const ANSWER: Kind = USER.kind(1);
/// A value was written to the cell of two halves. Token: its count.
pub const BELL: Kind = USER.kind(3);
/// A probe's answer, where the host lacks what it takes.
pub const REFUSED: Kind = USER.kind(4);
/// A stamped frame, and its answer.
pub const PING: Kind = USER.kind(5);
/// The answer to [`PING`].
pub const PONG: Kind = USER.kind(6);
/// The ring's token.
pub const TOKEN: Kind = USER.kind(2);

//! Clients that go on after the end of their server.
//!
//! A request whose answer does not come may have had its effect or not, and nobody but the server's own memory can say. Where that memory survives (a
//! log, replicas), the client need not know that the server ended: it comes back, says who it is, sends again what is unanswered, and gets the
//! answer that is kept, or waits on. So each request has its effect once, and each answer arrives.
//!
//! ```text
//! client                                  server
//!   callers
//!   Relay                                 the service: knows clients by addresses that last as long as they do
//!   Resuming  -- who it is, what it has --  Resumed    <- what survives: inside a log or replicas
//!   Messages                              Messages
//! ```
//!
//! Both are protocols like others, and neither knows of what the memory survives by. What stands below [`Resumed`] takes all that is sent to a link
//! that is up: what a link has no room for waits there, as in `Logged`.
//!
//! | file | holds |
//! | --- | --- |
//! | `resumed.rs` and its folder | [`Resumed`]: the server's side; read this first |
//! | `resuming.rs` and its folder | [`Resuming`]: the client's side |
//! | `codec.rs` | what the two say to each other |
//! | `requests.rs` | [`Requests`]: what has to be known of the service |
//! | `config.rs` | [`ResumedConfig`], [`ResumeLimits`] |
//! | `defect.rs`, `fuzzing.rs` | built-in defects for tests; what the fuzz targets run |
#![forbid(unsafe_code)]

mod codec;
mod config;
mod defect;
pub mod fuzzing;
mod requests;
mod resumed;
mod resuming;

pub use codec::{ClientId, MAX_RECEIVED, Reply, Word};
pub use config::{ResumeLimits, ResumedConfig};
#[cfg(feature = "seeded-defects")]
pub use defect::Defect;
pub use requests::Requests;
pub use resumed::Resumed;
pub use resuming::Resuming;

//! A machine's agent: its part in a cluster, and the way of commands to it.
//!
//! ```text
//!   commands of this user ── Unix socket ──┐                              ┌── TLS ── agents of other members
//!                                          │   one node, its number given │
//!   keeper (a thread of its own) ── callers│   by the membership          │── TLS ── machines with a token
//!     what has to be signed or written     │   member · launcher ·        │
//!     whom to dial, whom to let in         └── enrolment ─────────────────┘
//! ```
//!
//! The protocols are those of `quintet-stack`. What stands here is what is no protocol: files, keys, and who is dialled and let in, which
//! follows from the views that the member learns.
//!
//! | file | holds |
//! | --- | --- |
//! | `agent.rs` | [`Agent`]: starts the node. Read this first |
//! | `keeper.rs` | the thread that follows the views: dials, lets in, answers what is handed up |
//! | `notice.rs` | [`Notice`]: what an agent has to tell |
//! | `log.rs` | [`log`]: files that say what happens, whatever happens |
//! | `audit.rs` | the audit log: the file of refusals |
//! | `admission.rs` | who is let in over TLS |
//! | `early.rs` | requests that came before this machine knew who is in |
//! | `enrolling.rs` | a machine with a token is let in |
//! | `joining.rs` | [`join`]: the other side of it |
//! | `space.rs` | a space that is served here: the cluster's, or one that is kept |
//! | `kept_spaces.rs` | the spaces that this machine keeps on its disk |
//! | `upkeep.rs` | what time alone brings: tokens expire, the certificate is made anew |
//! | `renewal.rs` | [`renew`]: has this machine's certificate made anew |
//! | `client.rs` | [`Client`]: a command's connection to an agent |
//! | `record.rs` | [`Record`]: what a machine remembers of its cluster |
//! | `codec.rs`, `callers.rs` | requests that are handed up; the keeper as a caller |
//! | `address.rs` | where an agent listens, and where others reach it |
//! | `notice_log.rs` | what an agent tells, as events of `tracing` |
//! | `error.rs` | [`AgentError`] |
#![forbid(unsafe_code)]

mod address;
mod admission;
mod agent;
mod audit;
mod callers;
mod client;
mod codec;
mod early;
mod enrolling;
mod error;
mod joining;
mod keeper;
mod kept_spaces;
pub mod log;
mod notice;
mod notice_log;
mod record;
mod renewal;
mod space;
mod upkeep;

pub use address::of_member;
pub use agent::{Agent, AgentConfig, AgentHandle, LIVENESS, Processes, Told, found};
pub use client::Client;
pub use enrolling::granted;
pub use error::AgentError;
pub use joining::{Invitation, Joined, join};
pub use notice::{Notice, NoticeLine, Refused};
pub use quintet_stack::Liveness;
pub use record::{Peer, Record};
pub use renewal::{Renewed, certificate, ends_soon, renew, renewal_time};
pub use space::{KeptPlan, ServedSpace, SpacePlan, StartSpace};
pub use upkeep::UpkeepTimes;

use quintet_launch::FileHash;
use quintet_link::Credentials;
use quintet_membership::{News, View};
use std::path::Path;

macro_rules! port {
    () => {
        7400
    };
}

/// The port at which an agent listens unless it is told otherwise.
pub const PORT: u16 = port!();
/// Where an agent listens unless it is told otherwise.
pub const LISTEN: &str = concat!("0.0.0.0:", port!());

/// The membership as a member knows it.
#[derive(Clone, Debug)]
pub struct Membership {
    /// Who is in.
    pub view: View,
    /// What the member sees by itself.
    pub news: News,
}

/// The name by which launchers keep a file: the SHA-256 of what it holds.
#[must_use]
pub fn hash(contents: &[u8]) -> FileHash {
    let digest = ring::digest::digest(&ring::digest::SHA256, contents);
    FileHash(digest.as_ref().try_into().expect("SHA-256 has 32 bytes"))
}

/// The credentials in a cluster's folder, and the cluster's number.
///
/// # Errors
/// [`AgentError::Identity`], [`AgentError::Credentials`].
pub fn credentials(folder: &Path) -> Result<(Credentials, u128), AgentError> {
    let text = quintet_identity::read(folder)?;
    let credentials =
        Credentials::from_pem(&text).map_err(|error| AgentError::Credentials(folder.to_owned(), error))?;
    let number = credentials.cluster_number();
    Ok((credentials, number))
}

//! Sessions between nodes: handshake, incarnations, sequence numbers, retransmission, resume, keep-alive.
//!
//! [`Sessions`] is a protocol that owns the protocol above it. It stands between that one and the links, and gives it what links
//! alone do not: a peer that is up is of this cluster, speaks this layout and is one life of one node; every frame it sends
//! arrives exactly once and in order, until the session is over; and the end of a session is told once, with its cause.
//!
//! A peer that breaks its session is told GOODBYE, and its link is closed; its next life is served, the same one is not.
//!
//! What a link leaves to its sessions is told by the link ([`Reliability`]): nothing, where its end is the peer's; to keep frames for
//! the next link, where it may be cut; to send frames again, where it may lose them.
//!
//! A peer that is silent for too long is down at once. On a link that may lose frames the initiator goes on saying HELLO. On one
//! that loses nothing the peer stands still: the link is closed, so that it learns of the end when it wakes and keeps nothing for a
//! session that is over, and the same life is served over another link. Where the host makes none, the peer stays down as silent.
//! Where frames are kept for the next link, the link may be broken as well: it is closed, and the peer is down if the session is not
//! resumed in time. A side that slept itself blames nobody for silence.
//!
//! It does not limit how much a peer may send (that is `messaging`), and it does not encrypt or authenticate (that is the link's).
//! Session numbers are no secrets: on a link without authentication whoever can read it can forge.
//!
//! # The one place for retries
//!
//! Where frames may be lost a frame is kept until it is acknowledged, sent again, and dropped by the receiver if it had come before.
//! Where links may be cut it is kept too, and sent over the next link if the peer says in the handshake that it has not come.
//! Requests and their answers are frames: a request reaches the other protocol once, its answer comes back once, also when the
//! link was cut between the two and the session resumed. A cache of replies, from which other systems answer a request that the
//! client had to repeat, would therefore never be asked: no layer above repeats a request within a session, and the kept answer
//! *is* the cache, with the same bound (the window) and a better moment of release (the acknowledgement). When a session is over,
//! whether an unanswered request had its effect is unknown; the caller learns that
//! ([`Code::PeerDied`](quintet_errors::Code::PeerDied), indeterminate) and decides. A cache here could not decide it: the most
//! frequent cause is that the other node, cache included, is gone.
//!
//! # Where to read first
//!
//! | file | holds |
//! | --- | --- |
//! | `sessions.rs` | [`Sessions`]: inputs to machines, machines to the protocol above |
//! | `handshake.rs` | the states, one type each, with a picture and every transition |
//! | `peer.rs`, `greeting.rs`, `conversation.rs` | a peer on links and timers; on handshake frames; on a session's frames |
//! | `live.rs`, `stream.rs` | a session with its link; its numbers, which survive a cut |
//! | `retention.rs` | what is kept until it is acknowledged |
//! | `retained.rs` | a link that loses nothing but may be cut |
//! | `window.rs`, `arrivals.rs` | one that loses frames; retransmission: sender, receiver |
//! | `recovery.rs`, `estimator.rs`, `stamp.rs` | what is sent again; the timeout (RFC 6298); round trips without doubt (RFC 7323) |
//! | `departed.rs` | what is remembered of nodes that left |
//! | `outbox.rs` | the numbering of what the protocol above sends |
//! | `codec.rs` | layouts on the wire |
//! | `ports.rs`, `ports/`, `above.rs` | [`Ports`]: several instances on one session with each peer; what may stand on sessions |
//! | `config.rs`, `refusal.rs`, `counters.rs` | what the host decides and learns |
//! | `fuzzing.rs`, `defect.rs` | entry points for fuzzers; built-in defects for tests |
#![forbid(unsafe_code)]

mod above;
mod arrivals;
mod codec;
mod config;
mod context;
mod conversation;
mod counters;
mod defect;
mod departed;
mod estimator;
pub mod fuzzing;
mod greeting;
mod handshake;
mod live;
mod outbox;
mod peer;
mod ports;
mod recovery;
mod refusal;
mod retained;
mod retention;
mod sequence;
mod sessions;
mod stamp;
mod stream;
mod window;

pub use above::Above;
pub use codec::{
    ACKNOWLEDGE, CHALLENGE, FENCED_PREFIX_BYTES, GOODBYE, HELLO, PING, PONG, PREFIX_BYTES, REFUSED, RESET,
    WELCOME,
};
pub use config::{Features, PeerConfig, Reliability, Role, SessionConfig, Versions};
pub use counters::Counters;
#[cfg(feature = "seeded-defects")]
pub use defect::Defect;
pub use ports::{ABSENT, LEFT, MAX_ASKED, Parting, Placed, PortPair, Ports};
pub use refusal::{Refusal, RefusalCode};
pub use sessions::Sessions;
pub use stream::PeerInfo;

const _: () = assert!(
    FENCED_PREFIX_BYTES <= quintet_contract::limits::SESSION_PREFIX_BYTES,
    "a body of the longest payload still fits its frame"
);

//! Messages between protocols: flow control by credits, room reserved for answers, large data in fragments, one order for all that
//! is not urgent.
//!
//! [`Messages`] is a protocol that owns the protocol above it and stands on sessions: `Sessions<Ports<Messages<P>>>`. It needs
//! what they give (every frame once, in order) and adds what they do not: no buffer of the receiver is ever overrun and nothing that
//! was accepted is dropped, however slow the receiver is. It retries nothing and has no clock of its own.
//!
//! # Credit
//!
//! Each side tells the other what it takes (OPEN): so many frames, so many bytes. A message takes credit for one frame and its
//! bytes. When the protocol above the receiver has consumed it, the credit goes back: on the next message that way, or alone once
//! half of the window is owed. A sender without credit gets [`SendError::Full`](quintet_contract::SendError::Full), later
//! [`Input::Writable`](quintet_contract::Input::Writable). A peer that sends without credit is cut off
//! ([`DownCause::Misbehaved`](quintet_contract::DownCause::Misbehaved)), as for every other break of the protocol: it is told why, as
//! far as there is room, and its link is closed.
//! (After the sender-based flow control of Pakin, Lauria, Chien, "High Performance Messaging on Workstations: Illinois Fast
//! Messages", 1995.)
//!
//! # Requests may wait, answers never do
//!
//! A function in the settings tells a kind's [`Class`]. Every request that arrives is a permit for one answer, which its sender has
//! made room for; an answer with a permit is always taken, even if the link has no room (it is kept here, and no credit goes back
//! until it went). How many requests may be unanswered is a limit of its own, so that a request that waits long holds no credit.
//! An answer without a permit (a second one, say) travels on credit and may be refused like any other message.
//!
//! # Packs
//!
//! The first message to a peer in a burst goes alone, and at once; those that follow it in the same burst gather, up to 4 KiB, and
//! go in one frame at its end (PACK): one header, one number and one entry in the sessions' books for many. Nothing waits for more
//! to come. A burst is what a host hands over with one reading of time, and it ends with the [`Input::Wake`](quintet_contract::Input::Wake)
//! that [`Messages`] asks for at once.
//!
//! # Large data
//!
//! Bulk that the link takes in one frame, and that is at most a quarter of the window (64 KiB for answers), goes with its message.
//! Other bulk goes by rendezvous: ANNOUNCE with the message's body, GRANT once the receiver has reserved the bytes from the peer's
//! budget, then fragments, a few in each `handle` and as many under way as the receiver said, so that small frames get between
//! them. The receiver's memory grows as data arrives, not as it is announced.
//!
//! The bytes of a message are reserved from the budget of all peers together when its first fragment has come; without room there no
//! more fragments are asked for (PROCEED). So a peer that was granted something and stands still before it begins keeps nobody
//! waiting; one that stands still in the middle keeps its bytes until its session ends. Peers that find no room get it in the order in
//! which they missed it, those with short messages among themselves and those with long ones among themselves. All together have no more
//! arriving than the budget, an eighth of it for short messages, and a window of fragments each.
//!
//! # Order
//!
//! Strict: messages of one pair of ports are delivered in the order in which they were sent. An announcement holds its message's place;
//! what comes behind it waits at the receiver, on its own credit, until the last fragment is there. Pairs do not wait for each other.
//!
//! The exception is named: a message of [`Class::Urgent`] is delivered as soon as it arrives, before those that wait, unless the
//! request with its own token is among them; so what is about a request never comes before it. Those that do not wait for a
//! request keep their order among themselves. They need credit like all others, and a peer that sends more than its window is
//! cut off. The sender keeps the last frame of the window and a few bytes for them, and the receiver returns the credit of one
//! that passed others at once; so they get through while everything else waits.
//!
//! # Where to read first
//!
//! | file | holds |
//! | --- | --- |
//! | `messages.rs` | [`Messages`]: inputs to channels, channels to the protocol above |
//! | `channel.rs`, `arrival.rs`, `settle.rs` | one peer: what may be sent to it, what comes from it, what goes by itself |
//! | `credit.rs` | the two books of a direction |
//! | `pack.rs` | several messages in one frame |
//! | `incoming.rs`, `reassembly.rs`, `outgoing.rs` | the order of arrival; fragments in; fragments out |
//! | `budget.rs` | what all peers together may have arriving |
//! | `outbox.rs` | the way out for the protocol above |
//! | `codec.rs` | layouts on the wire |
//! | `relay.rs` | [`relay::Relay`]: the calling side of a service on another node |
//! | `upcall.rs` | [`upcall::Upcalls`]: the serving side of one that the node's callers answer |
//! | `config.rs`, `counters.rs` | what the host decides and learns |
//! | `fuzzing.rs` | entry points for fuzzers |
#![forbid(unsafe_code)]

mod arrival;
mod budget;
mod channel;
mod codec;
mod config;
mod counters;
mod credit;
pub mod fuzzing;
mod incoming;
mod messages;
mod outbox;
mod outgoing;
mod pack;
mod reassembly;
pub mod relay;
mod settle;
pub mod upcall;

pub use codec::{
    ANNOUNCE, ANNOUNCE_BYTES, CALL_FAILED, CREDIT, FRAGMENT, GRANT, OPEN, PACK, PREFIX_BYTES, PROCEED,
    REFUSED,
};
#[cfg(feature = "seeded-defects")]
pub use config::Defect;
pub use config::{Class, MessagingConfig, Window};
pub use counters::{Counters, CreditState, Stall};
pub use messages::Messages;

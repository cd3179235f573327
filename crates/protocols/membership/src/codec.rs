//! What travels between a program and a member: requests and answers. All numbers are little-endian.
//!
//! Every request is answered exactly once, under its token; any of them by [`ERROR`] instead: reason u8, text. A member that does not lead
//! asks the leader on behalf of its callers, so that any member may be asked.
//!
//! | request | body | answer |
//! | --- | --- | --- |
//! | [`JOIN`] | cluster u128, name, identity 32 bytes, address, grants u8, ticket u64 | [`JOINED`] |
//! | [`LEAVE`] | node u16 | [`DONE`], also where it has left before |
//! | [`VIEW`] | 0: as this member knows it, 1: as agreed by a majority now, u8 | [`CURRENT`], with those who do not seem to be there, as the leader sees it or as this member does |
//! | [`SPACE`] | 1: one is created: name, replicas (count u32, nodes u16), bytes u64, tuples u64; 0: one is removed: name, number u64; 2: one of its replicas is replaced: name, number u64, from u16, to u16; 3: that one has the log: name, since u64 | [`DONE`], also where that was done before |
//! | [`WATCH`] | view u64, news u64, longest wait u64 (nanoseconds) | [`CHANGED`]: the change that made the view after the one named; [`NEWS`]: what this member sees, where its number is another than the one named; [`DONE`]: none of the two in that time |
//!
//! Text is a length u32 and UTF-8. Members speak to each other in other kinds: `message.rs`.

mod answer;
mod request;
#[cfg(test)]
mod tests;

pub use answer::{Answer, News, Suspect, Suspicion};
pub use request::Request;

use quintet_contract::Kind;
use quintet_wire::registry::MEMBERSHIP;

/// Asks for a number; asked again with another address, moves there.
pub const JOIN: Kind = MEMBERSHIP.kind(0);
/// Removes a member.
pub const LEAVE: Kind = MEMBERSHIP.kind(1);
/// Asks who is in.
pub const VIEW: Kind = MEMBERSHIP.kind(2);
/// Waits for the next view, or for news of this member.
pub const WATCH: Kind = MEMBERSHIP.kind(3);

/// Between members: asks for a vote.
pub const VOTE: Kind = MEMBERSHIP.kind(4);
/// Between members: answers [`VOTE`].
pub const VOTED: Kind = MEMBERSHIP.kind(5);
/// Between members: entries of the log, or a sign of life.
pub const APPEND: Kind = MEMBERSHIP.kind(6);
/// Between members: answers [`APPEND`] and [`SNAPSHOT`].
pub const APPENDED: Kind = MEMBERSHIP.kind(7);
/// Between members: a view in the place of entries that are forgotten.
pub const SNAPSHOT: Kind = MEMBERSHIP.kind(8);
/// Between members: the receiver's life is over.
pub const GONE: Kind = MEMBERSHIP.kind(9);

/// The machine is in: node u16, view u64.
pub const JOINED: Kind = MEMBERSHIP.kind(10);
/// It was done. No body.
pub const DONE: Kind = MEMBERSHIP.kind(11);
/// The view, and the suspects: n u32, n times node u16 and cause u8.
pub const CURRENT: Kind = MEMBERSHIP.kind(12);
/// A change: the number of the view that it made u64, the change.
pub const CHANGED: Kind = MEMBERSHIP.kind(13);
/// What a member sees by itself: [`News`].
pub const NEWS: Kind = MEMBERSHIP.kind(14);
/// The request failed. Under the token of [`NotAllowed`](crate::NotAllowed) it answers none of the caller's, and tells of another's.
pub const ERROR: Kind = MEMBERSHIP.kind(15);

/// Whether what travels under this kind is a request.
#[must_use]
pub fn is_request(kind: Kind) -> bool {
    (JOIN..=WATCH).contains(&kind) || kind == SPACE
}

/// Has members keep a space, or keep it no more.
pub const SPACE: Kind = MEMBERSHIP.kind(16);

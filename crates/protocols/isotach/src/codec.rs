//! What travels. All numbers are little-endian; each frame says of which view it is, and is read to its last byte.
//!
//! Between a program and the node in its process:
//!
//! | frame | kind | from, to | body |
//! | --- | --- | --- | --- |
//! | [`SUBMIT`] | 0 | program, node | operations, and, if it may say so, the view u32 that it was put together in: one with messages is refused once somebody has joined behind that; answered by `COMPLETED` or `REFUSED` under its token |
//! | [`COMPLETED`] | 1 | node, program | place, rank u64, values |
//! | [`REFUSED`] | 2 | node, program | a [`Refusal`] |
//! | [`PLAIN`] | 3 | program, node; node, node; node, program | node u16 (program to node: to whom; else: from whom), handler u32, the bytes; answered by `SENT` under its token |
//! | [`DELIVERED`] | 4 | node, program | place, sender u16, rank u64, handler u32, the bytes |
//! | [`HALTED`] | 5 | node, program | view u32, a [`Halt`]: of each node that is missed in the view |
//!
//! Between nodes and token managers:
//!
//! | frame | kind | from, to | body |
//! | --- | --- | --- | --- |
//! | [`PART`] | 6 | node, node | view u32, rank u64, operations; answered by `EXECUTED` under its token, the rank |
//! | [`EXECUTED`] | 7 | node, node | view u32, pulse u64, values |
//! | [`ANNOUNCE`] | 8 | node, its manager | view u32, and to the end: rank u64, receivers |
//! | [`TOKEN`] | 9 | manager, manager | view u32, number u64, is complete u8, and to the end: pulse u64, sender u16, rank u64, receivers |
//! | [`MARKERS`] | 10 | manager, its node | view u32, and to the end: pulse u64, sender u16, rank u64 |
//! | [`NEXT_VIEW`] | 11 | program, node; program, manager | view u32, the topology's text (length u32); answered by `INSTALLED` or `REFUSED` |
//! | [`INSTALLED`] | 12 | node, program; manager, program | |
//! | [`SENT`] | 13 | node, node; node, program | answers `PLAIN`: the receiver's program has it |
//! | [`RECEIVED`] | 14 | node, the sender's manager | view u32, and to the end: sender u16, rank u64 |
//! | [`CUT`] | 15 | node, node | view u32, next view u32, a [`CutStep`]: tag u8, 0 gather, 1 report, 2 prefix, 3 held, 4 begun; of 1 and 2 is complete u8, and to the end: pulse u64, sender u16, rank u64 |
//! | [`FAREWELL`] | 16 | manager, its node | view u32, is complete u8, and to the end: pulse u64, sender u16, rank u64 |
//! | [`AGREE`] | 17 | node, node | the last view that is agreed on u32, an [`AgreeStep`]: tag u8, 0 suspects, nodes; 1 prepare, a ballot; 2 promise, a ballot, has accepted u8, then its ballot and topology; 3 accept, a ballot, a topology; 4 accepted, 5 refused, a ballot; 6 agreed, a topology; 7 leaves; 8 all leave; 9 asks to be let in, life u64; 10 joins, counted (u16): node u16, life u64 |
//! | [`AGREED`] | 18 | node, program | as `NEXT_VIEW`: the next view is agreed on |
//! | [`BEGUN`] | 19 | node, program | view u32: it has begun |
//! | [`ENDED`] | 20 | node, program | a [`Refusal`]: why nothing is ever executed any more |
//! | [`LEAVE`] | 21 | program, node | the program wants to end |
//! | [`LEFT`] | 22 | node, program | the programs of all nodes want to |
//! | [`TRANSFER`] | 23 | node, node | view u32, a [`TransferStep`]: tag u8, 0 wants variables, is behind one u8, then that u32; 1 wants the program's state, from byte u32; 2 variables, the view before u32, is complete u8, and to the end: copies; 3 the program's state, is complete u8, and to the end: bytes; 4 lacks; 5 has all |
//! | [`TAKE_STATE`] | 24 | node, program | view u32: somebody joins with it, and the program is to give the state that it has now |
//! | [`PROGRAM_STATE`] | 25 | program, node; node, program | view u32, is complete u8, and to the end: bytes |
//!
//! The bytes of a long message ([`SHORT_MESSAGE_BYTES`](crate::limits::SHORT_MESSAGE_BYTES)) are the bulk of its frame: of a `PLAIN` or `DELIVERED`, and of the longest one in a `SUBMIT` or `PART`.
//!
//! Operations are counted (u16). Each is a tag u8 and: 0 message, to u16, handler u32, bytes (length u32); 1 read, variable u32; 2 write, variable u32,
//! value (length u32); 3 reservation, variable u32; 4 value of a reserved place, as a write; 5 message whose bytes are the bulk, to u16, handler u32. Values are counted (u16): tag u8, 0 and the value
//! (length u32); 1: aborted; 2: lost; 3: unanswered, of a node to its program alone. A ballot is round u32, node u16; a topology its text (length u32), and in `AGREE`, and in a `NEXT_VIEW` for a node and `AGREED` where there are any,
//! who has joined, counted (u16): node u16, the first view with it u32, life u64. A copy is variable u32, tag u8: 0 and a value (length u32), 1 and who has reserved its place u16,
//! 2: aborted, or 3: lost; and who else has reserved one, counted (u16), each u16; nodes are counted (u16), each u16. Receivers are counted (u16), ascending, each u16. A stamp is view u32, pulse u64, sender u16, rank u64; a place is a stamp
//! and how far behind it u32.

mod agree;
mod calls;
mod cut;
mod entries;
mod isonet;
mod members;
mod operations;
#[cfg(test)]
mod tests;
mod transfer;

pub use agree::{Agree, AgreeStep, Ballot};
pub use calls::{Completed, Delivered, Halt, HaltCause, Halted, NextView, Plain, ReadValue, Refusal};
pub(crate) use calls::{Values, read_values};
pub(crate) use cut::pieces;
pub use cut::{Cut, CutStep, Farewell};
#[cfg(test)]
pub(crate) use entries::write_marker;
pub use entries::{Announced, Executed, Ordered, Receivers, Token};
pub(crate) use entries::{
    Batch, MARKERS_OF_A_FRAME, Markers, TokenFront, write_announced, write_entry, write_received,
};
pub use entries::{read_announcements, read_markers, read_received, read_token};
pub use isonet::{read_isonet, write_isonet};
pub use members::NextMembers;
pub use operations::{Part, Submission, read_operations};
pub(crate) use operations::{read_all_operations, read_submission, write_operations};
pub use transfer::{Copied, CopyState, ProgramState, Transfer, TransferStep};

use crate::logical_time::View;
use quintet_contract::{Frame, Kind};
use quintet_wire::registry::ISOTACH;

/// A program's isochron.
pub const SUBMIT: Kind = ISOTACH.kind(0);
/// It was executed everywhere.
pub const COMPLETED: Kind = ISOTACH.kind(1);
/// It was not.
pub const REFUSED: Kind = ISOTACH.kind(2);
/// A message without logical time.
pub const PLAIN: Kind = ISOTACH.kind(3);
/// A message of an isochron, when its pulse has ended.
pub const DELIVERED: Kind = ISOTACH.kind(4);
/// Nothing is executed any more in this view.
pub const HALTED: Kind = ISOTACH.kind(5);
/// What a node is to execute of an isochron.
pub const PART: Kind = ISOTACH.kind(6);
/// It did.
pub const EXECUTED: Kind = ISOTACH.kind(7);
/// Isochrons whose parts have left.
pub const ANNOUNCE: Kind = ISOTACH.kind(8);
/// The end of a pulse, between switches.
pub const TOKEN: Kind = ISOTACH.kind(9);
/// What a node is to execute next, in this order: the ends of the pulses that are significant to it.
pub const MARKERS: Kind = ISOTACH.kind(10);
/// A new view.
pub const NEXT_VIEW: Kind = ISOTACH.kind(11);
/// It has begun.
pub const INSTALLED: Kind = ISOTACH.kind(12);
/// A plain message has arrived.
pub const SENT: Kind = ISOTACH.kind(13);

/// Parts that a node has, and whose they are.
pub const RECEIVED: Kind = ISOTACH.kind(14);
/// How those who are left agree on what their view executes.
pub const CUT: Kind = ISOTACH.kind(15);
/// What a token manager knows when its view ends.
pub const FAREWELL: Kind = ISOTACH.kind(16);
/// How nodes agree on the next view.
pub const AGREE: Kind = ISOTACH.kind(17);
/// The next view is agreed on.
pub const AGREED: Kind = ISOTACH.kind(18);
/// A view that was agreed on has begun.
pub const BEGUN: Kind = ISOTACH.kind(19);
/// A node executes nothing any more, in no view.
pub const ENDED: Kind = ISOTACH.kind(20);
/// A program wants to end, together with all others.
pub const LEAVE: Kind = ISOTACH.kind(21);
/// All want to end.
pub const LEFT: Kind = ISOTACH.kind(22);
/// How a node that joins gets the state that its view begins with.
pub const TRANSFER: Kind = ISOTACH.kind(23);
/// Somebody joins: a program gives its state.
pub const TAKE_STATE: Kind = ISOTACH.kind(24);
/// A program's state, in pieces: as one gives it, and as one that joins gets it.
pub const PROGRAM_STATE: Kind = ISOTACH.kind(25);

/// The view that a frame says it is of, where frames of its kind do.
pub(crate) fn view_of(frame: Frame<'_>) -> Option<View> {
    let has_view = matches!(
        frame.kind,
        PART | RECEIVED | EXECUTED | ANNOUNCE | TOKEN | MARKERS | HALTED | CUT | FAREWELL
    );
    let bytes = frame.body.first_chunk::<4>().filter(|_| has_view)?;
    Some(View(u32::from_le_bytes(*bytes)))
}

/// The name of a kind, for who reads a trace.
#[must_use]
pub fn name_of(kind: Kind) -> Option<&'static str> {
    let names = [
        "submit isochron",
        "isochron completed",
        "isochron refused",
        "plain message",
        "ordered message",
        "isochrons halted",
        "part of an isochron",
        "part executed",
        "isochrons announced",
        "token of logical time",
        "markers",
        "new view of isochrons",
        "view of isochrons installed",
        "plain message arrived",
        "parts received",
        "cut of a view",
        "end of a view",
        "agreement on a view",
        "view agreed on",
        "view begun",
        "isochrons ended",
        "leave",
        "all leave",
        "transfer of state",
        "take state",
        "state of a program",
    ];
    names.get(usize::from(kind.0.checked_sub(SUBMIT.0)?)).copied()
}

/// Whether a frame of this kind is answered exactly once, under its token.
#[must_use]
pub fn is_request(kind: Kind) -> bool {
    matches!(kind, SUBMIT | PART | PLAIN | NEXT_VIEW)
}

/// Whether a frame of this kind answers a request.
#[must_use]
pub fn is_answer(kind: Kind) -> bool {
    matches!(kind, COMPLETED | REFUSED | EXECUTED | INSTALLED | SENT)
}

//! What travels between a program and a broker. All numbers are little-endian.
//!
//! Every request is a frame of a kind of its own, and is answered exactly once, under its token, by one of the kind [`ANSWER`]. Handlers ask for
//! their calls (`Next`) and wait: nothing comes to a program that it has not asked for, so a slow one is never overrun.
//!
//! | request | kind | body | answer |
//! | --- | --- | --- | --- |
//! | `Register` | 0 | place, limits: longest request u32, at once u32, waiting u32 | `Registered` |
//! | `Await` | 1 | place, wait | `Done`, once a handler is at the place |
//! | `Call` | 2 | place, wait, is one-way u8, request | `Replied`; of a one-way call `Done`, once it is accepted |
//! | `Next` | 3 | handler u64, wait | `Delivered`: a call |
//! | `Reply` | 4 | call u64, tag u8: 0 replied, then the reply; 1 failed, then its text; 2 given back | `Done` |
//! | `Leave` | 5 | handler u64 | `Done` |
//! | `Cancel` | 6 | nothing; it is about the request with its token | none |
//!
//! A place is a name (length u32, UTF-8 without control characters) and a rank u32, all ones for any. A wait is nanoseconds u64, all ones for ever.
//! Any request but `Cancel` is answered by `Error` instead: then it has changed nothing, unless its reason says so.
//!
//! | answer | tag | body |
//! | --- | --- | --- |
//! | `Done` | 0 | |
//! | `Registered` | 1 | handler u64 |
//! | `Delivered` | 2 | call u64, wait (what is left of its own), is one-way u8, request |
//! | `Replied` | 3 | reply |
//! | `Error` | 4 | reason u8, text |
//!
//! Requests and replies of handlers are any bytes: the rest of the body, or, where that is empty, the bulk.

mod answer;
mod request;
#[cfg(test)]
mod tests;

pub use answer::Answer;
pub use request::{Handled, Request};

use crate::limits::{MAX_INLINE_BYTES, MAX_MESSAGE_BYTES, MAX_NAME_BYTES};
use bytes::Bytes;
use quintet_contract::{Address, Kind, Outbox, SendError, Span, Token};
use quintet_wire::registry::BROKER;
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};
use std::sync::Arc;

/// A handler is there.
pub const REGISTER: Kind = BROKER.kind(0);
/// Waits for a handler.
pub const AWAIT: Kind = BROKER.kind(1);
/// Calls a handler.
pub const CALL: Kind = BROKER.kind(2);
/// A handler asks for its next call.
pub const NEXT: Kind = BROKER.kind(3);
/// A handler has done what it was called for, or has not.
pub const REPLY: Kind = BROKER.kind(4);
/// A handler takes no more calls.
pub const LEAVE: Kind = BROKER.kind(5);
/// Ends a request that waits.
pub const CANCEL: Kind = BROKER.kind(6);
/// Every answer.
pub const ANSWER: Kind = BROKER.kind(7);

const ANY_RANK: u32 = u32::MAX;
const FOR_EVER: u64 = u64::MAX;

/// Which handlers are meant.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place {
    /// Their name.
    pub name: Arc<str>,
    /// Those of the worker of this rank; none: any. Of a handler itself: the rank of its process, if it has one.
    pub rank: Option<u32>,
}

impl Place {
    /// A place; none if the name is empty, longer than [`MAX_NAME_BYTES`], or has control characters, or the rank is too high.
    #[must_use]
    pub fn new(name: &str, rank: Option<u32>) -> Option<Place> {
        let is_name = !name.is_empty() && name.len() <= MAX_NAME_BYTES && !name.chars().any(char::is_control);
        (is_name && rank != Some(ANY_RANK)).then(|| Place { name: name.into(), rank })
    }
}

impl Encode for Place {
    fn encode(&self, sink: &mut impl Sink) {
        sink.counted(self.name.as_bytes());
        sink.u32(self.rank.unwrap_or(ANY_RANK));
    }
}

impl Decode<'_> for Place {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let name = reader.text("name of a handler", MAX_NAME_BYTES)?;
        let length = name.len() as u64;
        let rank = reader.u32()?;
        Place::new(name, (rank != ANY_RANK).then_some(rank))
            .ok_or_else(|| reader.invalid("name of a handler", length, 8))
    }
}

fn write_wait(wait: Option<Span>, sink: &mut impl Sink) {
    sink.u64(wait.map_or(FOR_EVER, |wait| wait.0.min(FOR_EVER - 1)));
}

fn read_wait(reader: &mut Reader<'_>) -> Result<Option<Span>, DecodeError> {
    let wait = reader.u64()?;
    Ok((wait != FOR_EVER).then_some(Span(wait)))
}

/// The bytes of a handler's request or reply: the rest of the body, or else the bulk.
fn read_payload(reader: &mut Reader<'_>, bulk: &Bytes) -> Result<Bytes, DecodeError> {
    let inline = reader.bytes(reader.left())?;
    if bulk.len() > MAX_MESSAGE_BYTES || !(inline.is_empty() || bulk.is_empty()) {
        return Err(reader.invalid("length of the bulk", bulk.len() as u64, 0));
    }
    Ok(if inline.is_empty() { bulk.clone() } else { Bytes::copy_from_slice(inline) })
}

/// Sends a message whose payload, if it has one, follows what `front` writes.
fn send(
    out: &mut dyn Outbox,
    to: Address,
    kind: Kind,
    token: Token,
    front: &impl Encode,
    payload: &Bytes,
) -> Result<(), SendError> {
    if payload.len() <= MAX_INLINE_BYTES {
        return quintet_wire::send(out, to, kind, token, &Inline { front, payload });
    }
    out.send_bulk(to, kind, token, &quintet_wire::encode_to_vec(front), payload.clone())
}

struct Inline<'a, F> {
    front: &'a F,
    payload: &'a Bytes,
}

impl<F: Encode> Encode for Inline<'_, F> {
    fn encode(&self, sink: &mut impl Sink) {
        self.front.encode(sink);
        sink.bytes(self.payload);
    }
}

/// Of a message without one.
static NO_PAYLOAD: Bytes = Bytes::new();

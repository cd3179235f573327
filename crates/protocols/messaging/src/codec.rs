//! How messaging frames lie on the wire.
//!
//! ```text
//! in front of a body from above and of ANNOUNCE:   slots u16, flags u8, zero u8, bytes u32   (credit returned; flag 1: answer)
//! OPEN      slots u32, bytes u32, requests u32, bulk u32, budget u64, fragments u32   what the sender takes; first frame
//! CREDIT    slots u32, bytes u32      credit returned alone
//! ANNOUNCE  the eight bytes above, total u32, kind u8, zero [u8; 3], then the message's body; its token in the header
//! GRANT     nothing                   the oldest announcement not yet granted may send
//! FRAGMENT  the next bytes of the oldest announced message, all of them or 64 KiB at most, as bulk, or as body where the link takes no bulk
//! PROCEED   fragments u32             as many more fragments may come
//! REFUSED   code u16                  the channel is cut, and why
//! PACK      the eight bytes above, then several messages (`pack.rs`)
//! ```

use crate::config::Limits;
use quintet_contract::Kind;
use quintet_contract::limits::{MAX_BULK_BYTES, MESSAGING_PREFIX_BYTES};
use quintet_errors::Code;
use quintet_wire::registry::{MESSAGING, SESSION};
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

/// Tells what this side takes. The first frame of a channel.
pub const OPEN: Kind = MESSAGING.kind(0);
/// Returns credit.
pub const CREDIT: Kind = MESSAGING.kind(1);
/// Takes the place of a message whose large data follows in fragments.
pub const ANNOUNCE: Kind = MESSAGING.kind(2);
/// Lets the data of an announced message come.
pub const GRANT: Kind = MESSAGING.kind(3);
/// A piece of it.
pub const FRAGMENT: Kind = MESSAGING.kind(4);
/// Lets more pieces come.
pub const PROCEED: Kind = MESSAGING.kind(5);
/// Cuts the channel.
pub const REFUSED: Kind = MESSAGING.kind(6);

/// Answers a caller of this node whose request failed on its way: code u16. Never crosses a link.
pub const CALL_FAILED: Kind = MESSAGING.kind(7);

/// Several messages.
pub const PACK: Kind = MESSAGING.kind(8);

/// Bytes in front of a body.
pub const PREFIX_BYTES: usize = 8;
/// Bytes in front of an announced message's body.
pub const ANNOUNCE_BYTES: usize = PREFIX_BYTES + 8;

const FLAG_ANSWER: u8 = 1;

const _: () =
    assert!(ANNOUNCE_BYTES <= MESSAGING_PREFIX_BYTES, "a body of the longest payload still fits its frame");

/// Credit for frames and their bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Credit {
    pub(crate) slots: u32,
    pub(crate) bytes: u32,
}

/// What stands in front of a body.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Prefix {
    /// At most `u16::MAX` slots.
    pub(crate) credit: Credit,
    /// The frame travels in the room reserved by its request.
    pub(crate) answer: bool,
}

/// What stands in front of an announced message's body, after the prefix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Announce {
    pub(crate) total: u32,
    pub(crate) kind: Kind,
}

impl Decode<'_> for Prefix {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let [slots @ .., flags, reserved, b0, b1, b2, b3]: [u8; PREFIX_BYTES] = reader.array()?;
        if flags & !FLAG_ANSWER != 0 {
            return Err(reader.invalid("flags", flags, 6));
        }
        if reserved != 0 {
            return Err(reader.invalid("reserved byte", reserved, 5));
        }
        let slots = u32::from(u16::from_le_bytes(slots));
        let credit = Credit { slots, bytes: u32::from_le_bytes([b0, b1, b2, b3]) };
        Ok(Prefix { credit, answer: flags == FLAG_ANSWER })
    }
}

impl Prefix {
    /// Writes itself to the front of `room`.
    pub(crate) fn write(self, room: &mut [u8]) {
        let [s0, s1] = u16::try_from(self.credit.slots).unwrap_or(u16::MAX).to_le_bytes();
        let [b0, b1, b2, b3] = self.credit.bytes.to_le_bytes();
        room[..PREFIX_BYTES].copy_from_slice(&[s0, s1, flags(self.answer), 0, b0, b1, b2, b3]);
    }
}

/// A message's flags.
pub(crate) fn flags(answer: bool) -> u8 {
    if answer { FLAG_ANSWER } else { 0 }
}

/// The same read.
pub(crate) fn is_answer(reader: &mut Reader<'_>) -> Result<bool, DecodeError> {
    match reader.u8()? {
        0 => Ok(false),
        FLAG_ANSWER => Ok(true),
        other => Err(reader.invalid("flags", other, 1)),
    }
}

impl Encode for Announce {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u32(self.total);
        sink.u8(self.kind.0);
        sink.bytes(&[0; 3]);
    }
}

impl Decode<'_> for Announce {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let total = reader.u32()?;
        if total == 0 {
            return Err(reader.invalid("total", total, 4));
        }
        let kind = Kind(reader.u8()?);
        if MESSAGING.contains(kind) || SESSION.contains(kind) {
            return Err(reader.invalid("kind", kind.0, 1));
        }
        (0..3).try_for_each(|_| zero(reader))?;
        Ok(Announce { total, kind })
    }
}

impl Encode for Limits {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u32(self.slots);
        sink.u32(self.bytes);
        sink.u32(self.requests);
        sink.u32(self.bulk);
        sink.u64(self.budget);
        sink.u32(self.fragments);
    }

    fn max_len(&self) -> usize {
        28
    }
}

impl Decode<'_> for Limits {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let limits = Limits {
            slots: at_least(reader, "slots", 2)?,
            bytes: at_least(reader, "bytes", 4)?,
            requests: at_least(reader, "requests", 1)?,
            bulk: u32::try_from(reader.length("bulk", MAX_BULK_BYTES)?).expect("it was read as 32 bits"),
            budget: reader.u64()?,
            fragments: at_least(reader, "fragments", 1)?,
        };
        Ok(limits)
    }
}

impl Encode for Credit {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u32(self.slots);
        sink.u32(self.bytes);
    }

    fn max_len(&self) -> usize {
        8
    }
}

impl Decode<'_> for Credit {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Credit { slots: reader.u32()?, bytes: reader.u32()? })
    }
}

/// The body of PROCEED.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Proceed(pub(crate) u32);

impl Encode for Proceed {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u32(self.0);
    }

    fn max_len(&self) -> usize {
        4
    }
}

impl Decode<'_> for Proceed {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        reader.u32().map(Proceed)
    }
}

/// The body of REFUSED.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Refused(pub(crate) Code);

impl Encode for Refused {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u16(self.0 as u16);
    }

    fn max_len(&self) -> usize {
        2
    }
}

impl Decode<'_> for Refused {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let number = reader.u16()?;
        Code::from_number(number).map(Refused).ok_or_else(|| reader.invalid("code", number, 2))
    }
}

/// The body of GRANT.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Grant;

impl Encode for Grant {
    fn encode(&self, _sink: &mut impl Sink) {}

    fn max_len(&self) -> usize {
        0
    }
}

impl Decode<'_> for Grant {
    fn decode(_reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Grant)
    }
}

fn zero(reader: &mut Reader<'_>) -> Result<(), DecodeError> {
    match reader.u8()? {
        0 => Ok(()),
        other => Err(reader.invalid("reserved byte", other, 1)),
    }
}

fn at_least(reader: &mut Reader<'_>, field: &'static str, least: u32) -> Result<u32, DecodeError> {
    let value = reader.u32()?;
    if value < least { Err(reader.invalid(field, value, 4)) } else { Ok(value) }
}

#[cfg(test)]
#[path = "codec/tests.rs"]
mod tests;

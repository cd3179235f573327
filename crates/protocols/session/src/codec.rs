//! How session frames lie on the wire.
//!
//! ```text
//! HELLO    oldest u16, newest u16, attempt u32, nonce u64, cluster u128, node u16, role u8, reliability u8,
//!          incarnation u64, features u64, resume u64 (0: none), received u32, window: frames u32, bytes u64
//! WELCOME  version u16, role u8, resumed u8, attempt u32, nonce u64, session u64, incarnation u64, features u64,
//!          received u32, window: frames u32, bytes u64
//! REFUSED  code u8, attempt u32, nonce u64, text (u32 length, UTF-8)
//! ACKNOWLEDGE  session u64, acknowledged u32, echo u32
//! PING, PONG, GOODBYE, RESET, CHALLENGE  session u64
//! any other kind: in front of the body   sequence u32, acknowledged u32; and with retransmission   session u64, departed u32,
//!          echo u32
//! ```
//!
//! `departed` is the sender's stamp, `echo` that of the frame from the peer which is answered first of those not yet answered (0:
//! none). `reliability` is 0 where the link sees to everything, 1 with retransmission, 2 where frames are kept for the next link.
//!
//! HELLO's first four bytes and REFUSED never change, so that two versions can tell each other that they differ.

use crate::config::WindowLimits;
use crate::refusal::RefusalCode;
use crate::sequence::Sequence;
use crate::stamp::Stamp;
use crate::{Features, Role, Versions};
use quintet_contract::{Incarnation, Kind, NodeId};
use quintet_wire::registry::SESSION;
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

/// Opens a session, or continues one.
pub const HELLO: Kind = SESSION.kind(0);
/// Accepts a HELLO.
pub const WELCOME: Kind = SESSION.kind(1);
/// Refuses a HELLO.
pub const REFUSED: Kind = SESSION.kind(2);
/// Acknowledges frames when no other frame goes that way.
pub const ACKNOWLEDGE: Kind = SESSION.kind(3);
/// Asks a silent peer for a sign of life.
pub const PING: Kind = SESSION.kind(4);
/// The sign of life.
pub const PONG: Kind = SESSION.kind(5);
/// Ends a session.
pub const GOODBYE: Kind = SESSION.kind(6);
/// Says that a session is not known here.
pub const RESET: Kind = SESSION.kind(7);
/// Asks whether a session is known there (as RFC 5961, section 4, asks before it believes a SYN).
pub const CHALLENGE: Kind = SESSION.kind(8);

/// Bytes in front of a body on a link that loses nothing. A link carries one session, so that the handshake is fence enough.
pub const PREFIX_BYTES: usize = 8;
/// Bytes in front of a body with retransmission: the session's number fences frames of earlier sessions, two stamps measure the
/// round trip.
pub const FENCED_PREFIX_BYTES: usize = 24;
/// Bytes of a refusal's text at most.
const MAX_TEXT_BYTES: usize = 256;

/// One try of one initiator. The number grows with each try of one life; the nonce tells two nodes with one id apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Attempt {
    pub(crate) number: u32,
    pub(crate) nonce: u64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Hello {
    pub(crate) versions: Versions,
    pub(crate) attempt: Attempt,
    pub(crate) cluster: u128,
    pub(crate) node: NodeId,
    pub(crate) role: Role,
    /// [`Reliability::number`](crate::Reliability::number)
    pub(crate) reliability: u8,
    pub(crate) incarnation: Incarnation,
    pub(crate) features: Features,
    /// The session to continue; 0 for none.
    pub(crate) resume: u64,
    /// The next frame expected in the session to continue.
    pub(crate) received: Sequence,
    /// What this side keeps unacknowledged, or can hold back.
    pub(crate) window: WindowLimits,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Welcome {
    pub(crate) version: u16,
    pub(crate) role: Role,
    pub(crate) resumed: bool,
    pub(crate) attempt: Attempt,
    pub(crate) session: u64,
    pub(crate) incarnation: Incarnation,
    pub(crate) features: Features,
    pub(crate) received: Sequence,
    pub(crate) window: WindowLimits,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Refused<'a> {
    pub(crate) code: RefusalCode,
    pub(crate) attempt: Attempt,
    pub(crate) text: &'a str,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Acknowledge {
    pub(crate) session: u64,
    pub(crate) acknowledged: Sequence,
    pub(crate) echo: Stamp,
}

/// The body of the frames that only name a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Named(pub(crate) u64);

/// What stands in front of the body of a frame from above.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Prefix {
    pub(crate) sequence: Sequence,
    pub(crate) acknowledged: Sequence,
    /// On links that may lose frames or deliver late ones.
    pub(crate) fence: Option<Fence>,
}

/// The part of the prefix that only retransmission needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Fence {
    pub(crate) session: u64,
    /// When this transmission departed.
    pub(crate) departed: Stamp,
    /// The stamp of the peer's frame that the acknowledgement answers.
    pub(crate) echo: Stamp,
}

impl Prefix {
    /// Writes itself to the front of `room`.
    pub(crate) fn write(self, room: &mut [u8]) {
        let [s0, s1, s2, s3] = self.sequence.0.to_le_bytes();
        let [a0, a1, a2, a3] = self.acknowledged.0.to_le_bytes();
        room[..PREFIX_BYTES].copy_from_slice(&[s0, s1, s2, s3, a0, a1, a2, a3]);
        if let Some(fence) = self.fence {
            room[8..16].copy_from_slice(&fence.session.to_le_bytes());
            room[16..20].copy_from_slice(&fence.departed.0.to_le_bytes());
            room[20..FENCED_PREFIX_BYTES].copy_from_slice(&fence.echo.0.to_le_bytes());
        }
    }

    pub(crate) fn read(body: &[u8], fenced: bool) -> Result<Prefix, DecodeError> {
        let mut reader = Reader::new(body);
        let [s0, s1, s2, s3, a0, a1, a2, a3]: [u8; PREFIX_BYTES] = reader.array()?;
        Ok(Prefix {
            sequence: Sequence(u32::from_le_bytes([s0, s1, s2, s3])),
            acknowledged: Sequence(u32::from_le_bytes([a0, a1, a2, a3])),
            fence: if fenced { Some(Fence::decode(&mut reader)?) } else { None },
        })
    }
}

impl Decode<'_> for Fence {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Fence { session: reader.u64()?, departed: Stamp(reader.u32()?), echo: Stamp(reader.u32()?) })
    }
}

impl Encode for Hello {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u16(self.versions.oldest);
        sink.u16(self.versions.newest);
        self.attempt.encode(sink);
        sink.bytes(&self.cluster.to_le_bytes());
        sink.u16(self.node.0);
        sink.u8(self.role.0);
        sink.u8(self.reliability);
        sink.u64(self.incarnation.0);
        sink.u64(self.features.0);
        sink.u64(self.resume);
        sink.u32(self.received.0);
        self.window.encode(sink);
    }

    fn max_len(&self) -> usize {
        76
    }
}

impl Decode<'_> for Hello {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Hello {
            versions: Versions { oldest: reader.u16()?, newest: reader.u16()? },
            attempt: Attempt::decode(reader)?,
            cluster: u128::from_le_bytes(reader.array()?),
            node: NodeId(reader.u16()?),
            role: Role(reader.u8()?),
            reliability: at_most(reader, "reliability", 2)?,
            incarnation: Incarnation(reader.u64()?),
            features: Features(reader.u64()?),
            resume: reader.u64()?,
            received: Sequence(reader.u32()?),
            window: WindowLimits::decode(reader)?,
        })
    }
}

impl Encode for Welcome {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u16(self.version);
        sink.u8(self.role.0);
        sink.u8(u8::from(self.resumed));
        self.attempt.encode(sink);
        sink.u64(self.session);
        sink.u64(self.incarnation.0);
        sink.u64(self.features.0);
        sink.u32(self.received.0);
        self.window.encode(sink);
    }

    fn max_len(&self) -> usize {
        56
    }
}

impl Decode<'_> for Welcome {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Welcome {
            version: reader.u16()?,
            role: Role(reader.u8()?),
            resumed: at_most(reader, "resumed", 1)? == 1,
            attempt: Attempt::decode(reader)?,
            session: reader.u64()?,
            incarnation: Incarnation(reader.u64()?),
            features: Features(reader.u64()?),
            received: Sequence(reader.u32()?),
            window: WindowLimits::decode(reader)?,
        })
    }
}

impl Encode for Refused<'_> {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u8(self.code as u8);
        self.attempt.encode(sink);
        let end = self.text.floor_char_boundary(MAX_TEXT_BYTES);
        sink.counted(&self.text.as_bytes()[..end]);
    }

    fn max_len(&self) -> usize {
        17 + self.text.len().min(MAX_TEXT_BYTES)
    }
}

impl<'a> Decode<'a> for Refused<'a> {
    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let number = reader.u8()?;
        let code = RefusalCode::from_number(number).ok_or_else(|| reader.invalid("code", number, 1))?;
        Ok(Refused { code, attempt: Attempt::decode(reader)?, text: reader.text("text", MAX_TEXT_BYTES)? })
    }
}

impl Encode for Acknowledge {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u64(self.session);
        sink.u32(self.acknowledged.0);
        sink.u32(self.echo.0);
    }

    fn max_len(&self) -> usize {
        16
    }
}

impl Decode<'_> for Acknowledge {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Acknowledge {
            session: reader.u64()?,
            acknowledged: Sequence(reader.u32()?),
            echo: Stamp(reader.u32()?),
        })
    }
}

impl Encode for Named {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u64(self.0);
    }

    fn max_len(&self) -> usize {
        8
    }
}

impl Decode<'_> for Named {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        reader.u64().map(Named)
    }
}

impl Encode for Attempt {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u32(self.number);
        sink.u64(self.nonce);
    }
}

impl Decode<'_> for Attempt {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Attempt { number: reader.u32()?, nonce: reader.u64()? })
    }
}

impl Encode for WindowLimits {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u32(self.frames);
        sink.u64(self.bytes);
    }
}

impl Decode<'_> for WindowLimits {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(WindowLimits { frames: reader.u32()?, bytes: reader.u64()? })
    }
}

fn at_most(reader: &mut Reader<'_>, field: &'static str, limit: u8) -> Result<u8, DecodeError> {
    match reader.u8()? {
        number if number <= limit => Ok(number),
        number => Err(reader.invalid(field, number, 1)),
    }
}

#[cfg(test)]
#[path = "codec/tests.rs"]
mod tests;

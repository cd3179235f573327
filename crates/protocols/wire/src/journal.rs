//! The flight recorder's file: every input of every protocol of a process, and what the protocol did with it.
//!
//! ```text
//! file   = "QREC" version:u32 record*
//! record = head entry
//! head   = length:u32 crc32:u32 crc32:u32        (length and crc32 of the entry, crc32 of the eight bytes before)
//! entry  = 1 instance | 2 bulk | 3 step | 4 end  (first byte)
//! ```
//!
//! A step holds one call of `handle`: the time, the input, and each call the protocol made to its outbox with the
//! outbox's answer. Bulk data is stored when it is first seen, and named by number for a while after that. Nothing follows the
//! end. A file without it, which may stop inside a record, belongs to a process that was killed; everything before is good.
//! A length has a checksum of its own, so that a wrong one does not look like such a stop.
//!
//! Reading and writing files is the hosts' business; this module only lays out bytes.

use crate::{Decode, DecodeError, Encode, Reader, Sink};
use quintet_contract::limits::{MAX_BODY_BYTES, MAX_BULK_BYTES};
use quintet_contract::{
    Address, CELL_WORDS, Disconnect, DownCause, Incarnation, Kind, LinkInfo, PeerChange, SendError, Stamps,
    Time, Token,
};

/// The first bytes of a recording.
pub const JOURNAL_MAGIC: [u8; 4] = *b"QREC";
/// The version of the layout, the next four bytes.
pub const JOURNAL_VERSION: u32 = 3;
/// What stands before an entry.
pub const HEAD_BYTES: usize = 12;
/// The longest entry: the longest bulk with its type, number and length, or a step that sent very many frames.
pub const MAX_ENTRY_BYTES: usize = MAX_BULK_BYTES + 9;
/// How long bulk data goes by its number: until so many others were told after it. Seen again after that, it is told again, under
/// another number. So neither who writes a recording nor who reads it has to remember all of it.
pub const REMEMBERED_BULKS: u32 = 4096;
/// The longest protocol name.
const MAX_NAME_BYTES: usize = 64;
/// Calls of one step.
const MAX_CALLS: usize = 1 << 24;

/// Names bulk data within a file. Zero: none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct BulkId(pub u32);

/// One entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Entry<'a> {
    /// A protocol instance, told once before its first step.
    Instance {
        /// Its number in this file.
        number: u16,
        /// Where it ran.
        at: Address,
        /// Which protocol it is; the replaying program finds the constructor under this name.
        name: &'a str,
        /// What the constructor was given.
        config: &'a [u8],
    },
    /// Bulk data, told before the first step that names it. Numbers grow.
    Bulk(BulkId, &'a [u8]),
    /// One call of `handle`.
    Step {
        /// The instance.
        number: u16,
        /// The time it was given.
        now: Time,
        /// The input it was given.
        input: RecordedInput<'a>,
        /// What it did.
        calls: Vec<Call<'a>>,
    },
    /// The recording was ended, rather than its process.
    End,
}

/// An input, as recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordedInput<'a> {
    /// The host runs.
    Started,
    /// The deadline passed.
    Wake,
    /// A frame came.
    Frame(Address, Message<'a>, Option<Stamps>),
    /// An address has room again.
    Writable(Address),
    /// A peer came or went.
    Peer(Address, PeerChange),
}

/// The parts of a frame, as recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message<'a> {
    /// Its kind.
    pub kind: Kind,
    /// Its token.
    pub token: Token,
    /// Its body.
    pub body: &'a [u8],
    /// Its bulk data.
    pub bulk: BulkId,
}

/// A call to the outbox, as recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Call<'a> {
    /// A frame was taken.
    Sent(Address, Message<'a>),
    /// A frame was refused.
    Refused(Address, Kind, Token, SendError),
    /// A cell was written: the words.
    Poked([u64; CELL_WORDS]),
    /// A cell was read: the words.
    Peeked([u64; CELL_WORDS]),
    /// The link to a peer's node was to be closed.
    Disconnected(Address, Disconnect),
    /// The link was asked to stamp the frame that is sent next.
    Stamped,
}

impl Encode for Entry<'_> {
    fn encode(&self, sink: &mut impl Sink) {
        match self {
            Entry::Instance { number, at, name, config } => {
                sink.u8(1);
                sink.u16(*number);
                sink.u32(at.to_bits());
                sink.counted(name.as_bytes());
                sink.counted(config);
            }
            Entry::Bulk(id, bytes) => {
                sink.u8(2);
                sink.u32(id.0);
                sink.counted(bytes);
            }
            Entry::Step { number, now, input, calls } => {
                sink.u8(3);
                sink.u16(*number);
                sink.u64(now.0);
                input.encode(sink);
                sink.u32(u32::try_from(calls.len()).expect("a step makes fewer than 2^32 calls"));
                calls.iter().for_each(|call| call.encode(sink));
            }
            Entry::End => sink.u8(4),
        }
    }
}

impl<'a> Decode<'a> for Entry<'a> {
    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(match reader.u8()? {
            1 => Entry::Instance {
                number: reader.u16()?,
                at: Address::from_bits(reader.u32()?),
                name: reader.text("protocol name", MAX_NAME_BYTES)?,
                config: reader.counted("configuration", MAX_BODY_BYTES)?,
            },
            2 => Entry::Bulk(BulkId(reader.u32()?), reader.counted("bulk data", MAX_BULK_BYTES)?),
            3 => Entry::Step {
                number: reader.u16()?,
                now: Time(reader.u64()?),
                input: RecordedInput::decode(reader)?,
                calls: decode_calls(reader)?,
            },
            4 => Entry::End,
            other => return Err(reader.invalid("entry type", other, 1)),
        })
    }
}

fn decode_calls<'a>(reader: &mut Reader<'a>) -> Result<Vec<Call<'a>>, DecodeError> {
    let count = reader.length("number of calls", MAX_CALLS)?;
    // The count is a stranger's word: room grows as calls are really read.
    let mut calls = Vec::new();
    for _ in 0..count {
        calls.push(Call::decode(reader)?);
    }
    Ok(calls)
}

impl Encode for RecordedInput<'_> {
    fn encode(&self, sink: &mut impl Sink) {
        match self {
            RecordedInput::Started => sink.u8(1),
            RecordedInput::Wake => sink.u8(2),
            RecordedInput::Frame(from, message, stamps) => {
                sink.u8(if stamps.is_some() { 7 } else { 3 });
                sink.u32(from.to_bits());
                message.encode(sink);
                if let Some(Stamps { departed, arrived }) = stamps {
                    sink.u64(departed.0);
                    sink.u64(arrived.0);
                }
            }
            RecordedInput::Writable(to) => {
                sink.u8(4);
                sink.u32(to.to_bits());
            }
            RecordedInput::Peer(peer, PeerChange::Up { incarnation, link }) => {
                sink.u8(5);
                sink.u32(peer.to_bits());
                sink.u64(incarnation.0);
                link.encode(sink);
            }
            RecordedInput::Peer(peer, PeerChange::Down(cause)) => {
                sink.u8(6);
                sink.u32(peer.to_bits());
                let (tag, code) = match cause {
                    DownCause::Closed => (1, 0),
                    DownCause::Died => (2, 0),
                    DownCause::Silent => (3, 0),
                    DownCause::Misbehaved => (4, 0),
                    DownCause::Refused(code) => (5, *code),
                };
                sink.u8(tag);
                sink.u16(code);
            }
        }
    }
}

impl<'a> Decode<'a> for RecordedInput<'a> {
    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let tag = reader.u8()?;
        if tag == 1 || tag == 2 {
            return Ok(if tag == 1 { RecordedInput::Started } else { RecordedInput::Wake });
        }
        let peer = Address::from_bits(reader.u32()?);
        Ok(match tag {
            3 => RecordedInput::Frame(peer, Message::decode(reader)?, None),
            4 => RecordedInput::Writable(peer),
            5 => {
                let (incarnation, link) = (Incarnation(reader.u64()?), LinkInfo::decode(reader)?);
                RecordedInput::Peer(peer, PeerChange::Up { incarnation, link })
            }
            6 => RecordedInput::Peer(peer, PeerChange::Down(decode_cause(reader)?)),
            7 => {
                let message = Message::decode(reader)?;
                let stamps = Stamps { departed: Time(reader.u64()?), arrived: Time(reader.u64()?) };
                RecordedInput::Frame(peer, message, Some(stamps))
            }
            other => return Err(reader.invalid("input type", other, 5)),
        })
    }
}

fn decode_disconnect(reader: &mut Reader<'_>) -> Result<Disconnect, DecodeError> {
    Ok(match reader.u8()? {
        1 => Disconnect::ForGood,
        2 => Disconnect::UntilNextLink,
        other => return Err(reader.invalid("way to disconnect", other, 1)),
    })
}

fn decode_cause(reader: &mut Reader<'_>) -> Result<DownCause, DecodeError> {
    let (tag, code) = (reader.u8()?, reader.u16()?);
    Ok(match tag {
        1 => DownCause::Closed,
        2 => DownCause::Died,
        3 => DownCause::Silent,
        4 => DownCause::Misbehaved,
        5 => DownCause::Refused(code),
        other => return Err(reader.invalid("cause", other, 3)),
    })
}

impl Encode for Message<'_> {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u8(self.kind.0);
        sink.u64(self.token.0);
        sink.counted(self.body);
        sink.u32(self.bulk.0);
    }
}

impl<'a> Decode<'a> for Message<'a> {
    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Message {
            kind: Kind(reader.u8()?),
            token: Token(reader.u64()?),
            body: reader.counted("body", MAX_BODY_BYTES)?,
            bulk: BulkId(reader.u32()?),
        })
    }
}

impl Encode for Call<'_> {
    fn encode(&self, sink: &mut impl Sink) {
        match self {
            Call::Sent(to, message) => {
                sink.u8(1);
                sink.u32(to.to_bits());
                message.encode(sink);
            }
            Call::Refused(to, kind, token, error) => {
                sink.u8(2);
                sink.u32(to.to_bits());
                sink.u8(kind.0);
                sink.u64(token.0);
                encode_error(*error, sink);
            }
            Call::Peeked(words) => {
                sink.u8(3);
                words.iter().for_each(|word| sink.u64(*word));
            }
            Call::Disconnected(peer, how) => {
                sink.u8(4);
                sink.u32(peer.to_bits());
                sink.u8(match how {
                    Disconnect::ForGood => 1,
                    Disconnect::UntilNextLink => 2,
                });
            }
            Call::Poked(words) => {
                sink.u8(5);
                words.iter().for_each(|word| sink.u64(*word));
            }
            Call::Stamped => sink.u8(6),
        }
    }
}

impl<'a> Decode<'a> for Call<'a> {
    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(match reader.u8()? {
            1 => Call::Sent(Address::from_bits(reader.u32()?), Message::decode(reader)?),
            2 => Call::Refused(
                Address::from_bits(reader.u32()?),
                Kind(reader.u8()?),
                Token(reader.u64()?),
                decode_error(reader)?,
            ),
            3 => Call::Peeked(decode_words(reader)?),
            4 => Call::Disconnected(Address::from_bits(reader.u32()?), decode_disconnect(reader)?),
            5 => Call::Poked(decode_words(reader)?),
            6 => Call::Stamped,
            other => return Err(reader.invalid("call type", other, 1)),
        })
    }
}

fn decode_words(reader: &mut Reader<'_>) -> Result<[u64; CELL_WORDS], DecodeError> {
    let mut words = [0; CELL_WORDS];
    for word in &mut words {
        *word = reader.u64()?;
    }
    Ok(words)
}

fn encode_error(error: SendError, sink: &mut impl Sink) {
    let (tag, len, limit) = match error {
        SendError::Full => (1, 0, 0),
        SendError::TooLong { len, limit } => (2, len, limit),
        SendError::Unreachable => (3, 0, 0),
    };
    sink.u8(tag);
    sink.u64(len as u64);
    sink.u64(limit as u64);
}

fn decode_error(reader: &mut Reader<'_>) -> Result<SendError, DecodeError> {
    let tag = reader.u8()?;
    let mut size = || Ok(usize::try_from(reader.u64()?).unwrap_or(usize::MAX));
    let (len, limit) = (size()?, size()?);
    Ok(match tag {
        1 => SendError::Full,
        2 => SendError::TooLong { len, limit },
        3 => SendError::Unreachable,
        other => return Err(reader.invalid("refusal", other, 17)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode_to_vec;
    use proptest::prelude::*;
    use quintet_contract::{Identity, LinkClass};

    fn entries() -> Vec<Entry<'static>> {
        let at = Address::new(1, 2);
        let message = Message { kind: Kind(3), token: Token(4), body: b"body", bulk: BulkId(5) };
        let step = |input| Entry::Step { number: 6, now: Time(7), input, calls: Vec::new() };
        let calls = vec![
            Call::Sent(at, message),
            Call::Refused(at, Kind(1), Token(2), SendError::TooLong { len: 3, limit: 2 }),
            Call::Refused(at, Kind(1), Token(2), SendError::Full),
            Call::Peeked([1, 2, 3]),
            Call::Poked([4, 5, 6]),
            Call::Disconnected(at, Disconnect::ForGood),
            Call::Disconnected(at, Disconnect::UntilNextLink),
            Call::Stamped,
        ];
        let link = LinkInfo { loses_frames: true, ..LinkInfo::new(LinkClass::Machine, 1 << 40) };
        let known = LinkInfo {
            may_be_cut: true,
            identity: Some(Identity([7; 32])),
            holds_token: true,
            is_relayed: true,
            ..LinkInfo::new(LinkClass::Network, 9)
        };
        vec![
            Entry::Instance { number: 6, at, name: "tuple-space", config: b"{}" },
            Entry::Bulk(BulkId(5), b"large"),
            step(RecordedInput::Wake),
            step(RecordedInput::Writable(at)),
            step(RecordedInput::Peer(at, PeerChange::Up { incarnation: Incarnation(9), link })),
            step(RecordedInput::Peer(at, PeerChange::Up { incarnation: Incarnation(9), link: known })),
            step(RecordedInput::Peer(at, PeerChange::Down(DownCause::Refused(11)))),
            Entry::Step { number: 6, now: Time(7), input: RecordedInput::Frame(at, message, None), calls },
            step(RecordedInput::Frame(at, message, Some(Stamps { departed: Time(1), arrived: Time(2) }))),
            Entry::End,
        ]
    }

    #[test]
    fn entries_come_back_as_they_were() {
        for entry in entries() {
            assert_eq!(Entry::decode_all(&encode_to_vec(&entry)), Ok(entry));
        }
    }

    proptest! {
        #[test]
        fn a_damaged_entry_is_read_or_refused(which in 0usize..10, at: prop::sample::Index, byte: u8, keep: prop::sample::Index) {
            let mut bytes = encode_to_vec(&entries()[which]);
            let at = at.index(bytes.len());
            bytes[at] = byte;
            bytes.truncate(keep.index(bytes.len() + 1));
            if let Ok(entry) = Entry::decode_all(&bytes) {
                prop_assert_eq!(encode_to_vec(&entry).len(), bytes.len());
            }
        }
    }
}

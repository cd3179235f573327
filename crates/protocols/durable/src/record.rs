//! What is kept.

use crate::log::Format;
use bytes::Bytes;
use quintet_contract::limits::{MAX_BODY_BYTES, MAX_BULK_BYTES};
use quintet_contract::{Frame, Input, Time};
use quintet_wire::journal::{BulkId, Message, RecordedInput};
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

/// The log of a protocol's inputs.
pub(crate) const FORMAT: Format = Format {
    magic: *b"QUINLOGP",
    version: 1,
    // An input with the longest bulk, and what stands in front of it.
    max_record_bytes: MAX_BULK_BYTES + MAX_BODY_BYTES + 128,
};

/// A snapshot is kept in pieces of this length.
pub(crate) const PART_BYTES: usize = 1024 * 1024;

/// The longest configuration.
const MAX_CONFIG_BYTES: usize = MAX_BODY_BYTES;

/// What is kept.
///
/// ```text
/// 1 a life: cluster u128, port u16, its number u64, the number of the protocol's behaviour u32, the log's time u64,
///   configuration counted
/// 2 a part of the snapshot: whether it is the last u8, its bytes
/// 3 an input: the log's time u64, the input as a recording keeps it, its bulk
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Record<'a> {
    /// With what a file begins.
    Life(Life<'a>),
    /// A part of the state in which this life began, or the file.
    Snapshot(bool, &'a [u8]),
    /// An input since then.
    Input(Time, Kept<'a>),
}

/// One life of a protocol, or one file of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Life<'a> {
    pub(crate) cluster: u128,
    pub(crate) port: u16,
    pub(crate) number: u64,
    /// What the protocol did that wrote it ([`Snapshot::BEHAVIOUR`](quintet_contract::Snapshot::BEHAVIOUR)).
    pub(crate) behaviour: u32,
    pub(crate) time: Time,
    pub(crate) config: &'a [u8],
}

/// An input as it is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kept<'a> {
    input: RecordedInput<'a>,
    bulk: &'a [u8],
}

impl<'a> Kept<'a> {
    /// Of an input.
    #[must_use]
    pub fn new(input: &Input<'a>) -> Kept<'a> {
        let (input, bulk): (_, &'a [u8]) = match *input {
            Input::Started => (RecordedInput::Started, &[]),
            Input::Wake => (RecordedInput::Wake, &[]),
            Input::Writable(to) => (RecordedInput::Writable(to), &[]),
            Input::Peer(peer, change) => (RecordedInput::Peer(peer, *change), &[]),
            Input::Frame(from, frame) => {
                let Frame { kind, token, body, bulk, stamps } = frame;
                let message = Message { kind, token, body, bulk: BulkId(u32::from(!bulk.is_empty())) };
                (RecordedInput::Frame(from, message, stamps.copied()), &bulk[..])
            }
        };
        Kept { input, bulk }
    }

    /// Gives the input to somebody.
    pub fn give(&self, to: impl FnOnce(Input<'_>)) {
        match &self.input {
            RecordedInput::Started => to(Input::Started),
            RecordedInput::Wake => to(Input::Wake),
            RecordedInput::Writable(at) => to(Input::Writable(*at)),
            RecordedInput::Peer(peer, change) => to(Input::Peer(*peer, change)),
            RecordedInput::Frame(from, message, stamps) => {
                let Message { kind, token, body, .. } = *message;
                let bulk = Bytes::copy_from_slice(self.bulk);
                to(Input::Frame(*from, Frame { kind, token, body, bulk: &bulk, stamps: stamps.as_ref() }));
            }
        }
    }
}

impl Encode for Record<'_> {
    fn encode(&self, sink: &mut impl Sink) {
        match self {
            Record::Life(Life { cluster, port, number, behaviour, time, config }) => {
                sink.u8(1);
                sink.bytes(&cluster.to_le_bytes());
                sink.u16(*port);
                sink.u64(*number);
                sink.u32(*behaviour);
                sink.u64(time.0);
                sink.counted(config);
            }
            Record::Snapshot(is_last, part) => {
                sink.u8(2);
                sink.u8((*is_last).into());
                sink.bytes(part);
            }
            Record::Input(time, kept) => {
                sink.u8(3);
                sink.u64(time.0);
                kept.encode(sink);
            }
        }
    }
}

impl<'a> Decode<'a> for Record<'a> {
    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(match reader.u8()? {
            1 => Record::Life(Life {
                cluster: u128::from_le_bytes(reader.array()?),
                port: reader.u16()?,
                number: reader.u64()?,
                behaviour: reader.u32()?,
                time: Time(reader.u64()?),
                config: reader.counted("configuration", MAX_CONFIG_BYTES)?,
            }),
            2 => Record::Snapshot(reader.flag("whether a part is the last")?, reader.bytes(reader.left())?),
            3 => Record::Input(Time(reader.u64()?), Kept::decode(reader)?),
            other => return Err(reader.invalid("record", other, 1)),
        })
    }
}

/// The input as a recording keeps it, and its bulk to the end.
impl Encode for Kept<'_> {
    fn encode(&self, sink: &mut impl Sink) {
        self.input.encode(sink);
        sink.bytes(self.bulk);
    }
}

impl<'a> Decode<'a> for Kept<'a> {
    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let input = RecordedInput::decode(reader)?;
        let bulk = reader.bytes(reader.left())?;
        let is_named = matches!(input, RecordedInput::Frame(_, Message { bulk: BulkId(1), .. }, _));
        if is_named == bulk.is_empty() {
            return Err(reader.invalid("length of a bulk", bulk.len() as u64, bulk.len()));
        }
        Ok(Kept { input, bulk })
    }
}

//! What a program is told by the node in its process, and tells it.

use crate::isochron::Misuse;
use crate::limits::{MAX_MESSAGE_BYTES, MAX_OPERATIONS, MAX_TOPOLOGY_BYTES, MAX_VALUE_BYTES};
use crate::logical_time::{Place, Rank, View};
use core::fmt;
use quintet_contract::{Bytes, Frame, NodeId};
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

/// What a read gave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReadValue {
    /// The variable's value.
    Value(Bytes),
    /// None: who had reserved the place that is read has gone without giving a value.
    Aborted,
    /// None: all that had a copy of the variable have gone, and nobody has written it since.
    Lost,
    /// None that is known: the view ended before whoever read it had answered. A node says so to its own program alone.
    Unanswered,
}

pub(crate) struct Values<'a>(pub(crate) &'a [ReadValue]);

impl Encode for Values<'_> {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u16(u16::try_from(self.0.len()).expect("reads are operations, of which there is a limit"));
        for value in self.0 {
            match value {
                ReadValue::Value(value) => {
                    sink.u8(0);
                    sink.counted(value);
                }
                ReadValue::Aborted => sink.u8(1),
                ReadValue::Lost => sink.u8(2),
                ReadValue::Unanswered => sink.u8(3),
            }
        }
    }
}

pub(crate) fn read_values(reader: &mut Reader<'_>) -> Result<Vec<ReadValue>, DecodeError> {
    let count = reader.u16()?;
    if usize::from(count) > MAX_OPERATIONS {
        return Err(reader.invalid("number of values", count, 2));
    }
    let one = |reader: &mut Reader<'_>| match reader.u8()? {
        0 => {
            let value = reader.counted("length of a value", MAX_VALUE_BYTES)?;
            Ok(ReadValue::Value(Bytes::copy_from_slice(value)))
        }
        1 => Ok(ReadValue::Aborted),
        2 => Ok(ReadValue::Lost),
        3 => Ok(ReadValue::Unanswered),
        other => Err(reader.invalid("what a read gave", other, 1)),
    };
    (0..count).map(|_| one(reader)).collect()
}

/// The body of [`COMPLETED`](super::COMPLETED).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Completed {
    /// When it was executed.
    pub place: Place,
    /// Which of this node's it is.
    pub rank: Rank,
    /// What its reads gave, in their order.
    pub values: Vec<ReadValue>,
}

impl Encode for Completed {
    fn encode(&self, sink: &mut impl Sink) {
        self.place.encode(sink);
        sink.u64(self.rank.0);
        Values(&self.values).encode(sink);
    }
}

impl Decode<'_> for Completed {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (place, rank) = (Place::decode(reader)?, Rank(reader.u64()?));
        Ok(Completed { place, rank, values: read_values(reader)? })
    }
}

/// Why a node stopped to execute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Halt {
    /// Because of whom.
    pub node: NodeId,
    /// What became of it.
    pub cause: HaltCause,
}

/// What became of who makes a node halt: the later one says more.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum HaltCause {
    /// It cannot be reached any more.
    Gone,
    /// It broke the protocol.
    Misbehaved,
}

impl fmt::Display for Halt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let became = match self.cause {
            HaltCause::Gone => "cannot be reached",
            HaltCause::Misbehaved => "broke the protocol",
        };
        write!(f, "node {} {became}: isochrons wait for a view without it", self.node.0)
    }
}

fn write_halt(halt: &Halt, sink: &mut impl Sink) {
    sink.u16(halt.node.0);
    sink.u8(u8::from(halt.cause == HaltCause::Misbehaved));
}

fn read_halt(reader: &mut Reader<'_>) -> Result<Halt, DecodeError> {
    let node = NodeId(reader.u16()?);
    let misbehaved = reader.flag("what became of a node")?;
    Ok(Halt { node, cause: if misbehaved { HaltCause::Misbehaved } else { HaltCause::Gone } })
}

/// The body of [`HALTED`](super::HALTED).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Halted {
    /// The view that has ended.
    pub view: View,
    /// Why.
    pub halt: Halt,
}

impl Encode for Halted {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u32(self.view.0);
        write_halt(&self.halt, sink);
    }
}

impl Decode<'_> for Halted {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Halted { view: View(reader.u32()?), halt: read_halt(reader)? })
    }
}

/// Why a program's request is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// The frame cannot be read, or asks for what there is not: a sentence that says why. Nothing of it happened.
    Misuse(String),
    /// As many isochrons of this node wait as may, or there is no room for a plain message: try again when one has completed. Nothing of it happened.
    Busy,
    /// The view has halted: nothing of an isochron happened. A plain message may have arrived.
    Halted(Halt),
    /// Another view was installed first: nothing of an isochron happened at those that are in it. A plain message may have arrived.
    ViewChanged(View),
    /// So few of the nodes of the present view are in the next one that as many could go on elsewhere: it does not begin here.
    Minority {
        /// The next view.
        view: View,
        /// Nodes of the present view that are in it.
        left: u16,
        /// Nodes of the present view.
        of: u16,
    },
    /// This view began without the node, which can do no more than be started anew.
    LeftBehind(View),
    /// The present view executes an isochron of which this node has no part, so that it cannot go on in the next one.
    LacksPart {
        /// Whose isochron.
        sender: NodeId,
        /// Which of the sender's.
        rank: Rank,
    },
}

/// Bytes of the sentence in a refusal.
const MAX_TEXT_BYTES: usize = 1024;

impl Refusal {
    /// What a program did wrong.
    #[must_use]
    pub fn of_misuse(misuse: &Misuse) -> Refusal {
        Refusal::Misuse(misuse.to_string())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Misuse(text) => f.write_str(text),
            Refusal::Busy => f.write_str("as many isochrons wait as may: try again when one has completed"),
            Refusal::Halted(halt) => halt.fmt(f),
            Refusal::ViewChanged(view) => {
                write!(f, "view {} began before the isochron was executed: submit it again", view.0)
            }
            Refusal::Minority { view, left, of } => write!(
                f,
                "view {} has {left} of the {of} nodes of the view before: more than half of them begin a view, or half with the eldest of them",
                view.0
            ),
            Refusal::LeftBehind(view) => write!(f, "view {} began without this node: start it anew", view.0),
            Refusal::LacksPart { sender, rank } => write!(
                f,
                "the part of isochron {} of node {} is not here, and the view executes it: start this node anew",
                rank.0, sender.0
            ),
        }
    }
}

impl core::error::Error for Refusal {}

impl Encode for Refusal {
    fn encode(&self, sink: &mut impl Sink) {
        match self {
            Refusal::Misuse(text) => {
                sink.u8(0);
                let end = (0..=MAX_TEXT_BYTES.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
                sink.counted(&text.as_bytes()[..end.unwrap_or(0)]);
            }
            Refusal::Busy => sink.u8(1),
            Refusal::Halted(halt) => {
                sink.u8(2);
                write_halt(halt, sink);
            }
            Refusal::ViewChanged(view) => {
                sink.u8(3);
                sink.u32(view.0);
            }
            Refusal::Minority { view, left, of } => {
                sink.u8(4);
                sink.u32(view.0);
                sink.u16(*left);
                sink.u16(*of);
            }
            Refusal::LeftBehind(view) => {
                sink.u8(5);
                sink.u32(view.0);
            }
            Refusal::LacksPart { sender, rank } => {
                sink.u8(6);
                sink.u16(sender.0);
                sink.u64(rank.0);
            }
        }
    }
}

impl Decode<'_> for Refusal {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(match reader.u8()? {
            0 => Refusal::Misuse(reader.text("length of a refusal", MAX_TEXT_BYTES)?.to_owned()),
            1 => Refusal::Busy,
            2 => Refusal::Halted(read_halt(reader)?),
            3 => Refusal::ViewChanged(View(reader.u32()?)),
            4 => Refusal::Minority { view: View(reader.u32()?), left: reader.u16()?, of: reader.u16()? },
            5 => Refusal::LeftBehind(View(reader.u32()?)),
            6 => Refusal::LacksPart { sender: NodeId(reader.u16()?), rank: Rank(reader.u64()?) },
            other => return Err(reader.invalid("reason of a refusal", other, 1)),
        })
    }
}

/// The body of [`PLAIN`](super::PLAIN).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Plain<'a> {
    /// To whom; where it has arrived, from whom.
    pub node: NodeId,
    /// The handler there.
    pub handler: u32,
    /// What it gets.
    pub bytes: &'a [u8],
}

impl Encode for Plain<'_> {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u16(self.node.0);
        sink.u32(self.handler);
        sink.bytes(self.bytes);
    }
}

impl<'a> Plain<'a> {
    /// Reads one, with its bulk.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn of(frame: Frame<'a>) -> Result<Self, DecodeError> {
        let message = Plain::decode_all(frame.body)?;
        Ok(Plain { bytes: in_body_or_bulk(message.bytes, frame)?, ..message })
    }

    /// What of it is in the body beside that bulk.
    #[must_use]
    pub fn beside(self, bulk: &Bytes) -> Plain<'a> {
        if bulk.is_empty() { self } else { Plain { bytes: &[], ..self } }
    }
}

impl<'a> Decode<'a> for Plain<'a> {
    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let (node, handler) = (NodeId(reader.u16()?), reader.u32()?);
        Ok(Plain { node, handler, bytes: rest(reader)? })
    }
}

fn rest<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], DecodeError> {
    let (at, left) = (reader.at(), reader.left());
    check_length(at, left)?;
    reader.bytes(left)
}

fn check_length(at: usize, bytes: usize) -> Result<(), DecodeError> {
    if bytes > MAX_MESSAGE_BYTES {
        let (value, limit) = (bytes as u64, MAX_MESSAGE_BYTES as u64);
        return Err(DecodeError::TooLarge { at, field: "length of a message", value, limit });
    }
    Ok(())
}

/// The bytes of a message, which are in the body or, if it is long, the bulk: not some here and some there.
fn in_body_or_bulk<'a>(in_body: &'a [u8], frame: Frame<'a>) -> Result<&'a [u8], DecodeError> {
    if frame.bulk.is_empty() {
        return Ok(in_body);
    }
    let at = frame.body.len() - in_body.len();
    check_length(at, frame.bulk.len())?;
    if in_body.is_empty() { Ok(frame.bulk) } else { Err(DecodeError::Trailing { at, left: in_body.len() }) }
}

/// The body of [`DELIVERED`](super::DELIVERED).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delivered<'a> {
    /// When.
    pub place: Place,
    /// From whom.
    pub sender: NodeId,
    /// Of which of the sender's isochrons.
    pub rank: Rank,
    /// For which handler.
    pub handler: u32,
    /// What it gets.
    pub bytes: &'a [u8],
}

impl Encode for Delivered<'_> {
    fn encode(&self, sink: &mut impl Sink) {
        self.place.encode(sink);
        sink.u16(self.sender.0);
        sink.u64(self.rank.0);
        sink.u32(self.handler);
        sink.bytes(self.bytes);
    }
}

impl<'a> Delivered<'a> {
    /// Reads one, with its bulk.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn of(frame: Frame<'a>) -> Result<Self, DecodeError> {
        let message = Delivered::decode_all(frame.body)?;
        Ok(Delivered { bytes: in_body_or_bulk(message.bytes, frame)?, ..message })
    }

    /// What of it is in the body beside that bulk.
    #[must_use]
    pub fn beside(self, bulk: &Bytes) -> Delivered<'a> {
        if bulk.is_empty() { self } else { Delivered { bytes: &[], ..self } }
    }
}

impl<'a> Decode<'a> for Delivered<'a> {
    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Delivered {
            place: Place::decode(reader)?,
            sender: NodeId(reader.u16()?),
            rank: Rank(reader.u64()?),
            handler: reader.u32()?,
            bytes: rest(reader)?,
        })
    }
}

/// The body of [`NEXT_VIEW`](super::NEXT_VIEW).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NextView<'a> {
    /// The view: above the one that is. What it is of all are told alike.
    pub view: View,
    /// Who is in it and at which switch, as [`Topology::parse`](crate::Topology::parse) reads it.
    pub topology: &'a str,
}

impl Encode for NextView<'_> {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u32(self.view.0);
        sink.counted(self.topology.as_bytes());
    }
}

impl<'a> Decode<'a> for NextView<'a> {
    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let view = View(reader.u32()?);
        Ok(NextView { view, topology: reader.text("length of a topology", MAX_TOPOLOGY_BYTES)? })
    }
}

//! What token managers are told and tell: announcements, tokens, markers; and the answer to a part.

use super::calls::{ReadValue, Values, read_values};
use crate::limits::{FULL_BATCH_BYTES, MARKER_BYTES, MAX_BATCH_BYTES, MAX_NODES};
use crate::logical_time::{Pulse, Rank, View};
use quintet_contract::NodeId;
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};
use smallvec::SmallVec;

/// Who has a part of an isochron, ascending.
pub type Receivers = SmallVec<[NodeId; 8]>;

/// An isochron as its sender announces it: all its parts have left.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Announced {
    /// Which of the sender's it is.
    pub rank: Rank,
    /// Who has a part of it, ascending.
    pub receivers: Receivers,
}

/// An isochron with its time, as markers tell it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Ordered {
    /// When it is executed.
    pub pulse: Pulse,
    /// Whose it is.
    pub sender: NodeId,
    /// Which of the sender's.
    pub rank: Rank,
}

/// The body of [`TOKEN`](super::TOKEN): what it carries is to be executed in a later pulse than its number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Token {
    /// The view.
    pub view: View,
    /// Which token it is, from 1.
    pub number: u64,
    /// Whether it ends here, or its next frame carries more.
    pub is_complete: bool,
    /// Isochrons with receivers on the receiving switch's side.
    pub entries: Vec<(Ordered, Receivers)>,
}

/// The body of [`EXECUTED`](super::EXECUTED).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Executed {
    /// The view.
    pub view: View,
    /// When it was executed.
    pub pulse: Pulse,
    /// What the part's reads gave, in their order.
    pub values: Vec<ReadValue>,
}

/// Encoded entries of one frame, which end before they are too many.
#[derive(Default, Debug)]
pub(crate) struct Batch(Vec<u8>);

impl Batch {
    /// Whether an entry of so many bytes goes in this frame: what is longer than a full one goes alone.
    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        self.0.is_empty() || self.0.len() + bytes <= FULL_BATCH_BYTES
    }

    /// Where entries are written.
    pub(crate) fn sink(&mut self) -> &mut Vec<u8> {
        &mut self.0
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The body of a frame: what is in front, and the entries.
    pub(crate) fn behind<F: Encode>(&self, front: F) -> Batched<'_, F> {
        Batched { front, entries: &self.0 }
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

/// The body of a frame with entries.
pub(crate) struct Batched<'a, F> {
    front: F,
    entries: &'a [u8],
}

impl<F: Encode> Encode for Batched<'_, F> {
    fn encode(&self, sink: &mut impl Sink) {
        self.front.encode(sink);
        sink.bytes(self.entries);
    }
}

/// What is in front of announcements, markers, and what was received; or all that is told of a view.
impl Encode for View {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u32(self.0);
    }
}

/// What is in front of what a token carries.
pub(crate) struct TokenFront {
    pub(crate) view: View,
    pub(crate) number: u64,
    pub(crate) is_complete: bool,
}

impl Encode for TokenFront {
    fn encode(&self, sink: &mut impl Sink) {
        self.view.encode(sink);
        sink.u64(self.number);
        sink.u8(u8::from(self.is_complete));
    }
}

fn write_receivers(receivers: &[NodeId], sink: &mut impl Sink) {
    sink.u16(u16::try_from(receivers.len()).expect("a topology has fewer nodes"));
    receivers.iter().for_each(|node| sink.u16(node.0));
}

fn read_receivers(reader: &mut Reader<'_>) -> Result<Receivers, DecodeError> {
    let count = reader.u16()?;
    if count == 0 || usize::from(count) > MAX_NODES {
        return Err(reader.invalid("number of receivers", count, 2));
    }
    let bytes = reader.bytes(2 * usize::from(count))?;
    let nodes: Receivers =
        bytes.chunks_exact(2).map(|pair| NodeId(u16::from_le_bytes([pair[0], pair[1]]))).collect();
    match nodes.windows(2).find(|pair| pair[0] >= pair[1]) {
        Some(pair) => Err(reader.invalid("receiver that is not above the one before it", pair[1].0, 2)),
        None => Ok(nodes),
    }
}

pub(crate) fn write_announced(announced: &Announced, sink: &mut impl Sink) {
    sink.u64(announced.rank.0);
    write_receivers(&announced.receivers, sink);
}

pub(crate) fn write_received(sender: NodeId, rank: Rank, sink: &mut impl Sink) {
    sink.u16(sender.0);
    sink.u64(rank.0);
}

pub(crate) fn write_marker(ordered: &Ordered, sink: &mut impl Sink) {
    sink.u64(ordered.pulse.0);
    sink.u16(ordered.sender.0);
    sink.u64(ordered.rank.0);
}

/// Markers that a frame has at most.
pub(crate) const MARKERS_OF_A_FRAME: usize = FULL_BATCH_BYTES / MARKER_BYTES;

/// The body of [`MARKERS`](super::MARKERS).
pub(crate) struct Markers<I> {
    pub(crate) view: View,
    pub(crate) ordered: I,
}

impl<'a, I: Iterator<Item = &'a Ordered> + Clone> Encode for Markers<I> {
    fn encode(&self, sink: &mut impl Sink) {
        self.view.encode(sink);
        self.ordered.clone().for_each(|ordered| write_marker(ordered, sink));
    }
}

pub(crate) fn write_entry(ordered: &Ordered, receivers: &[NodeId], sink: &mut impl Sink) {
    write_marker(ordered, sink);
    write_receivers(receivers, sink);
}

pub(super) fn read_marker(reader: &mut Reader<'_>) -> Result<Ordered, DecodeError> {
    Ok(Ordered { pulse: Pulse(reader.u64()?), sender: NodeId(reader.u16()?), rank: Rank(reader.u64()?) })
}

/// What is read to the end of a body, of at most as many bytes as a batch has.
pub(super) fn to_the_end<T>(
    reader: &mut Reader<'_>,
    one: impl Fn(&mut Reader<'_>) -> Result<T, DecodeError>,
) -> Result<Vec<T>, DecodeError> {
    if reader.left() > MAX_BATCH_BYTES {
        let (at, value, limit) = (reader.at(), reader.left() as u64, MAX_BATCH_BYTES as u64);
        return Err(DecodeError::TooLarge { at, field: "bytes of a batch", value, limit });
    }
    let mut all = Vec::new();
    while reader.left() > 0 {
        all.push(one(reader)?);
    }
    Ok(all)
}

/// Reads the body of [`ANNOUNCE`](super::ANNOUNCE).
///
/// # Errors
/// [`DecodeError`].
pub fn read_announcements(body: &[u8]) -> Result<(View, Vec<Announced>), DecodeError> {
    let mut reader = Reader::new(body);
    let view = View(reader.u32()?);
    let one = |reader: &mut Reader<'_>| {
        Ok(Announced { rank: Rank(reader.u64()?), receivers: read_receivers(reader)? })
    };
    Ok((view, to_the_end(&mut reader, one)?))
}

/// Reads the body of [`RECEIVED`](super::RECEIVED): the sender and the rank of each.
///
/// # Errors
/// [`DecodeError`].
pub fn read_received(body: &[u8]) -> Result<(View, Vec<(NodeId, Rank)>), DecodeError> {
    let mut reader = Reader::new(body);
    let view = View(reader.u32()?);
    let one = |reader: &mut Reader<'_>| Ok((NodeId(reader.u16()?), Rank(reader.u64()?)));
    Ok((view, to_the_end(&mut reader, one)?))
}

/// Reads the body of [`MARKERS`](super::MARKERS).
///
/// # Errors
/// [`DecodeError`].
pub fn read_markers(body: &[u8]) -> Result<(View, Vec<Ordered>), DecodeError> {
    let mut reader = Reader::new(body);
    let view = View(reader.u32()?);
    Ok((view, to_the_end(&mut reader, read_marker)?))
}

/// Reads the body of [`TOKEN`](super::TOKEN).
///
/// # Errors
/// [`DecodeError`].
pub fn read_token(body: &[u8]) -> Result<Token, DecodeError> {
    let mut reader = Reader::new(body);
    let (view, number) = (View(reader.u32()?), reader.u64()?);
    let is_complete = reader.flag("whether the token is complete")?;
    let one = |reader: &mut Reader<'_>| Ok((read_marker(reader)?, read_receivers(reader)?));
    Ok(Token { view, number, is_complete, entries: to_the_end(&mut reader, one)? })
}

impl Encode for Executed {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u32(self.view.0);
        sink.u64(self.pulse.0);
        Values(&self.values).encode(sink);
    }
}

impl Decode<'_> for Executed {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (view, pulse) = (View(reader.u32()?), Pulse(reader.u64()?));
        Ok(Executed { view, pulse, values: read_values(reader)? })
    }
}

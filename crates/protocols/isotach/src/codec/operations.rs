//! Operations, and what carries them: a submission, and a node's part of an isochron.

use crate::isochron::{Isochron, Operation, Operations};
use crate::isonet::Variable;
use crate::limits::{MAX_MESSAGE_BYTES, MAX_OPERATIONS, MAX_VALUE_BYTES, SHORT_MESSAGE_BYTES};
use crate::logical_time::{Rank, View};
use quintet_contract::{Bytes, Frame, NodeId};
use quintet_wire::{DecodeError, Encode, Reader, Sink};

/// Of a message whose bytes are the bulk of its frame.
const MESSAGE_IN_BULK: u8 = 5;

impl Encode for Operation {
    fn encode(&self, sink: &mut impl Sink) {
        match self {
            Operation::Send { to, handler, bytes } => {
                sink.u8(0);
                sink.u16(to.0);
                sink.u32(*handler);
                sink.counted(bytes);
            }
            Operation::Read(variable) => {
                sink.u8(1);
                sink.u32(variable.0);
            }
            Operation::Write(variable, value) => {
                sink.u8(2);
                sink.u32(variable.0);
                sink.counted(value);
            }
            Operation::Sched(variable) => {
                sink.u8(3);
                sink.u32(variable.0);
            }
            Operation::Assign(variable, value) => {
                sink.u8(4);
                sink.u32(variable.0);
                sink.counted(value);
            }
        }
    }
}

impl Operation {
    /// Reads one of a frame with that bulk.
    fn read(reader: &mut Reader<'_>, bulk: &Bytes) -> Result<Operation, DecodeError> {
        let value = |reader: &mut Reader<'_>| {
            reader.counted("length of a value", MAX_VALUE_BYTES).map(Bytes::copy_from_slice)
        };
        Ok(match reader.u8()? {
            0 => Operation::Send {
                to: NodeId(reader.u16()?),
                handler: reader.u32()?,
                bytes: Bytes::copy_from_slice(reader.counted("length of a message", MAX_MESSAGE_BYTES)?),
            },
            1 => Operation::Read(Variable(reader.u32()?)),
            2 => Operation::Write(Variable(reader.u32()?), value(reader)?),
            3 => Operation::Sched(Variable(reader.u32()?)),
            4 => Operation::Assign(Variable(reader.u32()?), value(reader)?),
            MESSAGE_IN_BULK if !bulk.is_empty() => {
                Operation::Send { to: NodeId(reader.u16()?), handler: reader.u32()?, bytes: bulk.clone() }
            }
            other => return Err(reader.invalid("operation", other, 1)),
        })
    }
}

/// The bytes of the longest message, if they are long: they travel as the bulk of a frame, once for all messages that share them.
fn bulk_of(operations: &[Operation]) -> Option<&Bytes> {
    let bytes = operations.iter().filter_map(|operation| match operation {
        Operation::Send { bytes, .. } if bytes.len() > SHORT_MESSAGE_BYTES => Some(bytes),
        _ => None,
    });
    bytes.reduce(|longest, bytes| if bytes.len() > longest.len() { bytes } else { longest })
}

/// Whether two have the same bytes at the same place.
fn is_shared(one: &Bytes, other: &Bytes) -> bool {
    one.as_ptr() == other.as_ptr() && one.len() == other.len()
}

/// Writes operations, counted, with all their bytes.
pub(crate) fn write_operations(operations: &[Operation], sink: &mut impl Sink) {
    write_count(operations, sink);
    operations.iter().for_each(|operation| operation.encode(sink));
}

/// Writes operations, counted, of a frame with this bulk.
fn write_beside(operations: &[Operation], bulk: Option<&Bytes>, sink: &mut impl Sink) {
    write_count(operations, sink);
    for operation in operations {
        match (operation, bulk) {
            (Operation::Send { to, handler, bytes }, Some(bulk)) if is_shared(bytes, bulk) => {
                sink.u8(MESSAGE_IN_BULK);
                sink.u16(to.0);
                sink.u32(*handler);
            }
            _ => operation.encode(sink),
        }
    }
}

fn write_count(operations: &[Operation], sink: &mut impl Sink) {
    sink.u16(u16::try_from(operations.len()).expect("checked against the limit"));
}

/// Reads operations, counted, of a frame with that bulk. Each is of a few bytes at least, so no more are kept than the body is long.
///
/// # Errors
/// [`DecodeError`], also if the bulk is longer than a message, or is none's.
pub fn read_operations(reader: &mut Reader<'_>, bulk: &Bytes) -> Result<Operations, DecodeError> {
    let count = reader.u16()?;
    let too_large = |reader: &Reader<'_>, field, value: usize, limit: usize| {
        let (at, value, limit) = (reader.at() - 2, value as u64, limit as u64);
        Err(DecodeError::TooLarge { at, field, value, limit })
    };
    if usize::from(count) > MAX_OPERATIONS {
        return too_large(reader, "number of operations", count.into(), MAX_OPERATIONS);
    }
    if bulk.len() > MAX_MESSAGE_BYTES {
        return too_large(reader, "length of a message", bulk.len(), MAX_MESSAGE_BYTES);
    }
    let operations: Operations =
        (0..count).map(|_| Operation::read(reader, bulk)).collect::<Result<_, _>>()?;
    let is_anyones =
        |operation: &Operation| matches!(operation, Operation::Send { bytes, .. } if is_shared(bytes, bulk));
    if !bulk.is_empty() && !operations.iter().any(is_anyones) {
        return Err(DecodeError::Trailing { at: reader.at(), left: bulk.len() });
    }
    Ok(operations)
}

/// Reads operations, counted, as [`write_operations`] writes them.
///
/// # Errors
/// [`DecodeError`].
pub(crate) fn read_all_operations(reader: &mut Reader<'_>) -> Result<Vec<Operation>, DecodeError> {
    Ok(read_operations(reader, &Bytes::new())?.into_vec())
}

/// The body of [`SUBMIT`](super::SUBMIT).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Submission<'a> {
    /// What the isochron does: at most [`MAX_OPERATIONS`], as a [`Composer`](crate::Composer) takes care of.
    pub operations: &'a [Operation],
    /// The view that it was put together in, if that is to be said.
    pub view: Option<View>,
}

impl Submission<'_> {
    /// What goes with it.
    #[must_use]
    pub fn bulk(&self) -> Bytes {
        bulk_of(self.operations).cloned().unwrap_or_default()
    }
}

impl Encode for Submission<'_> {
    fn encode(&self, sink: &mut impl Sink) {
        write_beside(self.operations, bulk_of(self.operations), sink);
        self.view.into_iter().for_each(|view| sink.u32(view.0));
    }
}

/// Reads a [`Submission`].
pub(crate) fn read_submission(frame: Frame<'_>) -> Result<(Operations, Option<View>), DecodeError> {
    let mut reader = Reader::new(frame.body);
    let operations = read_operations(&mut reader, frame.bulk)?;
    let view = if reader.left() > 0 { Some(View(reader.u32()?)) } else { None };
    reader.finish()?;
    Ok((operations, view))
}

/// The body of [`SUBMIT`](super::SUBMIT), whose view is not said.
impl Encode for Isochron {
    fn encode(&self, sink: &mut impl Sink) {
        Submission { operations: &self.operations, view: None }.encode(sink);
    }
}

/// The body of [`PART`](super::PART).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// The view in which it was sent.
    pub view: View,
    /// Which isochron of the sender it is of.
    pub rank: Rank,
    /// What the receiver does.
    pub operations: Operations,
}

impl Part {
    /// What goes with it.
    #[must_use]
    pub fn bulk(&self) -> Bytes {
        bulk_of(&self.operations).cloned().unwrap_or_default()
    }

    /// Reads one, with its bulk.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn of(frame: Frame<'_>) -> Result<Part, DecodeError> {
        let mut reader = Reader::new(frame.body);
        let (view, rank) = (View(reader.u32()?), Rank(reader.u64()?));
        let operations = read_operations(&mut reader, frame.bulk)?;
        if operations.is_empty() {
            return Err(reader.invalid("number of operations", 0u64, 2));
        }
        reader.finish()?;
        Ok(Part { view, rank, operations })
    }
}

impl Encode for Part {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u32(self.view.0);
        sink.u64(self.rank.0);
        write_beside(&self.operations, bulk_of(&self.operations), sink);
    }
}

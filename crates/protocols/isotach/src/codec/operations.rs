//! Operations, and a node's part of an isochron.

use crate::isochron::{Isochron, Operation, Operations};
use crate::isonet::Variable;
use crate::limits::{MAX_ISOCHRON_BYTES, MAX_OPERATIONS, MAX_VALUE_BYTES};
use crate::logical_time::{Rank, View};
use quintet_contract::{Bytes, NodeId};
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

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

impl Decode<'_> for Operation {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let value = |reader: &mut Reader<'_>| {
            reader.counted("length of a value", MAX_VALUE_BYTES).map(Bytes::copy_from_slice)
        };
        Ok(match reader.u8()? {
            0 => Operation::Send {
                to: NodeId(reader.u16()?),
                handler: reader.u32()?,
                bytes: Bytes::copy_from_slice(reader.counted("length of a message", MAX_ISOCHRON_BYTES)?),
            },
            1 => Operation::Read(Variable(reader.u32()?)),
            2 => Operation::Write(Variable(reader.u32()?), value(reader)?),
            3 => Operation::Sched(Variable(reader.u32()?)),
            4 => Operation::Assign(Variable(reader.u32()?), value(reader)?),
            other => return Err(reader.invalid("operation", other, 1)),
        })
    }
}

/// Writes operations, counted.
pub(crate) fn write_operations(operations: &[Operation], sink: &mut impl Sink) {
    sink.u16(u16::try_from(operations.len()).expect("checked against the limit"));
    operations.iter().for_each(|operation| operation.encode(sink));
}

/// Reads operations, counted. Each is of a few bytes at least, so no more are kept than the body is long.
///
/// # Errors
/// [`DecodeError`].
pub fn read_operations(reader: &mut Reader<'_>) -> Result<Operations, DecodeError> {
    let count = reader.u16()?;
    if usize::from(count) > MAX_OPERATIONS {
        let (at, value, limit) = (reader.at() - 2, u64::from(count), MAX_OPERATIONS as u64);
        return Err(DecodeError::TooLarge { at, field: "number of operations", value, limit });
    }
    (0..count).map(|_| Operation::decode(reader)).collect()
}

/// The body of [`SUBMIT`](super::SUBMIT).
impl Encode for Isochron {
    fn encode(&self, sink: &mut impl Sink) {
        write_operations(&self.operations, sink);
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

impl Encode for Part {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u32(self.view.0);
        sink.u64(self.rank.0);
        write_operations(&self.operations, sink);
    }
}

impl Decode<'_> for Part {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (view, rank) = (View(reader.u32()?), Rank(reader.u64()?));
        let operations = read_operations(reader)?;
        if operations.is_empty() {
            return Err(reader.invalid("number of operations", 0u64, 2));
        }
        Ok(Part { view, rank, operations })
    }
}

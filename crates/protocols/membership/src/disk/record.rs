//! A record, and how it lies on the disk.

use crate::change::Entry;
use crate::view::View;
use quintet_contract::limits::MAX_PAYLOAD_BYTES;
use quintet_contract::{Incarnation, NodeId};
use quintet_durable::log::Format;
use quintet_raft::number;
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

/// The log of a membership. Nothing that the first format begins with: there the first four bytes are the length of a record.
pub(super) const FORMAT: Format = Format {
    magic: *b"QUINMEMB",
    version: 2,
    // A view travels in a frame; what a record's length counts is as long at most, with its batch.
    max_record_bytes: MAX_PAYLOAD_BYTES - 8,
};

/// What is kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Record {
    Life(Life),
    Vote { term: u64, voted_for: Option<NodeId> },
    Entry { index: u64, entry: Entry },
    Snapshot { index: u64, term: u64, view: View },
}

/// One life of a member.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Life {
    pub(crate) cluster: u128,
    pub(crate) node: NodeId,
    pub(crate) incarnation: Incarnation,
}

impl Record {
    /// Appends the record as it has lain on the disk since the first format, of a batch that begins at this place.
    #[cfg(test)]
    pub(crate) fn write(&self, batch: u64, to: &mut Vec<u8>) {
        let counted = [&batch.to_le_bytes()[..], &quintet_wire::encode_to_vec(self)].concat();
        to.u32(u32::try_from(counted.len()).expect("a record is shorter than a frame"));
        to.u32(crc32fast::hash(&counted));
        to.extend_from_slice(&counted);
    }
}

impl Encode for Record {
    fn encode(&self, sink: &mut impl Sink) {
        match self {
            Record::Life(life) => {
                sink.u8(1);
                sink.bytes(&life.cluster.to_le_bytes());
                sink.u16(life.node.0);
                sink.u64(life.incarnation.0);
            }
            Record::Vote { term, voted_for } => {
                sink.u8(2);
                sink.u64(*term);
                sink.u16(voted_for.map_or(0, |node| node.0));
                sink.u8(voted_for.is_some().into());
            }
            Record::Entry { index, entry } => {
                sink.u8(3);
                sink.u64(*index);
                entry.encode(sink);
            }
            Record::Snapshot { index, term, view } => {
                sink.u8(4);
                sink.u64(*index);
                sink.u64(*term);
                view.encode(sink);
            }
        }
    }
}

impl Decode<'_> for Record {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(match reader.u8()? {
            1 => Record::Life(Life {
                cluster: u128::from_le_bytes(reader.array()?),
                node: NodeId(reader.u16()?),
                incarnation: Incarnation(reader.u64()?),
            }),
            2 => {
                let (term, node) = (number(reader, "term")?, NodeId(reader.u16()?));
                Record::Vote { term, voted_for: reader.flag("voted")?.then_some(node) }
            }
            3 => Record::Entry { index: number(reader, "index")?, entry: Entry::decode(reader)? },
            4 => Record::Snapshot {
                index: number(reader, "index")?,
                term: number(reader, "term")?,
                view: View::decode(reader)?,
            },
            other => return Err(reader.invalid("record", other, 1)),
        })
    }
}

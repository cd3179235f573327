//! What a replica keeps on its disk.

use crate::batch::Batch;
use crate::replicas::Replicas;
use quintet_contract::limits::{MAX_BODY_BYTES, MAX_BULK_BYTES};
use quintet_contract::{NodeId, Time};
use quintet_durable::log::Format;
use quintet_raft::{Entry, number};
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

/// The log of a replica.
pub(crate) const FORMAT: Format = Format {
    magic: *b"QUINREPL",
    version: 1,
    // An entry with the longest input, and what stands in front of it.
    max_record_bytes: MAX_BULK_BYTES + MAX_BODY_BYTES + 1024,
};

/// A snapshot is kept in pieces of this length.
pub(crate) const PART_BYTES: usize = 1024 * 1024;

/// What is kept.
///
/// ```text
/// 1 a life: cluster u128, group u128, node u16, port u16, its number u64, the number of the protocol's behaviour u32, settings u64, the replicas (n u8, n nodes u16)
/// 2 a vote: term u64, for whom u16, whether for anybody u8
/// 3 an entry: index u64, its term u64, its inputs counted; those from this index on that stand before are void
/// 4 a snapshot begins: index u64, its term u64, the log's time u64
/// 5 a part of it: whether it is the last u8, its bytes
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Record<'a> {
    /// With what a file begins.
    Life(Life),
    Vote {
        term: u64,
        voted_for: Option<NodeId>,
    },
    Entry {
        index: u64,
        entry: Entry<Batch>,
    },
    Snapshot {
        index: u64,
        term: u64,
        time: Time,
    },
    Part(bool, &'a [u8]),
}

/// One life of a replica, or one file of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Life {
    pub(crate) cluster: u128,
    pub(crate) group: u128,
    pub(crate) node: NodeId,
    pub(crate) port: u16,
    pub(crate) number: u64,
    pub(crate) behaviour: u32,
    pub(crate) settings: u64,
    pub(crate) replicas: Replicas,
}

impl Encode for Record<'_> {
    fn encode(&self, sink: &mut impl Sink) {
        match self {
            Record::Life(life) => {
                sink.u8(1);
                sink.bytes(&life.cluster.to_le_bytes());
                sink.bytes(&life.group.to_le_bytes());
                sink.u16(life.node.0);
                sink.u16(life.port);
                sink.u64(life.number);
                sink.u32(life.behaviour);
                sink.u64(life.settings);
                life.replicas.encode(sink);
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
            Record::Snapshot { index, term, time } => {
                sink.u8(4);
                sink.u64(*index);
                sink.u64(*term);
                sink.u64(time.0);
            }
            Record::Part(is_last, bytes) => {
                sink.u8(5);
                sink.u8((*is_last).into());
                sink.bytes(bytes);
            }
        }
    }
}

impl<'a> Decode<'a> for Record<'a> {
    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(match reader.u8()? {
            1 => Record::Life(Life {
                cluster: u128::from_le_bytes(reader.array()?),
                group: u128::from_le_bytes(reader.array()?),
                node: NodeId(reader.u16()?),
                port: reader.u16()?,
                number: reader.u64()?,
                behaviour: reader.u32()?,
                settings: reader.u64()?,
                replicas: Replicas::decode(reader)?,
            }),
            2 => {
                let (term, node) = (number(reader, "term")?, NodeId(reader.u16()?));
                let voted_for = reader.flag("voted")?.then_some(node);
                if voted_for.is_none() && node != NodeId(0) {
                    return Err(reader.invalid("vote for nobody", node.0, 3));
                }
                Record::Vote { term, voted_for }
            }
            3 => {
                let index = number(reader, "index")?;
                let entry = Entry { term: number(reader, "term")?, change: Batch::decode(reader)? };
                Record::Entry { index, entry }
            }
            4 => {
                let (index, term) = (number(reader, "index")?, number(reader, "term")?);
                Record::Snapshot { index, term, time: Time(reader.u64()?) }
            }
            5 => Record::Part(reader.flag("whether a part is the last")?, reader.bytes(reader.left())?),
            other => return Err(reader.invalid("record", other, 1)),
        })
    }
}

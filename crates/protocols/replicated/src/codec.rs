//! What replicas say to each other and to clients. All numbers are little-endian.
//!
//! | kind | body |
//! | --- | --- |
//! | [`VOTE`], [`VOTED`], [`APPEND`], [`APPENDED`] | messages of the agreement (`quintet-raft`). Where the body is empty, the bulk holds it |
//! | [`PART`] | a message of the agreement, which says up to where the snapshot goes; where in it this part lies u64, how long it is u64, its check u32 (CRC-32). The bulk is the part |
//! | [`TAKEN`] | the replica's life u64, its term u64, the index of the snapshot u64, how much of it is there u64 |
//! | [`MEET`] | [`Meet`] |
//! | [`LEADER`] | [`Leader`] |

use quintet_contract::{Kind, NodeId};
use quintet_raft::number;
use quintet_wire::registry::REPLICATION;
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

/// Asks for a vote.
pub const VOTE: Kind = REPLICATION.kind(0);
/// Answers [`VOTE`].
pub const VOTED: Kind = REPLICATION.kind(1);
/// Entries of the log, or a sign of life.
pub const APPEND: Kind = REPLICATION.kind(2);
/// Answers [`APPEND`].
pub const APPENDED: Kind = REPLICATION.kind(3);
/// A part of a snapshot, in the place of entries that are forgotten.
pub const PART: Kind = REPLICATION.kind(4);
/// Answers [`PART`].
pub const TAKEN: Kind = REPLICATION.kind(5);
/// Who a replica is, and what it has: said when two are linked.
pub const MEET: Kind = REPLICATION.kind(6);
/// Who leads: the answer of a replica that does not, to any request; and, without a token, told to the callers of its own node when it changes.
pub const LEADER: Kind = REPLICATION.kind(7);

/// Who a replica is, and what it has.
///
/// ```text
/// group u128 (0: none so far) | settings u64 | life u64 | term u64 | fresh u8 | asks u8
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Meet {
    /// The number of its group, if it has a log of one.
    pub group: u128,
    /// Sums up what all replicas have to be made with.
    pub settings: u64,
    /// Its life.
    pub life: u64,
    /// Its term.
    pub term: u64,
    /// Whether it has taken part in nothing: it has no log, or one in which nothing was ever begun.
    pub is_fresh: bool,
    /// Whether the same is asked.
    pub asks: bool,
}

impl Encode for Meet {
    fn encode(&self, sink: &mut impl Sink) {
        sink.bytes(&self.group.to_le_bytes());
        for value in [self.settings, self.life, self.term] {
            sink.u64(value);
        }
        sink.u8(self.is_fresh.into());
        sink.u8(self.asks.into());
    }
}

impl Decode<'_> for Meet {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Meet {
            group: u128::from_le_bytes(reader.array()?),
            settings: reader.u64()?,
            life: reader.u64()?,
            term: number(reader, "term")?,
            is_fresh: reader.flag("fresh")?,
            asks: reader.flag("asks")?,
        })
    }
}

/// Who leads, as far as a replica knows: known u8 | node u16, and 1 u8 behind it of one that has no log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Leader {
    /// Who does.
    pub node: Option<NodeId>,
    /// The replica that says so has no log, so that it has no vote: its group was not begun so far, or it has lost the log.
    pub has_no_log: bool,
}

impl Encode for Leader {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u8(self.node.is_some().into());
        sink.u16(self.node.map_or(0, |node| node.0));
        if self.has_no_log {
            sink.u8(1);
        }
    }
}

impl Decode<'_> for Leader {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let is_known = reader.flag("whether a leader is known")?;
        let node = NodeId(reader.u16()?);
        if !is_known && node != NodeId(0) {
            return Err(reader.invalid("node of nobody", node.0, 2));
        }
        let has_no_log = reader.left() > 0;
        if has_no_log && !reader.flag("whether it has no log")? {
            return Err(reader.invalid("whether it has no log", 0u8, 1));
        }
        Ok(Leader { node: is_known.then_some(node), has_no_log })
    }
}

/// How much of a snapshot is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Taken {
    pub(crate) life: u64,
    pub(crate) term: u64,
    pub(crate) index: u64,
    pub(crate) at: u64,
}

impl Encode for Taken {
    fn encode(&self, sink: &mut impl Sink) {
        for value in [self.life, self.term, self.index, self.at] {
            sink.u64(value);
        }
    }
}

impl Decode<'_> for Taken {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let life = reader.u64()?;
        let (term, index) = (number(reader, "term")?, number(reader, "index")?);
        Ok(Taken { life, term, index, at: reader.u64()? })
    }
}

/// Where a part lies in a snapshot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(crate) at: u64,
    /// How long the snapshot is.
    pub(crate) of: u64,
    /// Its check.
    pub(crate) check: u32,
}

impl Encode for Place {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u64(self.at);
        sink.u64(self.of);
        sink.u32(self.check);
    }
}

impl Decode<'_> for Place {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Place { at: reader.u64()?, of: reader.u64()?, check: reader.u32()? })
    }
}

//! Who takes part: the same replicas as long as the group lives.

use crate::batch::Batch;
use crate::codec::{APPEND, APPENDED, PART, VOTE, VOTED};
use quintet_contract::{Kind, NodeId};
use quintet_raft::{Agreed, Entry, Seat};
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

/// Replicas of one group, at most.
pub const MAX_REPLICAS: usize = 5;

/// The replicas of a group, in the order of their numbers; none, as far as one knows that has lost its log.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Replicas(pub(crate) Vec<NodeId>);

impl Agreed for Replicas {
    type Change = Batch;
    const NOTHING: Batch = Batch::NOTHING;
    const KINDS: &'static [Kind] = &[VOTE, VOTED, APPEND, APPENDED, PART];
    const IS_KEPT_WITH_LOG: bool = false;
    const LOGS_MAY_BE_LOST: bool = true;

    fn apply(&mut self, _: &Entry<Batch>) -> bool {
        false
    }

    fn members(&self) -> impl Iterator<Item = NodeId> {
        self.0.iter().copied()
    }

    fn voters(&self) -> impl Iterator<Item = NodeId> {
        self.0.iter().copied()
    }

    fn seat(_: &Batch) -> Seat {
        Seat::Unchanged
    }
}

impl Encode for Replicas {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u8(u8::try_from(self.0.len()).expect("at most MAX_REPLICAS"));
        self.0.iter().for_each(|node| sink.u16(node.0));
    }
}

impl Decode<'_> for Replicas {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let count = reader.u8()?;
        if usize::from(count) > MAX_REPLICAS {
            return Err(reader.invalid("number of replicas", count, 1));
        }
        let mut nodes = Vec::new();
        for _ in 0..count {
            nodes.push(NodeId(reader.u16()?));
        }
        Ok(Replicas(nodes))
    }
}

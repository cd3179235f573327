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

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_contract::{Incarnation, Span, Time};
    use quintet_raft::{Message, Raft, RaftConfig, Restored, What};
    use std::collections::BTreeSet;

    /// What a leader says to node 3, which has lost its log, in answer to that and with its next beat.
    fn said_to_3(raft: &mut Raft<Replicas>, now: Time) -> Vec<What<Replicas>> {
        let (incarnation, term) = (Incarnation(1), raft.term);
        let what = What::Appended { fits: false, index: 0, round: 0 };
        raft.effects.said.clear();
        raft.take(now, NodeId(3), Message { incarnation, term, what });
        raft.tick(now + Span::from_millis(60), &BTreeSet::new());
        let said = core::mem::take(&mut raft.effects.said);
        said.into_iter().filter(|said| said.to == NodeId(3)).map(|said| said.message.what).collect()
    }

    #[test]
    fn who_has_lost_its_log_is_sent_none_before_the_term_has_committed_something() {
        let all = Replicas([1, 2, 3].map(NodeId).to_vec());
        // Entry 6 may be committed, by a leader that is gone and this replica; that is not known here.
        let entries = vec![Entry { term: 2, change: Batch::NOTHING }];
        let restored = Restored { term: 2, voted_for: None, snapshot: (5, 2, all), entries };
        let config = RaftConfig::new(NodeId(1), 7);
        let mut raft = Raft::new(config, Incarnation(1), restored, Time::ZERO);
        let now = Time::ZERO + Span::from_secs(5);
        raft.tick(now, &BTreeSet::new());
        for asks_first in [true, false] {
            let term = raft.term + u64::from(asks_first);
            for voter in [1, 2] {
                let what = What::Voted { asks_first, given: true };
                raft.take(now, NodeId(voter), Message { incarnation: Incarnation(1), term, what });
            }
        }
        assert!(raft.leading().is_some(), "two of three voted for it");
        let said = said_to_3(&mut raft, now);
        let is_sign_of_life =
            |what: &What<Replicas>| matches!(what, What::Append { entries, .. } if entries.is_empty());
        assert!(!said.is_empty() && said.iter().all(is_sign_of_life), "{said:?}");
        for node in [1, 2] {
            let what = What::Appended { fits: true, index: raft.last(), round: 1 };
            raft.take(now, NodeId(node), Message { incarnation: Incarnation(1), term: raft.term, what });
        }
        assert_eq!(raft.commit, raft.last(), "what the term began with is committed");
        let said = said_to_3(&mut raft, now + Span::from_millis(60));
        assert!(matches!(said.last(), Some(What::Snapshot { index: 7, .. })), "{said:?}");
    }
}

//! A view that no later leader has changed (Ongaro, section 6.4): the leader notes how far all is committed, hears from a majority
//! that it still leads, and answers then.

use super::{Raft, Read, Role};
use crate::agreed::Agreed;
use crate::defect::seeded;
use quintet_contract::{NodeId, Time};
use std::collections::BTreeSet;

impl<V: Agreed> Raft<V> {
    /// Whether it leads and knows what is committed.
    #[must_use]
    pub fn may_read(&self) -> bool {
        self.leading().is_some_and(|leading| leading.first <= self.commit)
    }

    /// Begins a read, which [`Raft::may_read`] allows; its number is among [`Effects::read`](super::Effects::read) once the view may be told.
    pub fn read(&mut self, now: Time, id: u64) {
        if seeded!(self.config, StaleLeaderAnswers) {
            return self.effects.read.push(id);
        }
        let index = self.commit;
        if let Role::Leader(leading) = &mut self.role {
            let round = leading.round + 1;
            leading.reads.push(Read { id, round, index });
        }
        self.send_to_all(now);
    }

    /// Finishes the reads whose round a majority has answered.
    pub(super) fn finish_reads(&mut self) {
        let Some(leading) = self.leading() else { return };
        let Some(oldest) = leading.reads.first() else { return };
        let answered = |round| {
            let those = leading.followers.iter().filter(move |(_, follower)| follower.round >= round);
            those.map(|(node, _)| *node).collect::<BTreeSet<NodeId>>()
        };
        if !self.is_majority(&answered(oldest.round)) {
            return;
        }
        let finished: Vec<u64> = leading
            .reads
            .iter()
            .filter(|read| read.index <= self.commit && self.is_majority(&answered(read.round)))
            .map(|read| read.id)
            .collect();
        if let Role::Leader(leading) = &mut self.role {
            leading.reads.retain(|read| !finished.contains(&read.id));
        }
        self.effects.read.extend(finished);
    }
}

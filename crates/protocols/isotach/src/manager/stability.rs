//! Which isochrons of a node can be stamped: those that all their receivers have, and some that only one will execute.

use super::Broken;
use crate::codec::{Announced, Receivers};
use crate::isonet::Delivery;
use crate::limits::MAX_UNEXECUTED;
use crate::logical_time::Rank;
use quintet_contract::NodeId;
use std::collections::{BTreeMap, VecDeque};

/// Isochrons of one node that were announced, and parts that were received, until both have met.
#[derive(Default, Debug)]
pub(super) struct Stability {
    /// In their order: each waits for those before it. With receivers that have not said that they have it.
    announced: VecDeque<(Announced, Receivers)>,
    last: Option<Rank>,
    /// Receivers whose word came before the sender's.
    early: BTreeMap<Rank, Receivers>,
    ahead: Ahead,
}

/// Isochrons that were stamped before their only receiver said that it has them: one receiver, the same for all. With its part, which comes first in first out, such a
/// one executes those before it as well.
#[derive(Default, Debug)]
struct Ahead {
    receiver: Option<NodeId>,
    /// Ascending.
    ranks: VecDeque<Rank>,
}

/// Takes a node out of those that are there, ascending. False if it is none of them.
fn take(nodes: &mut Receivers, node: NodeId) -> bool {
    let found = nodes.binary_search(&node).map(|at| nodes.remove(at));
    found.is_ok()
}

/// Adds a node to those that are there, ascending. False if it is one of them.
fn add(nodes: &mut Receivers, node: NodeId) -> bool {
    let is_new = nodes.binary_search(&node).map_err(|at| nodes.insert(at, node));
    is_new.is_err()
}

impl Ahead {
    /// Whether one with these receivers can be executed by nobody while one of these is not.
    fn holds_back(&self, receivers: &[NodeId]) -> bool {
        !self.ranks.is_empty() && self.receiver.as_slice() != receivers
    }

    fn add(&mut self, receiver: NodeId, rank: Rank) {
        self.receiver = Some(receiver);
        self.ranks.push_back(rank);
    }

    /// False if it is none of these, or another one's.
    fn remove(&mut self, by: NodeId, rank: Rank) -> bool {
        let found = self.ranks.binary_search(&rank).ok().filter(|_| self.receiver == Some(by));
        found.and_then(|at| self.ranks.remove(at)).is_some()
    }
}

impl Stability {
    /// The sender says that all parts have left, and whose they are.
    pub(super) fn announced(
        &mut self,
        sender: NodeId,
        announced: Announced,
        delivery: Delivery,
    ) -> Result<(), Broken> {
        let is_next = self.last.replace(announced.rank).is_none_or(|last| last < announced.rank);
        if !is_next || self.announced.len() >= MAX_UNEXECUTED {
            return Err(Broken);
        }
        let early = self.early.remove(&announced.rank).unwrap_or_default();
        let mut missing = match delivery {
            Delivery::Safe => announced.receivers.iter().filter(|node| **node != sender).copied().collect(),
            Delivery::Agreed => Receivers::new(),
        };
        if !early.iter().all(|node| take(&mut missing, *node)) {
            return Err(Broken);
        }
        self.announced.push_back((announced, missing));
        Ok(())
    }

    /// A receiver says that it has its part.
    pub(super) fn received(&mut self, by: NodeId, rank: Rank) -> Result<(), Broken> {
        let is_new = match self.announced.binary_search_by_key(&rank, |(announced, _)| announced.rank) {
            Ok(at) => take(&mut self.announced[at].1, by),
            Err(_) if self.last >= Some(rank) => self.ahead.remove(by, rank),
            Err(_) => add(self.early.entry(rank).or_default(), by),
        };
        // A sender has no more parts under way than it may have isochrons that were not executed.
        let is_bounded = self.early.len() <= MAX_UNEXECUTED;
        if is_new && is_bounded { Ok(()) } else { Err(Broken) }
    }

    /// The next one that all receivers have, or whose only receiver is at the sender's switch: nobody else executes that, so nobody can see that the receiver never does,
    /// as its sender has died. What is executed elsewhere waits until the receiver has it.
    pub(super) fn next(&mut self, is_here: impl Fn(NodeId) -> bool, holds_back: bool) -> Option<Announced> {
        let (announced, missing) = self.announced.front()?;
        if holds_back && self.ahead.holds_back(&announced.receivers) {
            return None;
        }
        let (rank, is_missing) = (announced.rank, !missing.is_empty());
        if is_missing {
            let [receiver] = announced.receivers[..] else { return None };
            if !is_here(receiver) || self.ahead.ranks.len() >= MAX_UNEXECUTED {
                return None;
            }
            self.ahead.add(receiver, rank);
        }
        self.announced.pop_front().map(|(announced, _)| announced)
    }

    /// Who has not said that it has its part: once for each isochron that waits for that.
    pub(super) fn missing(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.announced.iter().flat_map(|(_, missing)| missing.iter().copied())
    }

    /// Whether it was stamped, and its receiver may lack it.
    pub(super) fn is_ahead(&self, rank: Rank) -> bool {
        self.ahead.ranks.binary_search(&rank).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: NodeId = NodeId(0);

    /// The next one, where node 1 alone is at the sender's switch.
    fn next(stable: &mut Stability) -> Option<Announced> {
        stable.next(|node| node == NodeId(1), true)
    }

    fn announced(rank: u64, receivers: &[u16]) -> Announced {
        Announced { rank: Rank(rank), receivers: receivers.iter().copied().map(NodeId).collect() }
    }

    #[test]
    fn what_all_receivers_have_is_stamped_in_the_order_of_its_announcement() {
        let mut stable = Stability::default();
        assert!(stable.received(NodeId(1), Rank(2)).is_ok(), "before the announcement");
        assert!(stable.announced(ME, announced(1, &[0, 1]), Delivery::Safe).is_ok());
        assert!(stable.announced(ME, announced(2, &[1, 2]), Delivery::Safe).is_ok());
        assert_eq!(next(&mut stable), None, "the first is not with node 1");
        assert!(stable.received(NodeId(1), Rank(1)).is_ok());
        assert_eq!(next(&mut stable), Some(announced(1, &[0, 1])));
        assert_eq!(next(&mut stable), None, "the second is not with node 2");
        assert!(stable.received(NodeId(2), Rank(2)).is_ok());
        assert_eq!((next(&mut stable), next(&mut stable)), (Some(announced(2, &[1, 2])), None));
    }

    #[test]
    fn what_one_node_alone_executes_is_stamped_at_once_and_all_others_wait_until_it_is_there() {
        let mut stable = Stability::default();
        for (rank, receivers) in [(1, &[1][..]), (2, &[1]), (3, &[2]), (4, &[2])] {
            assert!(stable.announced(ME, announced(rank, receivers), Delivery::Safe).is_ok());
        }
        assert_eq!(next(&mut stable), Some(announced(1, &[1])));
        assert_eq!(next(&mut stable), Some(announced(2, &[1])), "without the first it is not there");
        assert_eq!(next(&mut stable), None);
        assert!(stable.received(NodeId(2), Rank(3)).is_ok());
        assert_eq!(next(&mut stable), None, "node 2 has it, but node 1 may never execute what is before it");
        assert!(stable.received(NodeId(1), Rank(1)).is_ok());
        assert!((!stable.is_ahead(Rank(1)), stable.is_ahead(Rank(2))) == (true, true));
        assert_eq!(next(&mut stable), None);
        assert!(stable.received(NodeId(1), Rank(2)).is_ok());
        assert!(stable.received(NodeId(1), Rank(2)).is_err(), "twice");
        assert_eq!(next(&mut stable), Some(announced(3, &[2])));
        assert_eq!(next(&mut stable), None, "node 2 is at another switch");
    }

    #[test]
    fn no_more_are_stamped_ahead_than_a_sender_may_have_under_way() {
        let mut stable = Stability::default();
        for rank in 1..=MAX_UNEXECUTED as u64 {
            assert!(stable.announced(ME, announced(rank, &[1]), Delivery::Safe).is_ok());
            assert!(next(&mut stable).is_some());
        }
        let behind = MAX_UNEXECUTED as u64 + 1;
        assert!(stable.announced(ME, announced(behind, &[1]), Delivery::Safe).is_ok(), "not too many wait");
        assert_eq!(next(&mut stable), None);
        assert!(stable.received(NodeId(1), Rank(1)).is_ok());
        assert!(next(&mut stable).is_some());
    }

    #[test]
    fn what_is_said_twice_or_by_who_has_no_part_is_refused() {
        let mut stable = Stability::default();
        assert!(stable.announced(ME, announced(3, &[1, 2]), Delivery::Safe).is_ok());
        assert!(stable.announced(ME, announced(3, &[1]), Delivery::Safe).is_err(), "again");
        assert!(stable.received(NodeId(5), Rank(3)).is_err(), "no part");
        assert!(stable.received(NodeId(1), Rank(3)).is_ok());
        assert!(stable.received(NodeId(1), Rank(3)).is_err(), "twice");
        assert!(stable.received(NodeId(1), Rank(2)).is_err(), "never announced, and never will be");
        assert!(stable.received(NodeId(7), Rank(4)).is_ok());
        assert!(stable.announced(ME, announced(4, &[1]), Delivery::Safe).is_err(), "node 7 has no part");
        let mut flooded = Stability::default();
        let said = (1..).take_while(|rank| flooded.received(NodeId(1), Rank(*rank)).is_ok()).count();
        assert_eq!(said, MAX_UNEXECUTED);
    }

    #[test]
    fn agreed_ones_wait_for_nobody() {
        let mut stable = Stability::default();
        assert!(stable.announced(ME, announced(1, &[1]), Delivery::Agreed).is_ok());
        assert_eq!(next(&mut stable), Some(announced(1, &[1])));
        assert!(!stable.is_ahead(Rank(1)));
    }
}

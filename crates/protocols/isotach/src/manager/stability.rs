//! Which isochrons of a node all their receivers have.

use super::Broken;
use crate::codec::Announced;
use crate::isonet::Delivery;
use crate::limits::MAX_UNEXECUTED;
use crate::logical_time::Rank;
use quintet_contract::NodeId;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Isochrons of one node that were announced, and parts that were received, until both have met.
#[derive(Default, Debug)]
pub(super) struct Stability {
    /// In their order: each waits for those before it.
    announced: VecDeque<(Announced, BTreeSet<NodeId>)>,
    last: Option<Rank>,
    /// Receivers whose word came before the sender's.
    early: BTreeMap<Rank, BTreeSet<NodeId>>,
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
        let missing = match delivery {
            Delivery::Safe => announced.receivers.iter().filter(|node| **node != sender).copied().collect(),
            Delivery::Agreed => BTreeSet::new(),
        };
        if !early.is_subset(&missing) {
            return Err(Broken);
        }
        self.announced.push_back((announced, &missing - &early));
        Ok(())
    }

    /// A receiver says that it has its part.
    pub(super) fn received(&mut self, by: NodeId, rank: Rank) -> Result<(), Broken> {
        let waiting = self.announced.iter_mut().find(|(announced, _)| announced.rank == rank);
        let is_new = match waiting {
            Some((_, missing)) => missing.remove(&by),
            None if self.last >= Some(rank) => false,
            None => self.early.entry(rank).or_default().insert(by),
        };
        // A sender has no more parts under way than it may have isochrons that were not executed.
        let is_bounded = self.early.len() <= MAX_UNEXECUTED;
        if is_new && is_bounded { Ok(()) } else { Err(Broken) }
    }

    /// The next one that all receivers have.
    pub(super) fn next(&mut self) -> Option<Announced> {
        let (_, missing) = self.announced.front()?;
        if !missing.is_empty() {
            return None;
        }
        self.announced.pop_front().map(|(announced, _)| announced)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: NodeId = NodeId(0);

    fn announced(rank: u64, receivers: &[u16]) -> Announced {
        Announced { rank: Rank(rank), receivers: receivers.iter().copied().map(NodeId).collect() }
    }

    #[test]
    fn what_all_receivers_have_is_stamped_in_the_order_of_its_announcement() {
        let mut stable = Stability::default();
        assert!(stable.received(NodeId(1), Rank(2)).is_ok(), "before the announcement");
        assert!(stable.announced(ME, announced(1, &[0, 1]), Delivery::Safe).is_ok());
        assert!(stable.announced(ME, announced(2, &[1]), Delivery::Safe).is_ok());
        assert_eq!(stable.next(), None, "the first is not with node 1");
        assert!(stable.received(NodeId(1), Rank(1)).is_ok());
        assert_eq!(stable.next(), Some(announced(1, &[0, 1])));
        assert_eq!((stable.next(), stable.next()), (Some(announced(2, &[1])), None));
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
        assert_eq!(stable.next(), Some(announced(1, &[1])));
    }
}

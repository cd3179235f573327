//! Parts of others' isochrons that were not executed: the pulse buckets, which markers put into order.

use crate::isochron::Operations;
use crate::logical_time::Rank;
use quintet_contract::NodeId;
use std::collections::{BTreeMap, VecDeque};

/// Of each sender those that have come and were not executed. They come in the order of their ranks, and go in it but where a view ends.
#[derive(Default, Debug)]
pub(super) struct Parts {
    of: BTreeMap<NodeId, VecDeque<(Rank, Operations)>>,
    count: usize,
}

impl Parts {
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// One more, behind all of its sender.
    pub(super) fn push(&mut self, sender: NodeId, rank: Rank, operations: Operations) {
        self.of.entry(sender).or_default().push_back((rank, operations));
        self.count += 1;
    }

    pub(super) fn contains(&self, sender: NodeId, rank: Rank) -> bool {
        self.of.get(&sender).is_some_and(|parts| find(parts, rank).is_some())
    }

    pub(super) fn take(&mut self, sender: NodeId, rank: Rank) -> Option<Operations> {
        let parts = self.of.get_mut(&sender)?;
        let at = find(parts, rank)?;
        self.count -= 1;
        parts.remove(at).map(|(_, operations)| operations)
    }

    /// All, by their senders and ranks.
    pub(super) fn iter(&self) -> impl Iterator<Item = (NodeId, Rank)> {
        self.of.iter().flat_map(|(sender, parts)| parts.iter().map(|(rank, _)| (*sender, *rank)))
    }

    pub(super) fn clear(&mut self) {
        *self = Parts::default();
    }
}

/// Where the part of this rank is: in front, most often.
fn find(parts: &VecDeque<(Rank, Operations)>, rank: Rank) -> Option<usize> {
    match parts.front()? {
        (first, _) if *first == rank => Some(0),
        _ => parts.binary_search_by_key(&rank, |(rank, _)| *rank).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_come_is_taken_once_also_out_of_its_order() {
        let mut parts = Parts::default();
        let nodes = [NodeId(1), NodeId(2)];
        for rank in [3, 4, 9] {
            nodes.into_iter().for_each(|node| parts.push(node, Rank(rank), Operations::new()));
        }
        assert_eq!((parts.len(), parts.iter().count()), (6, 6));
        assert!(parts.contains(NodeId(1), Rank(9)) && !parts.contains(NodeId(1), Rank(5)));
        assert!(parts.take(NodeId(1), Rank(4)).is_some() && parts.take(NodeId(1), Rank(4)).is_none());
        assert!(parts.take(NodeId(3), Rank(4)).is_none());
        let left = [(1, 3), (1, 9), (2, 3), (2, 4), (2, 9)].map(|(node, rank)| (NodeId(node), Rank(rank)));
        assert!(parts.iter().eq(left) && parts.len() == 5);
        parts.clear();
        assert_eq!((parts.len(), parts.iter().next()), (0, None));
    }
}

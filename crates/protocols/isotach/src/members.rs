//! Who belongs to a view: its nodes, and which of them are later processes than those that the isonet began with.

use crate::limits::MAX_NEWCOMERS;
use crate::logical_time::View;
use crate::topology::Topology;
use quintet_contract::NodeId;
use std::collections::{BTreeMap, BTreeSet};

/// Since when a later process has been a node, and which one it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Joined {
    /// The view that was the first to have it. It had none of the node's earlier processes: those were in none any more.
    pub view: View,
    /// The number of the process: above those of earlier processes of the node. The first has 0.
    pub life: u64,
}

/// The nodes of a view that are later processes than the first.
pub type Newcomers = BTreeMap<NodeId, Joined>;

/// The nodes of a view.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Members {
    topology: Topology,
    newcomers: Newcomers,
}

impl Members {
    /// Nodes at their switches, and those of them that are later processes than the first. None if one of those is at no switch, or they are more than
    /// [`MAX_NEWCOMERS`].
    #[must_use]
    pub fn new(topology: Topology, newcomers: Newcomers) -> Option<Members> {
        let is_whole = newcomers.len() <= MAX_NEWCOMERS
            && newcomers.keys().all(|node| topology.switch_of(*node).is_some());
        is_whole.then_some(Members { topology, newcomers })
    }

    /// Nodes of an isonet as it begins.
    #[must_use]
    pub fn first(topology: Topology) -> Members {
        Members { topology, newcomers: Newcomers::new() }
    }

    /// Which nodes are at which switch.
    #[must_use]
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Those that are later processes than the first.
    #[must_use]
    pub fn newcomers(&self) -> &Newcomers {
        &self.newcomers
    }

    pub(crate) fn nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.topology.nodes()
    }

    pub(crate) fn has(&self, node: NodeId) -> bool {
        self.topology.switch_of(node).is_some()
    }

    /// Which process of a node it is that is in the view; none if none is.
    pub(crate) fn life_of(&self, node: NodeId) -> Option<u64> {
        self.has(node).then(|| self.newcomers.get(&node).map_or(0, |joined| joined.life))
    }

    /// The view since which the process has been the node: those that the isonet began with, since before all that can be agreed on.
    pub(crate) fn since(&self, node: NodeId) -> View {
        self.newcomers.get(&node).map_or(View(0), |joined| joined.view)
    }

    /// Nodes that were in this earlier view as well, as the same processes.
    pub(crate) fn left_of(&self, view: View, nodes: &Topology) -> BTreeSet<NodeId> {
        let stays = |node: &NodeId| nodes.switch_of(*node).is_some() && self.since(*node) <= view;
        self.nodes().filter(stays).collect()
    }

    /// Whether nodes have joined behind this view.
    pub(crate) fn has_grown_since(&self, view: View) -> bool {
        self.newcomers.values().any(|joined| joined.view > view)
    }

    /// Nodes that are later processes than any that were in this earlier view.
    pub(crate) fn joined_after(&self, view: View) -> BTreeSet<NodeId> {
        self.newcomers.iter().filter(|(_, joined)| joined.view > view).map(|(node, _)| *node).collect()
    }

    /// Of some nodes the one that has been there for longest; of several the lowest.
    pub(crate) fn eldest(&self, some: impl Iterator<Item = NodeId>) -> Option<NodeId> {
        some.min_by_key(|node| (self.since(*node), *node))
    }

    /// Nodes that decide: more than half of those of a view, or half of them with the eldest. So a node that has come back outvotes nobody who has been there all the time.
    pub(crate) fn is_quorum(&self, some: &BTreeSet<NodeId>) -> bool {
        let (count, all) = (self.nodes().filter(|node| some.contains(node)).count(), self.nodes().count());
        let has_eldest = || self.eldest(self.nodes()).is_some_and(|eldest| some.contains(&eldest));
        2 * count > all || 2 * count == all && has_eldest()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(nodes: &[u16], newcomers: &[(u16, u32)]) -> Members {
        let nodes: Vec<NodeId> = nodes.iter().copied().map(NodeId).collect();
        let topology = Topology::lan(NodeId(9), &nodes).expect("it has nodes");
        let joined = |(node, view): &(u16, u32)| (NodeId(*node), Joined { view: View(*view), life: 7 });
        Members::new(topology, newcomers.iter().map(joined).collect()).expect("all are at the switch")
    }

    fn nodes(some: &[u16]) -> BTreeSet<NodeId> {
        some.iter().copied().map(NodeId).collect()
    }

    #[test]
    fn half_of_the_nodes_decide_with_the_one_that_has_been_there_for_longest() {
        let all_first = members(&[0, 1, 2, 3], &[]);
        assert!(all_first.is_quorum(&nodes(&[0, 3])) && !all_first.is_quorum(&nodes(&[1, 2])));
        let one_is_back = members(&[0, 1], &[(0, 4)]);
        assert!(one_is_back.is_quorum(&nodes(&[1])) && !one_is_back.is_quorum(&nodes(&[0])));
        assert!(members(&[0, 1, 2], &[(0, 4), (1, 5)]).is_quorum(&nodes(&[0, 1])), "more than half");
    }

    #[test]
    fn who_came_back_is_not_left_of_a_view_that_had_an_earlier_process_of_it() {
        let (earlier, later) = (members(&[0, 1, 2], &[(2, 3)]), members(&[0, 1, 2], &[(1, 6), (2, 3)]));
        assert_eq!(later.left_of(View(4), earlier.topology()), nodes(&[0, 2]));
        assert_eq!(later.left_of(View(2), earlier.topology()), nodes(&[0]));
        assert_eq!((later.joined_after(View(4)), later.joined_after(View(6))), (nodes(&[1]), nodes(&[])));
        assert_eq!(
            (later.life_of(NodeId(0)), later.life_of(NodeId(1)), later.life_of(NodeId(5))),
            (Some(0), Some(7), None)
        );
    }

    #[test]
    fn who_has_joined_is_at_a_switch() {
        let topology = Topology::lan(NodeId(9), &[NodeId(0)]).expect("it has a node");
        let joined = Joined { view: View(1), life: 1 };
        assert_eq!(Members::new(topology, [(NodeId(1), joined)].into()), None);
    }
}

//! What a node proposes as the next view.

use super::Agreement;
use crate::logical_time::View;
use crate::members::{Joined, Members};
use crate::topology::Topology;
use quintet_contract::NodeId;
use std::collections::{BTreeMap, BTreeSet};

impl Agreement {
    /// Later processes that the next view is to have: all who decide reach them. None where all want to end.
    pub(super) fn admitted(&self, suspects: &BTreeSet<NodeId>) -> BTreeMap<NodeId, u64> {
        if self.is_informed() {
            return BTreeMap::new();
        }
        let others = self.members.nodes().filter(|node| *node != self.me && !suspects.contains(node));
        self.applicants.known_to(&self.members, &others.collect())
    }

    /// The view behind the last one: without its suspects, and with who has asked to be let in. None if nobody is left.
    pub(super) fn successor(&self) -> Option<Members> {
        let suspects = self.suspects();
        let left: Vec<NodeId> = self.members.nodes().filter(|node| !suspects.contains(node)).collect();
        let manager = |node: NodeId| NodeId(self.managers_from.0.saturating_add(node.0));
        let is_gone = |node: NodeId| suspects.contains(&node) || suspects.contains(&self.process_of(node));
        let present = self.members.topology();
        let topology = if present.switches().iter().any(|switch| is_gone(switch.manager)) {
            Topology::lan(manager(*left.first()?), &left).ok()?
        } else {
            Some(present.without(&suspects)).filter(|_| !left.is_empty())?
        };
        let admitted = self.admitted(&suspects);
        let topology = topology.with(admitted.keys().copied(), &self.home)?;
        let mut newcomers = self.members.newcomers().clone();
        newcomers.retain(|node, _| left.contains(node));
        let view = View(self.base.0 + 1);
        newcomers.extend(admitted.into_iter().map(|(node, life)| (node, Joined { view, life })));
        Members::new(topology, newcomers)
    }
}

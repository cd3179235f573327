//! Later processes of nodes that ask to be let into a view.

use crate::limits::MAX_NEWCOMERS;
use crate::members::Members;
use quintet_contract::NodeId;
use std::collections::{BTreeMap, BTreeSet};

/// Who has asked this node, and whom others say that they were asked by.
///
/// A process is let in once all nodes that are not suspected say that it has asked them: so they reach it. Else it might come to suspect one of them, and be counted on.
#[derive(Default, Debug)]
pub(super) struct Applicants {
    /// Of the nodes that have asked here, and are there: which process it was.
    asking: BTreeMap<NodeId, u64>,
    /// What the others were told of it, since the last view was agreed on.
    told: BTreeMap<NodeId, u64>,
    /// What the others have told of theirs.
    heard: BTreeMap<NodeId, BTreeMap<NodeId, u64>>,
}

impl Applicants {
    /// A process asks. Of several of one node the last one counts.
    pub(super) fn asked_by(&mut self, node: NodeId, life: u64) {
        let known = self.asking.entry(node).or_default();
        *known = life.max(*known);
    }

    pub(super) fn lose(&mut self, node: NodeId) {
        self.asking.remove(&node);
    }

    /// Another node says who has asked it: all who have.
    pub(super) fn hear(&mut self, from: NodeId, asking: BTreeMap<NodeId, u64>) {
        self.heard.insert(from, asking);
    }

    /// Who has asked here, if there is anybody, for who may have missed it.
    pub(super) fn all(&self) -> Option<BTreeMap<NodeId, u64>> {
        (!self.asking.is_empty()).then(|| self.first())
    }

    /// The same, if the others do not know it.
    pub(super) fn news(&mut self) -> Option<BTreeMap<NodeId, u64>> {
        let first = self.first();
        if self.told == first {
            return None;
        }
        self.told.clone_from(&first);
        Some(first)
    }

    /// The lowest of those that ask, as many as are told at once: all tell of the same.
    fn first(&self) -> BTreeMap<NodeId, u64> {
        self.asking.iter().take(MAX_NEWCOMERS).map(|(node, life)| (*node, *life)).collect()
    }

    /// Nodes whose processes in a view have ended, as later ones ask.
    pub(super) fn ended<'a>(&'a self, members: &'a Members) -> impl Iterator<Item = NodeId> + 'a {
        let is_later =
            |(node, life): &(&NodeId, &u64)| members.life_of(**node).is_some_and(|known| known < **life);
        self.asking.iter().filter(is_later).map(|(node, _)| *node)
    }

    /// Processes of nodes that are not in the view, and that this node and all of some others were asked by.
    pub(super) fn known_to(&self, members: &Members, others: &BTreeSet<NodeId>) -> BTreeMap<NodeId, u64> {
        let is_known = |(node, life): &(&NodeId, &u64)| {
            let says =
                |other: &NodeId| self.heard.get(other).is_some_and(|heard| heard.get(*node) == Some(*life));
            !members.has(**node) && others.iter().all(says)
        };
        self.asking.iter().filter(is_known).map(|(node, life)| (*node, *life)).collect()
    }

    /// A view was agreed on: who is in it asks no more, and all is to be said again.
    pub(super) fn begin(&mut self, members: &Members) {
        self.asking.retain(|node, life| members.life_of(*node).is_none_or(|known| known < *life));
        self.told.clear();
        self.heard.clear();
    }
}

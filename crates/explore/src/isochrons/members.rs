//! The membership: who is in which view, and who was told.

use super::world;
use quintet_contract::NodeId;
use quintet_isotach::{Isonet, Joined, Newcomers, Variable, View};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The views of a run, and who has heard of them.
#[derive(Debug)]
pub(super) struct Members {
    pub(super) views: BTreeMap<View, Arc<Isonet>>,
    /// Of each view, which of its nodes are later processes than the first.
    pub(super) newcomers: BTreeMap<View, Newcomers>,
    /// Later processes that are there and in no view: which they are.
    asking: BTreeMap<NodeId, u64>,
    /// Who is taken out, or to be: crashed, stopped, or taken to be gone.
    pub(super) gone: BTreeSet<NodeId>,
    /// Of each, the last view that it was told of.
    told: BTreeMap<NodeId, View>,
    /// Who lives and is taken to be gone, and who has not been told so.
    pub(super) suspected: BTreeMap<NodeId, BTreeSet<NodeId>>,
}

impl Members {
    pub(super) fn new(first: Arc<Isonet>) -> Members {
        Members {
            views: BTreeMap::from([(View(1), first)]),
            newcomers: BTreeMap::from([(View(1), Newcomers::new())]),
            asking: BTreeMap::new(),
            gone: BTreeSet::new(),
            told: BTreeMap::new(),
            suspected: BTreeMap::new(),
        }
    }

    pub(super) fn last(&self) -> (View, &Arc<Isonet>) {
        let (view, isonet) = self.views.last_key_value().expect("there is a first");
        (*view, isonet)
    }

    /// Everybody of a view, nodes and token managers.
    fn everybody(isonet: &Isonet) -> BTreeSet<NodeId> {
        let managers = isonet.topology().switches().iter().map(|switch| switch.manager);
        isonet.topology().nodes().chain(managers).collect()
    }

    pub(super) fn first(&self) -> &Isonet {
        self.views.first_key_value().expect("there is a first").1
    }

    /// A node has begun another life, of this number, and is in no view: it wants to be in the next one. Of one that was taken to be gone others may still come to hear that.
    pub(super) fn ask(&mut self, node: NodeId, life: u64) {
        let is_out = self.last().1.topology().switch_of(node).is_none();
        if is_out && !self.suspected.contains_key(&node) && self.gone.remove(&node) {
            self.asking.insert(node, life);
            self.told.remove(&node);
        }
    }

    /// A node is gone: also one that asks.
    pub(super) fn lose(&mut self, node: NodeId) {
        self.gone.insert(node);
        self.asking.remove(&node);
    }

    /// Whether somebody who is gone is in the last view, or somebody who asks is not.
    pub(super) fn needs_another(&self) -> bool {
        let is_left = Self::everybody(self.last().1).iter().any(|node| self.gone.contains(node));
        is_left || !self.asking.is_empty()
    }

    /// Agrees on a view without who is gone, and with who asks, if there can be one.
    pub(super) fn agree(&mut self, is_flat: bool) {
        let (last, isonet) = self.last();
        let back = self.asking.keys().copied().collect();
        let next = world::next(self.first(), isonet.topology(), (&self.gone, &back), is_flat);
        let Some(next) = next else { return };
        let view = View(last.0 + 1);
        let mut newcomers = self.newcomers[&last].clone();
        newcomers.retain(|node, _| next.topology().switch_of(*node).is_some());
        let asking = std::mem::take(&mut self.asking);
        newcomers.extend(asking.into_iter().map(|(node, life)| (node, Joined { view, life })));
        self.newcomers.insert(view, newcomers);
        self.views.insert(view, next);
    }

    /// Since which view a node of a view has been the process that it is there.
    fn since(&self, node: NodeId, view: View) -> View {
        self.newcomers[&view].get(&node).map_or(View(0), |joined| joined.view)
    }

    /// Nodes whose processes were in one view and are not in a later one, in which later ones may be.
    pub(super) fn ended_between(&self, earlier: View, later: View) -> BTreeSet<NodeId> {
        let stays = |node: &NodeId| self.nodes(later).contains(node) && self.since(*node, later) <= earlier;
        self.nodes(earlier).into_iter().filter(|node| !stays(node)).collect()
    }

    /// Whether one of these, who have begun a view, goes on from it: as the same process it is in a later one. Who alone has begun one, and is left behind, has others go on
    /// from the view before.
    pub(super) fn is_followed(&self, view: View, by: &BTreeSet<NodeId>) -> bool {
        let mut later = self.views.keys().filter(|later| **later > view);
        let stays =
            |node: &NodeId, later| self.nodes(later).contains(node) && self.since(*node, later) <= view;
        later.any(|later| by.iter().any(|node| stays(node, *later)))
    }

    /// Variables without a copy at any node that is in two views as the same process.
    pub(super) fn lost_between(&self, earlier: View, later: View) -> BTreeSet<Variable> {
        let staying = &self.nodes(earlier) - &self.ended_between(earlier, later);
        let lost = self.first().variables().filter(|(_, shape)| shape.copies.is_disjoint(&staying));
        lost.map(|(variable, _)| variable).collect()
    }

    /// Takes one to be gone that lives.
    pub(super) fn suspect(&mut self, node: NodeId) {
        let mut others = Self::everybody(self.last().1);
        let is_in = others.remove(&node);
        if is_in && others.iter().any(|other| !world::is_manager(*other)) && self.gone.insert(node) {
            self.suspected.insert(node, others);
        }
    }

    /// The last view, if this node is in it and was not told of it.
    pub(super) fn untold(&self, node: NodeId) -> Option<View> {
        let (view, isonet) = self.last();
        let is_in = Self::everybody(isonet).contains(&node) && !self.gone.contains(&node);
        let told = self.told.get(&node).copied().unwrap_or(View(1));
        (is_in && told < view).then_some(view)
    }

    pub(super) fn tell(&mut self, node: NodeId, view: View) {
        self.told.insert(node, view);
    }

    /// Those who are to be told of the last view.
    pub(super) fn all_untold(&self) -> Vec<NodeId> {
        Self::everybody(self.last().1).into_iter().filter(|node| self.untold(*node).is_some()).collect()
    }

    pub(super) fn nodes(&self, view: View) -> BTreeSet<NodeId> {
        self.views.get(&view).map(|isonet| isonet.topology().nodes().collect()).unwrap_or_default()
    }

    /// Whether a later view has more than half of the nodes of an earlier one, or half with its eldest: so that no others begin one.
    pub(super) fn is_majority(&self, earlier: View, later: View) -> bool {
        self.is_quorum(earlier, &(&self.nodes(earlier) - &self.ended_between(earlier, later)))
    }

    /// Whether these nodes of a view are more than half of it, or half with its eldest.
    pub(super) fn is_quorum(&self, view: View, some: &BTreeSet<NodeId>) -> bool {
        let of = self.nodes(view);
        let eldest = of.iter().min_by_key(|node| (self.since(**node, view), **node));
        2 * some.len() > of.len()
            || 2 * some.len() == of.len() && eldest.is_some_and(|eldest| some.contains(eldest))
    }

    /// Whether a node of one view may be in a later one: views between them may have begun at it without its program being told.
    pub(super) fn may_follow(&self, earlier: View, later: View) -> bool {
        let between =
            self.views.range((std::ops::Bound::Excluded(earlier), std::ops::Bound::Excluded(later)));
        self.is_majority(earlier, later)
            || between
                .map(|(view, _)| *view)
                .any(|view| self.is_majority(earlier, view) && self.may_follow(view, later))
    }

    /// Whether the last view must begin: whoever is in which view by then, it has a majority of it, and it is without nobody's token manager.
    pub(super) fn must_begin(&self) -> bool {
        let last = self.last().0;
        !self.needs_another() && self.views.keys().all(|view| self.is_majority(*view, last))
    }

    /// Whether a token manager of a view before this one is not in this one, as the process that it was.
    pub(super) fn has_lost_manager(&self, of: View) -> bool {
        let left = Self::everybody(&self.views[&of]);
        self.views.range(..of).any(|(view, isonet)| {
            let ended = self.ended_between(*view, of);
            let mut managers = isonet.topology().switches().iter().map(|switch| switch.manager);
            managers.any(|manager| !left.contains(&manager) || ended.contains(&manager))
        })
    }

    /// Nodes and token managers of earlier views that are not in this one.
    pub(super) fn left_out(&self, of: View) -> BTreeSet<NodeId> {
        let earlier = self.views.range(..of).map(|(_, isonet)| isonet);
        let all: BTreeSet<NodeId> = earlier.flat_map(|isonet| Self::everybody(isonet)).collect();
        &all - &Self::everybody(&self.views[&of])
    }
}

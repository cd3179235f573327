//! The membership: who is in which view, and who was told.

use super::world;
use quintet_contract::NodeId;
use quintet_isotach::{Isonet, View};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The views of a run, and who has heard of them.
#[derive(Debug)]
pub(super) struct Members {
    pub(super) views: BTreeMap<View, Arc<Isonet>>,
    /// Who is taken out, or to be: crashed, stopped, or taken to be gone.
    pub(super) gone: BTreeSet<NodeId>,
    /// Of each, the last view that it was told of.
    told: BTreeMap<NodeId, View>,
    /// Who lives and is taken to be gone, and who has not been told so.
    pub(super) suspected: BTreeMap<NodeId, BTreeSet<NodeId>>,
}

impl Members {
    pub(super) fn new(first: Arc<Isonet>) -> Members {
        let (gone, told, suspected) = (BTreeSet::new(), BTreeMap::new(), BTreeMap::new());
        Members { views: BTreeMap::from([(View(1), first)]), gone, told, suspected }
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

    /// Whether somebody who is gone is in the last view.
    pub(super) fn needs_another(&self) -> bool {
        Self::everybody(self.last().1).iter().any(|node| self.gone.contains(node))
    }

    /// Agrees on a view without who is gone, if there can be one.
    pub(super) fn agree(&mut self, is_flat: bool) {
        let (view, isonet) = self.last();
        if let Some(next) = world::without(isonet, &self.gone, is_flat) {
            self.views.insert(View(view.0 + 1), next);
        }
    }

    /// Takes one to be gone that lives.
    pub(super) fn suspect(&mut self, node: NodeId) {
        let mut others = Self::everybody(self.last().1);
        others.remove(&node);
        if others.iter().any(|other| !world::is_manager(*other)) && self.gone.insert(node) {
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

    fn nodes(&self, view: View) -> BTreeSet<NodeId> {
        self.views.get(&view).map(|isonet| isonet.topology().nodes().collect()).unwrap_or_default()
    }

    /// Whether a later view has more than half of the nodes of an earlier one, or half with its lowest: so that no others begin one.
    pub(super) fn is_majority(&self, earlier: View, later: View) -> bool {
        let (of, left) = (self.nodes(earlier), self.nodes(later));
        let staying = of.intersection(&left).count();
        2 * staying > of.len()
            || 2 * staying == of.len() && of.first().is_some_and(|first| left.contains(first))
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

    /// Nodes and token managers of earlier views that are not in this one.
    pub(super) fn left_out(&self, of: View) -> BTreeSet<NodeId> {
        let earlier = self.views.range(..of).map(|(_, isonet)| isonet);
        let all: BTreeSet<NodeId> = earlier.flat_map(|isonet| Self::everybody(isonet)).collect();
        &all - &Self::everybody(&self.views[&of])
    }
}

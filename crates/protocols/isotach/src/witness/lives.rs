//! Nodes that came back as later processes, and variables that were lost with their last copies: as the views tell.

use super::Run;
use crate::isonet::Variable;
use crate::logical_time::View;
use quintet_contract::NodeId;
use std::collections::{BTreeMap, BTreeSet};

/// The views with which something began anew.
#[derive(Debug, Default)]
pub(super) struct Lives {
    joined: BTreeMap<NodeId, BTreeSet<View>>,
    lost: BTreeMap<Variable, BTreeSet<View>>,
}

impl Lives {
    pub(super) fn of(run: &Run, has_begun: impl Fn(View) -> bool) -> Lives {
        let mut lives = Lives::default();
        let mut staying: Option<BTreeSet<NodeId>> = None;
        for (view, isonet) in &run.views {
            let nodes: BTreeSet<NodeId> = isonet.topology().nodes().collect();
            let before = run.views.range(..view).next_back();
            for node in nodes.iter().filter(|node| {
                before.is_some_and(|(_, before)| before.topology().switch_of(**node).is_none())
            }) {
                lives.joined.entry(*node).or_default().insert(*view);
            }
            // Those who have been there since the view that began last.
            let stay = staying.get_or_insert_with(|| nodes.clone());
            stay.retain(|node| nodes.contains(node));
            if has_begun(*view) {
                let lost = isonet.variables().filter(|(_, shape)| shape.copies.is_disjoint(stay));
                lost.for_each(|(variable, _)| _ = lives.lost.entry(variable).or_default().insert(*view));
                staying = Some(nodes);
            }
        }
        lives
    }

    /// Nodes whose processes of a view, or of any, are not those that came back last.
    pub(super) fn ended_after(&self, view: Option<View>) -> impl Iterator<Item = NodeId> + '_ {
        let is_later = move |views: &BTreeSet<View>| views.last().copied() > view;
        self.joined.iter().filter(move |(_, views)| is_later(views)).map(|(node, _)| *node)
    }

    /// Which process of a node it was in a view, and which time of a variable.
    pub(super) fn era(&self, node: NodeId, variable: Variable, view: View) -> (Option<View>, Option<View>) {
        let last = |views: Option<&BTreeSet<View>>| views?.range(..=view).next_back().copied();
        (last(self.joined.get(&node)), last(self.lost.get(&variable)))
    }

    /// Whether the value that a variable got in one view, or none, is not there any more in a later one.
    pub(super) fn has_lost(&self, variable: Variable, since: Option<View>, view: View) -> bool {
        let lost = self.lost.get(&variable);
        lost.is_some_and(|views| views.range(..=view).next_back().copied() > since)
    }
}

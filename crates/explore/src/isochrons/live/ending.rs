//! What must hold of live members when all is at rest, and where one is refused.

use super::ledger::{LiveLedger, Refused};
use crate::isochrons::ending::judge_where;
use crate::isochrons::ledger::World;
use crate::isochrons::nodes::Node;
use crate::system::{Broken, Verdict, View};
use quintet_contract::{NodeId, Span};
use quintet_isotach::{Joined, View as IsotachView};
use std::collections::BTreeSet;

const GOES_ON: &str = "more than half that stay connected go on";
const ALL_IN: &str = "all who are there are let into the view that goes on";
const FEW: &str = "who is one of too few ends";
const TOGETHER: &str = "who wants to end with all others is told that all do";

/// Within so long a member misses another one whose system refuses it.
const AT_ONCE: Span = Span::from_millis(1);
const REFUSED: &str = "who refuses connections is missed at once";

/// Who was refused by the system of a process that is not there is in no view that goes on with it.
pub(super) fn missed_where_refused(view: &View<'_, Node>, ledger: &LiveLedger) -> Result<(), Broken> {
    for Refused { whom, by, at } in &ledger.refused {
        let is_due = view.now() > *at + AT_ONCE && view.node(*by).is_none();
        let Some(node) = view.node(*whom).and_then(Node::isotach).filter(|_| is_due) else { continue };
        let has = |world: &World| world.members.nodes(node.view()).contains(by);
        if node.halt().is_none() && ledger.seen.world.as_ref().is_some_and(has) {
            let text = format!("node {} was refused by that of node {} at {at}, and goes on", whom.0, by.0);
            return Err(Broken::new(REFUSED, text));
        }
    }
    Ok(())
}

/// All of it.
pub(super) fn judge(view: &View<'_, Node>, ledger: &LiveLedger) -> Result<Verdict, Broken> {
    let Some(world) = &ledger.seen.world else { return Ok(Verdict::Holds) };
    let last = world.members.last().0;
    let life_in =
        |node: NodeId| world.members.newcomers[&last].get(&node).map_or(1, |joined: &Joined| joined.life);
    let members = world.members.nodes(last);
    let there: BTreeSet<NodeId> = view.nodes().map(|(node, _)| node).collect();
    let is_left = |node: &NodeId| there.contains(node) && life_in(*node) == ledger.life(*node);
    let left: BTreeSet<NodeId> = members.iter().copied().filter(is_left).collect();
    let is_in_view = |node: &Node| node.isotach().is_some_and(|node| node.view() > IsotachView(0));
    // Those who come back find nobody who has what a view begins with: they wait until their programs give up.
    let goes_on = world.members.is_quorum(last, &left) && view.nodes().any(|(_, node)| is_in_view(node));
    if !goes_on {
        if ledger.must_go_on(world.members.nodes(IsotachView(1)).len()) {
            let text = format!("of view {} only {left:?} are left", last.0);
            return Err(Broken::new(GOES_ON, text));
        }
        if let Some((node, _)) = view.nodes().find(|(_, node)| is_in_view(node)) {
            let text = format!("node {} goes on, and of view {} only {left:?} are left", node.0, last.0);
            return Err(Broken::new(FEW, text));
        }
    } else if there != members || left != members {
        let text =
            format!("view {} has {members:?}, of which {left:?} are left, and {there:?} are there", last.0);
        return Err(Broken::new(ALL_IN, text));
    }
    let verdict = judge_where(view, (&ledger.seen, world), goes_on)?;
    if goes_on && ledger.is_leaving && ledger.left != members {
        let text = format!("{members:?} want to end, and {:?} were told that all do", ledger.left);
        return Err(Broken::new(TOGETHER, text));
    }
    Ok(verdict)
}

//! What must hold when all is at rest.

use super::ledger::{KEPT, Ledger, World};
use super::memory;
use super::nodes::Node;
use super::programs::{Fate, Program};
use crate::system::{Broken, Verdict, View};
use quintet_contract::NodeId;
use quintet_isotach::{Operation, Place, Rank, Run, Violation, Witnessed, check_where};
use quintet_linearizability::Fault;
use std::collections::{BTreeMap, BTreeSet};

const ANSWERED: &str = "everything that was asked is answered";
const TOLD: &str = "what a program is told to be completed was executed there by all who are left";
const REST: &str = "all switches come to rest in one pulse";
const INHERITED: &str = "while token managers live, what anybody executed is executed by all who are left";
const CONSISTENT: &str = "one memory could have told the programs what they were told";

/// All of it.
pub(super) fn judge(view: &View<'_, Node>, ledger: &Ledger) -> Result<Verdict, Broken> {
    let Some(world) = &ledger.world else { return Ok(Verdict::Holds) };
    judge_where(view, (ledger, world), world.members.must_begin())
}

/// All of it, where the last view must begin, or may not.
pub(super) fn judge_where(
    view: &View<'_, Node>,
    (ledger, world): (&Ledger, &World),
    must_begin: bool,
) -> Result<Verdict, Broken> {
    halted(view)?;
    if must_begin {
        answered(view, world)?;
        at_rest(view, world)?;
    }
    let begun = begun(view, world);
    let gone = world.members.left_out(begun);
    let mut run = witnessed(view, ledger, world, (gone, must_begin));
    let places = run.said.values().flatten().filter_map(|one| match one {
        Witnessed::Submitted { after: place, .. } | Witnessed::Executed { place, .. } => {
            Some(place.stamp.view)
        }
        _ => None,
    });
    // Of later views nobody has seen anything.
    let last = places.max().map_or(begun, |view| view.max(begun));
    run.views.retain(|view, _| *view <= last);
    let is_whole = forget_what_is_lost(&mut run, world, begun)?;
    let is_in = |node: &Node, of| node.isotach().is_some_and(|node| node.view() == of);
    let begun_by = |of| {
        let there = view.nodes().filter(move |(_, node)| is_in(node, of)).map(|(node, _)| node);
        let told = world.begun.get(&of).into_iter().flatten().copied();
        there.chain(told).collect()
    };
    match check_where(&run, |of| of == begun || world.members.is_followed(of, &begun_by(of))) {
        // What they read from who is gone may be what nobody who is left knows of.
        Err(Violation::Read { .. }) if !is_whole => {}
        checked => checked.map_err(|violation| Broken::new(rule(&violation), violation.to_string()))?,
    }
    told(&run, world, begun)?;
    if !is_whole {
        return Ok(Verdict::Holds);
    }
    let unheard = executed_unheard(&run);
    match memory::check(world, |node, operations| {
        let mut found = unheard.iter().filter(|(of, done, _)| (*of, *done) == (node, operations));
        found.next().map(|(.., place)| *place)
    }) {
        Ok(()) => Ok(Verdict::Holds),
        Err(fault @ Fault::NotLinearizable { .. }) => Err(Broken::new(CONSISTENT, fault.to_string())),
        Err(fault @ Fault::Undecided(_)) => Ok(Verdict::Open(fault.to_string())),
    }
}

/// With a token manager what it knew is gone: what only those executed who are gone as well may be refused, or placed elsewhere (decision 59). If there is anything of the
/// kind, this takes all that only they executed out of what they say, and says so: what of it is behind what was lost nobody can tell.
fn forget_what_is_lost(run: &mut Run, world: &World, begun: quintet_isotach::View) -> Result<bool, Broken> {
    let (mut places, mut lost) = (BTreeMap::new(), BTreeSet::new());
    // Also what earlier processes did of nodes that came back.
    let gone_of = |view| &run.gone | &world.members.ended_between(view, begun);
    let gone_of: BTreeMap<_, _> = run.views.keys().map(|view| (*view, gone_of(*view))).collect();
    let is_of_gone = |node: NodeId, one: &Witnessed| match one {
        Witnessed::Executed { place, .. } | Witnessed::Completed { place, .. } => {
            gone_of[&place.stamp.view].contains(&node)
        }
        Witnessed::Lost { .. } | Witnessed::Submitted { .. } | Witnessed::Received { .. } => {
            run.gone.contains(&node)
        }
    };
    for (node, said) in &run.said {
        for one in said.iter().filter(|one| !is_of_gone(*node, one)) {
            match one {
                Witnessed::Executed { place, sender, rank } => _ = places.insert((*sender, *rank), *place),
                Witnessed::Completed { place, rank, .. } => _ = places.insert((*node, *rank), *place),
                Witnessed::Lost { rank } => _ = lost.insert((*node, *rank)),
                Witnessed::Submitted { .. } | Witnessed::Received { .. } => {}
            }
        }
    }
    let known = |node: NodeId, one: &Witnessed| match one {
        Witnessed::Executed { place, sender, rank } => Some(((*sender, *rank), *place)),
        Witnessed::Completed { place, rank, .. } => Some(((node, *rank), *place)),
        Witnessed::Submitted { .. } | Witnessed::Received { .. } | Witnessed::Lost { .. } => None,
    };
    let of_gone = run.said.iter().flat_map(|(node, said)| said.iter().map(move |one| (*node, one)));
    let of_gone = of_gone.filter(|(node, one)| is_of_gone(*node, one));
    let all = of_gone.filter_map(|(node, one)| Some((node, known(node, one)?)));
    let contradicted: Vec<_> = all
        .filter(|(_, (isochron, place))| match places.get(isochron) {
            Some(at) => at != place,
            None => {
                let (sender, rank) = *isochron;
                let before = places.range((sender, Rank(0))..(sender, rank)).next_back();
                let is_overtaken = before.is_some_and(|(_, earlier)| earlier > place);
                lost.contains(isochron) || stays_with(run, &gone_of, *isochron) || is_overtaken
            }
        })
        .map(|(node, (isochron, _))| (node, isochron))
        .collect();
    if contradicted.is_empty() {
        return Ok(true);
    }
    let has_lost_manager = world.members.has_lost_manager(begun);
    let inherited = contradicted.iter().find(|(_, isochron)| stays_with(run, &gone_of, *isochron));
    if let Some((node, (sender, rank))) = inherited.filter(|_| !has_lost_manager) {
        let text = format!(
            "node {} executed isochron {} of node {}, and who is left did not, or elsewhere",
            node.0, rank.0, sender.0
        );
        return Err(Broken::new(INHERITED, text));
    }
    let gone = run.gone.clone();
    for (node, said) in &mut run.said {
        said.retain(|one| {
            let Some((isochron, place)) = known(*node, one) else { return true };
            let is_of_gone = gone.contains(node) || gone_of[&place.stamp.view].contains(node);
            !is_of_gone || places.get(&isochron) == Some(&place)
        });
    }
    Ok(false)
}

/// Whether somebody who is left has a part of an isochron.
fn stays_with(
    run: &Run,
    gone_of: &BTreeMap<quintet_isotach::View, BTreeSet<NodeId>>,
    (sender, rank): (NodeId, Rank),
) -> bool {
    let submitted = run.said.get(&sender).into_iter().flatten().find_map(|one| match one {
        Witnessed::Submitted { rank: of, operations, after } if *of == rank => Some((operations, after)),
        _ => None,
    });
    let Some((operations, after)) = submitted else { return false };
    let receivers = run.views[&after.stamp.view].receivers(sender, operations);
    !receivers.is_subset(&gone_of[&after.stamp.view])
}

/// Where isochrons of which their programs do not know it were executed, by what they do.
fn executed_unheard(run: &Run) -> Vec<(NodeId, &[Operation], Place)> {
    let mut places = BTreeMap::new();
    for one in run.said.values().flatten() {
        if let Witnessed::Executed { place, sender, rank } = one {
            places.insert((*sender, *rank), *place);
        }
    }
    let submitted = run.said.iter().flat_map(|(node, said)| {
        said.iter().filter_map(|one| match one {
            Witnessed::Submitted { rank, operations, .. } => Some(((*node, *rank), &operations[..])),
            _ => None,
        })
    });
    submitted.filter_map(|(key, operations)| Some((key.0, operations, *places.get(&key)?))).collect()
}

/// The last view that anybody has begun. In earlier ones nobody goes on.
fn begun(view: &View<'_, Node>, world: &World) -> quintet_isotach::View {
    let ended = world.ended.iter().map(|(_, program)| program);
    let told = world.programs.values().chain(ended).map(|program| program.view);
    let nodes = view.nodes().filter_map(|(_, node)| node.isotach().map(quintet_isotach::Node::view));
    told.chain(nodes).max().unwrap_or(quintet_isotach::View(1))
}

/// No token manager says that somebody broke the protocol: nodes tell their programs so.
fn halted(view: &View<'_, Node>) -> Result<(), Broken> {
    let managers = view.nodes().filter_map(|(_, node)| node.token_manager()?.halt());
    let mut misbehaved = managers.filter(|halt| halt.cause == quintet_isotach::HaltCause::Misbehaved);
    misbehaved.next().map_or(Ok(()), |halt| Err(Broken::new(KEPT, halt.to_string())))
}

/// All who are in the last view have begun it, and were answered.
fn answered(view: &View<'_, Node>, world: &World) -> Result<(), Broken> {
    let (last, isonet) = world.members.last();
    for node in isonet.topology().nodes() {
        let begun = view.node(node).and_then(Node::isotach).map(quintet_isotach::Node::view);
        if begun != Some(last) {
            return Err(Broken::new(ANSWERED, format!("node {} has not begun view {}", node.0, last.0)));
        }
        let program = &world.programs[&node];
        let open: Vec<u64> = program.open().chain(&program.plain).map(|token| token.0).collect();
        if !open.is_empty() {
            return Err(Broken::new(ANSWERED, format!("node {} was not answered to {open:?}", node.0)));
        }
    }
    Ok(())
}

fn at_rest(view: &View<'_, Node>, world: &World) -> Result<(), Broken> {
    let (last, isonet) = world.members.last();
    let managers = isonet.topology().switches().iter().map(|switch| switch.manager);
    let managers: Vec<_> = managers.filter_map(|node| view.node(node)?.token_manager()).collect();
    let pulses: BTreeSet<u64> = managers.iter().map(|manager| manager.pulse().0).collect();
    if pulses.len() > 1 || managers.iter().any(|manager| manager.view() != last) {
        return Err(Broken::new(REST, format!("the pulses of view {} are {pulses:?}", last.0)));
    }
    Ok(())
}

/// What all nodes say that they did.
fn witnessed(
    view: &View<'_, Node>,
    ledger: &Ledger,
    world: &World,
    (gone, has_ended): (BTreeSet<NodeId>, bool),
) -> Run {
    let mut said = ledger.said_before();
    said.retain(|node, _| world.members.first().topology().switch_of(*node).is_some());
    for (node, runs) in view.nodes().filter(|(_, node)| node.isotach().is_some()) {
        said.entry(node).or_default().extend(runs.witness().iter().cloned());
    }
    Run { said, views: world.members.views.clone(), gone, has_ended }
}

/// What programs were told is what has happened, at those who are left.
fn told(run: &Run, world: &World, begun: quintet_isotach::View) -> Result<(), Broken> {
    let mut executed: BTreeMap<(NodeId, NodeId, Rank), Place> = BTreeMap::new();
    for (node, list) in &run.said {
        for witnessed in list {
            if let Witnessed::Executed { place, sender, rank } = witnessed {
                executed.insert((*node, *sender, *rank), *place);
            }
        }
    }
    let left = world.members.views[&begun].topology();
    for (sender, program) in &world.programs {
        // Who is gone may have ended before it began the view.
        let is_left = |node: NodeId| left.switch_of(node).is_some() && !world.members.gone.contains(&node);
        let ended = |view| world.members.ended_between(view, begun);
        for (rank, place, receiver) in messages(program).filter(|(.., node)| is_left(*node)) {
            if ended(place.stamp.view).contains(&receiver) {
                continue;
            }
            let at = executed.get(&(receiver, *sender, rank));
            if left.switch_of(*sender).is_some() && at != Some(&place) {
                let (rank, sender, by) = (rank.0, sender.0, receiver.0);
                let text = format!(
                    "isochron {rank} of node {sender} completed at {place:?}, and node {by} executed it at {at:?}"
                );
                return Err(Broken::new(TOLD, text));
            }
        }
    }
    Ok(())
}

/// The messages of what a program was told to be completed: which isochron, where, and to whom.
fn messages(program: &Program) -> impl Iterator<Item = (Rank, Place, NodeId)> + '_ {
    program.submitted.values().flat_map(|one| {
        let Fate::Completed(rank, place, _) = &one.fate else { return Vec::new() };
        let to = one.operations.iter().filter_map(|operation| match operation {
            Operation::Send { to, .. } => Some((*rank, *place, *to)),
            _ => None,
        });
        to.collect()
    })
}

/// The rule that a violation breaks.
fn rule(violation: &Violation) -> &'static str {
    match violation {
        Violation::Order(..) => "each node executes in the one order",
        Violation::Torn(..) => "all receivers execute an isochron at one time",
        Violation::Receivers(..) => "all receivers execute an isochron, or none",
        Violation::Unfinished(..) => ANSWERED,
        Violation::Fifo(..) => "isochrons of one sender are executed in their order",
        Violation::Causality(..) => "an isochron is behind all that its sender had executed",
        Violation::Reads(..) | Violation::Read { .. } => "a read gives what was written last before it",
    }
}

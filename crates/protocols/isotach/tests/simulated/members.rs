//! Runs in which nobody outside says who belongs to a view: nodes agree on it by themselves.

use super::found::Found;
use super::machine::Machine;
use super::net::{MANAGERS, Setting, callers_of, manager_at, node_at};
use super::run::World;
use quintet_contract::{Address, Frame, Input, NodeId, Token};
use quintet_isotach::codec::{LEAVE, NEXT_VIEW, NextView};
use quintet_isotach::{Defect, Delivery, Isonet, ManagerConfig, Refusal, TokenManager, View, Witnessed};
use quintet_wire::encode_to_vec;
use std::collections::BTreeSet;
use std::sync::Arc;

fn beside(node: NodeId) -> NodeId {
    NodeId(MANAGERS + node.0)
}

/// Processes end, one after the other or while the others agree on the view without the first.
pub(crate) fn run_with_ends(seed: u64, setting: Setting) -> Result<(), Found> {
    let mut world = begun(seed, None, setting)?;
    let ends = 1 + world.random.below(3);
    for _ in 0..ends {
        world.go_some(60)?;
        let there: Vec<NodeId> = world.net.everybody().into_iter().map(|at| at.node).collect();
        if world.programs.len() > 1 {
            let gone = world.any(&there);
            world.end_process(gone)?;
        }
    }
    world.go(None)?;
    world.check_members(&BTreeSet::new())
}

/// Two nodes that cannot reach each other, while both are there.
pub(crate) fn run_with_parted(seed: u64, setting: Setting) -> Result<(), Found> {
    let mut world = begun(seed, None, setting)?;
    let nodes: Vec<NodeId> = world.net.nodes.keys().copied().collect();
    let one = world.any(&nodes);
    let others: Vec<NodeId> = nodes.iter().copied().filter(|node| *node != one).collect();
    let other = world.any(&others);
    if nodes.len() < 3 {
        return Ok(());
    }
    world.net.part(one, other);
    for (at, gone) in [(one, other), (other, one)] {
        world.net.tell_down(node_at(at), node_at(gone), &mut world.random);
        world.go_some(60)?;
    }
    world.go(None)?;
    world.check_members(&[one, other].into())
}

pub(crate) fn begun(seed: u64, defect: Option<Defect>, setting: Setting) -> Result<World, Found> {
    let mut world = World::new(seed, Delivery::Safe, defect, setting);
    world.programs.values_mut().for_each(|program| program.agrees());
    world.go_some(400)?;
    Ok(world)
}

impl World {
    /// Programs see to token managers: one that is needed beside a node is started there, or told of the view.
    pub(crate) fn staff_agreed(&mut self) {
        let said: Vec<(NodeId, View, String)> = self
            .programs
            .iter_mut()
            .flat_map(|(node, program)| {
                program.agreed.drain(..).map(|(view, topology)| (*node, view, topology)).collect::<Vec<_>>()
            })
            .collect();
        for (node, view, text) in said {
            let isonet = self.run.views[&view].clone();
            for (switch, described) in isonet.topology().switches().iter().enumerate() {
                let manager = described.manager;
                if manager == beside(node) && !self.net.managers.contains_key(&manager) {
                    let config = ManagerConfig::new(isonet.clone(), switch, view);
                    self.net.managers.insert(manager, TokenManager::new(config));
                } else if manager == beside(node) || manager.0 < MANAGERS {
                    // Where switches outlive nodes, each node's program tells them: they hear it once.
                    self.tell_manager(manager, view, &text);
                }
            }
        }
    }

    fn tell_manager(&mut self, manager: NodeId, view: View, topology: &str) {
        let is_behind = |manager: &TokenManager| manager.view() < view;
        if self.net.managers.get(&manager).is_some_and(is_behind) {
            let body = encode_to_vec(&NextView { view, topology });
            let frame = Frame::new(NEXT_VIEW, Token(1), &body);
            let input = Input::Frame(callers_of(manager), frame);
            self.net.give(manager_at(manager), input, &mut self.random);
        }
    }

    /// A node and the token manager beside it, or a token manager by itself.
    fn end_process(&mut self, of: NodeId) -> Result<(), Found> {
        let node = NodeId(of.0.checked_sub(MANAGERS).unwrap_or(of.0));
        let both: BTreeSet<Address> = [node_at(node), manager_at(beside(node)), manager_at(of)]
            .into_iter()
            .filter(|at| self.net.everybody().contains(at))
            .collect();
        if let Some(node) = self.net.nodes.get_mut(&node) {
            let last = node.take_witness();
            self.run.said.entry(NodeId(of.0 % MANAGERS)).or_default().extend(last);
        }
        let managers = both.iter().filter_map(|at| self.net.managers.get(&at.node));
        self.managers_lost_in.extend(managers.map(|manager| manager.view()));
        self.managers_lost_in.extend(self.net.nodes.get(&node).and_then(Machine::kept_view));
        let mut held = Vec::new();
        self.net.is_ending = true;
        for at in &both {
            self.net.crash(at.node);
            self.programs.remove(&at.node);
            self.run.gone.insert(at.node);
            held.push(self.net.hold_back(at.node, &mut self.random));
        }
        let mut unaware: Vec<(Address, Address)> = self
            .net
            .everybody()
            .into_iter()
            .flat_map(|at| both.iter().map(move |gone| (at, *gone)))
            .collect();
        while !unaware.is_empty() {
            self.go_some(40)?;
            let next = usize::try_from(self.random.below(unaware.len() as u64)).expect("few");
            let (at, gone) = unaware.remove(next);
            self.net.tell_down(at, gone, &mut self.random);
        }
        held.into_iter().for_each(|held| self.net.let_go(held));
        self.net.is_ending = false;
        Ok(())
    }

    /// All who are there go on in one view of theirs, but one of two that are `parted`; or all of them say that they are too few.
    fn check_members(&mut self, parted: &BTreeSet<NodeId>) -> Result<(), Found> {
        let wrong = |text: String| Err(Found::Other(text));
        let ended: BTreeSet<NodeId> = self
            .programs
            .iter()
            .filter(|(_, program)| program.ended.is_some())
            .map(|(node, _)| *node)
            .collect();
        let is_minority = |node: &NodeId| matches!(self.programs[node].ended, Some(Refusal::Minority { .. }));
        if ended.len() == self.programs.len() && ended.iter().all(is_minority) {
            self.forget_what_nobody_knows();
            self.check()?;
            return if self.is_quorum_of_first() {
                wrong("enough say that they are too few".to_owned())
            } else {
                Ok(())
            };
        }
        if !ended.is_subset(parted) || ended.len() != usize::from(!parted.is_empty()) {
            return wrong(format!("{ended:?} have ended, of {parted:?}"));
        }
        for node in &ended {
            let last = self.net.nodes.get_mut(node).map(|node| node.take_witness());
            self.run.said.entry(*node).or_default().extend(last.into_iter().flatten());
            self.programs.remove(node);
            self.net.crash(*node);
            self.run.gone.insert(*node);
        }
        let views: BTreeSet<View> = self.net.nodes.values().map(|node| node.view()).collect();
        let last = self.run.views.last_key_value().expect("there is one");
        let members: BTreeSet<NodeId> = last.1.topology().nodes().collect();
        let there: BTreeSet<NodeId> = self.programs.keys().copied().collect();
        if members != there || views != [*last.0].into() {
            return wrong(format!("{there:?} are in views {views:?}, and {:?} has {members:?}", last.0));
        }
        if let Some((node, halt)) = self.net.nodes.iter().find_map(|(node, one)| Some((node, one.halt()?))) {
            return wrong(format!("node {} has halted: {halt}", node.0));
        }
        self.run.has_ended = true;
        self.forget_what_nobody_knows();
        self.check()?;
        self.check_told()?;
        let unanswered = self.programs.iter().find(|(_, one)| !one.open.is_empty() || one.plain > 0);
        if let Some((node, one)) = unanswered {
            return wrong(format!("node {} was not answered: {:?}, {} plain", node.0, one.open, one.plain));
        }
        self.check_leaving(&there)
    }

    /// What a token manager told in its last view those alone who are gone as well, nobody knows; nor what others read of them there.
    fn forget_what_nobody_knows(&mut self) {
        for (node, machine) in &mut self.net.nodes {
            self.run.said.entry(*node).or_default().extend(machine.take_witness());
        }
        let (gone, views) = (&self.run.gone, &self.run.views);
        let managers = |isonet: &Isonet| -> BTreeSet<NodeId> {
            isonet.topology().switches().iter().map(|switch| switch.manager).collect()
        };
        // One that no later view has is told of none, and tells nothing of what it knows.
        let has_left = |(view, isonet): (&View, &Arc<Isonet>)| {
            let later = views.range(View(view.0 + 1)..);
            later.map(|(_, later)| managers(later)).any(|later| !managers(isonet).is_subset(&later))
        };
        let left = views.iter().filter(|one| has_left(*one)).map(|(view, _)| *view);
        let lost: BTreeSet<View> = self.managers_lost_in.iter().copied().chain(left).collect();
        for (node, said) in &mut self.run.said {
            let is_gone = gone.contains(node);
            let is_read_there = |view: View, variable| {
                views[&view].copy_for(*node, variable).is_some_and(|copy| gone.contains(&copy))
            };
            // A read of one's own copy may wait over the end of its view, and has its value of the view in which it completes.
            let mut seen = View(0);
            said.retain(|one| match one {
                Witnessed::Executed { place, .. } => {
                    seen = seen.max(place.stamp.view);
                    !is_gone || !lost.contains(&place.stamp.view)
                }
                Witnessed::Submitted { after, .. } => {
                    seen = seen.max(after.stamp.view);
                    true
                }
                Witnessed::Completed { place, reads, .. } => {
                    let view = place.stamp.view;
                    let is_of_gone =
                        is_gone || reads.iter().any(|(variable, _)| is_read_there(view, *variable));
                    !is_of_gone || lost.first().is_none_or(|lost| view.max(seen) < *lost)
                }
                Witnessed::Received { .. } | Witnessed::Lost { .. } => true,
            });
        }
    }

    fn is_quorum_of_first(&self) -> bool {
        let first: Vec<NodeId> = self.run.views[&View(1)].topology().nodes().collect();
        let left = 2 * self.programs.len();
        left > first.len() || left == first.len() && self.programs.contains_key(&first[0])
    }

    /// All ask to end, and all are told when all have.
    pub(crate) fn check_leaving(&mut self, nodes: &BTreeSet<NodeId>) -> Result<(), Found> {
        for (left, node) in nodes.iter().enumerate() {
            if self.programs.values().any(|program| program.has_left) {
                return Err(Found::Other(format!(
                    "{left} of {nodes:?} want to end, and are told that all do"
                )));
            }
            let input = Input::Frame(callers_of(*node), Frame::new(LEAVE, Token(0), &[]));
            self.net.give(node_at(*node), input, &mut self.random);
            self.go_some(20)?;
        }
        self.go(None)?;
        let all_left = self.programs.values().all(|program| program.has_left);
        if all_left { Ok(()) } else { Err(Found::Other("all want to end, and are not told".to_owned())) }
    }
}

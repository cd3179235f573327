//! Runs in which nodes end and later processes of theirs join the views that follow, and others end while they do.

use super::found::Found;
use super::members::begun;
use super::net::{Setting, callers_of, node_at};
use super::program::Program;
use super::run::World;
use super::state::State;
use quintet_contract::{Address, Bytes, Frame, Input, NodeId, Token};
use quintet_isotach::codec::{PROGRAM_STATE, ProgramState};
use quintet_isotach::limits::MAX_STATE_PIECE_BYTES;
use quintet_isotach::{Defect, Refusal, View};
use quintet_wire::encode_to_vec;
use std::collections::{BTreeMap, BTreeSet};

/// Who is not there, and who has not heard that.
type Away = BTreeMap<NodeId, BTreeSet<Address>>;

/// Nodes end and come back, at any moment of the others.
pub(crate) fn run_with_rejoins(seed: u64, defect: Option<Defect>, setting: Setting) -> Result<(), Found> {
    let mut world = begun(seed, defect, setting)?;
    world.rejoins = true;
    let (mut away, mut life) = (Away::new(), 0);
    for _ in 0..2 + world.random.below(6) {
        let there: Vec<NodeId> = world.net.nodes.keys().copied().collect();
        let gone: Vec<NodeId> = away.keys().copied().collect();
        if !gone.is_empty() && world.random.chance(600_000) {
            life += 1;
            let back = world.any(&gone);
            let unaware = away.remove(&back).unwrap_or_default();
            world.join(back, life, &unaware);
        } else if there.len() > 1 {
            let node = world.any(&there);
            let unaware = world.end_node(node)?;
            away.values_mut().for_each(|unaware| _ = unaware.remove(&node_at(node)));
            away.insert(node, unaware);
        }
        world.net.is_ending = away.values().any(|unaware| !unaware.is_empty());
        let steps = [30, 200, 2_000][usize::try_from(world.random.below(3)).expect("few")];
        world.go_some(steps)?;
    }
    for (gone, unaware) in away {
        unaware.into_iter().for_each(|at| world.net.tell_down(at, node_at(gone), &mut world.random));
    }
    world.net.is_ending = false;
    world.go(None)?;
    world.check_rejoined()
}

impl World {
    /// A node ends. Some of the others hear of it soon: who has not.
    fn end_node(&mut self, node: NodeId) -> Result<BTreeSet<Address>, Found> {
        let last = self.net.nodes.get_mut(&node).map(|node| node.take_witness());
        self.run.said.entry(node).or_default().extend(last.into_iter().flatten());
        self.net.crash(node);
        self.programs.remove(&node);
        self.run.gone.insert(node);
        let mut unaware: BTreeSet<Address> = self.net.everybody().into_iter().collect();
        self.net.is_ending = true;
        for at in self.net.everybody() {
            if self.random.chance(700_000) {
                self.go_some(40)?;
                self.net.tell_down(at, node_at(node), &mut self.random);
                unaware.remove(&at);
            }
        }
        Ok(unaware)
    }

    /// A later process of a node begins, and is linked with all.
    fn join(&mut self, node: NodeId, life: u64, unaware: &BTreeSet<Address>) {
        unaware.iter().for_each(|at| self.net.tell_down(*at, node_at(node), &mut self.random));
        let first = self.run.views[&View(1)].clone();
        let others = self.net.everybody();
        self.net.join(node, life, &first);
        let mut program = Program::new(first, node);
        program.agrees();
        program.state = State::of_newcomer();
        self.programs.insert(node, program);
        self.run.gone.remove(&node);
        others.iter().for_each(|at| self.net.tell_up(*at, node_at(node), &mut self.random));
        others.iter().for_each(|at| self.net.tell_up(node_at(node), *at, &mut self.random));
    }

    /// Programs give the states that they were asked for, now and then, or all that is still to be given. False if there was nothing.
    pub(crate) fn give_states(&mut self, is_last: bool) -> bool {
        let mut asked = Vec::new();
        for (node, program) in &mut self.programs {
            if !program.state.taken.is_empty() && (is_last || self.random.chance(100_000)) {
                asked.extend(program.state.taken.drain(..).map(|(view, bytes)| (*node, view, bytes)));
            }
        }
        for (node, view, bytes) in &asked {
            self.given.entry(*view).or_default().insert(bytes.clone());
            let size = 1 + usize::try_from(self.random.below(MAX_STATE_PIECE_BYTES as u64)).expect("small");
            let pieces = bytes.chunks(size);
            let count = pieces.len();
            for (number, bytes) in pieces.enumerate() {
                let piece = ProgramState { view: *view, is_complete: number + 1 == count, bytes };
                let body = encode_to_vec(&piece);
                let input = Input::Frame(callers_of(*node), Frame::new(PROGRAM_STATE, Token(0), &body));
                self.net.give(node_at(*node), input, &mut self.random);
            }
        }
        !asked.is_empty()
    }

    /// All who are there are in one view and have been answered, unless too few are left, or nobody who has the state.
    fn check_rejoined(&mut self) -> Result<(), Found> {
        let wrong = |text: String| Err(Found::Other(text));
        let ended: BTreeMap<NodeId, Refusal> = self
            .programs
            .iter()
            .filter_map(|(node, program)| Some((*node, program.ended.clone()?)))
            .collect();
        let (last, isonet) =
            self.run.views.last_key_value().map(|(view, isonet)| (*view, isonet.clone())).expect("a first");
        let there: BTreeSet<NodeId> =
            self.programs.keys().filter(|node| !ended.contains_key(*node)).copied().collect();
        let members: BTreeSet<NodeId> = isonet.topology().nodes().collect();
        // Nodes that ask to be let in find nobody.
        let is_over = there.iter().all(|node| self.net.nodes[node].view() == View(0));
        if is_over {
            self.run.gone.extend(&there);
            self.check()?;
            let is_right = |(node, why): (&NodeId, &Refusal)| match why {
                Refusal::Minority { left, of, .. } => 2 * left <= *of,
                _ => self.lacks_state(*node, why),
            };
            let wrongly = ended.iter().find(|one| !is_right(*one));
            return wrongly.map_or(Ok(()), |(node, why)| wrong(format!("node {} has ended: {why}", node.0)));
        }
        let views: BTreeSet<(NodeId, View)> =
            there.iter().map(|node| (*node, self.net.nodes[node].view())).collect();
        let lacks_state = |(node, why): (&NodeId, &Refusal)| self.lacks_state(*node, why);
        if members != there || views.iter().any(|(_, view)| *view != last) || !ended.iter().all(lacks_state) {
            return wrong(format!("{views:?} of {members:?} in {last:?}, and have ended {ended:?}"));
        }
        if let Some((node, halt)) = there.iter().find_map(|node| Some((node, self.net.nodes[node].halt()?))) {
            return wrong(format!("node {} has halted: {halt}", node.0));
        }
        for node in ended.keys() {
            let last = self.net.nodes.get_mut(node).map(|node| node.take_witness());
            self.run.said.entry(*node).or_default().extend(last.into_iter().flatten());
            self.programs.remove(node);
            self.net.crash(*node);
            self.run.gone.insert(*node);
        }
        self.run.has_ended = true;
        self.check()?;
        self.check_told()?;
        let unanswered = self.programs.iter().find(|(_, one)| !one.open.is_empty() || one.plain > 0);
        if let Some((node, one)) = unanswered {
            return wrong(format!("node {} was not answered: {:?}, {} plain", node.0, one.open, one.plain));
        }
        self.check_states()?;
        self.check_leaving(&there)
    }

    /// Whether a node has joined with a view, and all are gone who were in the view before and had one of its variables, or any state.
    fn lacks_state(&self, node: NodeId, why: &Refusal) -> bool {
        let Refusal::LeftBehind(view) = why else { return false };
        let is_there = |other: NodeId, view: View| {
            self.run.views.get(&view).is_some_and(|isonet| isonet.topology().switch_of(other).is_some())
        };
        let has_view = |other: &NodeId| self.programs.get(other).is_some_and(|one| !one.state.is_outside());
        let is_left = |other: &NodeId| {
            has_view(other) && self.run.views.range(view..).all(|(view, _)| is_there(*other, *view))
        };
        let was_there = |other: &NodeId| is_there(*other, View(view.0 - 1));
        let isonet = &self.run.views[view];
        let sources: BTreeSet<NodeId> = isonet.topology().nodes().filter(was_there).collect();
        let is_gone = |copies: BTreeSet<NodeId>| !copies.is_empty() && !copies.iter().any(is_left);
        let mine = isonet.variables().filter(|(_, shape)| shape.copies.contains(&node));
        let mut variables = mine.map(|(_, shape)| &shape.copies & &sources);
        self.programs[&node].state.is_outside() && (variables.any(is_gone) || is_gone(sources))
    }

    /// Who has joined got what somebody gave, and all copies of a variable are the same.
    fn check_states(&self) -> Result<(), Found> {
        for (node, program) in &self.programs {
            if let Some((view, bytes)) = program.state.joined_with()
                && !self.given.get(&view).is_some_and(|given| given.contains(bytes))
            {
                return Err(Found::Other(format!(
                    "node {} got what nobody gave for view {}",
                    node.0, view.0
                )));
            }
        }
        let (_, isonet) = self.run.views.last_key_value().expect("there is a first");
        for (variable, shape) in isonet.variables() {
            let values: BTreeSet<Option<&Bytes>> =
                shape.copies.iter().map(|node| self.net.nodes[node].value(variable)).collect();
            if values.len() > 1 {
                return Err(Found::Other(format!("copies of variable {} hold {values:?}", variable.0)));
            }
        }
        Ok(())
    }
}

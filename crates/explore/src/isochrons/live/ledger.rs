//! What is known of live members from outside: what they were asked and answered, of which views they were told, and who has ended.

use crate::isochrons::ledger::{KEPT, Ledger, ROUNDS, World, frame, kept, last_token};
use crate::isochrons::programs::Program;
use crate::isochrons::world;
use crate::system::{Broken, Call, Chooser, Request};
use quintet_contract::{Frame, NodeId, OwnedFrame, Span, Time};
use quintet_isotach::codec::{AGREED, BEGUN, ENDED, HALTED, LEAVE, LEFT, NextMembers, REFUSED, Refusal};
use quintet_isotach::{Topology, View, Witnessed};
use quintet_wire::Decode;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The rule of views.
const ONE_VIEW: &str = "members agree on one view of each number";
/// The rule of who ends.
const WHO_ENDS: &str = "who ends is one of too few, or was left behind";
/// After how long another process begins in the place of one that has ended by itself.
const COMES_BACK: Span = Span::from_millis(30);

/// All that is known of a run from outside of its members.
#[derive(Debug, Default)]
pub struct LiveLedger {
    pub(super) seen: Ledger,
    /// What members told before anything was asked.
    early: Vec<(NodeId, OwnedFrame)>,
    /// Those whose members have ended, and whose processes have not, and whether others come back in their places.
    ending: Vec<(NodeId, bool)>,
    /// Who was told that all have left.
    pub(super) left: BTreeSet<NodeId>,
    /// All were asked to leave.
    pub(super) is_leaving: bool,
    /// Faults in which those lived whom others may have missed.
    hidden: u32,
    /// Who has crashed or was stopped by a fault.
    went_down: BTreeSet<NodeId>,
    /// Who has crashed or was stopped, or was not heard for a while.
    befallen: BTreeSet<NodeId>,
    /// Processes that have ended by themselves, in the order in which they did.
    has_ended: BTreeMap<NodeId, Refusal>,
    /// Who was refused by whose system, and when, in the lives that they are in.
    pub(super) refused: Vec<Refused>,
}

/// One was refused where it dialled another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Refused {
    pub(super) whom: NodeId,
    pub(super) by: NodeId,
    pub(super) at: Time,
}

impl LiveLedger {
    pub(super) fn ask(&mut self, call: Call, draw: &mut Chooser) -> Option<Request> {
        if self.seen.world.is_none() {
            self.begin(&call);
        }
        let world = self.seen.world.as_mut()?;
        if let Some(request) = world.give_state(call.node) {
            return Some(request);
        }
        let program = world.programs.get_mut(&call.node)?;
        let isonet = world.members.views.get(&program.view)?;
        program.ask(call.token, isonet, draw)
    }

    /// Now it is known how the isonet began: what was told before is heard.
    fn begin(&mut self, call: &Call) {
        let mut world = World::of(world::of_members(call.seed, call.nodes), true);
        world.programs = std::mem::take(&mut world.programs)
            .into_iter()
            .map(|(node, one)| (node, one.of_member()))
            .collect();
        for node in self.seen.crashes.keys() {
            world.loses(*node, true);
        }
        self.seen.world = Some(world);
    }

    pub(super) fn goes_down(&mut self, node: NodeId, said: Option<&[Witnessed]>) {
        self.refused.retain(|refused| refused.whom != node && refused.by != node);
        let life = self.life(node);
        self.seen.said.insert((node, life - 1), said.unwrap_or_default().to_vec());
        if !self.has_ended.contains_key(&node) {
            self.went_down.insert(node);
            self.befallen.insert(node);
        }
    }

    pub(super) fn crashed(&mut self, node: NodeId) {
        *self.seen.crashes.entry(node).or_default() += 1;
        self.early.retain(|(whose, _)| *whose != node);
        self.ending.retain(|(whose, _)| *whose != node);
        self.has_ended.remove(&node);
        if let Some(world) = &mut self.seen.world {
            world.loses(node, true);
        }
    }

    pub(super) fn befalls(&mut self, nodes: &[NodeId]) {
        self.hidden += 1;
        self.befallen.extend(nodes);
        self.refused.retain(|refused| !nodes.contains(&refused.whom));
    }

    /// One that stands still learns of it later.
    pub(super) fn refuses(&mut self, by: NodeId, whom: NodeId, at: Time) {
        if !self.befallen.contains(&whom) {
            self.refused.push(Refused { whom, by, at });
        }
    }

    /// Which process of a node is there, or is to be next: 1, the first.
    pub(super) fn life(&self, node: NodeId) -> u64 {
        1 + self.seen.crashes.get(&node).copied().unwrap_or_default()
    }

    /// Whether more than half of the members of the first view could go on all the time: of those that were not all crashed, stopped or cut off, and by one fault only where
    /// others may have missed who lived, as of two that do not hear each other either may be left behind.
    pub(super) fn must_go_on(&self, first: usize) -> bool {
        let is_certain = self.hidden == 0 || self.hidden == 1 && self.went_down.is_empty();
        is_certain && 2 * (first - self.befallen.len()) > first
    }

    pub(super) fn exits(&mut self) -> Vec<(NodeId, Option<Span>)> {
        let ending = std::mem::take(&mut self.ending);
        ending.into_iter().map(|(node, comes_back)| (node, comes_back.then_some(COMES_BACK))).collect()
    }

    pub(super) fn answered(&mut self, node: NodeId, answer: Frame<'_>) -> Result<(), Broken> {
        if self.seen.world.is_none() {
            self.early.push((node, answer.to_owned()));
            return Ok(());
        }
        for (node, answer) in std::mem::take(&mut self.early) {
            self.hear(node, answer.borrow())?;
        }
        self.hear(node, answer)
    }

    fn hear(&mut self, node: NodeId, answer: Frame<'_>) -> Result<(), Broken> {
        let life = self.life(node);
        let Some(world) = &mut self.seen.world else { return Ok(()) };
        match answer.kind {
            HALTED => kept(answer),
            AGREED => world.is_told(node, life, answer),
            BEGUN => {
                let view = View(answer.body.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes)));
                world.members.gone.remove(&node);
                world.begins(node, view)
            }
            LEFT => {
                self.left.insert(node);
                Ok(())
            }
            ENDED => self.ends(node, answer),
            REFUSED => {
                let refusal = Refusal::decode_all(answer.body).map_err(|error| malformed(node, error))?;
                let program = world.programs.get_mut(&node);
                program.map_or(Ok(()), |program| program.refused(answer.token, &refusal))
            }
            _ => world.answered(node, answer),
        }
    }

    /// A member has ended: its process does so as well. Another one comes back in its place, unless this one came back and nobody is left who has what it lacks.
    fn ends(&mut self, node: NodeId, answer: Frame<'_>) -> Result<(), Broken> {
        let why = Refusal::decode_all(answer.body).map_err(|error| malformed(node, error))?;
        let program = self.seen.world.as_mut().and_then(|world| world.programs.get_mut(&node));
        let lacks_state = match &why {
            Refusal::LeftBehind(_) => program.as_ref().is_none_or(|program| program.view == View(0)),
            Refusal::Minority { .. } => false,
            other => return Err(Broken::new(WHO_ENDS, format!("node {} ends: {other}", node.0))),
        };
        program.into_iter().for_each(Program::ends);
        self.ending.push((node, !lacks_state));
        self.has_ended.insert(node, why);
        Ok(())
    }

    /// Whether all that was asked in the end is answered. Before that is asked members may still miss some.
    pub(super) fn has_settled(&self) -> bool {
        let Some(world) = &self.seen.world else { return false };
        let last = world.members.last().0;
        let is_answered = |one: &Program| {
            one.view == last && one.open().next().is_none() && one.plain.is_empty() && one.to_give.is_empty()
        };
        let is_told = |node| !self.is_leaving || self.left.contains(node);
        world.rounds > 0 && world.programs.iter().all(|(node, one)| is_answered(one) && is_told(node))
    }

    /// What is still to be given and asked; and then all are asked to leave.
    pub(super) fn end(&mut self) -> Vec<(NodeId, OwnedFrame)> {
        let Some(world) = &mut self.seen.world else { return Vec::new() };
        world.rounds += 1;
        if self.is_leaving || world.rounds > ROUNDS {
            return Vec::new();
        }
        let mut asked = world.give_states();
        world.ask_last(&mut asked);
        if asked.is_empty() {
            self.is_leaving = true;
            for node in world.programs.keys() {
                let token = last_token(world.rounds, &asked);
                asked.push((*node, token, Request { kind: LEAVE, body: Vec::new() }));
            }
        }
        asked.into_iter().map(|(node, token, request)| (node, frame(token, request))).collect()
    }
}

fn malformed(node: NodeId, error: impl std::fmt::Display) -> Broken {
    Broken::new(KEPT, format!("node {}: {error}", node.0))
}

impl World {
    /// A member is told which view was agreed on: the same as all others.
    fn is_told(&mut self, node: NodeId, life: u64, answer: Frame<'_>) -> Result<(), Broken> {
        let told = NextMembers::decode_all(answer.body).map_err(|error| malformed(node, error))?;
        let NextMembers { next, newcomers } = told;
        let topology = Topology::parse(next.topology).map_err(|error| malformed(node, error))?;
        let (view, text) = (next.view, topology.to_text());
        let mine = newcomers.get(&node).map_or(1, |joined| joined.life);
        if topology.switch_of(node).is_none() || mine != life {
            let text = format!("node {} is told of view {}, in which it is not: {text}", node.0, view.0);
            return Err(Broken::new(ONE_VIEW, text));
        }
        let members = &mut self.members;
        match members.views.get(&view) {
            Some(known) if known.topology().to_text() != text || members.newcomers[&view] != newcomers => {
                let known = known.topology().to_text();
                let text =
                    format!("view {} is {text} with {newcomers:?} for node {}, and {known}", view.0, node.0);
                return Err(Broken::new(ONE_VIEW, text));
            }
            Some(_) => {}
            None => {
                let isonet = Arc::new(members.first().among(topology));
                members.views.insert(view, isonet);
                members.newcomers.insert(view, newcomers);
            }
        }
        self.programs.entry(node).or_insert_with(|| Program::of_newcomer(node).of_member());
        Ok(())
    }
}

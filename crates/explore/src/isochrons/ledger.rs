//! All that is known from outside of the nodes: what was asked, by whom, and what was answered.

use super::members::Members;
use super::nodes::GONE;
use super::programs::Program;
use super::{Isochrons, world};
use crate::system::{Broken, Call, Chooser, Request};
use quintet_contract::{Bytes, Frame, NodeId, OwnedFrame, Token};
use quintet_isotach::codec::{
    COMPLETED, DELIVERED, HALTED, HaltCause, Halted, INSTALLED, NEXT_VIEW, NextView, PLAIN, REFUSED, Refusal,
    SENT,
};
use quintet_isotach::{Delivery, View, Witnessed};
use quintet_wire::{Decode, encode_to_vec};
use std::collections::BTreeMap;

/// The rule of who breaks the protocol.
pub(super) const KEPT: &str = "everybody keeps the protocol";
/// The rule of views that begin.
const MAJORITY: &str = "a minority begins no view";
/// How often it is asked in the end, at most.
const ROUNDS: u64 = 12;
/// Tokens of what is asked in the end: above all others.
const LAST_TOKENS: u64 = 1 << 40;

/// All that is known of a run from outside of its nodes. Before the first request: nothing.
#[derive(Debug, Default)]
pub struct Ledger {
    pub(super) world: Option<World>,
    /// Who went down before anything was asked, and whether it crashed.
    early: BTreeMap<NodeId, bool>,
    /// What those who crashed or were stopped had done.
    pub(super) said: BTreeMap<NodeId, Vec<Witnessed>>,
}

#[derive(Debug)]
pub(super) struct World {
    pub(super) members: Members,
    /// Of all nodes that have not crashed.
    pub(super) programs: BTreeMap<NodeId, Program>,
    /// The programs of those that have.
    pub(super) ended: BTreeMap<NodeId, Program>,
    /// Who was asked under which token to begin which view.
    next_views: BTreeMap<Token, (NodeId, View)>,
    /// Who was told that it is of a minority, or was left behind.
    pub(super) stays_out: BTreeMap<NodeId, View>,
    rounds: u64,
}

impl Isochrons {
    pub(super) fn ask(&self, call: Call, ledger: &mut Ledger, draw: &mut Chooser) -> Option<Request> {
        let delivery = self.delivery;
        let early = std::mem::take(&mut ledger.early);
        let world = ledger.world.get_or_insert_with(|| World::new(&call, delivery));
        early.into_iter().for_each(|(node, has_crashed)| world.loses(node, has_crashed));
        world.decide(call.node, self.may_end(), draw);
        if let Some(request) = world.tell(call, draw) {
            return Some(request);
        }
        world.programs.get_mut(&call.node)?.ask_in(&world.members, call.token, draw)
    }
}

impl Program {
    fn ask_in(&mut self, members: &Members, token: Token, draw: &mut Chooser) -> Option<Request> {
        let isonet = members.views.get(&self.view)?;
        self.ask(token, isonet, draw)
    }
}

impl World {
    fn new(call: &Call, delivery: Delivery) -> World {
        let first = world::first(call.seed, call.nodes, delivery);
        let programs = first.topology().nodes().map(|node| (node, Program::new(node))).collect();
        World {
            members: Members::new(first),
            programs,
            ended: BTreeMap::new(),
            next_views: BTreeMap::new(),
            stays_out: BTreeMap::new(),
            rounds: 0,
        }
    }

    fn loses(&mut self, node: NodeId, has_crashed: bool) {
        self.members.gone.insert(node);
        if has_crashed && let Some(program) = self.programs.remove(&node) {
            self.ended.insert(node, program);
        }
    }

    /// The membership agrees on the next view, or takes one to be gone.
    fn decide(&mut self, by: NodeId, may_end: bool, draw: &mut Chooser) {
        if may_end && draw.chance(4_000) {
            self.members.suspect(by);
        }
        if self.members.needs_another() && draw.chance(400_000) {
            self.members.agree(draw.chance(300_000));
        }
    }

    /// What the membership tells a node: of one that is taken to be gone, or of the next view.
    fn tell(&mut self, call: Call, draw: &mut Chooser) -> Option<Request> {
        for (whom, unaware) in &mut self.members.suspected {
            if unaware.contains(&call.node) && draw.chance(300_000) {
                unaware.remove(&call.node);
                return Some(Request { kind: GONE, body: whom.0.to_le_bytes().to_vec() });
            }
        }
        let view = self.members.untold(call.node)?;
        draw.chance(500_000).then(|| self.next_view(call.node, view, call.token))
    }

    fn next_view(&mut self, node: NodeId, view: View, token: Token) -> Request {
        self.members.tell(node, view);
        self.next_views.insert(token, (node, view));
        let topology = self.members.views[&view].topology().to_text();
        Request { kind: NEXT_VIEW, body: encode_to_vec(&NextView { view, topology: &topology }) }
    }

    /// What is still to be told and given.
    fn end(&mut self) -> Vec<(NodeId, OwnedFrame)> {
        self.rounds += 1;
        if self.rounds > ROUNDS {
            return Vec::new();
        }
        if self.members.needs_another() {
            self.members.agree(false);
        }
        let mut asked: Vec<(NodeId, Token, Request)> = Vec::new();
        let token = |asked: &Vec<_>, rounds: u64| Token(LAST_TOKENS + rounds * 1_000 + asked.len() as u64);
        let view = self.members.last().0;
        for node in self.members.all_untold() {
            let token = token(&asked, self.rounds);
            asked.push((node, token, self.next_view(node, view, token)));
        }
        for (node, program) in &mut self.programs {
            let token = token(&asked, self.rounds);
            let isonet = self.members.views.get(&program.view);
            if let Some(request) = isonet.and_then(|isonet| program.give_values(token, isonet)) {
                asked.push((*node, token, request));
            }
        }
        asked.into_iter().map(|(node, token, request)| (node, frame(token, request))).collect()
    }

    fn is_refused(&mut self, node: NodeId, answer: Frame<'_>) -> Result<(), Broken> {
        let refusal = Refusal::decode_all(answer.body);
        let refusal = refusal.map_err(|error| Broken::new(KEPT, format!("node {}: {error}", node.0)))?;
        let Some((_, view)) = self.next_views.get(&answer.token) else {
            return self
                .programs
                .get_mut(&node)
                .map_or(Ok(()), |program| program.refused(answer.token, &refusal));
        };
        match &refusal {
            Refusal::Minority { .. } => _ = self.stays_out.insert(node, *view),
            Refusal::Misuse(text) if text.contains("start it anew") => _ = self.stays_out.insert(node, *view),
            // A later one was asked for.
            Refusal::ViewChanged(_) => {}
            other => {
                let text = format!("node {} does not begin view {}: {other}", node.0, view.0);
                return Err(Broken::new("who is left begins the next view", text));
            }
        }
        Ok(())
    }

    fn has_begun(&mut self, node: NodeId, token: Token) -> Result<(), Broken> {
        let Some((_, view)) = self.next_views.get(&token).filter(|(asked, _)| *asked == node) else {
            let text = format!("node {} begins a view that it was not told of", node.0);
            return Err(Broken::new(KEPT, text));
        };
        let Some(program) = self.programs.get_mut(&node) else { return Ok(()) };
        let before = program.view;
        program.begins(*view);
        if self.members.may_follow(before, *view) {
            return Ok(());
        }
        let text = format!("node {} begins view {} behind view {}", node.0, view.0, before.0);
        Err(Broken::new(MAJORITY, text))
    }
}

fn frame(token: Token, Request { kind, body }: Request) -> OwnedFrame {
    OwnedFrame { kind, token, body: body.into(), bulk: Bytes::new() }
}

impl Ledger {
    pub(super) fn goes_down(&mut self, node: NodeId, said: Option<&[Witnessed]>) {
        self.said.entry(node).or_insert_with(|| said.unwrap_or_default().to_vec());
        self.lose(node, false);
    }

    pub(super) fn crashed(&mut self, node: NodeId) {
        self.lose(node, true);
    }

    fn lose(&mut self, node: NodeId, has_crashed: bool) {
        match &mut self.world {
            Some(world) => world.loses(node, has_crashed),
            None => _ = self.early.insert(node, has_crashed),
        }
    }

    pub(super) fn end(&mut self) -> Vec<(NodeId, OwnedFrame)> {
        self.world.as_mut().map(World::end).unwrap_or_default()
    }

    pub(super) fn answered(&mut self, node: NodeId, answer: Frame<'_>) -> Result<(), Broken> {
        let Some(world) = &mut self.world else { return Ok(()) };
        match answer.kind {
            INSTALLED => return world.has_begun(node, answer.token),
            REFUSED => return world.is_refused(node, answer),
            HALTED => return kept(answer),
            _ => {}
        }
        let Some(program) = world.programs.get_mut(&node) else { return Ok(()) };
        match answer.kind {
            COMPLETED => program.completed(answer),
            DELIVERED => program.delivered(answer),
            SENT => program.sent(answer.token),
            PLAIN => Ok(()),
            other => Err(Broken::new(KEPT, format!("node {} tells kind {:#x}", node.0, other.0))),
        }
    }
}

/// Nobody says that another has broken the protocol.
fn kept(answer: Frame<'_>) -> Result<(), Broken> {
    let halted = Halted::decode_all(answer.body).map_err(|error| Broken::new(KEPT, error.to_string()))?;
    match halted.halt.cause {
        HaltCause::Gone => Ok(()),
        HaltCause::Misbehaved => Err(Broken::new(KEPT, halted.halt.to_string())),
    }
}

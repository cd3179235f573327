//! All that is known from outside of the nodes: what was asked, by whom, and what was answered.

use super::members::Members;
use super::nodes::GONE;
use super::programs::Program;
use super::{Isochrons, world};
use crate::system::{Broken, Call, Chooser, Request};
use quintet_contract::{Bytes, Frame, NodeId, OwnedFrame, Token};
use quintet_isotach::codec::{
    COMPLETED, DELIVERED, HALTED, HaltCause, Halted, INSTALLED, NEXT_VIEW, NextMembers, NextView, PLAIN,
    PROGRAM_STATE, ProgramState, REFUSED, Refusal, SENT, TAKE_STATE,
};
use quintet_isotach::{Delivery, Isonet, View, Witnessed};
use quintet_wire::{Decode, encode_to_vec};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The rule of who breaks the protocol.
pub(super) const KEPT: &str = "everybody keeps the protocol";
/// The rule of views that begin.
const MAJORITY: &str = "a minority begins no view";
/// The rule of who joins a view.
const STATE: &str = "who joins a view has the state that a program gave when it began";
/// How often it is asked in the end, at most.
pub(super) const ROUNDS: u64 = 12;
/// Tokens of what is asked in the end: above all others.
const LAST_TOKENS: u64 = 1 << 40;

/// What is asked in the end: at which node, and under which token.
pub(super) type Last = (NodeId, Token, Request);

/// All that is known of a run from outside of its nodes. Before the first request: nothing.
#[derive(Debug, Default)]
pub struct Ledger {
    pub(super) world: Option<World>,
    /// Who went down before anything was asked, and whether it crashed.
    early: BTreeMap<NodeId, bool>,
    /// What those who crashed or were stopped had done, in each of their lives.
    pub(super) said: BTreeMap<(NodeId, u64), Vec<Witnessed>>,
    /// How often a node has crashed.
    pub(super) crashes: BTreeMap<NodeId, u64>,
}

#[derive(Debug)]
pub(super) struct World {
    pub(super) members: Members,
    /// Of all nodes that have not crashed.
    pub(super) programs: BTreeMap<NodeId, Program>,
    /// The programs of those that have.
    pub(super) ended: Vec<(NodeId, Program)>,
    /// Views that began somewhere, and where.
    pub(super) begun: BTreeMap<View, BTreeSet<NodeId>>,
    /// Who has crashed comes back in the end, at the latest.
    all_come_back: bool,
    /// What programs gave as their states for who joined with which view.
    given: BTreeSet<(View, Vec<u8>)>,
    /// Who was asked under which token to begin which view.
    next_views: BTreeMap<Token, (NodeId, View)>,
    /// Who was told that it is of a minority, or was left behind.
    pub(super) stays_out: BTreeMap<NodeId, View>,
    pub(super) rounds: u64,
}

impl Isochrons {
    pub(super) fn ask(&self, call: Call, ledger: &mut Ledger, draw: &mut Chooser) -> Option<Request> {
        let delivery = self.delivery;
        let early = std::mem::take(&mut ledger.early);
        let world = ledger.world.get_or_insert_with(|| World::new(&call, delivery));
        early.into_iter().for_each(|(node, has_crashed)| world.loses(node, has_crashed));
        let crashes = ledger.crashes.get(&call.node).copied().unwrap_or_default();
        world.comes_back(call.node, crashes, draw);
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
        World::of(world::first(call.seed, call.nodes, delivery), call.seed % 8 < 4)
    }

    /// Of an isonet as it begins.
    pub(super) fn of(first: Arc<Isonet>, all_come_back: bool) -> World {
        let programs = first.topology().nodes().map(|node| (node, Program::new(node))).collect();
        let begun = BTreeMap::from([(View(1), first.topology().nodes().collect())]);
        World {
            members: Members::new(first),
            programs,
            ended: Vec::new(),
            begun,
            all_come_back,
            given: BTreeSet::new(),
            next_views: BTreeMap::new(),
            stays_out: BTreeMap::new(),
            rounds: 0,
        }
    }

    pub(super) fn loses(&mut self, node: NodeId, has_crashed: bool) {
        self.members.lose(node);
        if has_crashed && let Some(program) = self.programs.remove(&node) {
            self.ended.push((node, program));
        }
    }

    /// A node that has crashed is there again, as another process: it wants to be let in as soon as it is in no view.
    fn comes_back(&mut self, node: NodeId, crashes: u64, draw: &mut Chooser) {
        if crashes > 0 && !world::is_manager(node) && draw.chance(700_000) {
            self.members.ask(node, crashes + 1);
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
        if let Some(request) = self.give_state(call.node) {
            return Some(request);
        }
        let view = self.members.untold(call.node)?;
        draw.chance(500_000).then(|| self.next_view(call.node, view, call.token))
    }

    /// A program gives the state that it was asked for.
    pub(super) fn give_state(&mut self, node: NodeId) -> Option<Request> {
        let program = self.programs.get_mut(&node)?;
        let view = program.to_give.pop_front()?;
        let bytes = program.state(view);
        let body = encode_to_vec(&ProgramState { view, is_complete: true, bytes: &bytes });
        self.given.insert((view, bytes));
        Some(Request { kind: PROGRAM_STATE, body })
    }

    fn next_view(&mut self, node: NodeId, view: View, token: Token) -> Request {
        self.members.tell(node, view);
        self.next_views.insert(token, (node, view));
        let topology = self.members.views[&view].topology().to_text();
        let next = NextView { view, topology: &topology };
        let newcomers = &self.members.newcomers[&view];
        if world::is_manager(node) {
            return Request { kind: NEXT_VIEW, body: encode_to_vec(&next) };
        }
        if newcomers.contains_key(&node) {
            self.programs.entry(node).or_insert_with(|| Program::of_newcomer(node));
        }
        let body = encode_to_vec(&NextMembers { next, newcomers: newcomers.clone() });
        Request { kind: NEXT_VIEW, body }
    }

    /// What is still to be told and given.
    fn end(&mut self, crashes: &BTreeMap<NodeId, u64>) -> Vec<(NodeId, OwnedFrame)> {
        self.rounds += 1;
        if self.rounds > ROUNDS {
            return Vec::new();
        }
        // Who lacked the state once is not let in again.
        let back =
            crashes.iter().filter(|(node, _)| self.all_come_back && !self.stays_out.contains_key(node));
        for (node, crashes) in back.filter(|(node, _)| !world::is_manager(**node)) {
            self.members.ask(*node, crashes + 1);
        }
        if self.members.needs_another() {
            self.members.agree(false);
        }
        let mut asked = self.give_states();
        let view = self.members.last().0;
        for node in self.members.all_untold() {
            let token = last_token(self.rounds, &asked);
            asked.push((node, token, self.next_view(node, view, token)));
        }
        self.ask_last(&mut asked);
        asked.into_iter().map(|(node, token, request)| (node, frame(token, request))).collect()
    }

    /// Programs give all states that they were asked for.
    pub(super) fn give_states(&mut self) -> Vec<Last> {
        let mut asked = Vec::new();
        for node in self.programs.keys().copied().collect::<Vec<_>>() {
            while let Some(request) = self.give_state(node) {
                asked.push((node, last_token(self.rounds, &asked), request));
            }
        }
        asked
    }

    /// Programs give reserved places their values, and newcomers look at what there is.
    pub(super) fn ask_last(&mut self, asked: &mut Vec<Last>) {
        for (node, program) in &mut self.programs {
            let token = last_token(self.rounds, asked);
            let isonet = self.members.views.get(&program.view);
            let asks = |isonet: &Arc<Isonet>| {
                program.give_values(token, isonet).or_else(|| program.look(token, isonet))
            };
            if let Some(request) = isonet.and_then(asks) {
                asked.push((*node, token, request));
            }
        }
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
            // Nobody who has the state that the view begins with is left.
            Refusal::LeftBehind(_) if self.members.newcomers[view].contains_key(&node) => {
                self.stays_out.insert(node, *view);
                self.loses(node, true);
            }
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
        let (before, view) = (program.view, *view);
        self.begins(node, view)?;
        if before == View(0) || self.members.may_follow(before, view) {
            return Ok(());
        }
        let text = format!("node {} begins view {} behind view {}", node.0, view.0, before.0);
        Err(Broken::new(MAJORITY, text))
    }

    /// A view begins at a node. A process that joins with it has got a state that a program gave.
    pub(super) fn begins(&mut self, node: NodeId, view: View) -> Result<(), Broken> {
        let Some(program) = self.programs.get_mut(&node) else { return Ok(()) };
        self.begun.entry(view).or_default().insert(node);
        if program.view > View(0) {
            program.begins(view, self.members.lost_between(program.view, view));
            return Ok(());
        }
        program.begins(view, BTreeSet::new());
        let is_given = program.got.as_ref().is_some_and(|got| got.0 <= view && self.given.contains(got));
        if is_given {
            return Ok(());
        }
        Err(Broken::new(STATE, format!("node {} begins view {}", node.0, view.0)))
    }
}

/// The token of what is asked next in the end.
pub(super) fn last_token(round: u64, asked: &[Last]) -> Token {
    Token(LAST_TOKENS + round * 1_000 + asked.len() as u64)
}

pub(super) fn frame(token: Token, Request { kind, body }: Request) -> OwnedFrame {
    OwnedFrame { kind, token, body: body.into(), bulk: Bytes::new() }
}

impl Ledger {
    pub(super) fn goes_down(&mut self, node: NodeId, said: Option<&[Witnessed]>) {
        let life = self.crashes.get(&node).copied().unwrap_or_default();
        self.said.insert((node, life), said.unwrap_or_default().to_vec());
        self.lose(node, false);
    }

    pub(super) fn crashed(&mut self, node: NodeId) {
        *self.crashes.entry(node).or_default() += 1;
        self.lose(node, true);
    }

    fn lose(&mut self, node: NodeId, has_crashed: bool) {
        match &mut self.world {
            Some(world) => world.loses(node, has_crashed),
            None => _ = self.early.insert(node, has_crashed),
        }
    }

    /// What a node did in its earlier lives, and in the one that it is in.
    pub(super) fn said_before(&self) -> BTreeMap<NodeId, Vec<Witnessed>> {
        let mut all: BTreeMap<NodeId, Vec<Witnessed>> = BTreeMap::new();
        for ((node, life), said) in &self.said {
            if self.crashes.get(node).is_some_and(|crashes| life < crashes) {
                all.entry(*node).or_default().extend(said.iter().cloned());
            }
        }
        all
    }

    pub(super) fn end(&mut self) -> Vec<(NodeId, OwnedFrame)> {
        let crashes = &self.crashes;
        self.world.as_mut().map(|world| world.end(crashes)).unwrap_or_default()
    }

    pub(super) fn answered(&mut self, node: NodeId, answer: Frame<'_>) -> Result<(), Broken> {
        let Some(world) = &mut self.world else { return Ok(()) };
        match answer.kind {
            INSTALLED => return world.has_begun(node, answer.token),
            REFUSED => return world.is_refused(node, answer),
            HALTED => return kept(answer),
            _ => {}
        }
        world.answered(node, answer)
    }
}

impl World {
    /// What a node tells its program of what that has asked, and of what there is for it.
    pub(super) fn answered(&mut self, node: NodeId, answer: Frame<'_>) -> Result<(), Broken> {
        let Some(program) = self.programs.get_mut(&node) else { return Ok(()) };
        match answer.kind {
            COMPLETED => program.completed(answer),
            DELIVERED => program.delivered(answer),
            SENT => program.sent(answer.token),
            PLAIN => Ok(()),
            TAKE_STATE => {
                let view = answer.body.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
                program.to_give.push_back(View(view));
                Ok(())
            }
            PROGRAM_STATE => program.gets(answer),
            other => Err(Broken::new(KEPT, format!("node {} tells kind {:#x}", node.0, other.0))),
        }
    }
}

/// Nobody says that another has broken the protocol.
pub(super) fn kept(answer: Frame<'_>) -> Result<(), Broken> {
    let halted = Halted::decode_all(answer.body).map_err(|error| Broken::new(KEPT, error.to_string()))?;
    match halted.halt.cause {
        HaltCause::Gone => Ok(()),
        HaltCause::Misbehaved => Err(Broken::new(KEPT, halted.halt.to_string())),
    }
}

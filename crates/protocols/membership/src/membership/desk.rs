//! Requests that are not answered yet: those that wait, those that a change or a round of the leader will answer, and those that
//! were handed on to the leader.

use super::{Membership, Phase, answer};
use crate::change::{Change, Joiner};
use crate::codec::{Answer, ERROR, JOINED, Request};
use crate::config::Timing;
use crate::defect::seeded;
use crate::refusal::{Reason, Refusal};
use quintet_contract::{Address, Frame, Incarnation, NodeId, Outbox, Time, Token};
use quintet_wire::registry::PORT_MEMBERSHIP;
use quintet_wire::send;
use std::collections::{BTreeMap, VecDeque};

/// Requests that are not answered yet.
const MAX_REQUESTS: usize = 256;

/// A request.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    pub(super) from: Address,
    pub(super) token: Token,
    pub(super) request: Request,
    /// When it fails.
    pub(super) until: Time,
    /// It is not tried before.
    pub(super) not_before: Time,
}

/// A request that was handed on.
#[derive(Debug)]
struct HandedOn {
    to: NodeId,
    /// When to try again, if no answer has come.
    again_at: Time,
    ask: Ask,
}

/// All requests that are not answered yet.
#[derive(Debug)]
pub(super) struct Desk {
    timing: Timing,
    waiting: VecDeque<Ask>,
    /// By the index of their change, with its term.
    begun: BTreeMap<u64, (u64, Ask)>,
    reads: BTreeMap<u64, Ask>,
    /// By the tokens under which they were handed on.
    handed_on: BTreeMap<u64, HandedOn>,
    /// Names reads and what is handed on.
    next: u64,
    /// When all that wait were tried last.
    tried_at: Time,
}

impl Desk {
    pub(super) fn new(timing: Timing) -> Desk {
        Desk {
            timing,
            waiting: VecDeque::new(),
            begun: BTreeMap::new(),
            reads: BTreeMap::new(),
            handed_on: BTreeMap::new(),
            next: 0,
            tried_at: Time::ZERO,
        }
    }

    /// Takes a request, if there is room.
    pub(super) fn add(&mut self, ask: Ask) -> bool {
        let held = self.waiting.len() + self.begun.len() + self.reads.len() + self.handed_on.len();
        if held < MAX_REQUESTS {
            self.waiting.push_back(ask);
        }
        held < MAX_REQUESTS
    }

    /// A life begins. What it hands on has tokens that no earlier life's has, for late answers to that may still come.
    pub(super) fn begin(&mut self, life: Incarnation) {
        self.next = life.0 << 32;
    }

    fn name(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Passes the answer to a request that was handed on to whoever asked. Whether the frame was an answer of a member.
    pub(super) fn take_answer(
        &mut self,
        now: Time,
        from: Address,
        frame: Frame<'_>,
        out: &mut dyn Outbox,
    ) -> bool {
        if from.port != PORT_MEMBERSHIP || !(JOINED..=ERROR).contains(&frame.kind) {
            return false;
        }
        let Ok(given) = Answer::decode(frame.kind, frame.body) else { return true };
        let is_expected = self.handed_on.get(&frame.token.0).is_some_and(|held| held.to == from.node);
        if let (true, Some(mut held)) =
            (is_expected, self.handed_on.remove(&frame.token.0).filter(|_| is_expected))
        {
            match given {
                Answer::Error(Refusal { reason: Reason::NotLeader, .. }) => {
                    held.ask.not_before = now + self.timing.heartbeat;
                    self.waiting.push_back(held.ask);
                }
                given => answer(held.ask.from, held.ask.token, &given, out),
            }
        }
        true
    }

    /// The request whose change is committed. One whose place another leader's change has taken waits again.
    pub(super) fn finish_change(&mut self, now: Time, index: u64, term: u64) -> Option<Ask> {
        let (begun_in, mut ask) = self.begun.remove(&index)?;
        if begun_in == term {
            return Some(ask);
        }
        ask.not_before = now;
        self.waiting.push_back(ask);
        None
    }

    /// Those that fail now.
    fn expired(&mut self, now: Time) -> Vec<Ask> {
        let mut expired = Vec::new();
        let mut take = |ask: &Ask| {
            let is_expired = ask.until <= now;
            if is_expired {
                expired.push(ask.clone());
            }
            !is_expired
        };
        self.waiting.retain(&mut take);
        self.begun.retain(|_, (_, ask)| take(ask));
        self.reads.retain(|_, ask| take(ask));
        self.handed_on.retain(|_, held| take(&held.ask));
        expired
    }

    /// Those that were handed on to who does not lead any more, or does not answer, and reads of a leader that is none wait again.
    fn take_back(&mut self, now: Time, leader: Option<NodeId>, leads: bool) {
        let waiting = &mut self.waiting;
        self.handed_on.retain(|_, held| {
            let is_lost = leader != Some(held.to) || held.again_at <= now;
            if is_lost {
                waiting.push_back(held.ask.clone());
            }
            !is_lost
        });
        if !leads {
            waiting.extend(std::mem::take(&mut self.reads).into_values());
        }
    }

    pub(super) fn deadline(&self) -> Time {
        let is_ahead = |time: &Time| *time > self.tried_at;
        let waiting = self.waiting.iter().flat_map(|ask| [ask.until, ask.not_before]).filter(is_ahead);
        let begun = self.begun.values().map(|(_, ask)| ask.until);
        let reads = self.reads.values().map(|ask| ask.until);
        let handed_on = self.handed_on.values().map(|held| held.again_at.min(held.ask.until));
        waiting.chain(begun).chain(reads).chain(handed_on).min().unwrap_or(Time::NEVER)
    }

    /// Everybody who waits.
    pub(super) fn drain(&mut self) -> Vec<(Address, Token)> {
        let mut asks: Vec<Ask> = self.waiting.drain(..).collect();
        asks.extend(std::mem::take(&mut self.begun).into_values().map(|(_, ask)| ask));
        asks.extend(std::mem::take(&mut self.reads).into_values());
        asks.extend(std::mem::take(&mut self.handed_on).into_values().map(|held| held.ask));
        asks.into_iter().map(|ask| (ask.from, ask.token)).collect()
    }
}

/// What becomes of a request now.
enum Turn {
    Answer(Answer),
    Propose(Change),
    /// This is changed first; the request waits for that.
    Prepare(Change),
    Read,
    HandOn(NodeId),
    Wait,
}

impl Membership {
    /// Tries every request that waits.
    pub(super) fn serve(&mut self, now: Time, out: &mut dyn Outbox) {
        for ask in self.desk.expired(now) {
            let refusal = Refusal::new(Reason::NoMajority, self.why_stale(now));
            answer(ask.from, ask.token, &Answer::Error(refusal), out);
        }
        let Phase::Open(open) = &self.phase else { return };
        self.desk.take_back(now, open.raft.leader, open.raft.leading().is_some());
        self.desk.tried_at = now;
        for ask in std::mem::take(&mut self.desk.waiting) {
            self.serve_one(now, ask, out);
        }
    }

    fn serve_one(&mut self, now: Time, mut ask: Ask, out: &mut dyn Outbox) {
        let turn = self.turn(now, &ask);
        let Phase::Open(open) = &mut self.phase else { return };
        match turn {
            Turn::Answer(given) => answer(ask.from, ask.token, &given, out),
            Turn::Wait => self.desk.waiting.push_back(ask),
            Turn::Propose(change) => {
                let index = open.raft.propose(now, change);
                let lost = self.desk.begun.insert(index, (open.raft.term, ask));
                self.desk.waiting.extend(lost.map(|(_, ask)| ask));
            }
            Turn::Prepare(change) => {
                open.raft.propose(now, change);
                self.desk.waiting.push_back(ask);
            }
            Turn::Read => {
                let id = self.desk.name();
                self.desk.reads.insert(id, ask);
                open.raft.read(now, id);
            }
            Turn::HandOn(to) => {
                let token = self.desk.name();
                let at = Address { node: to, port: PORT_MEMBERSHIP };
                let again_at = now + self.config.timing.election;
                if send(out, at, ask.request.kind(), Token(token), &ask.request).is_ok() {
                    self.desk.handed_on.insert(token, HandedOn { to, again_at, ask });
                } else {
                    ask.not_before = again_at;
                    self.desk.waiting.push_back(ask);
                }
            }
        }
    }

    fn turn(&self, now: Time, ask: &Ask) -> Turn {
        let Phase::Open(open) = &self.phase else { return Turn::Wait };
        if let Request::View { agreed: false } = ask.request {
            return Turn::Answer(Answer::Current(Box::new(open.raft.view.clone()), self.sight.suspects()));
        }
        if ask.not_before > now {
            return Turn::Wait;
        }
        match open.raft.leader {
            Some(leader) if leader == self.config.node => self.turn_of_leader(ask),
            _ if ask.from.port == PORT_MEMBERSHIP => {
                Turn::Answer(Answer::Error(Refusal::new(Reason::NotLeader, "this member does not lead")))
            }
            Some(leader) => Turn::HandOn(leader),
            None => Turn::Wait,
        }
    }

    fn turn_of_leader(&self, ask: &Ask) -> Turn {
        let Phase::Open(open) = &self.phase else { return Turn::Wait };
        let (raft, view, latest) = (&open.raft, &open.raft.view, open.raft.latest_view());
        if !raft.may_read() && !seeded!(self.config, TwoChangesAtOnce) {
            return Turn::Wait;
        }
        let change = match &ask.request {
            Request::View { .. } | Request::Watch { .. } => return Turn::Read,
            Request::Leave { node } if view.has_lost(*node) => return Turn::Answer(Answer::Done),
            Request::Leave { node } => Change::Remove(*node),
            Request::AddSpace(new) if view.keeps_as(new) => return Turn::Answer(Answer::Done),
            Request::AddSpace(new) => Change::AddSpace(new.clone()),
            Request::RemoveSpace { name, number } if view.keeps(name, *number) => {
                Change::RemoveSpace(name.clone(), *number)
            }
            Request::RemoveSpace { .. } => return Turn::Answer(Answer::Done),
            Request::ReplaceReplica(replacement) if view.has_replaced(replacement) => {
                return Turn::Answer(Answer::Done);
            }
            Request::ReplaceReplica(replacement) => Change::ReplaceReplica(replacement.clone()),
            Request::ReplicaReady { name, since } if view.check_ready(name, *since).is_ok() => {
                Change::ReplicaReady(name.clone(), *since)
            }
            Request::SetRights(rights) if view.has_rights(rights) => return Turn::Answer(Answer::Done),
            Request::SetRights(rights) => Change::SetRights(rights.clone()),
            // It was said before, or the space or the replica is no more.
            Request::ReplicaReady { .. } => return Turn::Answer(Answer::Done),
            Request::Join { name, identity, address, grants, ticket, .. } => {
                if let Some(node) = view.joined_with(*identity, *ticket) {
                    return self.turn_of_member(node, address);
                }
                let Some(node) = latest.next_node() else {
                    let refusal = Refusal::new(Reason::Full, "every number was given");
                    return Turn::Answer(Answer::Error(refusal));
                };
                let (name, address) = (name.clone(), address.clone());
                let (identity, grants, ticket) = (*identity, *grants, *ticket);
                Change::Join(Joiner { node, name, identity, address, grants, ticket })
            }
        };
        self.turn_of_change(change)
    }

    /// A member asks to be in: it has not heard that it is, or is reached at another address now.
    fn turn_of_member(&self, node: NodeId, address: &str) -> Turn {
        let Phase::Open(open) = &self.phase else { return Turn::Wait };
        let view = &open.raft.view;
        match view.members.get(&node) {
            Some(member) if member.address != address => {
                self.turn_of_change(Change::Move(node, address.to_owned()))
            }
            _ => Turn::Answer(Answer::Joined { node, view: view.number }),
        }
    }

    fn turn_of_change(&self, change: Change) -> Turn {
        let Phase::Open(open) = &self.phase else { return Turn::Wait };
        match open.raft.latest_view().check(&change) {
            _ if !open.raft.may_propose() => Turn::Wait,
            Ok(()) => Turn::Propose(change),
            Err(refusal) if refusal.reason == Reason::LastVoter => self.turn_of_last_voter(refusal),
            Err(refusal) => Turn::Answer(Answer::Error(refusal)),
        }
    }

    /// The only voter hands its vote on before it leaves, to a learner that may have to catch up first.
    fn turn_of_last_voter(&self, refusal: Refusal) -> Turn {
        let Phase::Open(open) = &self.phase else { return Turn::Wait };
        let mut learners = open.raft.view.members.iter().filter(|(_, member)| !member.votes);
        match self.ready_to_vote().next() {
            Some(node) => Turn::Prepare(Change::Promote(node)),
            None if learners.any(|(node, _)| self.sight.suspected_since(*node).is_none()) => Turn::Wait,
            None => Turn::Answer(Answer::Error(refusal)),
        }
    }

    /// A majority has confirmed a read's round.
    pub(super) fn finish_read(&mut self, id: u64, out: &mut dyn Outbox) {
        let Phase::Open(open) = &self.phase else { return };
        if let Some(ask) = self.desk.reads.remove(&id) {
            let current = Answer::Current(Box::new(open.raft.view.clone()), self.sight.suspects());
            answer(ask.from, ask.token, &current, out);
        }
    }

    /// Why nothing can be decided here, for who asked.
    fn why_stale(&self, now: Time) -> String {
        let Phase::Open(open) = &self.phase else { return "the log is still being read".to_owned() };
        let since = now.since(open.raft.heard_at);
        let missing: Vec<String> = self
            .sight
            .unheard(now, open.raft.voters())
            .filter(|node| *node != self.config.node)
            .map(|node| match open.raft.view.members.get(&node) {
                Some(member) => format!("{} ({:?})", node.0, member.name),
                None => node.0.to_string(),
            })
            .collect();
        let (view, missing) = (open.raft.view.number, missing.join(", "));
        format!(
            "no majority of the voters answers, for {since} so far; view {view} is what was known; not heard of: {missing}"
        )
    }
}

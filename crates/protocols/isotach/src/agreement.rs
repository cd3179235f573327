//! Who belongs to the next view: agreed on by the nodes of the last one.
//!
//! One decision for each view, by Paxos (Lamport, "Paxos made simple", 2001) among the nodes of the view before it; a quorum is more than half of them, or half with the
//! eldest. Any two quorums have a node in common, so a view is decided once; by whom the next one is decided, it says itself. What a node has promised is in its memory: who
//! ends does not come back as who it was. A later process of a node asks to be let in, under a number of its own, and decides nothing before it is in a view.
//!
//! ```text
//!   suspects ──> the lowest that is not suspected: Prepare ──> Promise ──> Accept ──> Accepted ──> Agreed ──> told on by all
//! ```

mod applicants;
mod successor;

use crate::codec::{AgreeStep, Ballot};
use crate::logical_time::View;
use crate::members::Members;
use crate::topology::Topology;
use applicants::Applicants;
use quintet_contract::{NodeId, Span, Time};
use std::collections::{BTreeSet, VecDeque};

/// How long a proposer whose proposal was refused waits: so long for each node that is before it, twice as long each time.
const PAUSE: Span = Span::from_millis(2);
/// How often it becomes longer.
const MAX_DOUBLINGS: u32 = 8;
/// How long a node that reaches too few waits for what these have heard of a later view.
const PATIENCE: Span = Span::from_millis(200);

/// What became of an agreement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// This is the next view.
    Agreed(View, Members),
    /// It is, and this node is not part of it.
    LeftBehind(View),
    /// So few nodes of the view can be reached, of so many, that others may agree on another one.
    Minority(View, usize, usize),
}

/// One node's part in agreeing on views.
#[derive(Debug)]
pub(crate) struct Agreement {
    me: NodeId,
    /// Which process of the node this is: 0, the first.
    life: u64,
    /// Where nodes are that join: at the switches that the isonet began with, as far as there are any.
    home: Topology,
    applicants: Applicants,
    /// It was in no view so far.
    is_new: bool,
    /// The token manager in the process of node `n` has this number and `n`.
    managers_from: NodeId,
    /// The view that this node began in.
    first: View,
    /// The last view that was agreed on.
    base: View,
    members: Members,
    /// Who cannot be reached from here.
    lost: BTreeSet<NodeId>,
    /// Whom others suspect.
    accused: BTreeSet<NodeId>,
    /// Suspects that the others have been told.
    told: BTreeSet<NodeId>,
    promised: Ballot,
    accepted: Option<(Ballot, Members)>,
    proposal: Option<Proposal>,
    refusals: u32,
    retry_at: Option<Time>,
    /// Until when it waits as it reaches too few.
    patient_until: Option<Time>,
    leaving: BTreeSet<NodeId>,
    /// Who has heard of all that they want to end.
    informed: BTreeSet<NodeId>,
    has_ended: bool,
    /// One node decides, by a defect.
    pub(crate) one_decides: bool,
    /// To whom what is to be said.
    pub(crate) said: VecDeque<(NodeId, View, AgreeStep)>,
    pub(crate) outcomes: VecDeque<Outcome>,
}

/// What this node proposes.
#[derive(Debug)]
struct Proposal {
    ballot: Ballot,
    /// What was accepted last, of all who have promised.
    accepted: Option<(Ballot, Members)>,
    promises: BTreeSet<NodeId>,
    /// What is to be accepted, once a quorum has promised.
    members: Option<Members>,
    accepts: BTreeSet<NodeId>,
}

impl Agreement {
    pub(crate) fn new(me: NodeId, managers_from: NodeId, base: View, topology: Topology) -> Agreement {
        Agreement {
            me,
            life: 0,
            home: topology.clone(),
            applicants: Applicants::default(),
            is_new: false,
            managers_from,
            first: base,
            base,
            members: Members::first(topology),
            lost: BTreeSet::new(),
            accused: BTreeSet::new(),
            told: BTreeSet::new(),
            promised: Ballot::default(),
            accepted: None,
            proposal: None,
            refusals: 0,
            retry_at: None,
            patient_until: None,
            leaving: BTreeSet::new(),
            informed: BTreeSet::new(),
            has_ended: false,
            one_decides: false,
            said: VecDeque::new(),
            outcomes: VecDeque::new(),
        }
    }

    /// The same for a later process of the node, which all are asked to let in.
    pub(crate) fn joins_as(self, life: u64) -> Agreement {
        let mut agreement = Agreement { life, is_new: true, ..self };
        agreement.ask_all();
        agreement
    }

    fn ask_all(&mut self) {
        let others: Vec<NodeId> = self.home.nodes().filter(|node| *node != self.me).collect();
        others.into_iter().for_each(|node| self.say(node, AgreeStep::Asks(self.life)));
    }

    pub(crate) fn has(&self, node: NodeId) -> bool {
        self.members.has(node)
    }

    /// Whether this process is in the last view that it knows to be agreed on.
    fn is_member(&self) -> bool {
        self.members.life_of(self.me) == Some(self.life)
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        [self.retry_at, self.patient_until].into_iter().flatten().min()
    }

    /// Whose process a node is of: a token manager's, of the node that it stands beside.
    fn process_of(&self, node: NodeId) -> NodeId {
        let beside = node.0.checked_sub(self.managers_from.0).map(NodeId);
        beside.filter(|beside| self.has(*beside)).unwrap_or(node)
    }

    /// A node, or a token manager, cannot be reached from here.
    pub(crate) fn lose(&mut self, now: Time, node: NodeId) {
        self.lost.insert(self.process_of(node));
        self.applicants.lose(node);
        self.think(now);
    }

    /// It can be reached again: what it may have missed is said once more.
    pub(crate) fn find(&mut self, node: NodeId) {
        self.lost.remove(&node);
        self.told.remove(&node);
        self.leaving.remove(&node);
        if !self.is_member() {
            return self.say(node, AgreeStep::Asks(self.life));
        }
        if self.base > self.first {
            self.say(node, AgreeStep::Agreed(self.members.clone()));
        }
        let applicants = self.applicants.all();
        applicants.into_iter().for_each(|all| self.say(node, AgreeStep::Joins(all)));
        if self.leaving.contains(&self.me) {
            self.say(node, AgreeStep::Leaves);
        }
        if self.is_informed() {
            self.say(node, AgreeStep::AllLeave);
        }
        let step = self.proposal.as_ref().map(|mine| match &mine.members {
            None => AgreeStep::Prepare(mine.ballot),
            Some(members) => AgreeStep::Accept(mine.ballot, members.clone()),
        });
        step.into_iter().for_each(|step| self.say(node, step));
    }

    /// Another one, a token manager say, cannot reach it in this view. What is said in a view that another one follows is said of that one alone; and of two that cannot reach
    /// each other the one that is heard first is counted on.
    pub(crate) fn accuse(&mut self, now: Time, view: View, by: NodeId, node: NodeId) {
        let (by, node) = (self.process_of(by), self.process_of(node));
        if view == self.base && node != self.me && !self.suspects().contains(&by) {
            self.accused.insert(node);
            self.think(now);
        }
    }

    /// This node wants to end.
    pub(crate) fn leave(&mut self, now: Time) {
        self.leaving.insert(self.me);
        self.say_to_all(&AgreeStep::Leaves);
        self.think(now);
    }

    /// Whether all nodes of a view want to end, and all who are there know it: nobody is missed who ends then. The first time that all want to, they are told.
    pub(crate) fn may_end(&mut self, view: &Topology) -> bool {
        if !self.is_informed() && view.nodes().all(|node| self.leaving.contains(&node)) {
            self.informed.insert(self.me);
            let others = view.nodes().filter(|node| *node != self.me);
            self.said.extend(others.map(|node| (node, self.base, AgreeStep::AllLeave)));
        }
        self.is_over(view)
    }

    /// All want to end, and all who are there know it.
    fn is_over(&self, view: &Topology) -> bool {
        let is_told = |node: NodeId| self.informed.contains(&node) || self.lost.contains(&node);
        self.is_informed() && view.nodes().all(is_told)
    }

    /// Whether this node has heard of all that they want to end.
    fn is_informed(&self) -> bool {
        self.informed.contains(&self.me)
    }

    pub(crate) fn wake(&mut self, now: Time) {
        self.retry_at.take_if(|at| *at <= now);
        self.think(now);
    }

    /// Another node of the view says something.
    pub(crate) fn hear(&mut self, now: Time, from: NodeId, base: View, step: AgreeStep) {
        match step {
            AgreeStep::Agreed(members) if base > self.base => self.adopt(base, members),
            AgreeStep::Agreed(_) => {}
            AgreeStep::Asks(life) => self.asked(from, life),
            // Who is in no view has no part in what the next one is.
            _ if !self.is_member() => {}
            AgreeStep::Leaves if self.has(from) => _ = self.leaving.insert(from),
            AgreeStep::AllLeave if self.has(from) => _ = self.informed.insert(from),
            _ if base < self.base => self.tell_base(from, &step),
            _ if base > self.base || !self.has(from) => {}
            AgreeStep::Suspects(nodes) if !self.suspects().contains(&from) => {
                self.accused.extend(nodes.into_iter().filter(|node| *node != self.me));
            }
            AgreeStep::Joins(asking) => self.applicants.hear(from, asking),
            step => self.take(now, from, step),
        }
        self.think(now);
    }

    /// A later process of a node wants to be let in.
    fn asked(&mut self, from: NodeId, life: u64) {
        if self.members.life_of(from) == Some(life) {
            return self.say(from, AgreeStep::Agreed(self.members.clone()));
        }
        if self.home.switch_of(from).is_some() && from != self.me {
            self.applicants.asked_by(from, life);
        }
    }

    /// Who asks about a view that is agreed on is told of it.
    fn tell_base(&mut self, to: NodeId, step: &AgreeStep) {
        if matches!(step, AgreeStep::Prepare(_) | AgreeStep::Accept(..) | AgreeStep::Suspects(_)) {
            self.said.push_back((to, self.base, AgreeStep::Agreed(self.members.clone())));
        }
    }

    /// A step of Paxos.
    fn take(&mut self, now: Time, from: NodeId, step: AgreeStep) {
        match step {
            AgreeStep::Prepare(ballot) | AgreeStep::Accept(ballot, _) if ballot < self.promised => {
                self.say(from, AgreeStep::Refused(self.promised));
            }
            AgreeStep::Prepare(ballot) => {
                self.promised = ballot;
                self.say(from, AgreeStep::Promise { ballot, accepted: self.accepted.clone() });
            }
            AgreeStep::Accept(ballot, members) => {
                self.promised = ballot;
                self.accepted = Some((ballot, members));
                self.say(from, AgreeStep::Accepted(ballot));
            }
            AgreeStep::Promise { ballot, accepted } => self.promised(from, ballot, accepted),
            AgreeStep::Accepted(ballot) => self.accepted(from, ballot),
            AgreeStep::Refused(ballot) => self.refused(now, ballot),
            AgreeStep::Suspects(_)
            | AgreeStep::Agreed(_)
            | AgreeStep::Leaves
            | AgreeStep::AllLeave
            | AgreeStep::Asks(_)
            | AgreeStep::Joins(_) => {}
        }
    }

    fn promised(&mut self, from: NodeId, ballot: Ballot, accepted: Option<(Ballot, Members)>) {
        let Some(proposal) = self.proposal.as_mut().filter(|mine| mine.ballot == ballot) else { return };
        if proposal.members.is_some() {
            return;
        }
        proposal.promises.insert(from);
        if accepted.as_ref().map(|(ballot, _)| *ballot)
            > proposal.accepted.as_ref().map(|(ballot, _)| *ballot)
        {
            proposal.accepted = accepted;
        }
        if !self.one_decides && !self.members.is_quorum(&proposal.promises) {
            return;
        }
        let earlier = proposal.accepted.take().map(|(_, members)| members);
        let Some(members) = earlier.or_else(|| self.successor()) else { return };
        // Where who asked to be let in is gone again, all would stand still for a view with the same nodes.
        if members == self.members {
            self.proposal = None;
        } else if let Some(proposal) = &mut self.proposal {
            proposal.members = Some(members.clone());
            self.say_to_all(&AgreeStep::Accept(ballot, members));
        }
    }

    fn accepted(&mut self, from: NodeId, ballot: Ballot) {
        let Some(proposal) = self.proposal.as_mut().filter(|mine| mine.ballot == ballot) else { return };
        proposal.accepts.insert(from);
        if (self.one_decides || self.members.is_quorum(&proposal.accepts))
            && let Some(members) = proposal.members.take()
        {
            self.adopt(View(self.base.0 + 1), members);
        }
    }

    /// Somebody has promised a later proposal: this node tries again if that comes to nothing.
    fn refused(&mut self, now: Time, by: Ballot) {
        if self.proposal.take_if(|mine| mine.ballot < by).is_some() {
            let before = self.members.nodes().filter(|node| *node <= self.me).count() as u64;
            let longer = 1 << self.refusals.min(MAX_DOUBLINGS);
            self.refusals += 1;
            self.promised = self.promised.max(by);
            self.retry_at = Some(now + Span(PAUSE.0 * before * longer));
        }
    }

    /// A view was agreed on. All who may not have heard of it are told before anything is said about the next one.
    fn adopt(&mut self, view: View, members: Members) {
        let nodes: BTreeSet<NodeId> = self.members.nodes().chain(members.nodes()).collect();
        let newcomers = members.joined_after(self.base);
        (self.base, self.members) = (view, members);
        (self.promised, self.accepted, self.proposal) = (Ballot::default(), None, None);
        (self.retry_at, self.patient_until, self.refusals) = (None, None, 0);
        self.accused.clear();
        self.told.clear();
        self.applicants.begin(&self.members);
        nodes.into_iter().filter(|node| *node != self.me).for_each(|node| {
            self.said.push_back((node, view, AgreeStep::Agreed(self.members.clone())));
        });
        let me = self.me;
        newcomers.into_iter().filter(|node| *node != me).for_each(|node| self.welcome(node));
        if self.is_member() {
            self.is_new = false;
            self.outcomes.push_back(Outcome::Agreed(view, self.members.clone()));
        } else if self.is_new {
            self.ask_all();
        } else if !self.has_ended {
            self.end(Outcome::LeftBehind(view));
        }
    }

    /// A process has joined: it does not want to end, whatever an earlier one of its node wanted, and has not heard who does.
    fn welcome(&mut self, node: NodeId) {
        self.leaving.remove(&node);
        self.informed.remove(&node);
        if self.leaving.contains(&self.me) {
            self.say(node, AgreeStep::Leaves);
        }
        if self.is_informed() {
            self.say(node, AgreeStep::AllLeave);
        }
    }

    fn end(&mut self, outcome: Outcome) {
        self.outcomes.push_back(outcome);
        self.retire();
    }

    /// This node begins no view any more, and goes on answering: the others are to go on without it.
    pub(crate) fn retire(&mut self) {
        self.has_ended = true;
        (self.proposal, self.retry_at, self.patient_until) = (None, None, None);
        self.tell_of_retirement();
    }

    fn tell_of_retirement(&mut self) {
        if self.is_member() && self.told.insert(self.me) {
            let others: Vec<NodeId> = self.members.nodes().filter(|node| *node != self.me).collect();
            others.into_iter().for_each(|node| self.say(node, AgreeStep::Suspects(vec![self.me])));
        }
    }

    /// Nodes of the view that are not counted on.
    fn suspects(&self) -> BTreeSet<NodeId> {
        let managers: BTreeSet<NodeId> =
            self.members.topology().switches().iter().map(|one| one.manager).collect();
        let is_of_view = |node: &&NodeId| self.has(**node) || managers.contains(node);
        self.unreachable().union(&self.accused).filter(is_of_view).copied().collect()
    }

    /// Who cannot be reached from here, or has ended, as a later process asks.
    fn unreachable(&self) -> BTreeSet<NodeId> {
        self.applicants.ended(&self.members).chain(self.lost.iter().copied()).collect()
    }

    /// Does what is to be done, until no view comes of it that is followed by another one at once.
    fn think(&mut self, now: Time) {
        let mut base = None;
        while base.replace(self.base) != Some(self.base) {
            self.consider(now);
            self.speak_to_self(now);
        }
    }

    /// Tells of suspects, and proposes if it is this node's turn.
    fn consider(&mut self, now: Time) {
        if self.has_ended {
            return self.tell_of_retirement();
        }
        if !self.is_member() {
            return;
        }
        if self.is_informed() {
            self.patient_until = None;
        }
        if self.is_over(self.members.topology()) {
            return;
        }
        // Who wanted to end, as this node does, and is not there any more, has ended in order.
        let has_left = |node: &NodeId| self.leaving.contains(&self.me) && self.leaving.contains(node);
        let lost = self.unreachable();
        let is_reached = |node: &NodeId| !lost.contains(node) || has_left(node);
        let reached: BTreeSet<NodeId> = self.members.nodes().filter(is_reached).collect();
        // All know that all end: whoever is gone has ended in order.
        if !self.is_informed() && self.is_too_few(now, &reached) {
            return self.end(Outcome::Minority(self.base, reached.len(), self.members.nodes().count()));
        }
        let suspects = self.suspects();
        // What others have said they say themselves: of two that cannot reach each other each would be passed on as a suspect.
        let mine = suspects.intersection(&lost);
        let news: Vec<NodeId> = mine.filter(|node| !self.told.contains(node)).copied().collect();
        self.told.extend(&news);
        let asking = self.applicants.news();
        for node in reached.difference(&suspects).filter(|node| **node != self.me).copied() {
            if !news.is_empty() {
                self.said.push_back((node, self.base, AgreeStep::Suspects(news.clone())));
            }
            if let Some(asking) = &asking {
                self.said.push_back((node, self.base, AgreeStep::Joins(asking.clone())));
            }
        }
        let lowest = self.members.nodes().find(|node| !suspects.contains(node));
        let is_idle = self.proposal.is_none() && self.retry_at.is_none();
        let is_needed = !suspects.is_empty() || !self.admitted(&suspects).is_empty();
        if is_needed && lowest == Some(self.me) && is_idle {
            self.propose();
        }
    }

    /// Whether so few of the view are reached that others may agree on another one, and have told nothing of that for long enough.
    fn is_too_few(&mut self, now: Time, reached: &BTreeSet<NodeId>) -> bool {
        if self.one_decides || self.members.is_quorum(reached) {
            self.patient_until = None;
            return false;
        }
        *self.patient_until.get_or_insert(now + PATIENCE) <= now
    }

    fn propose(&mut self) {
        let ballot = Ballot { round: self.promised.round.saturating_add(1), node: self.me.0 };
        let (promises, accepts) = (BTreeSet::new(), BTreeSet::new());
        self.proposal = Some(Proposal { ballot, accepted: None, promises, members: None, accepts });
        self.say_to_all(&AgreeStep::Prepare(ballot));
    }

    fn say(&mut self, to: NodeId, step: AgreeStep) {
        self.said.push_back((to, self.base, step));
    }

    fn say_to_all(&mut self, step: &AgreeStep) {
        let nodes: Vec<NodeId> = self.members.nodes().collect();
        nodes.into_iter().for_each(|node| self.say(node, step.clone()));
    }

    /// This node is one of those that it asks.
    fn speak_to_self(&mut self, now: Time) {
        while let Some(at) = self.said.iter().position(|(to, ..)| *to == self.me) {
            if let Some((_, base, step)) = self.said.remove(at)
                && base == self.base
            {
                self.take(now, self.me, step);
            }
        }
    }
}

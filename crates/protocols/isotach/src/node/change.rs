//! The way to the next view, once it is known who belongs to it: those who are left agree on what the present one executes.
//!
//! The lowest of them asks all for what they know, makes the prefix of it, and has all hold that before anybody begins the view. So whoever has begun, and whoever
//! dies then: all others of it can begin it as well, and do when they hear of it from one who has.

use super::{Broken, Node};
use crate::codec::{CUT, Cut, CutStep, Farewell, NextMembers, Ordered, Refusal, pieces};
use crate::cut::{Known, MAX_KNOWN};
use crate::defect::seeded;
use crate::logical_time::{Place, View};
use crate::members::Members;
use crate::topology::Topology;
use quintet_contract::{Address, Frame, NodeId, Token};
use quintet_wire::Decode;
use quintet_wire::registry::{PORT_ISOTACH, PORT_TOKEN_MANAGER};
use std::collections::BTreeSet;

/// The view that the program has asked for.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) token: Token,
    pub(super) view: View,
    pub(super) members: Members,
    /// Nodes of the present view that are in it. The eldest is the coordinator.
    left: BTreeSet<NodeId>,
    /// Nodes that come to be in it as later processes.
    joining: BTreeSet<NodeId>,
    has_reported: bool,
    /// Of the coordinator: what was told.
    gathered: Known,
    /// Of the coordinator: who has not told all that it knows.
    unheard: BTreeSet<NodeId>,
    /// Of the coordinator: who does not hold the prefix.
    unheld: BTreeSet<NodeId>,
    /// Of the others: what has come of the prefix.
    prefix: Vec<Ordered>,
}

/// What the present view executes, and the view behind it, which begins once all hold this.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) view: View,
    pub(super) members: Members,
    pub(super) prefix: Vec<Ordered>,
}

/// What token managers knew when they left the view.
#[derive(Default, Debug)]
pub(super) struct Left {
    /// Of whom nothing is to come: they have told all of it, are in a later view already, or are gone.
    heard_out: BTreeSet<NodeId>,
    known: Known,
}

impl Change {
    /// From a view with these nodes.
    pub(super) fn new(
        token: Token,
        view: View,
        members: Members,
        (present, nodes): (View, &Topology),
    ) -> Change {
        let (left, joining) = (members.left_of(present, nodes), members.joined_after(present));
        Change { unheard: &left | &joining, left, joining, ..Change::of_newcomer(token, view, members) }
    }

    /// From no view: what happens to the one before is for others to say.
    pub(super) fn of_newcomer(token: Token, view: View, members: Members) -> Change {
        Change {
            token,
            view,
            members,
            left: BTreeSet::new(),
            joining: BTreeSet::new(),
            has_reported: false,
            gathered: Known::default(),
            unheard: BTreeSet::new(),
            unheld: BTreeSet::new(),
            prefix: Vec::new(),
        }
    }

    pub(super) fn coordinator(&self) -> Option<NodeId> {
        self.members.eldest(self.left.iter().copied())
    }

    /// Whether no other nodes of the present view can begin another one.
    pub(super) fn check_majority(&self, present: &Members) -> Result<(), Refusal> {
        if present.is_quorum(&self.left) {
            return Ok(());
        }
        let (left, of) = (self.left.len(), present.nodes().count());
        let count = |nodes: usize| u16::try_from(nodes).expect("a topology has fewer nodes");
        Err(Refusal::Minority { view: self.view, left: count(left), of: count(of) })
    }
}

impl Node {
    /// The program, which has it from the cluster's membership, says what the next view is.
    pub(super) fn next_view(&mut self, frame: Frame<'_>) {
        if self.agreement.is_some() {
            let problem = "the nodes agree on the next view by themselves".to_owned();
            return self.refuse(frame.token, &Refusal::Misuse(problem));
        }
        match self.read_next_view(frame) {
            Ok(change) => {
                let view = change.view;
                if let Some(earlier) = self.change.replace(change) {
                    self.refuse(earlier.token, &Refusal::ViewChanged(view));
                }
                self.gather();
            }
            Err(refusal) => self.refuse(frame.token, &refusal),
        }
    }

    fn read_next_view(&self, frame: Frame<'_>) -> Result<Change, Refusal> {
        let misuse = |problem: String| Refusal::Misuse(problem);
        let asked = NextMembers::decode_all(frame.body).map_err(|error| misuse(error.to_string()))?;
        let topology = Topology::parse(asked.next.topology).map_err(|error| misuse(error.to_string()))?;
        let (view, me) = (asked.next.view, self.config.me);
        let last = self.change.as_ref().map_or(self.fence.view, |change| change.view);
        if view <= last {
            return Err(misuse(format!("view {} does not follow view {}", view.0, last.0)));
        }
        if topology.switch_of(me).is_none() {
            return Err(misuse(format!("node {} is at no switch of the new view", me.0)));
        }
        let members = Members::new(topology, asked.newcomers)
            .ok_or_else(|| misuse("who joins is at no switch of the new view".to_owned()))?;
        let is_later = members.since(me) > self.fence.view;
        let change = self.way_to(frame.token, view, members);
        match (&self.joins.outside, is_later) {
            (Some(_), true) => return Ok(change),
            (Some(_), false) => {
                return Err(misuse(format!(
                    "node {} joins, and view {} has an earlier process of it",
                    me.0, view.0
                )));
            }
            (None, true) => return Err(Refusal::LeftBehind(view)),
            (None, false) => {}
        }
        if !seeded!(self.config, MinorityBegins) {
            change.check_majority(&self.joins.members)?;
        }
        Ok(change)
    }

    /// The view that is to come.
    pub(super) fn next(&self) -> Option<View> {
        self.change.as_ref().map(|change| change.view)
    }

    /// The last view that this node has begun or is on its way to.
    pub(crate) fn newest_view(&self) -> (View, &Topology) {
        match &self.change {
            Some(change) => (change.view, change.members.topology()),
            None => (self.fence.view, self.config.isonet.topology()),
        }
    }

    /// Has all who are left tell what they know, if this node is their coordinator.
    pub(super) fn gather(&mut self) {
        self.give_up_sources_without_view();
        if self.joins.outside.is_some() {
            return self.report_outside();
        }
        let me = self.config.me;
        let is_coordinator = self.change.as_ref().is_some_and(|change| change.coordinator() == Some(me));
        // Where a view is to begin first, the way to the next one is from there.
        if is_coordinator && !self.is_agreed {
            self.say_to_others(&CutStep::Gather);
        }
        self.report();
    }

    /// Tells the coordinator what this node knows, once it is asked, and nothing is to come of token managers that go on. From then on this node takes nothing more of
    /// the view.
    fn report(&mut self) {
        let Some(change) = &self.change else { return };
        let Some(coordinator) = change.coordinator() else { return };
        let is_asked = coordinator == self.config.me || self.asked == Some((coordinator, change.view));
        if change.has_reported || !is_asked || !self.has_heard_managers_out(change.members.topology()) {
            return;
        }
        if self.is_agreed {
            // A coordinator knows that, and asks once it has its state and has begun that view.
            if coordinator != self.config.me {
                self.say_agreed(coordinator);
            }
            return;
        }
        self.is_frozen = true;
        let entries = self.known().entries();
        if let Some(change) = &mut self.change {
            change.has_reported = true;
        }
        if coordinator == self.config.me {
            // What one node knows does not contradict itself: the first that is gathered is taken as it is.
            let _ = self.reported(coordinator, true, entries);
            return;
        }
        for (is_complete, known) in pieces(&entries) {
            self.say(coordinator, CutStep::Report { is_complete, known });
        }
    }

    /// Whether each token manager of the view that goes on has told what it knew. All of them: what is on its way between two switches one of those that it has passed
    /// still knows.
    fn has_heard_managers_out(&self, next: &Topology) -> bool {
        let goes_on = |manager: &NodeId| next.switch_kept_by(*manager).is_some();
        let present = self.config.isonet.topology().switches().iter().map(|switch| switch.manager);
        present.filter(goes_on).all(|manager| self.left.heard_out.contains(&manager))
    }

    fn is_manager(&self, peer: Address) -> bool {
        let topology = self.config.isonet.topology();
        peer.port == PORT_TOKEN_MANAGER && topology.switch_kept_by(peer.node).is_some()
    }

    /// Whether a token manager says that it has begun a later view: nothing more is to come of it in this one.
    pub(super) fn says_left(&self, from: Address, frame: Frame<'_>) -> bool {
        let is_later = crate::codec::view_of(frame).is_some_and(|view| view > self.fence.view);
        frame.kind == crate::codec::FAREWELL && self.is_manager(from) && is_later
    }

    /// A peer is gone: if it is a token manager, nothing is to come of it.
    pub(super) fn lose_manager(&mut self, peer: Address) {
        if self.is_manager(peer) {
            self.left.heard_out.insert(peer.node);
            self.report();
        }
    }

    /// All that this node knows of the view's order.
    fn known(&self) -> Known {
        let mut known = self.left.known.clone();
        let me = self.config.me;
        let executed = self.own.iter().filter_map(|(rank, own)| {
            let is_of_view = |place: &Place| place.behind == 0 && place.stamp.view == self.fence.view;
            let place = own.place.filter(is_of_view)?;
            Some(Ordered { pulse: place.stamp.pulse, sender: me, rank })
        });
        let part = |sender, rank| Ordered { pulse: crate::Pulse(0), sender, rank };
        // Also those that this node has no part of: what is behind them is not executed without them.
        let own = self.own.iter().filter(|(_, own)| own.is_announced && own.place.is_none());
        let own = own.map(|(rank, _)| part(me, rank));
        let arrived = self.arrived.iter().map(|(sender, rank)| part(sender, rank));
        // What it was told and lacks is for this node alone, and executed by nobody.
        let lacked: BTreeSet<Ordered> =
            self.order.iter().filter(|next| !self.is_here(next)).copied().collect();
        let told = self.told.all().filter(|ordered| !lacked.contains(ordered));
        // Who has begun a view whose beginning this node holds may have executed this, and be gone.
        let held = self.held.iter().flat_map(|held| &held.prefix).copied();
        for ordered in told.chain(executed).chain(held).chain(own).chain(arrived) {
            // A manager that says two things of one isochron is believed the first.
            let _ = known.add(ordered);
        }
        known
    }

    /// A token manager has left the view.
    pub(super) fn farewell(&mut self, from: Address, body: &[u8]) -> Result<(), Broken> {
        let farewell = Farewell::decode_all(body).map_err(|_| Broken)?;
        if farewell.known.is_empty() && !farewell.is_complete {
            // A manager of this view has left an earlier one, which is over here.
            return Ok(());
        }
        if !self.is_manager(from) {
            return Err(Broken);
        }
        for ordered in farewell.known {
            if !self.is_node(ordered.sender) || ordered.pulse.0 == 0 || !self.left.known.add(ordered) {
                return Err(Broken);
            }
        }
        if farewell.is_complete {
            self.left.heard_out.insert(from.node);
        }
        self.report();
        Ok(())
    }

    pub(super) fn is_node(&self, node: NodeId) -> bool {
        self.config.isonet.topology().switch_of(node).is_some()
    }

    /// A node says something about the cut of this view.
    pub(super) fn cut(&mut self, from: Address, body: &[u8]) -> Result<(), Broken> {
        let Cut { next, step, .. } = Cut::decode_all(body).map_err(|_| Broken)?;
        if from.port != PORT_ISOTACH || from.node == self.config.me || !self.is_of_isonet(from.node) {
            return Err(Broken);
        }
        let joins = |change: &Change| change.joining.contains(&from.node);
        let is_answer = matches!(step, CutStep::Report { .. } | CutStep::Held);
        let is_heard = self.is_node(from.node) || is_answer && self.change.as_ref().is_some_and(joins);
        if !is_heard {
            // It was to join with a view that is given up.
            return Ok(());
        }
        if step == CutStep::Begun {
            // It answers a question of the view before, which is over here, too, by this very frame.
            return Ok(());
        }
        if step == CutStep::Gather {
            // Who is behind may still ask for a view that is given up.
            if self.asked.is_none_or(|(_, asked)| asked <= next) {
                self.asked = Some((from.node, next));
            }
            self.report();
            return Ok(());
        }
        let coordinator = match &self.change {
            Some(change) if change.view == next => change.coordinator(),
            _ => return Ok(()),
        };
        let (is_coordinator, is_of_coordinator) =
            (coordinator == Some(self.config.me), coordinator == Some(from.node));
        match step {
            CutStep::Report { is_complete, known } if is_coordinator => {
                self.reported(from.node, is_complete, known)
            }
            CutStep::Prefix { is_complete, order } if is_of_coordinator => self.prefix(is_complete, order),
            CutStep::Held if is_coordinator => self.is_held(from.node),
            _ => Err(Broken),
        }
    }

    /// The coordinator hears what a node knows.
    fn reported(&mut self, from: NodeId, is_complete: bool, known: Vec<Ordered>) -> Result<(), Broken> {
        let is_of_nodes = known.iter().all(|ordered| self.is_node(ordered.sender));
        let change = self.change.as_mut().ok_or(Broken)?;
        if !is_of_nodes || !change.unheard.contains(&from) {
            return Err(Broken);
        }
        for ordered in known {
            if !change.gathered.add(ordered) {
                return Err(Broken);
            }
        }
        if is_complete {
            change.unheard.remove(&from);
        }
        if !change.unheard.is_empty() {
            return Ok(());
        }
        change.unheld = &change.left | &change.joining;
        let order = change.gathered.prefix();
        let left_out = usize::from(seeded!(self.config, EntryLeftOut));
        for (is_complete, order) in pieces(&order[..order.len().saturating_sub(left_out)]) {
            self.say_to_others(&CutStep::Prefix { is_complete, order });
        }
        if self.hold(order) { self.is_held(self.config.me) } else { Ok(()) }
    }

    /// A piece of the prefix has come.
    fn prefix(&mut self, is_complete: bool, order: Vec<Ordered>) -> Result<(), Broken> {
        let is_of_nodes = order.iter().all(|ordered| self.is_node(ordered.sender));
        let change = self.change.as_mut().filter(|change| change.has_reported).ok_or(Broken)?;
        change.prefix.extend(order);
        let ascends = change.prefix.is_sorted_by(|one, next| one < next);
        let is_bounded = change.prefix.len() <= self.config.isonet.topology().nodes().count() * MAX_KNOWN;
        if !is_of_nodes || !ascends || !is_bounded {
            return Err(Broken);
        }
        if is_complete {
            let order = core::mem::take(&mut change.prefix);
            if self.hold(order)
                && let Some(coordinator) = self.change.as_ref().and_then(Change::coordinator)
            {
                self.say(coordinator, CutStep::Held);
            }
        }
        Ok(())
    }

    /// Keeps the prefix until the view begins. False if this node cannot execute it, as it lacks something: then its program is told what.
    fn hold(&mut self, prefix: Vec<Ordered>) -> bool {
        let Some(change) = &self.change else { return false };
        let is_executed: BTreeSet<_> = prefix.iter().map(|ordered| (ordered.sender, ordered.rank)).collect();
        let is_lacked =
            |next: &&Ordered| is_executed.contains(&(next.sender, next.rank)) && !self.is_here(next);
        if let Some(missing) = self.order.iter().find(is_lacked) {
            let refusal = Refusal::LacksPart { sender: missing.sender, rank: missing.rank };
            let token = change.token;
            self.change = None;
            self.refuse_view(token, refusal);
            return false;
        }
        self.held.push(Held { view: change.view, members: change.members.clone(), prefix });
        true
    }

    /// The coordinator hears that a node has all of the prefix: when all have, the view begins.
    fn is_held(&mut self, by: NodeId) -> Result<(), Broken> {
        let change = self.change.as_mut().ok_or(Broken)?;
        if !change.unheld.remove(&by) {
            return Err(Broken);
        }
        self.is_agreed |= change.unheld.is_empty()
            || seeded!(self.config, BegunBeforeHeld) && !change.unheld.contains(&self.config.me);
        Ok(())
    }

    /// Whether a frame says that somebody has begun a view whose beginning this node holds: then all who are left hold it. It may hold a later one, too. That
    /// begins when all of its nodes hold it, and one of them that has begun an earlier view will not: then the later one is given up. If others say so, it may have begun.
    pub(super) fn says_begun(&mut self, from: Address, frame: Frame<'_>) -> bool {
        let view = crate::codec::view_of(frame);
        let Some(at) = self.held.iter().position(|held| view == Some(held.view)) else { return false };
        let is_of = |held: &Held| held.members.has(from.node);
        let is_said = from.port == PORT_ISOTACH && self.held[at..].iter().all(is_of);
        if is_said {
            self.held.truncate(at + 1);
        }
        is_said
    }

    pub(super) fn say(&mut self, to: NodeId, step: CutStep) {
        let view = self.fence.view;
        let next = self.change.as_ref().map_or(view, |change| change.view);
        let body = Cut { view, next, step };
        self.outgoing.push(Address { node: to, port: PORT_ISOTACH }, CUT, Token(0), &body);
    }

    fn say_to_others(&mut self, step: &CutStep) {
        let all = self.change.iter().flat_map(|change| change.left.union(&change.joining)).copied();
        let others: Vec<NodeId> = all.filter(|node| *node != self.config.me).collect();
        others.into_iter().for_each(|node| self.say(node, step.clone()));
    }
}

//! Lives of a run's nodes: how they end and begin.

use super::{Life, Run, View};
use crate::system::history::What;
use crate::system::plan::{BREATH, Fault};
use crate::system::watched::Callers;
use crate::system::{Broken, PORT_CALLERS, System};
use quintet_contract::{NodeId, Port, Span, Time};
use quintet_simulate::{Hosted, Restart};

/// Disks that are lost, of a million that may be.
const LOST_DISKS: u32 = 300_000;
/// Within what time those who dial a process that has ended are refused, once they know that their links are broken: one of these.
const REFUSED_WITHIN_US: [u64; 2] = [500, 20_000];

/// What hosts do, or find, at a time.
#[derive(Clone, Debug)]
pub(super) enum Due {
    /// One is refused where it dials the other.
    Refusal { at: NodeId, of: NodeId },
    /// The next process of a node begins.
    Birth { node: NodeId },
    /// A fault ends that came after an event.
    End(Fault),
}

impl<S: System> Run<'_, S> {
    /// When something is due.
    pub(super) fn next_due(&self) -> Option<Time> {
        self.due.iter().map(|(at, _)| *at).min()
    }

    pub(super) fn life(&mut self, node: NodeId) -> &mut Life {
        &mut self.lives[usize::from(node.0) - 1]
    }

    pub(super) fn is_up(&self, node: NodeId) -> bool {
        self.lives[usize::from(node.0) - 1].is_up
    }

    /// A node goes down, unless it is.
    pub(super) fn end(&mut self, node: NodeId, notice: Span, remembers: bool) {
        if !self.is_up(node) {
            return;
        }
        let view =
            View { simulation: &self.simulation, hosted: &self.lives, protocol: core::marker::PhantomData };
        self.system.goes_down(node, &view, &mut self.ledger);
        self.simulation.crash(node, notice);
        let told = self.simulation.now() + notice;
        (self.life(node).is_up, self.life(node).told) = (false, told);
        if !remembers {
            self.answers.borrow_mut().retain(|(whose, _)| *whose != node);
            self.system.crashed(node, &mut self.ledger);
        }
        self.draw_refusals(node, notice, remembers);
    }

    /// The system of a process that has ended refuses whoever makes its link again, as a rule; that of one that is stopped, now and then: a firewall does.
    fn draw_refusals(&mut self, node: NodeId, notice: Span, is_stopped: bool) {
        let noticed = self.simulation.now() + notice;
        let linked = |(one, other): &(NodeId, NodeId)| match node {
            node if node == *one => Some(*other),
            node if node == *other => Some(*one),
            _ => None,
        };
        let others: Vec<NodeId> = self.redialled.iter().filter_map(linked).collect();
        if others.is_empty() {
            return;
        }
        self.dials.begin();
        if !self.dials.chance(if is_stopped { 200_000 } else { 700_000 }) {
            return;
        }
        let most_us = *self.dials.pick(&REFUSED_WITHIN_US);
        for at in others {
            let later = Span::from_micros(1 + self.dials.below(most_us));
            self.due.push((noticed + later, Due::Refusal { at, of: node }));
        }
    }

    /// Does what is due by now.
    pub(super) fn do_due(&mut self) {
        while let Some(next) = self.due.iter().position(|(at, _)| *at <= self.simulation.now()) {
            match self.due.remove(next).1 {
                Due::Refusal { at, of } => self.refuse(at, of),
                // Unless a fault's end was before.
                Due::Birth { node } if self.life(node).has_exited => self.begin_again(node, false),
                Due::Birth { .. } => {}
                Due::End(end) => self.suffer(&end),
            }
        }
    }

    /// Whether a fault lasts that came after an event.
    pub(super) fn is_struck(&self) -> bool {
        self.due.iter().any(|(_, due)| matches!(due, Due::End(_)))
    }

    /// What is to go wrong after an event does so if that is this one. Where a fault would be there already, nothing does.
    pub(super) fn may_be_struck(&mut self) -> Result<(), Broken> {
        let (now, events) = (self.simulation.now().since(Time::ZERO), self.simulation.events());
        let Some(strike) = self.strike.take_if(|strike| strike.event <= events) else { return Ok(()) };
        let is_there = strike.whom.is_none_or(|node| self.is_up(node));
        if is_there && strike.fits(self.plan, now, self.system.faults().most_down) {
            if let Fault::Down { node, remembers: true, .. } = strike.fault {
                // What it has said to its callers has come to them.
                self.run_to(self.simulation.now())?;
                self.let_work_end(node)?;
            }
            self.suffer(&strike.fault);
            self.counted.strikes += 1;
            let end = self.simulation.now() + strike.lasting;
            self.due.push((end, Due::End(strike.end.clone())));
        }
        Ok(())
    }

    /// Processes end by themselves, and others begin in their places.
    pub(super) fn see_exits(&mut self) {
        for (node, next) in self.system.exits(&mut self.ledger) {
            self.history.note(None, || What::Fault(format!("the process of node {} ends by itself", node.0)));
            self.end(node, Span(self.plan.link.delay_max.0 + BREATH.0), false);
            self.life(node).has_exited = true;
            let birth = next.map(|span| (self.simulation.now() + span, Due::Birth { node }));
            self.due.extend(birth);
        }
    }

    /// A node is there again, unless it is up. Nobody remembers what a process knew that has ended by itself.
    pub(super) fn begin_again(&mut self, node: NodeId, remembers: bool) {
        if self.is_up(node) {
            return;
        }
        let has_exited = std::mem::take(&mut self.life(node).has_exited);
        self.life(node).is_up = true;
        if remembers && !has_exited {
            return self.simulation.restart(node, Restart::WithMemory);
        }
        self.lose_disk(node);
        let life = self.life(node);
        (life.number, life.dialled) = (life.number + 1, 0);
        let number = life.number;
        let callers = Callers { node, answers: self.answers.clone() };
        let instances: Vec<(Port, Box<dyn Hosted>)> = vec![
            (self.address(node).port, Box::new(self.born(node, number))),
            (PORT_CALLERS, Box::new(callers)),
        ];
        self.simulation.restart(node, Restart::Fresh(instances));
        self.set_costs(node);
    }

    /// Empties the disk of a node that begins a new life, if it may be lost and the choices have it so.
    fn lose_disk(&mut self, node: NodeId) {
        if !self.system.may_lose_disk(node, &self.view()) {
            return;
        }
        self.losses.begin();
        if self.losses.chance(LOST_DISKS) {
            self.history.note(None, || What::Fault(format!("node {} has lost its disk", node.0)));
            self.simulation.lose_disk(node);
        }
    }
}

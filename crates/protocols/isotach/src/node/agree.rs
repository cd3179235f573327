//! Who belongs to the next view, where the nodes agree on it by themselves: what is heard for that, and what comes of it.

use super::{Broken, Node};
use crate::agreement::{Agreement, Outcome};
use crate::codec::{
    AGREE, AGREED, Agree, AgreeStep, BEGUN, ENDED, Halt, HaltCause, LEFT, NextMembers, NextView, Refusal,
};
use crate::frames::EMPTY;
use crate::limits::MAX_UNEXECUTED;
use crate::logical_time::View;
use crate::members::Members;
use quintet_contract::{Address, Frame, NodeId, Outbox, Token};
use quintet_wire::Decode;
use quintet_wire::registry::PORT_ISOTACH;

impl Node {
    /// Another node says something for the agreement.
    pub(super) fn agree(&mut self, from: Address, frame: Frame<'_>) -> Result<(), Broken> {
        let is_heard = !self.cut_off.contains(&from);
        let agreement = self.agreement.as_mut().ok_or(Broken)?;
        let Agree { base, step } = Agree::decode_all(frame.body).map_err(|_| Broken)?;
        if from.port != PORT_ISOTACH || from.node == self.config.me {
            return Err(Broken);
        }
        if !is_heard {
            return Ok(());
        }
        let asks = if let AgreeStep::Asks(life) = step { Some(life) } else { None };
        agreement.hear(self.now, from.node, base, step);
        let known = self.joins.members.life_of(from.node).filter(|_| self.joins.outside.is_none());
        if known.is_some_and(|known| asks > Some(known)) {
            // The process that was in the view has ended, whether that was heard or not.
            self.stop(Halt { node: from.node, cause: HaltCause::Gone });
        }
        Ok(())
    }

    /// A peer cannot be reached, or is not heard any more.
    pub(super) fn lose(&mut self, peer: Address) {
        let is_of_view = peer.port == PORT_ISOTACH || peer == self.outgoing.manager();
        if let Some(agreement) = self.agreement.as_mut().filter(|_| is_of_view) {
            agreement.lose(self.now, peer.node);
        }
    }

    /// It can be reached again.
    pub(super) fn find(&mut self, peer: Address) {
        let is_heard = peer.port == PORT_ISOTACH && !self.cut_off.contains(&peer);
        if let Some(agreement) = self.agreement.as_mut().filter(|_| is_heard) {
            agreement.find(peer.node);
        }
    }

    /// The token manager cannot reach a node.
    pub(super) fn accuse(&mut self, node: NodeId) {
        let (view, by) = (self.fence.view, self.outgoing.manager().node);
        if let Some(agreement) = &mut self.agreement {
            agreement.accuse(self.now, view, by, node);
        }
    }

    pub(super) fn wake(&mut self) {
        if let Some(agreement) = &mut self.agreement {
            agreement.wake(self.now);
        }
    }

    /// The program wants to end.
    pub(super) fn leave(&mut self, frame: Frame<'_>) {
        match &mut self.agreement {
            Some(agreement) => agreement.leave(self.now),
            None => {
                let problem =
                    "nodes whose program says what the next view is do not leave together".to_owned();
                self.refuse(frame.token, &Refusal::Misuse(problem));
            }
        }
    }

    pub(super) fn has_agreement_news(&self) -> bool {
        let has_news = |one: &Agreement| !one.said.is_empty() || !one.outcomes.is_empty();
        self.agreement.as_ref().is_some_and(has_news)
    }

    /// Says what is to be said, and goes on to the view that was agreed on.
    pub(super) fn follow_agreement(&mut self) {
        if self.has_agreement_news() {
            self.take_agreement_news();
        }
        self.leave_with_all();
    }

    fn take_agreement_news(&mut self) {
        let Some(agreement) = &mut self.agreement else { return };
        for (node, base, step) in agreement.said.drain(..) {
            let body = Agree { base, step };
            self.outgoing.push(Address { node, port: PORT_ISOTACH }, AGREE, Token(0), &body);
        }
        let outcomes = core::mem::take(&mut agreement.outcomes);
        outcomes.into_iter().for_each(|outcome| self.follow(outcome));
    }

    fn follow(&mut self, outcome: Outcome) {
        let count = |nodes: usize| u16::try_from(nodes).expect("a topology has fewer nodes");
        match outcome {
            Outcome::Agreed(view, members) => self.go_to(view, members),
            Outcome::LeftBehind(view) => self.end(Refusal::LeftBehind(view)),
            Outcome::Minority(base, left, of) => {
                let (view, left, of) = (View(base.0 + 1), count(left), count(of));
                self.end(Refusal::Minority { view, left, of });
            }
        }
    }

    /// Begins the way to a view that was agreed on.
    fn go_to(&mut self, view: View, members: Members) {
        if self.ended.is_some() {
            return;
        }
        let text = members.topology().to_text();
        let newcomers = members.newcomers().clone();
        let next = NextMembers { next: NextView { view, topology: &text }, newcomers };
        self.outgoing.tell(AGREED, Token(0), &next);
        self.change = Some(self.way_to(Token(0), view, members));
        self.gather();
    }

    /// A view does not begin here: who asked for it is told why.
    pub(super) fn refuse_view(&mut self, token: Token, refusal: Refusal) {
        match self.agreement {
            Some(_) => self.end(refusal),
            None => self.refuse(token, &refusal),
        }
    }

    pub(super) fn tell_begun(&mut self, view: View) {
        if self.agreement.is_some() {
            self.outgoing.tell(BEGUN, Token(0), &view);
        }
    }

    /// Executes nothing any more, in no view. What has not completed may have been executed by others.
    pub(super) fn end(&mut self, why: Refusal) {
        if self.ended.is_some() || self.has_left {
            return;
        }
        self.outgoing.tell(ENDED, Token(0), &why);
        self.agreement.iter_mut().for_each(Agreement::retire);
        (self.change, self.held, self.is_agreed) = (None, Vec::new(), false);
        self.joins.missing = None;
        self.counters.lost += self.own.len() as u64;
        self.own.drain().for_each(|(_, own)| self.refuse(own.token, &why));
        for frame in core::mem::take(&mut self.held_back) {
            self.refuse_isochron(frame.token, &why);
        }
        self.to_announce.clear();
        self.behind.clear();
        self.outgoing.forget_view();
        self.ended = Some(why);
    }

    /// All of the view want to end, each of whom has been answered: nothing is under way, and no view is needed any more.
    fn leave_with_all(&mut self) {
        let is_told = self.has_left || self.ended.is_some();
        let topology = self.config.isonet.topology();
        if !is_told && self.agreement.as_mut().is_some_and(|agreement| agreement.may_end(topology)) {
            self.has_left = true;
            self.outgoing.tell(LEFT, Token(0), &EMPTY);
        }
    }

    /// Keeps what is submitted while the view has stopped for the next one. False if the view goes on, or as much waits as may.
    pub(super) fn holds_back(&mut self, frame: Frame<'_>) -> bool {
        let is_stopped = !self.executes() || !self.held_back.is_empty();
        let holds = self.agreement.is_some() && self.ended.is_none() && is_stopped;
        if !holds {
            return false;
        }
        if self.held_back.len() >= MAX_UNEXECUTED {
            self.refuse_isochron(frame.token, &Refusal::Busy);
        } else {
            self.held_back.push_back(frame.to_owned());
        }
        true
    }

    /// Whether something that was kept can be submitted.
    pub(super) fn has_held_back(&self) -> bool {
        self.executes() && !self.held_back.is_empty() && self.outgoing.is_program_told()
    }

    /// Submits what was kept. What cannot be executed in this view is refused as one that came before it.
    pub(super) fn submit_held_back(&mut self, out: &mut dyn Outbox) {
        while self.has_held_back()
            && let Some(frame) = self.held_back.pop_front()
        {
            let started = match self.accept(frame.borrow()) {
                Ok((operations, reserved)) => self.start(frame.token, operations, reserved),
                Err(Refusal::Busy) => {
                    self.refuse_isochron(frame.token, &Refusal::Busy);
                    Ok(())
                }
                Err(_) => {
                    self.refuse_isochron(frame.token, &Refusal::ViewChanged(self.fence.view));
                    Ok(())
                }
            };
            if let Err(node) = started {
                self.cut_off(Address { node, port: PORT_ISOTACH }, out);
            }
        }
    }
}

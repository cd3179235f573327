//! The beginning of a view whose beginning is held: who says that it has begun, and who is told so.

use super::Node;
use super::change::Change;
use super::join::Outside;
use crate::codec::{CUT, Cut, CutStep, INSTALLED, Refusal};
use crate::frames::EMPTY;
use crate::logical_time::View;
use quintet_contract::{Address, NodeId, Outbox, Token};
use quintet_wire::Decode;
use quintet_wire::registry::PORT_ISOTACH;

impl Node {
    /// A node asks or tells for a view that is another than the present one: who is behind is told which has begun, and this node learns it if it was left behind.
    pub(super) fn cut_elsewhere(&mut self, from: Address, body: &[u8]) {
        let Ok(Cut { view, step, .. }) = Cut::decode_all(body) else { return };
        let is_peer = from.port == PORT_ISOTACH && self.is_node(from.node);
        let asks = matches!(step, CutStep::Gather | CutStep::Prefix { .. });
        if is_peer && asks && view < self.fence.view {
            self.say(from.node, CutStep::Begun);
        }
        // A view that begins here once this node has its state is one that it is in.
        if step == CutStep::Begun && view > self.fence.view && !self.is_agreed {
            let is_left_behind = |change: &mut Change| change.view <= view;
            if let Some(change) = self.change.take_if(is_left_behind) {
                self.refuse_view(change.token, Refusal::LeftBehind(view));
            }
        }
    }

    /// Begins what is to begin, once this node has the state of its present view.
    pub(super) fn begin_agreed(&mut self, out: &mut dyn Outbox) {
        while self.is_agreed && self.joins.missing.is_none() {
            self.begin_held(out);
        }
    }

    /// A view has begun elsewhere that this node is to begin once it has the state of its present one: who asks for a later one is told so.
    pub(super) fn say_agreed(&mut self, to: NodeId) {
        let Some(view) = self.held.last().map(|held| held.view) else { return };
        let body = Cut { view, next: view, step: CutStep::Begun };
        self.outgoing.push(Address { node: to, port: PORT_ISOTACH }, CUT, Token(0), &body);
    }

    /// Begins the view that all who are left can begin, and takes what came early.
    fn begin_held(&mut self, out: &mut dyn Outbox) {
        self.is_agreed = false;
        let Some(held) = self.held.pop() else { return };
        self.held.clear();
        let is_coordinator =
            self.change.as_ref().is_some_and(|change| change.coordinator() == Some(self.config.me));
        if let Err(node) = self.execute_prefix(&held.prefix) {
            let problem = format!("node {} sent what cannot be executed", node.0);
            if let Some(change) = self.change.take() {
                self.refuse_view(change.token, Refusal::Misuse(problem));
            }
            return self.cut_off(Address { node, port: PORT_ISOTACH }, out);
        }
        let view = held.view;
        let behind = self.asked_for_later_than(view);
        let early = self.begin(held);
        if let Some(change) = self.change.take_if(|change| change.view == view) {
            match &mut self.joins.missing {
                Some(missing) => missing.token = Some(change.token),
                None if self.agreement.is_none() => self.outgoing.tell(INSTALLED, change.token, &EMPTY),
                None => {}
            }
            if is_coordinator {
                self.say_begun();
            }
        }
        // It would wait for an answer in the view that is over here.
        behind.into_iter().for_each(|node| self.say(node, CutStep::Begun));
        self.begin_again();
        early.into_iter().for_each(|(from, frame)| self.take(from, frame.borrow(), out));
    }

    /// The program asked for a later view before this one had begun: the way to it begins here.
    fn begin_again(&mut self) {
        let Some(change) = self.change.take() else { return };
        let change = self.way_to(change.token, change.view, change.members);
        match change.check_majority(&self.joins.members) {
            // Who has agreed on a view was a quorum.
            checked if checked.is_ok() || self.agreement.is_some() => {
                self.change = Some(change);
                self.gather();
            }
            Err(refusal) => self.refuse(change.token, &refusal),
            Ok(()) => {}
        }
    }

    fn say_begun(&mut self) {
        let nodes = self.config.isonet.topology().nodes().filter(|node| *node != self.config.me);
        nodes.collect::<Vec<_>>().into_iter().for_each(|node| self.say(node, CutStep::Begun));
    }

    /// Who has asked what this node knows, for a view behind this one.
    fn asked_for_later_than(&self, view: View) -> Option<NodeId> {
        let outside = self.joins.outside.as_ref().map(Outside::asked);
        let (by, next) = outside.unwrap_or(self.asked)?;
        (next > view).then_some(by)
    }
}

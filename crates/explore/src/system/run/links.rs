//! Links of a run: what hosts make, cut, make again, and find where they dial.

use super::{Life, Run};
use crate::system::{Joined, System};
use quintet_contract::{Bytes, NodeId, OwnedFrame, Span, Token};
use quintet_simulate::LinkModel;
use quintet_wire::encode_to_vec;
use quintet_wire::registry::{LINK_NEWS, PORT_LINKS};
use quintet_wire::services::LinkNews;

/// How often it is looked whether a node without a link is to have one.
const DIALS_EVERY: Span = Span::from_millis(5);
/// What a link takes that loses nothing, in one frame.
const LONGEST_BULK: usize = 1 << 24;

impl<S: System> Run<'_, S> {
    pub(super) fn join(&mut self, one: NodeId, other: NodeId) {
        let model = match self.system.link(one, other) {
            Joined::Lossy => self.plan.link,
            Joined::Reliable => self.reliable_link(),
            Joined::Redialled => {
                self.redialled.push((one, other));
                self.reliable_link()
            }
            // Who has the higher number makes it.
            Joined::Dialled => return self.dialling.push((other, one, false)),
            Joined::Apart => return,
        };
        self.simulation.connect(self.address(one), self.address(other), model);
    }

    fn reliable_link(&self) -> LinkModel {
        let LinkModel { delay_min, delay_max, .. } = self.plan.link;
        LinkModel {
            delay_min,
            delay_max,
            max_bulk_bytes: LONGEST_BULK,
            may_be_cut: true,
            ..LinkModel::default()
        }
    }

    /// Whether hosts make links by themselves.
    pub(super) fn has_dialling(&self) -> bool {
        !self.dialling.is_empty() || !self.redialled.is_empty()
    }

    /// Makes a link for each node that is to have one and has none, and those again that were closed and can be.
    pub(super) fn dial(&mut self) {
        self.next_dial = self.simulation.now() + DIALS_EVERY;
        self.redial();
        for index in 0..self.lives.len() {
            let Life { node, is_up, dialled, .. } = self.lives[index];
            let mut own = self.dialling.iter().filter(|(from, ..)| *from == node).peekable();
            if !is_up || own.peek().is_none() || own.any(|pair| self.is_linked(*pair)) {
                continue;
            }
            if let Some(to) = self.system.dials(node, dialled, &self.view()) {
                self.lives[index].dialled += 1;
                self.make_link(node, to);
            }
        }
    }

    /// Makes links again that were closed and can be made: also where nothing happens at their nodes.
    pub(super) fn redial(&mut self) {
        let closed: Vec<_> = self.redialled.iter().copied().filter(|pair| self.is_redialled(*pair)).collect();
        for (one, other) in closed {
            self.simulation.connect_again(one, other, self.reliable_link());
        }
    }

    /// Whether a link was closed that hosts make again now: both nodes are up, and frames pass.
    fn is_redialled(&self, (one, other): (NodeId, NodeId)) -> bool {
        let is_closed = self.simulation.is_closed(one, other) || self.simulation.is_closed(other, one);
        is_closed && self.is_up(one) && self.is_up(other) && self.is_passed(one, other)
    }

    fn is_passed(&self, one: NodeId, other: NodeId) -> bool {
        !self.held.contains(&(one, other)) && !self.held.contains(&(other, one))
    }

    fn is_linked(&self, (from, to, had_one): (NodeId, NodeId, bool)) -> bool {
        had_one && self.is_up(to) && !self.simulation.is_closed(from, to)
    }

    /// Nothing comes of it if the other is down.
    fn make_link(&mut self, from: NodeId, to: NodeId) {
        let (here, there, model) = (self.address(from), self.address(to), self.reliable_link());
        let is_live = self.is_up(to);
        let Some(pair) = self.dialling.iter_mut().find(|pair| (pair.0, pair.1) == (from, to)) else { return };
        if !is_live {
            return;
        }
        match core::mem::replace(&mut pair.2, true) {
            true => self.simulation.connect_again(from, to, model),
            false => self.simulation.connect(here, there, model),
        }
    }

    /// Loses all frames from one node to another, or keeps them back, as the link between the two does.
    pub(super) fn cut(&mut self, from: NodeId, to: NodeId) {
        match self.system.link(from.min(to), from.max(to)) {
            Joined::Lossy => self.simulation.set_cut(from, to, true),
            Joined::Reliable | Joined::Redialled => {
                self.simulation.set_held(from, to, true);
                self.held.push((from, to));
            }
            Joined::Dialled | Joined::Apart => {}
        }
    }

    pub(super) fn mend(&mut self) {
        self.simulation.partition(&[]);
        for (from, to) in std::mem::take(&mut self.held) {
            self.simulation.set_held(from, to, false);
        }
    }

    /// A node's host dials another one, whose process has ended, and is refused: unless it is there again, or nothing passes.
    pub(super) fn refuse(&mut self, at: NodeId, of: NodeId) {
        if !self.is_up(at) || self.is_up(of) || !self.is_passed(at, of) {
            return;
        }
        let body = Bytes::from(encode_to_vec(&LinkNews { node: of, is_refused: true }));
        let frame = OwnedFrame { kind: LINK_NEWS, token: Token(0), body, bulk: Bytes::new() };
        self.simulation.inject_from(PORT_LINKS, self.address(at), frame);
        self.system.refuses(of, at, self.simulation.now(), &mut self.ledger);
    }
}

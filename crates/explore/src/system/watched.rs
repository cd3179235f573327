//! A node's protocol, and its callers: they do what they do, and what they are told is written down.

use super::history::{History, What};
use super::noted::Noted;
use quintet_contract::{
    Address, Frame, Input, NodeId, Outbox, OwnedFrame, PeerChange, Protocol, Stage, Time,
};
use std::cell::RefCell;
use std::rc::Rc;

/// What every step costs, where nodes may stand still in one: no protocol declares work of this stage.
pub(super) const STEP: Stage = Stage(u8::MAX);

/// A node's protocol.
pub(super) struct Watched<P> {
    pub(super) protocol: P,
    pub(super) node: NodeId,
    pub(super) history: History,
}

impl<P: Protocol> Protocol for Watched<P> {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        self.history.note(Some(self.node), || what(&input));
        out.work(STEP, 1);
        if self.history.is_kept() {
            let out = &mut Noted { out, node: self.node, history: &self.history, begun: None };
            self.protocol.handle(now, input, out);
        } else {
            self.protocol.handle(now, input, out);
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.protocol.deadline()
    }

    fn is_resumed_by(&self, from: Address, frame: Frame<'_>) -> bool {
        self.protocol.is_resumed_by(from, frame)
    }
}

fn what(input: &Input<'_>) -> What {
    match *input {
        Input::Started => What::Started,
        Input::Wake => What::Woken,
        Input::Frame(from, frame) => What::Came(from, frame.to_owned()),
        Input::Writable(to) => What::Room(to),
        Input::Peer(peer, PeerChange::Up { incarnation, .. }) => What::Up(peer, *incarnation),
        Input::Peer(peer, PeerChange::Down(cause)) => What::Down(peer, *cause),
    }
}

/// Answers that nobody has looked at, with the nodes that gave them.
pub(super) type Answers = Rc<RefCell<Vec<(NodeId, OwnedFrame)>>>;

/// The callers of a node.
pub(super) struct Callers {
    pub(super) node: NodeId,
    pub(super) answers: Answers,
}

impl Protocol for Callers {
    fn handle(&mut self, _now: Time, input: Input<'_>, _out: &mut dyn Outbox) {
        if let Input::Frame(_, frame) = input {
            self.answers.borrow_mut().push((self.node, frame.to_owned()));
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

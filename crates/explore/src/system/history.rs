//! What happened in a run.

use super::{PORT_CALLERS, System};
use quintet_contract::{Address, DownCause, Incarnation, Kind, NodeId, OwnedFrame, SendError, Time, Token};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// What happened to a node, or to the network.
#[derive(Clone, Debug)]
pub(super) enum What {
    Started,
    Woken,
    Came(Address, OwnedFrame),
    Room(Address),
    Up(Address, Incarnation),
    Down(Address, DownCause),
    Answered(OwnedFrame),
    Sent { to: Address, kind: Kind, token: Token, bytes: usize },
    Refused { to: Address, error: SendError },
    Closes(Address),
    Fault(String),
}

/// When, and at which node: none of the network.
type Event = (Time, Option<NodeId>, What);

/// What happened in a run. Its copies are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    /// Whether it is written down.
    is_kept: bool,
    events: Rc<RefCell<Vec<Event>>>,
    now: Rc<Cell<Time>>,
}

impl History {
    pub(super) fn new(is_kept: bool) -> History {
        History { is_kept, ..History::default() }
    }

    pub(super) fn is_kept(&self) -> bool {
        self.is_kept
    }

    pub(super) fn set_now(&self, now: Time) {
        self.now.set(now);
    }

    /// Writes down what happened at a node, or in the network.
    pub(super) fn note(&self, node: Option<NodeId>, what: impl FnOnce() -> What) {
        if self.is_kept {
            self.events.borrow_mut().push((self.now.get(), node, what()));
        }
    }

    /// A line for each event: when, at which node, what.
    pub(super) fn lines(&self, system: &impl System) -> Vec<String> {
        let line = |(at, node, what): &Event| {
            let whose = node.map_or_else(|| "-".to_owned(), |node| node.0.to_string());
            format!("{:>14}  {whose:>3}  {}", at.to_string(), in_words(system, *node, what))
        };
        self.events.borrow().iter().map(line).collect()
    }
}

fn in_words(system: &impl System, node: Option<NodeId>, what: &What) -> String {
    match what {
        What::Started => "begins".to_owned(),
        What::Woken => "is woken".to_owned(),
        What::Came(from, frame) => {
            let whence = match (Some(from.node) == node, from.port) {
                (true, PORT_CALLERS) => "is asked".to_owned(),
                (true, port) => format!("from its own port {}", port.0),
                (false, _) => format!("from node {}", from.node.0),
            };
            format!("{whence}: {}", system.show(frame.borrow()))
        }
        What::Room(to) => format!("has room again towards node {}", to.node.0),
        What::Up(peer, life) => format!("is told that node {} is up, in life {}", peer.node.0, life.0),
        What::Down(peer, cause) => format!("is told that node {} is down: {cause:?}", peer.node.0),
        What::Answered(frame) => format!("answers: {}", system.show(frame.borrow())),
        What::Sent { to, kind, token, bytes } => {
            format!("sends to node {}: kind {:#x}, token {}, {bytes} bytes", to.node.0, kind.0, token.0)
        }
        What::Refused { to, error } => format!("cannot send to {to}: {error}"),
        What::Closes(peer) => format!("closes its link to node {}", peer.node.0),
        What::Fault(text) => text.clone(),
    }
}

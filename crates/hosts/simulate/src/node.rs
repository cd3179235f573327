//! A modelled process: its protocol instances, its inbox, and the time of its processor.

use crate::outbox::{Costs, Departure, Links, SimulatedOutbox};
use crate::schedule::Picos;
use quintet_contract::{
    Address, DownCause, Incarnation, Input, NodeId, OwnedFrame, PeerChange, Port, Protocol, Time,
};
use std::any::Any;
use std::collections::{BTreeMap, VecDeque};

/// A protocol that can be looked at again by its own type. Every protocol without borrowed parts is one.
pub trait Hosted: Protocol {
    /// The protocol, to be downcast.
    fn as_any(&self) -> &dyn Any;
    /// The protocol, to be downcast and changed.
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

impl<P: Protocol + Any> Hosted for P {
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

/// An input that waits in a node's inbox.
pub(crate) enum Arrival {
    Started,
    Wake,
    Frame(Address, OwnedFrame),
    Writable(Address),
    Up { peer: Address, incarnation: Incarnation, max_bulk_bytes: usize },
    Down(Address, DownCause),
}

pub(crate) struct Instance {
    pub(crate) protocol: Box<dyn Hosted>,
    pub(crate) costs: Costs,
    /// The earliest wake that is scheduled and has not fired.
    pub(crate) wake_at: Option<Time>,
}

/// A process. A crash ends it; a restart brings a larger incarnation.
pub(crate) struct Node {
    pub(crate) incarnation: Incarnation,
    pub(crate) alive: bool,
    pub(crate) instances: BTreeMap<Port, Instance>,
    pub(crate) inbox: VecDeque<(Port, Arrival)>,
    /// Until when its processor is at work.
    pub(crate) busy_until: Picos,
    /// Whether an event that goes on with the inbox is scheduled.
    pub(crate) resume_scheduled: bool,
}

impl Node {
    pub(crate) fn new() -> Self {
        Node {
            incarnation: Incarnation(1),
            alive: true,
            instances: BTreeMap::new(),
            inbox: VecDeque::new(),
            busy_until: Picos::default(),
            resume_scheduled: false,
        }
    }

    pub(crate) fn place(&mut self, port: Port, protocol: Box<dyn Hosted>) {
        self.instances.insert(port, Instance { protocol, costs: Costs::new(), wake_at: None });
    }

    /// Begins the node's next life. Wakes scheduled in the last one are void.
    pub(crate) fn revive(&mut self, now: Picos) {
        self.incarnation.0 += 1;
        self.alive = true;
        self.busy_until = now;
        self.resume_scheduled = false;
        for instance in self.instances.values_mut() {
            instance.wake_at = None;
        }
    }

    /// Lets the first waiting input be handled at `now`. Gives the port, and what was sent.
    pub(crate) fn handle_next(
        &mut self,
        id: NodeId,
        now: Picos,
        links: &mut Links,
    ) -> Option<(Port, Vec<Departure>)> {
        let (port, arrival) = self.inbox.pop_front()?;
        let Some(instance) = self.instances.get_mut(&port) else { return Some((port, Vec::new())) };
        let mut out = SimulatedOutbox {
            from: Address { node: id, port },
            links,
            costs: &instance.costs,
            departure: now.max(self.busy_until),
            sent: Vec::new(),
            begun: None,
        };
        if let Some(input) = input(&arrival, &*instance.protocol, &mut instance.wake_at, now.time()) {
            instance.protocol.handle(now.time(), input, &mut out);
        }
        self.busy_until = out.departure;
        Some((port, out.sent))
    }
}

/// The arrival as the protocol sees it. None for a wake whose deadline has moved since: it would be early.
fn input<'a>(
    arrival: &'a Arrival,
    protocol: &dyn Hosted,
    wake_at: &mut Option<Time>,
    now: Time,
) -> Option<Input<'a>> {
    Some(match arrival {
        Arrival::Started => Input::Started,
        Arrival::Wake => {
            *wake_at = None;
            protocol.deadline().filter(|deadline| *deadline <= now)?;
            Input::Wake
        }
        Arrival::Frame(from, frame) => Input::Frame(*from, frame.borrow()),
        Arrival::Writable(to) => Input::Writable(*to),
        Arrival::Up { peer, incarnation, max_bulk_bytes } => {
            let up = PeerChange::Up { incarnation: *incarnation, max_bulk_bytes: *max_bulk_bytes };
            Input::Peer(*peer, up)
        }
        Arrival::Down(peer, cause) => Input::Peer(*peer, PeerChange::Down(*cause)),
    })
}

//! The served host: one loop that owns several protocols and links.

use crate::instance::Instance;
use crate::mailbox::{Letter, Mailbox};
use crate::node_outbox::{Closing, NodeOutbox, Outlet, Outlets};
use crate::services::{RunningServices, Services};
use crate::sleep::sleep_on;
use quintet_clock::LiveClock;
use quintet_contract::{
    Address, DownCause, Frame, Incarnation, Input, NodeId, OwnedFrame, PeerChange, Port, Span, Time,
};
use quintet_link::{End, LinkError, Patience, Receiver, Route, SharedMemoryListener, Waiting};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

/// Frames taken from one link in a burst, so that one peer cannot keep the loop from the others.
const BURST: usize = 64;

/// Under constant load, new links are looked for every so many turns.
const TURNS_BETWEEN_LINKS: u32 = 256;

/// A node that runs on the thread which calls [`Node::run`].
pub struct Node {
    id: NodeId,
    instances: BTreeMap<Port, Instance>,
    outlets: Outlets,
    /// Links that an instance had closed since the end of the last turn.
    closing: Closing,
    inlets: BTreeMap<NodeId, Inlet>,
    local: VecDeque<Letter>,
    services: RunningServices,
    mailbox: Mailbox,
    listener: Option<Listener>,
    /// Links whose first frame, which names the peer, has not come yet.
    unnamed: Vec<End>,
    /// Turns until new links are looked for.
    links_in: u32,
    /// How long a wait spins before it sleeps.
    spin: Duration,
    clock: LiveClock,
}

/// The receiving half of a peer's link, and which instances it joins.
struct Inlet {
    receiver: Box<dyn Receiver>,
    joined: Vec<(Address, Address)>,
}

/// Takes new links for one instance.
struct Listener {
    listener: SharedMemoryListener,
    port: Port,
}

/// Reaches a node from other threads.
#[derive(Clone)]
pub struct NodeHandle {
    node: NodeId,
    mailbox: Mailbox,
}

impl Node {
    /// A node without instances.
    ///
    /// # Errors
    /// The system refuses an event descriptor.
    pub fn new(id: NodeId, services: Services) -> io::Result<Self> {
        let mailbox = Mailbox::new()?;
        let services = services.start(id, &mailbox);
        Ok(Node {
            id,
            instances: BTreeMap::new(),
            outlets: Outlets::new(),
            closing: Closing::new(),
            inlets: BTreeMap::new(),
            local: VecDeque::new(),
            services,
            mailbox,
            listener: None,
            unnamed: Vec::new(),
            links_in: 0,
            spin: quintet_link::SPIN,
            clock: LiveClock::start(),
        })
    }

    /// A way to reach the node while it runs.
    #[must_use]
    pub fn handle(&self) -> NodeHandle {
        NodeHandle { node: self.id, mailbox: self.mailbox.clone() }
    }

    /// Lets the node spin so long before it sleeps, instead of [`quintet_link::SPIN`].
    pub fn set_spin(&mut self, spin: Duration) {
        self.spin = spin;
    }

    /// Places a protocol and starts it.
    pub fn add(&mut self, port: Port, instance: Instance) {
        self.instances.insert(port, instance);
        self.give(self.clock.now(), port, Input::Started);
    }

    /// Joins pairs of addresses, this node's and the peer's, by a link, and tells this node's that the peer is up.
    pub fn attach(&mut self, peer: NodeId, incarnation: Incarnation, joined: &[(Port, Port)], end: End) {
        let max_bulk_bytes = end.sender.max_bulk_bytes();
        self.outlets.insert(peer, Outlet { sender: end.sender, refused: Vec::new() });
        let pair = |(here, there): &(Port, Port)| {
            (Address { node: self.id, port: *here }, Address { node: peer, port: *there })
        };
        let joined: Vec<_> = joined.iter().map(pair).collect();
        self.inlets.insert(peer, Inlet { receiver: end.receiver, joined: joined.clone() });
        let now = self.clock.now();
        for (here, there) in joined {
            let up = PeerChange::Up { incarnation, max_bulk_bytes };
            self.give(now, here.port, Input::Peer(there, up));
        }
    }

    /// Takes links from `listener` while running. A link joins `port` with the address from which its first frame comes; a
    /// link whose node is linked already is closed.
    pub fn listen(&mut self, listener: SharedMemoryListener, port: Port) {
        self.listener = Some(Listener { listener, port });
    }

    /// Runs until [`NodeHandle::stop`].
    ///
    /// # Errors
    /// The system refuses to wait on the links' descriptors.
    pub fn run(&mut self) -> io::Result<()> {
        let mut patience = Patience::new(self.spin);
        while !self.mailbox.is_stopped() {
            let now = self.clock.now();
            if !self.turn(now) {
                let limit = self.next_deadline().map(|deadline| Duration::from(deadline.since(now)));
                let mut idle = Idle { node: self, failed: None };
                patience.wait(&mut idle, limit);
                idle.failed.map_or(Ok(()), Err)?;
            }
        }
        Ok(())
    }

    /// Does what is there to do, each link a burst. False if there was nothing.
    fn turn(&mut self, now: Time) -> bool {
        let mut worked = self.take_links(now);
        if self.mailbox.has_letters() {
            self.local.append(&mut self.mailbox.take());
        }
        worked |= self.run_local(now);
        worked |= self.poll_links(now);
        worked |= self.wake(now);
        self.report_room(now);
        self.run_local(now);
        worked |= self.close_links(now);
        self.flush(now);
        // What was lost in the flush may have had others closed: see to them before the next sleep.
        worked || !self.closing.is_empty()
    }

    /// Whether the next turn asks the listener.
    fn looks_for_links(&self) -> bool {
        self.listener.is_some() && self.links_in == 0
    }

    fn next_deadline(&self) -> Option<Time> {
        self.instances.values().filter_map(Instance::deadline).min()
    }

    fn take_links(&mut self, now: Time) -> bool {
        let Some(listener) = self.listener.as_mut() else { return false };
        if let Some(left) = self.links_in.checked_sub(1) {
            self.links_in = left;
            return false;
        }
        self.links_in = TURNS_BETWEEN_LINKS;
        // A client that fails the link's handshake is told there, and is its own trouble.
        while let Ok(Some(end)) = listener.listener.accept() {
            self.unnamed.push(end);
        }
        let port = listener.port;
        let named: Vec<_> = std::mem::take(&mut self.unnamed)
            .into_iter()
            .filter_map(|end| match first_frame(end) {
                First::Named(end, route, frame) => Some((end, route, frame)),
                First::Nothing(end) => {
                    self.unnamed.push(end);
                    None
                }
                First::Failed => None,
            })
            .collect();
        let worked = !named.is_empty();
        for (end, route, frame) in named {
            let peer = route.from.node;
            if peer != self.id && !self.inlets.contains_key(&peer) {
                self.attach(peer, Incarnation(now.0), &[(port, route.from.port)], end);
                self.give(now, port, Input::Frame(route.from, frame.borrow()));
            }
        }
        worked
    }

    fn run_local(&mut self, now: Time) -> bool {
        let mut worked = false;
        while let Some((from, to, frame)) = self.local.pop_front() {
            self.give(now, to.port, Input::Frame(from, frame.borrow()));
            worked = true;
        }
        worked
    }

    fn poll_links(&mut self, now: Time) -> bool {
        // The links are taken out while their frames are handled, since handling them needs the rest of the node.
        let mut inlets = std::mem::take(&mut self.inlets);
        let (mut received, mut failed, id) = (0, Vec::new(), self.id);
        for (peer, inlet) in &mut inlets {
            // A frame that names other nodes than the two: no honest peer sends it.
            let mut stray = false;
            let polled = inlet.receiver.poll(BURST, &mut |route: Route, frame: Frame<'_>| {
                stray |= route.from.node != *peer || route.to.node != id;
                if !stray && !self.is_closing(*peer) {
                    self.give(now, route.to.port, Input::Frame(route.from, frame));
                }
            });
            match polled {
                Ok(_) if stray => failed.push((*peer, DownCause::Misbehaved)),
                Ok(count) => received += count,
                Err(error) => failed.push((*peer, cause(&error))),
            }
        }
        self.inlets = inlets;
        for (peer, cause) in &failed {
            self.lose(now, *peer, *cause);
        }
        received > 0 || !failed.is_empty()
    }

    /// Whether nothing more is taken from a peer, whose link is about to be closed.
    #[inline]
    fn is_closing(&self, peer: NodeId) -> bool {
        !self.closing.is_empty() && self.closing.iter().any(|(closing, _)| *closing == peer)
    }

    /// Closes the links that instances had closed, and tells every instance that they joined. False if there were none.
    fn close_links(&mut self, now: Time) -> bool {
        let mut closed = false;
        while let Some((peer, mut outlet)) = self.closing.pop() {
            // Best effort: if it fails, the link is gone all the more.
            let _ = outlet.sender.flush();
            drop(outlet);
            self.lose(now, peer, DownCause::Misbehaved);
            closed = true;
        }
        closed
    }

    /// Forgets a link, which closes it, and tells every instance that it joined.
    fn lose(&mut self, now: Time, peer: NodeId, cause: DownCause) {
        self.outlets.remove(&peer);
        let Some(inlet) = self.inlets.remove(&peer) else { return };
        drop(inlet.receiver);
        for (here, there) in inlet.joined {
            self.give(now, here.port, Input::Peer(there, PeerChange::Down(cause)));
        }
    }

    fn wake(&mut self, now: Time) -> bool {
        let due = |(port, instance): (&Port, &Instance)| {
            instance.deadline().filter(|deadline| *deadline <= now).map(|_| *port)
        };
        let due: Vec<_> = self.instances.iter().filter_map(due).collect();
        for port in &due {
            self.give(now, *port, Input::Wake);
        }
        !due.is_empty()
    }

    fn report_room(&mut self, now: Time) {
        let with_room = self.outlets.values_mut().filter(|o| !o.refused.is_empty() && o.sender.has_room());
        let mut told: Vec<_> = with_room.flat_map(|outlet| std::mem::take(&mut outlet.refused)).collect();
        told.dedup();
        for (here, there) in told {
            self.give(now, here.port, Input::Writable(there));
        }
    }

    fn flush(&mut self, now: Time) {
        let flushed = self.outlets.iter_mut().map(|(peer, outlet)| (*peer, outlet.sender.flush()));
        let failed: Vec<_> = flushed.filter_map(|(peer, done)| Some((peer, done.err()?))).collect();
        for (peer, error) in failed {
            self.lose(now, peer, cause(&error));
        }
    }

    fn give(&mut self, now: Time, port: Port, input: Input<'_>) {
        let Some(instance) = self.instances.get_mut(&port) else { return };
        let from = Address { node: self.id, port };
        let (outlets, closing) = (&mut self.outlets, &mut self.closing);
        let (services, local) = (&self.services, &mut self.local);
        instance.handle(now, input, &mut NodeOutbox { from, outlets, closing, services, local, begun: None });
    }

    fn receivers(&self) -> impl Iterator<Item = &dyn Receiver> {
        let unnamed = self.unnamed.iter().map(|end| &*end.receiver);
        self.inlets.values().map(|inlet| &*inlet.receiver).chain(unnamed)
    }

    fn receivers_mut(&mut self) -> impl Iterator<Item = &mut Box<dyn Receiver>> {
        let unnamed = self.unnamed.iter_mut().map(|end| &mut end.receiver);
        self.inlets.values_mut().map(|inlet| &mut inlet.receiver).chain(unnamed)
    }
}

/// What its instances are told of a peer whose link failed.
fn cause(error: &LinkError) -> DownCause {
    match error {
        LinkError::Closed => DownCause::Closed,
        LinkError::PeerDied | LinkError::System(_) => DownCause::Died,
        LinkError::Malformed(_) => DownCause::Misbehaved,
    }
}

/// A node that has nothing to do.
struct Idle<'a> {
    node: &'a mut Node,
    failed: Option<io::Error>,
}

impl Waiting for Idle<'_> {
    fn ready(&self) -> bool {
        self.failed.is_some()
            || self.node.looks_for_links()
            || self.node.mailbox.is_stopped()
            || self.node.mailbox.has_letters()
            || self.node.receivers().any(|receiver| receiver.has_frames())
    }

    fn is_near(&self) -> bool {
        self.node.receivers().any(|receiver| receiver.awaits_bulk())
    }

    /// Sleeps until a link, the mailbox, the listener or a deadline calls.
    fn sleep(&mut self, limit: Option<Duration>) {
        // Every one is armed, also after one has refused: each is disarmed below.
        let refused =
            self.node.receivers_mut().map(|receiver| !receiver.arm()).filter(|refused| *refused).count();
        if refused == 0 {
            let links = self.node.receivers().map(|receiver| receiver.fd());
            let listener = self.node.listener.iter().map(|listener| listener.listener.as_fd());
            let calling = links.chain(listener).chain([self.node.mailbox.fd()]);
            self.failed = sleep_on(calling, limit.map(Span::from)).err();
        }
        self.node.receivers_mut().for_each(|receiver| receiver.disarm());
        // Whatever it was may have been a new link.
        self.node.links_in = 0;
    }
}

impl NodeHandle {
    /// Hands a frame to the instance at `port`, as if `from`, another port of the node, had sent it.
    pub fn send(&self, from: Port, port: Port, frame: OwnedFrame) {
        let at = |port| Address { node: self.node, port };
        self.mailbox.post(at(from), at(port), frame);
    }

    /// Ends [`Node::run`] after its current turn.
    pub fn stop(&self) {
        self.mailbox.stop();
    }
}

/// What a link whose peer is not known yet brought.
enum First {
    Named(End, Route, OwnedFrame),
    Nothing(End),
    Failed,
}

fn first_frame(mut end: End) -> First {
    let mut first = None;
    match end.receiver.poll(1, &mut |route, frame| first = Some((route, frame.to_owned()))) {
        Ok(_) => match first {
            Some((route, frame)) => First::Named(end, route, frame),
            None => First::Nothing(end),
        },
        Err(_) => First::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_whose_ring_was_heard_by_a_turn_is_not_slept_through() {
        let mut node = Node::new(NodeId(1), Services::none()).expect("an event descriptor is there");
        node.handle().stop();
        // The loop saw no stop yet, and this turn empties the mailbox.
        assert!(!node.turn(Time(0)));
        assert!(Idle { node: &mut node, failed: None }.ready());
    }
}

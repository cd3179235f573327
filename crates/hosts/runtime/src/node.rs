//! The served host: one loop that owns several protocols and links.

use crate::failure::{cause, words};
use crate::instance::Instance;
use crate::listening::{Listening, Named};
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
use std::time::Duration;

/// Frames taken from one link in a burst, so that one peer cannot keep the loop from the others.
const BURST: usize = 64;

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
    listening: Option<Listening>,
    /// How long a wait spins before it sleeps.
    spin: Duration,
    clock: LiveClock,
}

/// The receiving half of a peer's link, and which instances it joins.
struct Inlet {
    receiver: Box<dyn Receiver>,
    joined: Vec<(Address, Address)>,
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
            listening: None,
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
    /// link whose node is linked already is closed, and so is the oldest of too many over which nothing came yet. When the
    /// system refuses what a new link needs, that is written to the standard error, once, and tried again.
    pub fn listen(&mut self, listener: SharedMemoryListener, port: Port) {
        self.listening = Some(Listening::new(listener, port));
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
                let mut idle = Idle { node: self, woken: false, failed: None };
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

    fn next_deadline(&self) -> Option<Time> {
        let listening = self.listening.as_ref().and_then(Listening::deadline);
        self.instances.values().filter_map(Instance::deadline).chain(listening).min()
    }

    fn take_links(&mut self, now: Time) -> bool {
        let Some(listening) = self.listening.as_mut() else { return false };
        let (named, port) = (listening.take(now), listening.port);
        let worked = !named.is_empty();
        for Named { end, route, frame } in named {
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
                Err(error) => {
                    complain(*peer, &error);
                    failed.push((*peer, cause(&error)));
                }
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
            complain(peer, &error);
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
        let unnamed = self.listening.iter().flat_map(Listening::receivers);
        self.inlets.values().map(|inlet| &*inlet.receiver).chain(unnamed)
    }

    fn receivers_mut(&mut self) -> impl Iterator<Item = &mut Box<dyn Receiver>> {
        let unnamed = self.listening.iter_mut().flat_map(Listening::receivers_mut);
        self.inlets.values_mut().map(|inlet| &mut inlet.receiver).chain(unnamed)
    }
}

/// Says of a link what its instances are not told: they learn only the kind of its end.
fn complain(peer: NodeId, error: &LinkError) {
    if matches!(error, LinkError::Malformed(_) | LinkError::System(_)) {
        eprintln!("quintet: the link to node {} ended: {}", peer.0, words(error));
    }
}

/// A node that has nothing to do.
struct Idle<'a> {
    node: &'a mut Node,
    /// Whether a sleep has ended: somebody called, and only a turn shows why. A link's end is no frame.
    woken: bool,
    failed: Option<io::Error>,
}

impl Waiting for Idle<'_> {
    fn ready(&self) -> bool {
        self.failed.is_some()
            || self.woken
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
            let listener = self.node.listening.iter().filter_map(Listening::fd);
            let calling = links.chain(listener).chain([self.node.mailbox.fd()]);
            self.failed = sleep_on(calling, limit.map(Span::from)).err();
        }
        self.node.receivers_mut().for_each(|receiver| receiver.disarm());
        self.node.listening.iter_mut().for_each(Listening::look_soon);
        self.woken = true;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_whose_ring_was_heard_by_a_turn_is_not_slept_through() {
        let mut node = Node::new(NodeId(1), Services::none()).expect("an event descriptor is there");
        node.handle().stop();
        // The loop saw no stop yet, and this turn empties the mailbox.
        assert!(!node.turn(Time(0)));
        assert!(Idle { node: &mut node, woken: false, failed: None }.ready());
    }

    #[test]
    fn an_idle_node_has_a_turn_when_a_link_that_it_did_not_listen_for_ends() {
        let mut node = Node::new(NodeId(1), Services::none()).expect("an event descriptor is there");
        let (near, far) = quintet_link::in_process_pair().expect("two event descriptors are there");
        node.attach(NodeId(2), Incarnation(1), &[(Port(16), Port(16))], near);
        assert!(!node.turn(Time(0)));
        let mut idle = Idle { node: &mut node, woken: false, failed: None };
        assert!(!idle.ready());
        drop(far);
        idle.sleep(None);
        assert!(idle.ready());
        assert!(node.turn(Time(0)) && node.inlets.is_empty());
    }
}

//! The served host: one loop that owns several protocols and links.

use crate::instance::Instance;
use crate::mailbox::{Letter, Mailbox};
use crate::node_outbox::{NodeOutbox, Outlet, Outlets};
use crate::services::{RunningServices, Services};
use crate::sleep::Sleeper;
use quintet_clock::LiveClock;
use quintet_contract::{
    Address, DownCause, Frame, Incarnation, Input, NodeId, OwnedFrame, PeerChange, Port, Time,
};
use quintet_link::{End, LinkError, Receiver, Route, SharedMemoryListener};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::fd::AsFd;

/// Frames taken from one link in a burst, so that one peer cannot keep the loop from the others.
const BURST: usize = 64;

/// A node that runs on the thread which calls [`Node::run`].
pub struct Node {
    id: NodeId,
    instances: BTreeMap<Port, Instance>,
    outlets: Outlets,
    inlets: BTreeMap<NodeId, Inlet>,
    local: VecDeque<Letter>,
    services: RunningServices,
    mailbox: Mailbox,
    listener: Option<Listener>,
    /// Links whose first frame, which names the peer, has not come yet.
    unnamed: Vec<End>,
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
            inlets: BTreeMap::new(),
            local: VecDeque::new(),
            services,
            mailbox,
            listener: None,
            unnamed: Vec::new(),
            clock: LiveClock::start(),
        })
    }

    /// A way to reach the node while it runs.
    #[must_use]
    pub fn handle(&self) -> NodeHandle {
        NodeHandle { node: self.id, mailbox: self.mailbox.clone() }
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
        let mut sleeper = Sleeper::new();
        while !self.mailbox.is_stopped() {
            let now = self.clock.now();
            let worked = self.turn(now);
            if worked {
                sleeper.worked();
            } else if sleeper.may_sleep() {
                self.sleep(&mut sleeper)?;
            }
        }
        Ok(())
    }

    /// Does what is there to do, each link a burst. False if there was nothing.
    fn turn(&mut self, now: Time) -> bool {
        let mut worked = self.take_links(now);
        self.local.append(&mut self.mailbox.take());
        worked |= self.run_local(now);
        let peers: Vec<_> = self.inlets.keys().copied().collect();
        for peer in peers {
            worked |= self.poll(now, peer);
        }
        worked |= self.wake(now);
        self.report_room(now);
        self.run_local(now);
        self.flush(now);
        worked
    }

    fn take_links(&mut self, now: Time) -> bool {
        let Some(listener) = self.listener.as_mut() else { return false };
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

    fn poll(&mut self, now: Time, peer: NodeId) -> bool {
        // The link is taken out while its frames are handled, since handling them needs the rest of the node.
        let Some(mut inlet) = self.inlets.remove(&peer) else { return false };
        let id = self.id;
        let polled = inlet.receiver.poll(BURST, &mut |route: Route, frame: Frame<'_>| {
            if route.from.node == peer && route.to.node == id {
                self.give(now, route.to.port, Input::Frame(route.from, frame));
            }
        });
        match polled {
            Ok(count) => {
                self.inlets.insert(peer, inlet);
                count > 0
            }
            Err(error) => {
                self.lose(now, peer, &inlet.joined, &error);
                true
            }
        }
    }

    fn lose(&mut self, now: Time, peer: NodeId, joined: &[(Address, Address)], error: &LinkError) {
        self.outlets.remove(&peer);
        self.inlets.remove(&peer);
        let cause = match error {
            LinkError::Closed => DownCause::Closed,
            LinkError::PeerDied | LinkError::System(_) => DownCause::Died,
            LinkError::Malformed(_) => DownCause::Misbehaved,
        };
        for (here, there) in joined {
            self.give(now, here.port, Input::Peer(*there, PeerChange::Down(cause)));
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
            let joined = self.inlets.get(&peer).map(|inlet| inlet.joined.clone()).unwrap_or_default();
            self.lose(now, peer, &joined, &error);
        }
    }

    fn give(&mut self, now: Time, port: Port, input: Input<'_>) {
        let Some(instance) = self.instances.get_mut(&port) else { return };
        let from = Address { node: self.id, port };
        let (outlets, services, local) = (&mut self.outlets, &self.services, &mut self.local);
        instance.handle(now, input, &mut NodeOutbox { from, outlets, services, local, begun: None });
    }

    /// Sleeps until a link, the mailbox or a deadline calls.
    fn sleep(&mut self, sleeper: &mut Sleeper) -> io::Result<()> {
        let deadline = self.instances.values().filter_map(Instance::deadline).min();
        let limit = deadline.map(|deadline| deadline.since(self.clock.now()));
        let unnamed = self.unnamed.iter_mut().map(|end| &mut end.receiver);
        let named = self.inlets.values_mut().map(|inlet| &mut inlet.receiver);
        let mut receivers: Vec<_> = named.chain(unnamed).collect();
        // Every one is armed, also after one has refused: each is disarmed below.
        let refused = receivers.iter_mut().filter_map(|receiver| (!receiver.arm()).then_some(())).count();
        let slept = if refused == 0 {
            let links = receivers.iter().map(|receiver| receiver.fd());
            let listener = self.listener.iter().map(|listener| listener.listener.as_fd());
            sleeper.sleep(links.chain(listener).chain([self.mailbox.fd()]), limit)
        } else {
            Ok(())
        };
        receivers.iter_mut().for_each(|receiver| receiver.disarm());
        slept
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

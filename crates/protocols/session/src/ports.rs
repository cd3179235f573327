//! Which of a node's instances a frame is for: several stand on one session with each peer.
//!
//! ```text
//!   Space    Relay ...               one instance a port, each under its own Messages
//!   Messages Messages
//!       Ports                        from port u16, to port u16 in front of each message
//!      Sessions                      at a port of the node's own, the same on every node
//! ```
//!
//! Downward, [`Ports`] puts the two ports in front of what an instance sends, and sends it to the session of the receiver's node;
//! upward, it takes them off and hands the frame to the instance at the one, as from the other. It keeps no frames and counts none:
//! credit and order belong to the layer above it, a pair of ports; numbers and resuming to the session below, a pair of nodes.
//!
//! # Who is told what
//!
//! | what happens | who is told |
//! | --- | --- |
//! | a node comes up | the instances that were made to ask an address of it: that address is up |
//! | the first frame of a pair of ports | its instance: the sender is up; then the frame |
//! | a frame for a port where nothing is, or of one pair too many | its sender ([`ABSENT`]): that address is [`Down(Refused)`](quintet_contract::DownCause::Refused). Nobody is cut off for it |
//! | a node goes down | every instance that was told of an address of it, in the order in which they were told |
//! | a session is refused before it began | the instances that were made to ask an address of that node |
//! | there is room | every instance that was refused, in the order of the refusals |
//!
//! A peer cannot make this side keep anything by naming ports: a pair is kept only for an instance that is there, and of one node
//! no more than 32 of them.
//!
//! # Within the node
//!
//! Frames within a node carry no ports. One goes to the instance whose kinds it has, and else to the first: kinds are
//! global, and of one node's callers each knows what it asks. The host's services answer the first instance only, and another one
//! that sends to them is refused at once, as where there are none; so is who sends to another instance on the same `Ports`. None does so far.

pub(crate) mod fuzzing;
mod node;
mod outbox;
mod pair;

pub use pair::ABSENT;

use node::{Known, MAX_PAIRS, Node};
use outbox::PortsOutbox;
use pair::PortPair;
use quintet_contract::limits::PORTS_PREFIX_BYTES;
use quintet_contract::{
    Address, Disconnect, DownCause, Frame, Input, Kind, Outbox, PeerChange, PeerMap, Port, Protocol, Time,
};
use quintet_errors::Code;
use quintet_wire::registry::{KindRange, PORTS};

/// A protocol at a port of its node.
#[derive(Debug)]
pub struct Placed<P> {
    /// Where.
    pub port: Port,
    /// The kinds of frames that ports of its own node send it.
    pub kinds: KindRange,
    /// The addresses that it was made to ask, of any nodes: it learns when they can be reached. Of others it learns by their
    /// first frames.
    pub asks: Vec<Address>,
    /// The protocol.
    pub protocol: P,
}

/// Several instances on one session with each peer: compose as `Sessions<Ports<Messages<P>>>`.
///
/// ```
/// use quintet_contract::{Address, Incarnation, Input, Outbox, Port, Protocol, Time};
/// use quintet_session::{Placed, Ports, SessionConfig, Sessions};
/// use quintet_wire::registry::{PORT_SESSION, PORT_USER, USER};
///
/// struct Silent;
/// impl Protocol for Silent {
///     fn handle(&mut self, _now: Time, _input: Input<'_>, _out: &mut dyn Outbox) {}
///     fn deadline(&self) -> Option<Time> {
///         None
///     }
/// }
/// let me = Address::new(1, PORT_SESSION.0);
/// let silent = Placed { port: PORT_USER, kinds: USER, asks: vec![], protocol: Silent };
/// let node = Sessions::new(SessionConfig::new(me, 7, Incarnation(1), 42), Ports::new(me, vec![silent]));
/// assert!(node.inner().get(PORT_USER).is_some() && node.inner().get(Port(16)).is_none());
/// ```
#[derive(Debug)]
pub struct Ports<P> {
    me: Address,
    /// In the order of their ports.
    instances: Vec<Placed<P>>,
    /// Of each instance.
    ports: Vec<Port>,
    /// Nodes whose session lives, by its address.
    nodes: PeerMap<Node>,
    /// Kept for its room.
    head: Vec<u8>,
}

impl<P: Protocol> Ports<P> {
    /// These instances, over the sessions at `me`.
    ///
    /// # Panics
    /// If there is none, two are at one port, or together they ask more than 32 addresses.
    #[must_use]
    pub fn new(me: Address, mut instances: Vec<Placed<P>>) -> Self {
        instances.sort_by_key(|placed| placed.port);
        let ports: Vec<Port> = instances.iter().map(|placed| placed.port).collect();
        assert!(!ports.is_empty() && ports.is_sorted_by(|a, b| a < b), "one instance a port: {ports:?}");
        assert!(asks(&instances).count() <= MAX_PAIRS, "instances ask {MAX_PAIRS} addresses at most");
        Ports { me, instances, ports, nodes: PeerMap::new(), head: Vec::new() }
    }

    /// The instance at a port.
    pub fn get(&self, port: Port) -> Option<&P> {
        Some(&self.instances[self.index(port)?].protocol)
    }

    /// The instance at a port. What it would send needs a `handle`.
    pub fn get_mut(&mut self, port: Port) -> Option<&mut P> {
        let at = self.index(port)?;
        Some(&mut self.instances[at].protocol)
    }

    fn index(&self, port: Port) -> Option<usize> {
        self.ports.iter().position(|there| *there == port)
    }

    /// Gives one instance an input.
    #[inline]
    fn tell(&mut self, instance: usize, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        let Ports { me, instances, ports, nodes, head, .. } = self;
        let mut out = PortsOutbox { me: *me, ports, instance, nodes, head, out, is_paired: false };
        instances[instance].protocol.handle(now, input, &mut out);
    }

    fn tell_all(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        (0..self.instances.len()).for_each(|instance| self.tell(instance, now, input, out));
    }

    /// A frame of this node.
    fn receive_within(&mut self, now: Time, from: Address, frame: Frame<'_>, out: &mut dyn Outbox) {
        let instance = self.instances.iter().position(|placed| placed.kinds.contains(frame.kind));
        self.tell(instance.unwrap_or(0), now, Input::Frame(from, frame), out);
    }

    fn receive(&mut self, now: Time, from: Address, frame: Frame<'_>, out: &mut dyn Outbox) {
        let Some(node) = self.nodes.get_mut(from) else { return };
        let Some((pair, body)) = PortPair::split(frame.body) else {
            return out.disconnect(from, Disconnect::ForGood);
        };
        if PORTS.contains(frame.kind) {
            return self.control(now, from, (frame.kind, pair, body), out);
        }
        let Some(instance) = node.instance(pair).or_else(|| self.meet(now, from, pair, out)) else { return };
        let from = Address { node: from.node, port: pair.from };
        self.tell(instance, now, Input::Frame(from, Frame { body, ..frame }), out);
    }

    /// The first frame of a pair of ports: tells the instance that it is for, if there is one.
    #[cold]
    fn meet(&mut self, now: Time, from: Address, pair: PortPair, out: &mut dyn Outbox) -> Option<usize> {
        let known = self.index(pair.to).map(|instance| Known { pair, instance });
        let met = known.filter(|known| self.introduce(now, from, *known, out));
        if met.is_none() {
            self.nodes.get_mut(from)?.answer_absent(from, pair, out);
        }
        met.map(|known| known.instance)
    }

    /// Tells an instance of a port of the node whose session is at this address. False if there are too many.
    fn introduce(&mut self, now: Time, at: Address, known: Known, out: &mut dyn Outbox) -> bool {
        let Some(node) = self.nodes.get_mut(at) else { return false };
        if !node.add(known) {
            return false;
        }
        let (there, up) = (Address { node: at.node, port: known.pair.from }, node.up());
        self.tell(known.instance, now, Input::Peer(there, &up), out);
        true
    }

    fn control(
        &mut self,
        now: Time,
        from: Address,
        (kind, pair, body): (Kind, PortPair, &[u8]),
        out: &mut dyn Outbox,
    ) {
        if kind != ABSENT || !body.is_empty() {
            return out.disconnect(from, Disconnect::ForGood);
        }
        let Some(instance) = self.nodes.get_mut(from).and_then(|node| node.remove(pair)) else { return };
        let there = Address { node: from.node, port: pair.from };
        let absent = DownCause::Refused(Code::Unreachable as u16);
        self.tell(instance, now, Input::Peer(there, &PeerChange::Down(absent)), out);
    }

    /// The addresses of a node that instances were made to ask, and which of them.
    fn asked(&self, at: Address) -> Vec<(usize, Address)> {
        asks(&self.instances).filter(|(_, there)| there.node == at.node).collect()
    }

    fn peer_change(&mut self, now: Time, at: Address, change: &PeerChange, out: &mut dyn Outbox) {
        match *change {
            PeerChange::Up { incarnation, link } => {
                self.down(now, at, DownCause::Died, out);
                self.nodes.insert(at, Node::new(incarnation, link.behind(PORTS_PREFIX_BYTES)));
                for (instance, there) in self.asked(at) {
                    let pair = PortPair { from: there.port, to: self.ports[instance] };
                    self.introduce(now, at, Known { pair, instance }, out);
                }
            }
            PeerChange::Down(cause) => self.down(now, at, cause, out),
        }
    }

    /// A node's session is over, or was refused before it began.
    fn down(&mut self, now: Time, at: Address, cause: DownCause, out: &mut dyn Outbox) {
        let there = |port| Address { node: at.node, port };
        let told: Vec<(usize, Address)> = match self.nodes.remove(at) {
            Some(node) => node.known().map(|known| (known.instance, there(known.pair.from))).collect(),
            None if matches!(cause, DownCause::Refused(_)) => self.asked(at),
            None => return,
        };
        for (instance, there) in told {
            self.tell(instance, now, Input::Peer(there, &PeerChange::Down(cause)), out);
        }
    }

    fn writable(&mut self, now: Time, at: Address, out: &mut dyn Outbox) {
        let Some(node) = self.nodes.get_mut(at) else { return };
        node.send_owed(at, out);
        // Who is refused again waits for the next time.
        for _ in 0..node.refusals() {
            let Some((instance, port)) = self.nodes.get_mut(at).and_then(Node::next_refused) else { return };
            self.tell(instance, now, Input::Writable(Address { node: at.node, port }), out);
        }
    }

    fn wake(&mut self, now: Time, out: &mut dyn Outbox) {
        for instance in 0..self.instances.len() {
            if self.instances[instance].protocol.deadline().is_some_and(|at| at <= now) {
                self.tell(instance, now, Input::Wake, out);
            }
        }
    }
}

/// The indexes of instances, and the addresses that they were made to ask.
fn asks<P>(instances: &[Placed<P>]) -> impl Iterator<Item = (usize, Address)> {
    let numbered = instances.iter().enumerate();
    numbered.flat_map(|(instance, placed)| placed.asks.iter().map(move |there| (instance, *there)))
}

impl<P: Protocol> Protocol for Ports<P> {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        let own = |address: Address| address.node == self.me.node;
        match input {
            Input::Started => self.tell_all(now, input, out),
            Input::Wake => self.wake(now, out),
            Input::Frame(from, frame) if own(from) => self.receive_within(now, from, frame, out),
            Input::Writable(address) | Input::Peer(address, _) if own(address) => {
                self.tell_all(now, input, out)
            }
            Input::Frame(from, frame) => self.receive(now, from, frame, out),
            Input::Writable(address) => self.writable(now, address, out),
            Input::Peer(address, change) => self.peer_change(now, address, change, out),
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.instances.iter().filter_map(|placed| placed.protocol.deadline()).min()
    }
}

#[cfg(test)]
#[path = "ports/tests.rs"]
mod tests;

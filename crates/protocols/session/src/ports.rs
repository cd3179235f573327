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
//! | a frame of who holds a token of the cluster, for a port that does not serve those ([`serves_tokens`](quintet_wire::registry::serves_tokens)) | as where nothing is |
//! | a pair is over with whoever is behind it, and its nodes stay linked ([`LEFT`]) | its instance: that address is down, with the cause |
//! | a node goes down | every instance that was told of an address of it, in the order in which they were told |
//! | a session is refused before it began | the instances that were made to ask an address of that node |
//! | there is room | every instance that was refused, in the order of the refusals |
//!
//! A peer cannot make this side keep anything by naming ports: a pair is kept only for an instance that is there, and of one node
//! no more than 32 of them, or 1024 of one that says it passes on the frames of others ([`Role::KERNEL`]). How many nodes the instances were made to ask is another limit ([`MAX_ASKED`]): a cluster may have many.
//!
//! # Within the node
//!
//! Frames within a node carry no ports. What one of the host's services answers goes to the instance that uses it
//! ([`Placed::services`]), of which there is one at most; another that sends to it is refused at once, as where there is none. Any other
//! frame goes to the instance whose kinds it has, and else to the first: kinds are global, and of one node's callers each knows what it
//! asks. Instances of one node do not send to each other: to the host, nothing is at their ports.
//!
//! `Ports` is no protocol of its own but a part of the sessions' way up, and what it puts in front goes with the session's own
//! prefix: with an outbox of its own, a pair of out and take cost a tenth more instructions.

pub(crate) mod fuzzing;
mod node;
mod pair;

pub use pair::{ABSENT, LEFT, Parting, PortPair};

#[cfg(doc)]
use crate::Role;
use crate::above::Above;
use crate::outbox::{Noted, SessionOutbox};

use node::{Known, MAX_PAIRS, Node};
use quintet_contract::limits::PORTS_PREFIX_BYTES;
use quintet_contract::{
    Address, Disconnect, DownCause, Frame, Input, Kind, Meter, NodeId, Outbox, PeerChange, PeerMap, Port,
    Protocol, Time,
};
use quintet_errors::Code;
use quintet_wire::Decode;
use quintet_wire::registry::{KindRange, PORTS, is_service};
use std::collections::BTreeMap;

/// Addresses that the instances of a node may be made to ask, all together: four of each of 128 members' nodes.
pub const MAX_ASKED: usize = 512;

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
    /// The host's services that it uses, by their ports: what they answer is for it, and no other instance may send to them.
    pub services: &'static [Port],
    /// The protocol.
    pub protocol: P,
}

impl<P> Placed<P> {
    /// Another protocol in the same place: this one under a layer, say.
    pub fn map<Q>(self, over: impl FnOnce(P) -> Q) -> Placed<Q> {
        let Placed { port, kinds, asks, services, protocol } = self;
        Placed { port, kinds, asks, services, protocol: over(protocol) }
    }
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
/// let silent = Placed { port: PORT_USER, kinds: USER, asks: vec![], services: &[], protocol: Silent };
/// let node = Sessions::new(SessionConfig::new(me, 7, Incarnation(1), 42), Ports::new(me, vec![silent]));
/// assert!(node.inner().get(PORT_USER).is_some() && node.inner().get(Port(16)).is_none());
/// ```
#[derive(Debug)]
pub struct Ports<P> {
    me: Address,
    /// In the order of their ports.
    instances: Vec<Placed<P>>,
    /// Nodes whose session lives, by its address.
    nodes: PeerMap<Node>,
}

impl<P: Protocol> Ports<P> {
    /// These instances, over the sessions at `me`.
    ///
    /// # Panics
    /// If there is none, two are at one port or use one service, what one uses is no service, or together they ask more than
    /// [`MAX_ASKED`] addresses, or 32 of one node.
    #[must_use]
    pub fn new(me: Address, mut instances: Vec<Placed<P>>) -> Self {
        instances.sort_by_key(|placed| placed.port);
        let ports: Vec<Port> = instances.iter().map(|placed| placed.port).collect();
        assert!(!ports.is_empty() && ports.is_sorted_by(|a, b| a < b), "one instance a port: {ports:?}");
        check_services(&instances);
        check_asks(&instances);
        Ports { me, instances, nodes: PeerMap::new() }
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
        self.instances.iter().position(|placed| placed.port == port)
    }

    /// Gives one instance an input that is no frame.
    #[inline(never)]
    fn inform(&mut self, instance: usize, now: Time, input: Input<'_>, out: &mut SessionOutbox<'_>) {
        self.tell(instance, now, input, out);
    }

    /// Gives one instance an input. Frames come here straight, so that the instance need not be called but can be a part of it.
    #[inline]
    fn tell(&mut self, instance: usize, now: Time, input: Input<'_>, out: &mut SessionOutbox<'_>) {
        let placed = &mut self.instances[instance];
        (out.port, out.services) = (Some(placed.port), placed.services);
        placed.protocol.handle(now, input, out);
        if !out.noted.is_empty() {
            self.attend_to_noted(instance, now, out);
        }
    }

    /// Notes to whom an instance could not send: one told in the meantime that there is room waits again. Ends the pairs that it has broken with.
    #[cold]
    fn attend_to_noted(&mut self, instance: usize, now: Time, out: &mut SessionOutbox<'_>) {
        let mut all = core::mem::take(out.noted);
        for noted in all.drain(..) {
            match noted {
                Noted::Full(to) => {
                    let at = Address { node: to.node, port: self.me.port };
                    self.nodes.get_mut(at).into_iter().for_each(|node| node.note_refusal(instance, to.port));
                }
                Noted::Broken(with, cause) => self.part(instance, now, with, cause, out),
            }
        }
        if out.noted.is_empty() {
            *out.noted = all;
        }
    }

    /// Ends the pair that an instance has with an address of a node which passes on the frames of others.
    fn part(
        &mut self,
        instance: usize,
        now: Time,
        with: Address,
        cause: DownCause,
        out: &mut SessionOutbox<'_>,
    ) {
        let at = Address { node: with.node, port: self.me.port };
        let pair = PortPair { from: with.port, to: self.instances[instance].port };
        // From here on it is the layer that speaks.
        out.port = None;
        let Some(node) = self.nodes.get_mut(at) else { return };
        if node.part(at, pair, Parting::Over(cause), out).is_some() {
            self.inform(instance, now, Input::Peer(with, &PeerChange::Down(cause)), out);
        }
    }

    fn tell_all(&mut self, now: Time, input: Input<'_>, out: &mut SessionOutbox<'_>) {
        (0..self.instances.len()).for_each(|instance| self.inform(instance, now, input, out));
    }

    /// The instance that a frame of this node is for.
    #[inline]
    fn instance_within(&self, from: Port, kind: Kind) -> usize {
        let owner = self.instances.iter().position(|placed| placed.kinds.contains(kind));
        owner.unwrap_or_else(|| self.user_of(from))
    }

    /// The instance that uses a service of the host, or else the first. The kinds that services answer with are no instance's.
    #[cold]
    fn user_of(&self, service: Port) -> usize {
        self.instances.iter().position(|placed| placed.services.contains(&service)).unwrap_or(0)
    }

    /// The instance that a frame of another node is for; makes of the frame what that is to see. What is for none, this has seen to.
    #[inline]
    fn sort(
        &mut self,
        now: Time,
        from: &mut Address,
        frame: &mut Frame<'_>,
        out: &mut SessionOutbox<'_>,
    ) -> Option<usize> {
        let at = *from;
        let node = self.nodes.get_mut(at)?;
        let Some((pair, body)) = PortPair::split(frame.body).filter(|_| !PORTS.contains(frame.kind)) else {
            self.control(now, at, *frame, out);
            return None;
        };
        let instance = node.instance(pair).or_else(|| self.meet(now, at, pair, out))?;
        (from.port, frame.body) = (pair.from, body);
        Some(instance)
    }

    /// The first frame of a pair of ports: tells the instance that it is for, if there is one.
    #[cold]
    fn meet(
        &mut self,
        now: Time,
        from: Address,
        pair: PortPair,
        out: &mut SessionOutbox<'_>,
    ) -> Option<usize> {
        if self.nodes.get(from).is_some_and(|node| node.is_parted(pair)) {
            return None;
        }
        let is_open = self.nodes.get_mut(from).is_some_and(|node| node.may_ask(pair.to));
        let known = self.index(pair.to).filter(|_| is_open).map(|instance| Known { pair, instance });
        let met = known.filter(|known| self.introduce(now, from, *known, out));
        if met.is_none() {
            // From here on it is the layer that speaks.
            out.port = None;
            self.nodes.get_mut(from)?.answer_absent(from, pair, out);
        }
        met.map(|known| known.instance)
    }

    /// Tells an instance of a port of the node whose session is at this address. False if there are too many.
    fn introduce(&mut self, now: Time, at: Address, known: Known, out: &mut SessionOutbox<'_>) -> bool {
        let Some(node) = self.nodes.get_mut(at) else { return false };
        if !node.add(known) {
            return false;
        }
        let (there, up) = (Address { node: at.node, port: known.pair.from }, node.up());
        self.inform(known.instance, now, Input::Peer(there, &up), out);
        true
    }

    /// A frame of the layer's own, or none at all.
    #[cold]
    fn control(&mut self, now: Time, from: Address, frame: Frame<'_>, out: &mut SessionOutbox<'_>) {
        let ended = match (frame.kind, PortPair::split(frame.body)) {
            (ABSENT, Some((pair, []))) => Some((pair, DownCause::Refused(Code::Unreachable as u16))),
            (LEFT, Some((pair, word))) => match Parting::decode_all(word) {
                Ok(Parting::Over(cause)) => Some((pair, cause)),
                // Only who passes frames on waits to hear that.
                Ok(Parting::Heard) | Err(_) => None,
            },
            _ => None,
        };
        let Some((pair, cause)) = ended else { return out.disconnect(from, Disconnect::ForGood) };
        let Some(node) = self.nodes.get_mut(from) else { return };
        let instance = node.remove(pair);
        if frame.kind == LEFT {
            out.port = None;
            node.hear_left(from, pair, out);
        }
        let there = Address { node: from.node, port: pair.from };
        if let Some(instance) = instance {
            self.inform(instance, now, Input::Peer(there, &PeerChange::Down(cause)), out);
        }
    }

    /// The addresses of a node that instances were made to ask, and which of them.
    fn asked(&self, at: Address) -> Vec<(usize, Address)> {
        asks(&self.instances).filter(|(_, there)| there.node == at.node).collect()
    }

    fn peer_change(&mut self, now: Time, at: Address, change: &PeerChange, out: &mut SessionOutbox<'_>) {
        match *change {
            PeerChange::Up { incarnation, link } => {
                self.down(now, at, DownCause::Died, out);
                self.nodes
                    .insert(at, Node::new(incarnation, link.behind(PORTS_PREFIX_BYTES), out.role_of(at)));
                for (instance, there) in self.asked(at).into_iter().filter(|_| !link.holds_token) {
                    let pair = PortPair { from: there.port, to: self.instances[instance].port };
                    self.introduce(now, at, Known { pair, instance }, out);
                }
            }
            PeerChange::Down(cause) => self.down(now, at, cause, out),
        }
    }

    /// A node's session is over, or was refused before it began.
    fn down(&mut self, now: Time, at: Address, cause: DownCause, out: &mut SessionOutbox<'_>) {
        let there = |port| Address { node: at.node, port };
        let mut cause = cause;
        let told: Vec<(usize, Address)> = match self.nodes.remove(at) {
            Some(node) => {
                cause = node.end_of_pairs(cause);
                node.known().map(|known| (known.instance, there(known.pair.from))).collect()
            }
            None if matches!(cause, DownCause::Refused(_)) => self.asked(at),
            None => return,
        };
        for (instance, there) in told {
            self.inform(instance, now, Input::Peer(there, &PeerChange::Down(cause)), out);
        }
    }

    fn writable(&mut self, now: Time, at: Address, out: &mut SessionOutbox<'_>) {
        let Some(node) = self.nodes.get_mut(at) else { return };
        out.port = None;
        node.send_owed(at, out);
        // Who is refused again waits for the next time.
        for _ in 0..node.refusals() {
            let Some((instance, port)) = self.nodes.get_mut(at).and_then(Node::next_refused) else { return };
            self.inform(instance, now, Input::Writable(Address { node: at.node, port }), out);
        }
    }

    fn is_own(&self, address: Address) -> bool {
        address.node == self.me.node
    }

    /// Everything that is no frame.
    fn attend(&mut self, now: Time, input: Input<'_>, out: &mut SessionOutbox<'_>) {
        match input {
            Input::Started => self.tell_all(now, input, out),
            Input::Wake => self.wake(now, out),
            Input::Writable(address) | Input::Peer(address, _) if self.is_own(address) => {
                self.tell_all(now, input, out);
            }
            Input::Writable(address) => self.writable(now, address, out),
            Input::Peer(address, change) => self.peer_change(now, address, change, out),
            Input::Frame(..) => unreachable!("frames are sorted"),
        }
    }

    fn wake(&mut self, now: Time, out: &mut SessionOutbox<'_>) {
        for instance in 0..self.instances.len() {
            if self.instances[instance].protocol.deadline().is_some_and(|at| at <= now) {
                self.inform(instance, now, Input::Wake, out);
            }
        }
    }
}

/// The indexes of instances, and the addresses that they were made to ask.
fn asks<P>(instances: &[Placed<P>]) -> impl Iterator<Item = (usize, Address)> {
    let numbered = instances.iter().enumerate();
    numbered.flat_map(|(instance, placed)| placed.asks.iter().map(move |there| (instance, *there)))
}

/// Each service of the host has one user, as its answers do not say whose they are.
fn check_services<P>(instances: &[Placed<P>]) {
    let mut used: Vec<Port> = Vec::new();
    for service in instances.iter().flat_map(|placed| placed.services) {
        assert!(is_service(*service), "port {} is no service of the host", service.0);
        assert!(!used.contains(service), "one instance a service: two use port {}", service.0);
        used.push(*service);
    }
}

fn check_asks<P>(instances: &[Placed<P>]) {
    let mut of_nodes: BTreeMap<NodeId, usize> = BTreeMap::new();
    asks(instances).for_each(|(_, there)| *of_nodes.entry(there.node).or_default() += 1);
    assert!(of_nodes.values().sum::<usize>() <= MAX_ASKED, "instances ask {MAX_ASKED} addresses at most");
    for (node, asked) in of_nodes {
        assert!(
            asked <= MAX_PAIRS,
            "instances ask {MAX_PAIRS} addresses of a node at most: {asked} of {}",
            node.0
        );
    }
}

impl<P: Protocol> Above for Ports<P> {
    #[inline]
    fn take(&mut self, now: Time, mut input: Input<'_>, out: &mut SessionOutbox<'_>) {
        // A frame is changed where it stands, for it would be copied otherwise.
        let instance = match &mut input {
            Input::Frame(from, frame) if self.is_own(*from) => {
                Some(self.instance_within(from.port, frame.kind))
            }
            Input::Frame(from, frame) => self.sort(now, from, frame, out),
            _ => return self.attend(now, input, out),
        };
        if let Some(instance) = instance {
            self.tell(instance, now, input, out);
        }
    }

    #[inline]
    fn wakes_at(&self) -> Option<Time> {
        self.instances.iter().filter_map(|placed| placed.protocol.deadline()).min()
    }

    fn tell_metrics(&self, meter: &mut Meter<'_>) {
        self.instances.iter().for_each(|placed| placed.protocol.measure(meter));
    }
}

#[cfg(test)]
#[path = "ports/tests.rs"]
mod tests;

//! A run.

use crate::digest::Digest;
use crate::link::{Direction, LinkModel};
use crate::node::{Arrival, Hosted, Instance, Node};
use crate::outbox::{Costs, Departure, Links};
use crate::schedule::{Picos, Schedule};
use crate::service::ServiceModel;
use quintet_contract::{
    Address, DownCause, Incarnation, NodeId, OwnedFrame, Port, Protocol, Random, Span, Time,
};
use quintet_wire::registry::PORT_CALLERS;
use std::any::Any;
use std::collections::BTreeMap;

/// One simulated run.
///
/// ```
/// use quintet_contract::{Span, Time};
/// use quintet_simulate::Simulation;
///
/// let mut run = Simulation::new(7);
/// // run.add(address, protocol); run.connect(a, b, LinkModel::default());
/// run.run_for(Span::from_secs(1));
/// assert_eq!(run.now(), Time(1_000_000_000));
/// ```
pub struct Simulation {
    seed: u64,
    now: Picos,
    schedule: Schedule<Event>,
    nodes: BTreeMap<NodeId, Node>,
    links: Links,
    services: ServiceModel,
    service_random: Random,
    events: u64,
    digest: Digest,
}

/// What a restarted node remembers.
pub enum Restart {
    /// Everything: a process that was stopped and continued.
    WithMemory,
    /// Nothing: new instances, by port; a process that was started again.
    Fresh(Vec<(Port, Box<dyn Hosted>)>),
}

enum Event {
    Arrive {
        to: Address,
        incarnation: Incarnation,
        arrival: Arrival,
    },
    /// A frame left its link, lost or delivered.
    Left {
        from: Address,
        to: Address,
    },
    /// A node's processor is free again.
    Resume(NodeId),
}

/// The services' stream of randomness; links use their two addresses, which never reach this bit pattern.
const STREAM_SERVICES: u64 = u64::MAX;

impl Simulation {
    /// An empty run. Everything random in it follows from `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Simulation {
            seed,
            now: Picos::default(),
            schedule: Schedule::new(),
            nodes: BTreeMap::new(),
            links: Links::new(),
            services: ServiceModel::default(),
            service_random: Random::new(seed, STREAM_SERVICES),
            events: 0,
            digest: Digest::default(),
        }
    }

    /// Replaces the model of every node's disk and device.
    pub fn set_services(&mut self, services: ServiceModel) {
        self.services = services;
    }

    /// Places a protocol at an address and starts it now. A node comes into being with its first instance.
    pub fn add<P: Protocol + Any>(&mut self, at: Address, protocol: P) {
        self.nodes.entry(at.node).or_insert_with(Node::new).place(at.port, Box::new(protocol));
        self.deliver(at, Arrival::Started, self.now);
    }

    /// Says what the work of the instance at `at` costs. Nothing happens if there is none.
    pub fn set_costs(&mut self, at: Address, costs: Costs) {
        if let Some(instance) = self.instance_mut(at) {
            instance.costs = costs;
        }
    }

    /// Joins two addresses by a link, the same in both directions, and tells both that their peer is up.
    pub fn connect(&mut self, a: Address, b: Address, model: LinkModel) {
        for (from, to) in [(a, b), (b, a)] {
            let stream = u64::from(from.to_bits()) << 32 | u64::from(to.to_bits());
            self.links.insert((from, to), Direction::new(model, Random::new(self.seed, stream)));
        }
        self.announce(a, b);
        self.announce(b, a);
    }

    /// Loses every frame from `from` to `to`, or ends that. Nobody is told.
    pub fn set_cut(&mut self, from: Address, to: Address, cut: bool) {
        if let Some(link) = self.links.get_mut(&(from, to)) {
            link.cut = cut;
        }
    }

    /// Ends a node. What it sent is still under way; after `notice` its peers are told that it died.
    pub fn crash(&mut self, id: NodeId, notice: Span) {
        let Some(node) = self.nodes.get_mut(&id) else { return };
        node.alive = false;
        node.inbox.clear();
        for (gone, peer) in self.links_of(id) {
            self.deliver(peer, Arrival::Down(gone, DownCause::Died), self.now.after(notice));
        }
    }

    /// Brings a crashed node back under a larger incarnation and joins its links again.
    pub fn restart(&mut self, id: NodeId, how: Restart) {
        let now = self.now;
        let Some(node) = self.nodes.get_mut(&id) else { return };
        node.revive(now);
        if let Restart::Fresh(instances) = how {
            node.instances.clear();
            for (port, protocol) in instances {
                node.place(port, protocol);
            }
            let ports: Vec<_> = node.instances.keys().copied().collect();
            for port in ports {
                self.deliver(Address { node: id, port }, Arrival::Started, now);
            }
        } else {
            let ports: Vec<_> = node.instances.keys().copied().collect();
            for port in ports {
                self.schedule_wake(Address { node: id, port });
            }
        }
        for (here, peer) in self.links_of(id) {
            self.announce(peer, here);
            self.announce(here, peer);
        }
    }

    /// Hands a frame to the instance at `to` as if a caller in its own process had sent it.
    pub fn inject(&mut self, to: Address, frame: OwnedFrame) {
        let from = Address { node: to.node, port: PORT_CALLERS };
        self.deliver(to, Arrival::Frame(from, frame), self.now);
    }

    /// The simulated time.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now.time()
    }

    /// Events handled so far.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events
    }

    /// A number that sums up the run: the same for the same run, another when times, addresses or bytes differed.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.digest.0
    }

    /// The protocol at `at`, if there is one of that type.
    #[must_use]
    pub fn get<P: Any>(&self, at: Address) -> Option<&P> {
        let instance = self.nodes.get(&at.node)?.instances.get(&at.port)?;
        (*instance.protocol).as_any().downcast_ref()
    }

    /// The protocol at `at`, to be changed by a test.
    pub fn get_mut<P: Any>(&mut self, at: Address) -> Option<&mut P> {
        (*self.instance_mut(at)?.protocol).as_any_mut().downcast_mut()
    }

    /// Handles the next event. False when none is pending.
    pub fn step(&mut self) -> bool {
        let Some((at, event)) = self.schedule.pop() else { return false };
        self.now = at;
        self.events += 1;
        match event {
            Event::Arrive { to, incarnation, arrival } => self.arrive(to, incarnation, arrival),
            Event::Left { from, to } => self.leave(from, to),
            Event::Resume(id) => {
                if let Some(node) = self.nodes.get_mut(&id) {
                    node.resume_scheduled = false;
                }
                self.run_node(id);
            }
        }
        true
    }

    /// Runs until `span` has passed.
    pub fn run_for(&mut self, span: Span) {
        let end = self.now.after(span);
        while self.schedule.next_at().is_some_and(|at| at <= end) {
            self.step();
        }
        self.now = end;
    }

    /// Runs until `done` says so, nothing is pending or `limit` has passed. True if `done` said so.
    pub fn run_until(&mut self, limit: Span, mut done: impl FnMut(&Simulation) -> bool) -> bool {
        let end = self.now.after(limit);
        loop {
            if done(self) {
                return true;
            }
            if self.schedule.next_at().is_none_or(|at| at > end) {
                return false;
            }
            self.step();
        }
    }

    fn instance_mut(&mut self, at: Address) -> Option<&mut Instance> {
        self.nodes.get_mut(&at.node)?.instances.get_mut(&at.port)
    }

    /// The links that begin at a node: its own address and the peer's.
    fn links_of(&self, id: NodeId) -> Vec<(Address, Address)> {
        self.links.keys().filter(|(from, _)| from.node == id).copied().collect()
    }

    fn announce(&mut self, to: Address, peer: Address) {
        let Some(node) = self.nodes.get(&peer.node).filter(|node| node.alive) else { return };
        let incarnation = node.incarnation;
        let max_bulk_bytes = self.links.get(&(to, peer)).map_or(0, |link| link.model.max_bulk_bytes);
        self.deliver(to, Arrival::Up { peer, incarnation, max_bulk_bytes }, self.now);
    }

    fn deliver(&mut self, to: Address, arrival: Arrival, at: Picos) {
        if let Some(node) = self.nodes.get(&to.node) {
            self.schedule.add(at, Event::Arrive { to, incarnation: node.incarnation, arrival });
        }
    }

    fn arrive(&mut self, to: Address, incarnation: Incarnation, arrival: Arrival) {
        self.digest.add(self.now, to, &arrival);
        let Some(node) = self.nodes.get_mut(&to.node) else { return };
        if node.alive && node.incarnation == incarnation {
            node.inbox.push_back((to.port, arrival));
            self.run_node(to.node);
        }
    }

    /// Lets a node handle its inbox for as long as its processor is free.
    fn run_node(&mut self, id: NodeId) {
        loop {
            let Some(node) = self.nodes.get_mut(&id).filter(|node| node.alive) else { return };
            if node.busy_until > self.now {
                if !node.inbox.is_empty() && !node.resume_scheduled {
                    node.resume_scheduled = true;
                    self.schedule.add(node.busy_until, Event::Resume(id));
                }
                return;
            }
            let Some((port, sent)) = node.handle_next(id, self.now, &mut self.links) else { return };
            let from = Address { node: id, port };
            for departure in sent {
                self.transmit(from, departure);
            }
            self.schedule_wake(from);
        }
    }

    fn transmit(&mut self, from: Address, (departure, to, frame): Departure) {
        let Some(link) = self.links.get_mut(&(from, to)) else {
            return self.transmit_within(from, (departure, to, frame));
        };
        let passage = link.carry(departure);
        if let Some(at) = passage.copy {
            self.deliver(to, Arrival::Frame(from, frame.clone()), at);
        }
        if !passage.lost {
            self.deliver(to, Arrival::Frame(from, frame), passage.arrival);
        }
        self.schedule.add(passage.arrival, Event::Left { from, to });
    }

    /// Within a node: to a service of the host, or to another instance.
    fn transmit_within(&mut self, from: Address, (departure, to, frame): Departure) {
        match self.services.answer(to, &frame, &mut self.service_random) {
            Some((delay, answer)) => self.deliver(from, Arrival::Frame(to, answer), departure.after(delay)),
            None => self.deliver(to, Arrival::Frame(from, frame), departure),
        }
    }

    fn leave(&mut self, from: Address, to: Address) {
        let Some(link) = self.links.get_mut(&(from, to)) else { return };
        link.in_flight -= 1;
        if std::mem::take(&mut link.refused) {
            self.deliver(from, Arrival::Writable(to), self.now);
        }
    }

    fn schedule_wake(&mut self, at: Address) {
        let now = self.now;
        let Some(instance) = self.instance_mut(at) else { return };
        let Some(deadline) = instance.protocol.deadline() else { return };
        if instance.wake_at.is_some_and(|wake| wake <= deadline) {
            return;
        }
        instance.wake_at = Some(deadline);
        self.deliver(at, Arrival::Wake, Picos::reaching(deadline).max(now));
    }
}

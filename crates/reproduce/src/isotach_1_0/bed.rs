//! Hosts, switches and token managers of a run.

mod layers;
mod traffic;

use super::parameters::{
    CALL_US, COPY_BYTE_US, INTERFACE_US, LINK_BITS, MANAGER_US, PIECE_BYTES, RECEIVE_BYTE_US, RECEIVE_US,
    SEND_BYTE_US, SEND_US, SWITCH_US, TODAY_BYTE_US, TODAY_FRAME_US, TODAY_HOP_NS,
};
use super::program::{BEGIN, PORT, Program, Task, Way};
use layers::Layers;
use quintet_contract::{Address, Bytes, NodeId, OwnedFrame, Span, Time, Token};
use quintet_isotach::{
    Delivery, Isonet, ManagerConfig, Node, NodeConfig, Shape, TokenManager, Topology, Variable, View,
};
use quintet_simulate::device::{LinkParameters, Network, NetworkParameters, Station};
use quintet_simulate::{DeviceId, FrameCosts, LinkModel, Picos, ProcessorId, ProcessorModel, Simulation};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use traffic::{Traffic, Watched};

/// The unit in which costs are said.
const MICROSECOND: Picos = Picos(1_000_000);
/// Longer than any run of the study takes; one that never comes to rest is found out soon all the same.
const LIMIT: Span = Span::from_secs(2);
/// The node of the first token manager; those of the others follow.
const FIRST_MANAGER: u16 = 40_000;

/// The machines and the network of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Machines {
    /// Pentiums on Myrinet.
    Study,
    /// Hosts of today.
    Today(Wires),
}

/// The wires of a network of today: from a host to its switch, and from a switch to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wires {
    /// How long a frame takes over one at least.
    pub shortest: Span,
    /// How long at most: each frame draws evenly between the two, and none overtakes another.
    pub longest: Span,
    /// Frames that each loses, per million: the session layer sends them again. None: nothing is lost, and there is no session layer.
    pub loss_per_million: Option<u32>,
}

impl Wires {
    /// 2 us a wire, and nothing is lost.
    pub const STEADY: Wires =
        Wires { shortest: Span(TODAY_HOP_NS), longest: Span(TODAY_HOP_NS), loss_per_million: None };

    /// What becomes of a frame that goes over so many of them.
    fn link(self, wires: u32) -> LinkModel {
        let along = |one: Span| Span(one.0.saturating_mul(wires.into()));
        let kept = 1.0 - f64::from(self.loss_per_million.unwrap_or(0)) / 1e6;
        let lost = 1.0 - kept.powf(wires.into());
        LinkModel {
            delay_min: along(self.shortest),
            delay_max: along(self.longest.max(self.shortest)),
            loss_per_million: (lost * 1e6).round() as u32,
            ..link()
        }
    }
}

/// A run that is to be.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) topology: Topology,
    pub(super) machines: Machines,
    pub(super) way: Way,
    /// Bytes of a message's data.
    pub(super) data: usize,
    pub(super) tasks: BTreeMap<NodeId, Task>,
    /// Hosts whose messages go another way.
    pub(super) others: BTreeMap<NodeId, Way>,
    /// Variables, and the host that has the one copy of each.
    pub(super) copies: BTreeMap<Variable, NodeId>,
    /// A host that takes so many times as long for everything.
    pub(super) slow: Option<(NodeId, u64)>,
    /// Whether the study's programs and their nodes copy what they tell each other.
    pub(super) copies_data: bool,
    /// Token managers that are in the process of a host, and this.
    pub(super) shared: BTreeMap<NodeId, NodeId>,
    /// Longer than the run takes.
    pub(super) limit: Span,
    pub(super) seed: u64,
}

impl Plan {
    pub(super) fn new(topology: Topology, machines: Machines, way: Way, data: usize) -> Plan {
        Plan {
            topology,
            machines,
            way,
            data,
            tasks: BTreeMap::new(),
            others: BTreeMap::new(),
            copies: BTreeMap::new(),
            slow: None,
            copies_data: true,
            shared: BTreeMap::new(),
            limit: LIMIT,
            seed: 0,
        }
    }

    /// Who tells whom something, and so needs a link.
    fn pairs(&self) -> BTreeSet<(NodeId, NodeId)> {
        let mut pairs = BTreeSet::new();
        for (from, task) in &self.tasks {
            let to: Vec<NodeId> = match task {
                Task::RoundTrips { to, .. } => vec![*to],
                Task::Stream { to, .. } => to.iter().flatten().copied().collect(),
                Task::Reads { variable, .. } => self.copies.get(variable).copied().into_iter().collect(),
            };
            pairs.extend(to.into_iter().filter(|to| to != from).map(|to| (*from.min(&to), *from.max(&to))));
        }
        pairs
    }

    /// The token manager of a switch.
    fn manager(&self, switch: usize) -> NodeId {
        self.topology.switches()[switch].manager
    }

    fn is_manager(&self, node: NodeId) -> bool {
        self.topology.switch_of(node).is_none()
    }

    /// Whom each host and token manager has a link with.
    pub(super) fn links(&self) -> BTreeSet<(NodeId, NodeId)> {
        let topology = &self.topology;
        let at = |host: NodeId| self.manager(topology.switch_of(host).expect("hosts are at switches"));
        let mut links: BTreeSet<(NodeId, NodeId)> = topology.nodes().map(|host| (host, at(host))).collect();
        for (one, other) in self.pairs() {
            links.extend([(one, other), (one, at(other)), (other, at(one))]);
        }
        for switch in 0..topology.switches().len() {
            let later = topology.neighbours(switch).iter().filter(|other| **other > switch);
            links.extend(later.map(|other| (self.manager(switch), self.manager(*other))));
        }
        links
    }

    /// The switch where the process of a host or token manager is, and how many wires it is from that.
    fn place(&self, node: NodeId) -> (usize, u32) {
        let process = self.shared.get(&node).copied().unwrap_or(node);
        match self.topology.switch_of(process) {
            Some(switch) => (switch, 1),
            None => (self.topology.switch_kept_by(process).expect("it is a host or a token manager"), 0),
        }
    }

    /// The wires on the way between two; none within a process.
    fn wires(&self, one: NodeId, other: NodeId) -> u32 {
        let process = |node: NodeId| self.shared.get(&node).copied().unwrap_or(node);
        if process(one) == process(other) {
            return 0;
        }
        let ((from, near), (to, far)) = (self.place(one), self.place(other));
        near + self.hops(from, to) + far
    }

    /// The wires between two switches.
    fn hops(&self, from: usize, to: usize) -> u32 {
        let topology = &self.topology;
        let first = |switch: usize| topology.switches()[switch].nodes.first().copied();
        if let (Some(one), Some(other)) = (first(from), first(to)) {
            return topology.distance(one, other).expect("hosts are at switches") - 1;
        }
        let step = |at: &usize| (*at != to).then(|| topology.next(*at, to));
        core::iter::successors(step(&from), step).map(|_| 1).sum()
    }

    fn delivery(&self) -> Delivery {
        let ways = || self.others.values().chain([&self.way]);
        if ways().any(|way| *way == Way::Safe) { Delivery::Safe } else { Delivery::Agreed }
    }
}

/// The node of a switch's token manager, in networks that are made here.
pub(super) fn manager_of(switch: usize) -> NodeId {
    NodeId(FIRST_MANAGER + u16::try_from(switch).expect("there are few switches"))
}

/// A run.
pub(super) struct Bed {
    pub(super) run: Simulation,
    plan: Plan,
    processors: BTreeMap<NodeId, ProcessorId>,
    network: Option<DeviceId>,
    stations: BTreeMap<NodeId, Station>,
    layers: Layers,
    /// When programs began.
    begun: Time,
}

const fn program(node: NodeId) -> Address {
    Address { node, port: PORT }
}

impl Bed {
    pub(super) fn new(plan: Plan) -> Bed {
        let mut run = Simulation::new(plan.seed);
        let mut processors = BTreeMap::new();
        let model = ProcessorModel { cycle: MICROSECOND, ..ProcessorModel::default() };
        let managers = plan.topology.switches().iter().map(|switch| switch.manager);
        for node in plan.topology.nodes().chain(managers) {
            let own = match plan.shared.get(&node) {
                Some(host) => processors[host],
                None => run.add_processor(model),
            };
            run.place(node, own);
            processors.insert(node, own);
        }
        let layers = Layers::of(plan.machines);
        let (stations, begun) = (BTreeMap::new(), Time(0));
        let mut bed = Bed { run, plan, processors, network: None, stations, layers, begun };
        if bed.plan.machines == Machines::Study {
            bed.lay_network();
        }
        bed.add_all();
        bed.join_all();
        if let Some((host, times)) = bed.plan.slow {
            bed.run.set_slowness(bed.processors[&host], 1_000 * times);
        }
        if let Layers::Sessions = bed.layers {
            // Until all of them have begun.
            bed.run.run_until(bed.plan.limit, |_| false);
        }
        bed
    }

    /// Myrinet: a star a switch, with the token manager at one of its ports, and a link between neighbours.
    fn lay_network(&mut self) {
        let topology = &self.plan.topology;
        let count = topology.switches().len();
        let (mut stations, mut links) = (Vec::new(), Vec::new());
        let mut latencies = vec![Picos::from_seconds(SWITCH_US / 1e6); count];
        let point = |index: usize| u32::try_from(index).expect("there are few hosts");
        let managers = (0..count).map(|switch| (self.plan.manager(switch), switch, 0.0));
        let hosts = topology.nodes().filter_map(|host| Some((host, topology.switch_of(host)?, INTERFACE_US)));
        for (node, switch, delay) in hosts.chain(managers) {
            let at = point(latencies.len());
            latencies.push(Picos::ZERO);
            self.stations.insert(node, Station(u16::try_from(stations.len()).expect("there are few hosts")));
            stations.push(at);
            let link = LinkParameters::new([at, point(switch)], LINK_BITS);
            links.push(LinkParameters { delay: Picos::from_seconds(delay / 1e6), ..link });
        }
        for switch in 0..count {
            let later = topology.neighbours(switch).iter().filter(|other| **other > switch);
            links.extend(later.map(|other| LinkParameters::new([point(switch), point(*other)], LINK_BITS)));
        }
        let parameters =
            NetworkParameters { packet_bytes: PIECE_BYTES, latencies, stations, links, stated: Vec::new() };
        let network = Network::new(parameters).expect("the parameters are possible");
        self.network = Some(self.run.add_device(Box::new(network)));
    }

    fn add_all(&mut self) {
        let Plan { topology, copies, .. } = &self.plan;
        let shape = |(variable, host): (&Variable, &NodeId)| {
            (*variable, Shape { bytes: self.plan.data.max(1), copies: BTreeSet::from([*host]) })
        };
        let shapes = copies.iter().map(shape).collect();
        let isonet = Isonet::new(topology.clone(), shapes).expect("copies are at hosts");
        let isonet = Arc::new(isonet.with_delivery(self.plan.delivery()));
        let asked = Layers::asked(&self.plan.links(), |node| self.plan.is_manager(node));
        for host in topology.nodes() {
            let config = NodeConfig::new(host, program(host), View(1), isonet.clone());
            self.layers.add_node(&mut self.run, host, Node::new(config), &asked);
            let way = self.plan.others.get(&host).copied().unwrap_or(self.plan.way);
            let task = self.plan.tasks.get(&host).cloned();
            self.run.add(program(host), Program::new(self.layers.node(host), way, self.plan.data, task));
            self.run.hear_own_first(host);
        }
        for switch in 0..topology.switches().len() {
            let manager = TokenManager::new(ManagerConfig::new(isonet.clone(), switch, View(1)));
            self.layers.add_manager(&mut self.run, self.plan.manager(switch), manager, &asked);
        }
    }

    /// Programs with their nodes, nodes with whom they tell something and with their managers, managers with their neighbours.
    fn join_all(&mut self) {
        let (call, byte) = match self.plan.machines {
            Machines::Study => (CALL_US, if self.plan.copies_data { COPY_BYTE_US } else { 0.0 }),
            Machines::Today(_) => (0.0, TODAY_BYTE_US),
        };
        let at_once = LinkModel { delay_min: Span::ZERO, delay_max: Span::ZERO, ..link() };
        let hosts: Vec<NodeId> = self.plan.topology.nodes().collect();
        for host in hosts {
            self.run.connect(self.layers.node(host), program(host), at_once);
            let costs = FrameCosts { send: call, send_byte: byte, ..FrameCosts::default() };
            self.run.set_frame_costs(host, host, costs);
        }
        for (one, other) in self.plan.links() {
            self.join(one, other);
        }
    }

    fn join(&mut self, one: NodeId, other: NodeId) {
        let joined = &self.layers.joined([one, other].map(|node| self.plan.is_manager(node)));
        let wires = self.plan.wires(one, other);
        match (self.network, self.plan.machines) {
            (None, Machines::Today(each)) => self.run.attach(one, other, joined, each.link(wires)),
            (network, _) => {
                let network = network.expect("the study's machines have one");
                let ends = ((one, self.stations[&one]), (other, self.stations[&other]));
                self.run.attach_through(network, ends.0, ends.1, joined);
            }
        }
        if wires == 0 && self.network.is_none() {
            // They are in one process, where nothing is sent.
            return;
        }
        for (from, to) in [(one, other), (other, one)] {
            let costs = self.costs(from, to);
            self.run.set_frame_costs_towards(from, to, costs);
        }
    }

    fn costs(&self, from: NodeId, to: NodeId) -> FrameCosts {
        let none = FrameCosts::default();
        match self.plan.machines {
            Machines::Study => {
                let (send, send_byte) =
                    if self.plan.is_manager(from) { (MANAGER_US, 0.0) } else { (SEND_US, SEND_BYTE_US) };
                let (receive, receive_byte) =
                    if self.plan.is_manager(to) { (MANAGER_US, 0.0) } else { (RECEIVE_US, RECEIVE_BYTE_US) };
                FrameCosts { send, send_byte, receive, receive_byte, ..none }
            }
            Machines::Today(_) => {
                let (frame, byte) = (TODAY_FRAME_US, TODAY_BYTE_US);
                FrameCosts { send: frame, send_byte: byte, receive: frame, receive_byte: byte, ..none }
            }
        }
    }

    /// Has all programs begin that have something to do.
    pub(super) fn begin(&mut self) {
        self.begun = self.run.now();
        let hosts: Vec<NodeId> = self.plan.tasks.keys().copied().collect();
        for host in hosts {
            let begin = OwnedFrame { kind: BEGIN, token: Token(0), body: Bytes::new(), bulk: Bytes::new() };
            self.run.inject(program(host), begin);
        }
    }

    /// Runs until nothing is under way.
    ///
    /// # Panics
    /// If that is never so, or a program was refused something: defects of this model.
    pub(super) fn rest(&mut self) {
        self.run.run_until(self.plan.limit, |_| false);
        assert!(self.run.next_at().is_none(), "the run comes to rest: {:?}", self.run.stall());
        for host in self.plan.topology.nodes() {
            assert_eq!(self.program(host).refused, None, "host {}", host.0);
        }
    }

    /// Has all programs send nothing new.
    pub(super) fn stop(&mut self) {
        for host in self.plan.topology.nodes() {
            self.run.get_mut::<Program>(program(host)).into_iter().for_each(Program::stop);
        }
    }

    pub(super) fn program(&self, host: NodeId) -> &Program {
        self.run.get(program(host)).expect("every host has a program")
    }

    /// The share of its processor's time that a host was busy since statistics were reset.
    pub(super) fn busy(&self, host: NodeId) -> f64 {
        self.run.processor_statistics(self.processors[&host]).utilisation
    }

    /// What a host's node has sent to other nodes, and what it got from them, where there are no sessions.
    pub(super) fn traffic(&self, host: NodeId) -> [Traffic; 2] {
        let watched: &Watched = self.run.get(self.layers.node(host)).expect("every host has a node");
        [watched.sent, watched.received]
    }

    /// From when programs began until the last message came that did not come back.
    pub(super) fn seconds(&self) -> f64 {
        let spans = self.plan.topology.nodes().filter_map(|host| self.program(host).span);
        let last = spans.map(|(_, last)| last).max();
        last.map_or(0.0, |last| last.since(self.begun).0 as f64 / 1e9)
    }

    /// Tokens that all managers have sent.
    pub(super) fn tokens(&self) -> u64 {
        let sent = |switch: usize| {
            let manager = self.layers.manager(&self.run, self.plan.manager(switch));
            manager.map_or(0, |manager| manager.pulse().0)
                * self.plan.topology.neighbours(switch).len() as u64
        };
        (0..self.plan.topology.switches().len()).map(sent).sum()
    }
}

/// A link that has room for whatever comes.
fn link() -> LinkModel {
    LinkModel { window_frames: 1 << 20, max_bulk_bytes: 1 << 30, ..LinkModel::default() }
}

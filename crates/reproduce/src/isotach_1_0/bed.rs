//! Hosts, switches and token managers of a run.

use super::parameters::{
    CALL_US, COPY_BYTE_US, INTERFACE_US, LINK_BITS, MANAGER_US, PIECE_BYTES, RECEIVE_BYTE_US, RECEIVE_US,
    SEND_BYTE_US, SEND_US, SWITCH_US, TODAY_BYTE_US, TODAY_FRAME_US, TODAY_HOP_NS,
};
use super::program::{BEGIN, PORT, Program, Task, Way};
use quintet_contract::{Address, Bytes, NodeId, OwnedFrame, Port, Span, Token};
use quintet_isotach::{
    Delivery, Isonet, ManagerConfig, Node, NodeConfig, Shape, TokenManager, Topology, Variable, View,
};
use quintet_simulate::device::{LinkParameters, Network, NetworkParameters, Station};
use quintet_simulate::{DeviceId, FrameCosts, LinkModel, Picos, ProcessorId, ProcessorModel, Simulation};
use quintet_wire::registry::{PORT_ISOTACH, PORT_TOKEN_MANAGER};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The unit in which costs are said.
const MICROSECOND: Picos = Picos(1_000_000);
/// Longer than any run takes; one that never comes to rest is found out soon all the same.
const LIMIT: Span = Span::from_secs(2);
/// The node of the first token manager; those of the others follow.
const FIRST_MANAGER: u16 = 40_000;

/// The machines and the network of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Machines {
    /// Pentiums on Myrinet.
    Study,
    /// Hosts of today; a hop takes up to so many times as long as the shortest.
    Today { jitter: u64 },
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
    /// A host on whose processor the first token manager is.
    pub(super) shared: Option<NodeId>,
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
            shared: None,
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

    fn delivery(&self) -> Delivery {
        let ways = || self.others.values().chain([&self.way]);
        if ways().any(|way| *way == Way::Safe) { Delivery::Safe } else { Delivery::Agreed }
    }
}

/// The node of a switch's token manager.
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
}

const fn isotach(node: NodeId) -> Address {
    Address { node, port: PORT_ISOTACH }
}

const fn program(node: NodeId) -> Address {
    Address { node, port: PORT }
}

impl Bed {
    pub(super) fn new(plan: Plan) -> Bed {
        let mut run = Simulation::new(plan.seed);
        let mut processors = BTreeMap::new();
        let model = ProcessorModel { cycle: MICROSECOND, ..ProcessorModel::default() };
        let managers = (0..plan.topology.switches().len()).map(manager_of);
        for node in plan.topology.nodes().chain(managers) {
            let own = match plan.shared {
                Some(host) if node == manager_of(0) => processors[&host],
                _ => run.add_processor(model),
            };
            run.place(node, own);
            processors.insert(node, own);
        }
        let mut bed = Bed { run, plan, processors, network: None, stations: BTreeMap::new() };
        if bed.plan.machines == Machines::Study {
            bed.lay_network();
        }
        bed.add_all();
        bed.join_all();
        if let Some((host, times)) = bed.plan.slow {
            bed.run.set_slowness(bed.processors[&host], 1_000 * times);
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
        let managers = (0..count).map(|switch| (manager_of(switch), switch, 0.0));
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
        for host in topology.nodes() {
            let config = NodeConfig::new(host, program(host), View(1), isonet.clone());
            self.run.add(isotach(host), Node::new(config));
            let way = self.plan.others.get(&host).copied().unwrap_or(self.plan.way);
            let task = self.plan.tasks.get(&host).cloned();
            self.run.add(program(host), Program::new(host, way, self.plan.data, task));
            self.run.hear_own_first(host);
        }
        for switch in 0..topology.switches().len() {
            let at = Address { node: manager_of(switch), port: PORT_TOKEN_MANAGER };
            self.run.add(at, TokenManager::new(ManagerConfig::new(isonet.clone(), switch, View(1))));
        }
    }

    /// Programs with their nodes, nodes with whom they tell something and with their managers, managers with their neighbours.
    fn join_all(&mut self) {
        let topology = self.plan.topology.clone();
        let (call, byte) = match self.plan.machines {
            Machines::Study => (CALL_US, COPY_BYTE_US),
            Machines::Today { .. } => (0.0, TODAY_BYTE_US),
        };
        let at_once = LinkModel { delay_min: Span::ZERO, delay_max: Span::ZERO, ..link() };
        for host in topology.nodes() {
            self.run.connect(isotach(host), program(host), at_once);
            let costs = FrameCosts { send: call, send_byte: byte, ..FrameCosts::default() };
            self.run.set_frame_costs(host, host, costs);
        }
        let at = |host: NodeId| topology.switch_of(host).expect("hosts are at switches");
        let mut to_managers: BTreeSet<(NodeId, usize)> =
            topology.nodes().map(|host| (host, at(host))).collect();
        for (one, other) in self.plan.pairs() {
            let hops = topology.distance(one, other).expect("hosts are at switches") + 1;
            self.join(one, other, &[(PORT_ISOTACH, PORT_ISOTACH), (PORT, PORT)], hops);
            to_managers.extend([(one, at(other)), (other, at(one))]);
        }
        for (host, switch) in to_managers {
            let first = topology.switches()[switch].nodes[0];
            let hops = topology.distance(host, first).expect("hosts are at switches");
            self.join(host, manager_of(switch), &[(PORT_ISOTACH, PORT_TOKEN_MANAGER)], hops);
        }
        for switch in 0..topology.switches().len() {
            for other in topology.neighbours(switch).iter().filter(|other| **other > switch) {
                let joined = [(PORT_TOKEN_MANAGER, PORT_TOKEN_MANAGER)];
                self.join(manager_of(switch), manager_of(*other), &joined, 1);
            }
        }
    }

    fn join(&mut self, one: NodeId, other: NodeId, joined: &[(Port, Port)], hops: u32) {
        match (self.network, self.plan.machines) {
            (None, Machines::Today { jitter }) => {
                let shortest = Span(TODAY_HOP_NS * u64::from(hops));
                let model =
                    LinkModel { delay_min: shortest, delay_max: Span(shortest.0 * jitter.max(1)), ..link() };
                self.run.attach(one, other, joined, model);
            }
            (network, _) => {
                let network = network.expect("the study's machines have one");
                let ends = ((one, self.stations[&one]), (other, self.stations[&other]));
                self.run.attach_through(network, ends.0, ends.1, joined);
            }
        }
        for (from, to) in [(one, other), (other, one)] {
            let costs = self.costs(from, to);
            self.run.set_frame_costs_towards(from, to, costs);
        }
    }

    fn costs(&self, from: NodeId, to: NodeId) -> FrameCosts {
        let is_manager = |node: NodeId| node.0 >= FIRST_MANAGER;
        let none = FrameCosts::default();
        match self.plan.machines {
            Machines::Study => {
                let (send, send_byte) =
                    if is_manager(from) { (MANAGER_US, 0.0) } else { (SEND_US, SEND_BYTE_US) };
                let (receive, receive_byte) =
                    if is_manager(to) { (MANAGER_US, 0.0) } else { (RECEIVE_US, RECEIVE_BYTE_US) };
                FrameCosts { send, send_byte, receive, receive_byte, ..none }
            }
            Machines::Today { .. } => {
                let (frame, byte) = (TODAY_FRAME_US, TODAY_BYTE_US);
                FrameCosts { send: frame, send_byte: byte, receive: frame, receive_byte: byte, ..none }
            }
        }
    }

    /// Has all programs begin that have something to do.
    pub(super) fn begin(&mut self) {
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
        self.run.run_until(LIMIT, |_| false);
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

    /// Tokens that all managers have sent.
    pub(super) fn tokens(&self) -> u64 {
        let sent = |switch: usize| {
            let at = Address { node: manager_of(switch), port: PORT_TOKEN_MANAGER };
            let pulse = self.run.get::<TokenManager>(at).map_or(0, |manager| manager.pulse().0);
            pulse * self.plan.topology.neighbours(switch).len() as u64
        };
        (0..self.plan.topology.switches().len()).map(sent).sum()
    }
}

/// A link that has room for whatever comes.
fn link() -> LinkModel {
    LinkModel { window_frames: 1 << 20, max_bulk_bytes: 1 << 30, ..LinkModel::default() }
}

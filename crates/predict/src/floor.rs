//! Where processes are: on cores of machines, joined by memory or by the network.

use crate::cluster::Cluster;
use crate::costs::CYCLES;
use crate::routing::Routing;
use quintet_contract::{Address, Incarnation, NodeId, Protocol, Span};
use quintet_simulate::device::{DeviceError, Station};
use quintet_simulate::{Costs, DeviceId, FrameCosts, LinkModel, Picos, ProcessorId, Simulation};
use quintet_stack::{self as stack, SERVER, SPACE_NODE, StackConfig};
use quintet_tuple_space::{HotKeysConfig, ManagersConfig};
use quintet_wire::registry::PORT_CALLERS;
use std::any::Any;

/// The cluster that all stacks name.
const CLUSTER: u128 = 1;
/// The life in which every node is.
const LIFE: Incarnation = Incarnation(1);

/// One core, and how many processes are on it.
#[derive(Clone, Copy)]
struct Core {
    id: ProcessorId,
    processes: u32,
}

/// A process's place.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) machine: usize,
    pub(crate) core: ProcessorId,
}

/// Machines with processes on them.
pub(crate) struct Floor<'a> {
    pub(crate) simulation: Simulation,
    cluster: &'a Cluster,
    seed: u64,
    /// Bytes of the largest data of a tuple.
    largest: u64,
    /// By machine.
    cores: Vec<Vec<Core>>,
    pub(crate) network: Option<DeviceId>,
    /// Where the managers of the space are, the first one first; one where the space is not spread.
    managers: Vec<Place>,
    /// What the managers of a spread space and their clients need besides.
    routing: Routing,
}

impl<'a> Floor<'a> {
    /// Machines without processes, on which no tuple has more data than so many bytes.
    ///
    /// # Errors
    /// A network that cannot be.
    pub(crate) fn new(seed: u64, cluster: &'a Cluster, largest: usize) -> Result<Floor<'a>, DeviceError> {
        let mut simulation = Simulation::new(seed);
        let device = cluster.network.as_ref().map(|network| network.device(cluster.machines.len()).build());
        let network = device.transpose()?.map(|device| simulation.add_device(device));
        let mut cores = Vec::new();
        for machine in &cluster.machines {
            let mut model = machine.processor();
            if let Some(network) = &cluster.network {
                model.io_setup = Picos::from_seconds(network.sending / machine.speed);
            }
            let core = |_| Core { id: simulation.add_processor(model), processes: 0 };
            cores.push((0..machine.cores).map(core).collect());
        }
        let largest = largest as u64;
        Ok(Floor {
            simulation,
            cluster,
            seed,
            largest,
            cores,
            network,
            managers: Vec::new(),
            routing: Routing::NONE,
        })
    }

    /// The core of a machine with the fewest processes.
    fn place(&mut self, machine: usize) -> Place {
        let cores = self.cores[machine].iter_mut();
        let core = cores.min_by_key(|core| core.processes).expect("a machine has a core");
        core.processes += 1;
        Place { machine, core: core.id }
    }

    /// Puts the space on a machine.
    pub(crate) fn add_space(&mut self, machine: usize) -> Place {
        let place = self.place(machine);
        self.simulation.place(SPACE_NODE, place.core);
        self.simulation.add(SERVER, stack::served(&StackConfig::of_server(CLUSTER, LIFE, self.seed)));
        self.simulation.set_costs(SERVER, self.cluster.costs.of_the_space());
        self.managers = vec![place];
        place
    }

    /// Puts the managers of a spread space on a machine, as threads of one process, two at least. Their clients are on the same machine.
    pub(crate) fn add_managers(&mut self, machine: usize, number: u8) -> Vec<Place> {
        self.routing = Routing::of(&self.cluster.costs);
        self.managers = (0..number).map(|_| self.place(machine)).collect();
        for me in 0..number {
            let node = stack::manager_node(me);
            let config = StackConfig {
                managers: Some(self.one_of(number, me)),
                ..StackConfig::of_server(CLUSTER, LIFE, self.seed)
            };
            self.simulation.place(node, self.managers[usize::from(me)].core);
            self.simulation.add(relay(node), stack::served_manager(&config));
            self.simulation.set_costs(relay(node), self.cluster.costs.of_the_space());
            (0..me).for_each(|other| self.join_on_machine(stack::manager_node(other), node, Routing::NONE));
        }
        self.managers.clone()
    }

    fn one_of(&self, number: u8, me: u8) -> ManagersConfig {
        ManagersConfig {
            managers: stack::managers(number),
            addresses: vec![String::new(); number.into()],
            me,
            seed: self.seed,
            spread_after: ManagersConfig::SPREAD_AFTER,
            hot_keys: HotKeysConfig::default(),
            told: None,
        }
    }

    /// Puts a program and its connection to the space on a machine: what a live process consists of. The program speaks to
    /// its own node's relay.
    pub(crate) fn add_program<P: Protocol + Any>(
        &mut self,
        machine: usize,
        node: NodeId,
        program: P,
    ) -> Place {
        let place = self.place(machine);
        self.simulation.place(node, place.core);
        let config = StackConfig::of_client(CLUSTER, LIFE, self.seed);
        match u8::try_from(self.managers.len()) {
            Ok(managers @ 2..) => {
                self.simulation.add(relay(node), stack::client_of_managers(node, managers, &config));
            }
            _ => self.simulation.add(relay(node), stack::client(node, &config)),
        }
        self.add_side(program_at(node), program, place, self.cluster.costs.of_a_program());
        for (manager, at) in (0..).zip(self.managers.clone()) {
            self.join((stack::manager_node(manager), at), (node, place));
        }
        place
    }

    /// Puts another protocol on a process's core.
    pub(crate) fn add_side<P: Protocol + Any>(
        &mut self,
        at: Address,
        program: P,
        place: Place,
        costs: Costs,
    ) {
        self.simulation.place(at.node, place.core);
        self.simulation.add(at, program);
        self.simulation.set_costs(at, costs);
    }

    /// Joins two threads of one process: what one tells the other takes no time.
    pub(crate) fn join_threads(&mut self, a: Address, b: Address) {
        let direct = LinkModel { delay_min: Span::ZERO, delay_max: Span::ZERO, ..LinkModel::default() };
        self.simulation.connect(a, b, direct);
    }

    /// Joins a client with a manager of the space.
    fn join(&mut self, (manager, space): (NodeId, Place), (client, place): (NodeId, Place)) {
        match (&self.cluster.network, self.network) {
            (Some(network), Some(device)) if space.machine != place.machine => {
                let station = |place: Place| Station(u16::try_from(place.machine).unwrap_or(u16::MAX));
                let ends = ((relay(manager), station(space)), (relay(client), station(place)));
                self.simulation.connect_through(device, ends.0, ends.1);
                let costs = self.cluster.costs.of_frames_between_machines(self.largest);
                let receive = costs.receive + network.receiving * CYCLES;
                self.simulation.set_frame_costs(manager, client, FrameCosts { receive, ..costs });
            }
            _ => self.join_on_machine(manager, client, self.routing),
        }
    }

    /// Joins a manager with who asks it, on the same machine.
    fn join_on_machine(&mut self, manager: NodeId, asker: NodeId, routing: Routing) {
        let (link, latency) = (self.cluster.link, Span(self.cluster.link_latency.time().0));
        self.simulation.connect(relay(manager), relay(asker), link.model(latency));
        let [there, back] = self.cluster.costs.of_frames(link, self.largest);
        let [there, back] = routing.added_to(there, back);
        self.simulation.set_frame_costs_towards(asker, manager, there);
        self.simulation.set_frame_costs_towards(manager, asker, back);
    }
}

/// The sessions of a node: a client's under its relay, which its program asks, or a manager's.
pub(crate) fn relay(node: NodeId) -> Address {
    stack::sessions_of(node)
}

/// The program of a client's node.
pub(crate) fn program_at(node: NodeId) -> Address {
    Address { node, port: PORT_CALLERS }
}

//! Where processes are: on cores of machines, joined by memory or by the network.

use crate::cluster::Cluster;
use crate::costs::CYCLES;
use quintet_contract::{Address, Incarnation, NodeId, Protocol, Span};
use quintet_simulate::device::{DeviceError, Station};
use quintet_simulate::{Costs, DeviceId, FrameCosts, LinkModel, Picos, ProcessorId, Simulation};
use quintet_stack::{self as stack, SERVER, SPACE_NODE, StackConfig};
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
    /// Where the space is.
    space: Option<Place>,
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
        Ok(Floor { simulation, cluster, seed, largest, cores, network, space: None })
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
        self.space = Some(place);
        place
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
        let relay = relay(node);
        let config = StackConfig::of_client(CLUSTER, LIFE, self.seed);
        self.simulation.add(relay, stack::client(node, &config));
        self.add_side(program_at(node), program, place, self.cluster.costs.of_a_program());
        self.join(place, relay);
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

    /// Joins a client with the space.
    fn join(&mut self, place: Place, client: Address) {
        let space = self.space.expect("the space is placed first");
        match (&self.cluster.network, self.network) {
            (Some(network), Some(device)) if space.machine != place.machine => {
                let station = |place: Place| Station(u16::try_from(place.machine).unwrap_or(u16::MAX));
                self.simulation.connect_through(device, (SERVER, station(space)), (client, station(place)));
                let costs = self.cluster.costs.of_frames_between_machines(self.largest);
                let receive = costs.receive + network.receiving * CYCLES;
                self.simulation.set_frame_costs(SPACE_NODE, client.node, FrameCosts { receive, ..costs });
            }
            _ => {
                let (link, latency) = (self.cluster.link, Span(self.cluster.link_latency.time().0));
                self.simulation.connect(SERVER, client, link.model(latency));
                let [there, back] = self.cluster.costs.of_frames(link, self.largest);
                self.simulation.set_frame_costs_towards(client.node, SPACE_NODE, there);
                self.simulation.set_frame_costs_towards(SPACE_NODE, client.node, back);
            }
        }
    }
}

/// The sessions of a client's node, under its relay: what its program asks.
pub(crate) fn relay(node: NodeId) -> Address {
    stack::sessions_of(node)
}

/// The program of a client's node.
pub(crate) fn program_at(node: NodeId) -> Address {
    Address { node, port: PORT_CALLERS }
}

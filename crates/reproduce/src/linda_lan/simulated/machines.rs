//! The machines with the processes of a run on them, as figures 4.1 and 4.2 of the paper have them.

use super::managers::{Kernel, Manager, Managers, Way};
use super::messages::{BEGIN, Class, HANDLE, LOOK, MULTIPLY, Mail, at};
use super::parameters::{
    BYTE_US, CONNECTION_US, MESSAGE_US, MULTIPLICATION_US, PACKET_US, REMOTE_US, TIME_SLICE_US,
};
use super::programs::{Part, Process};
use crate::linda_lan::{Packets, Subject};
use quintet_contract::{Bytes, NodeId, OwnedFrame, Span, Time, Token};
use quintet_simulate::device::{Ethernet, EthernetParameters, Station};
use quintet_simulate::{
    Costs, DeviceId, Distribution, FrameCosts, Hosted, LinkModel, Picos, ProcessorId, ProcessorModel,
    Simulation,
};
use std::collections::BTreeMap;

/// The unit in which costs are said.
const MICROSECOND: Picos = Picos(1_000_000);
/// Longer than any run takes.
const LIMIT: Span = Span::from_secs(10_000);
/// Until all workers wait for the dimension.
const START: Span = Span::from_secs(30);
/// Bytes of an element.
const ELEMENT_BYTES: u32 = 4;
/// Metres between two workstations on one Ethernet.
const APART_METRES: f64 = 20.0;

const QUEUE: NodeId = NodeId(1);
const HASH: NodeId = NodeId(2);
const MASTER: NodeId = NodeId(3);
/// Of the first machine; the second one's is the next.
const KERNEL: NodeId = NodeId(4);
const FIRST_WORKER: u16 = 10;
const MANAGERS: Managers = Managers { queue: QUEUE, hash: HASH };

/// A run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Experiment {
    /// What is run.
    pub subject: Subject,
    /// On how many machines: one or two.
    pub machines: u8,
    /// How messages go.
    pub packets: Packets,
    /// Whether L-Kernels stand between processes and managers.
    pub kernels: bool,
    /// What a connection costs each time a process looks which have something, in microseconds.
    pub connection_us: u32,
}

impl Experiment {
    /// As the paper's: through L-Kernels, a connection as cheap as it is assumed to be.
    #[must_use]
    pub const fn of_paper(subject: Subject, machines: u8, packets: Packets) -> Experiment {
        Experiment { subject, machines, packets, kernels: true, connection_us: CONNECTION_US }
    }
}

/// What a run gives.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// As the program's own timer measures it.
    pub seconds: f64,
    /// Of jblock: of each block.
    pub blocks: Vec<f64>,
    /// How busy each machine's processor was meanwhile, 0 to 1.
    pub busy: [f64; 2],
    /// Sums up the run.
    pub digest: u64,
}

struct Machines {
    run: Simulation,
    experiment: Experiment,
    processors: Vec<ProcessorId>,
    ethernet: DeviceId,
    /// Nodes, and on which machine each is.
    places: BTreeMap<NodeId, usize>,
}

/// Runs it once.
///
/// # Panics
/// If a program does not come to its end: a defect of this model.
#[must_use]
pub fn simulate(experiment: &Experiment, seed: u64) -> Outcome {
    let mut machines = Machines::new(*experiment, seed);
    machines.place_all();
    machines.join_all();
    machines.run()
}

impl Machines {
    fn new(experiment: Experiment, seed: u64) -> Machines {
        let mut run = Simulation::new(seed);
        let slice = Some(Picos::from_seconds(TIME_SLICE_US / 1e6));
        let model = ProcessorModel { cycle: MICROSECOND, time_slice: slice, ..ProcessorModel::default() };
        let processors = (0..experiment.machines).map(|_| run.add_processor(model)).collect();
        let wire = EthernetParameters::ten_megabit(vec![0.0, APART_METRES]);
        let ethernet = run.add_device(Box::new(Ethernet::new(wire).expect("the parameters are possible")));
        Machines { run, experiment, processors, ethernet, places: BTreeMap::new() }
    }

    fn mail(&self) -> Mail {
        Mail::new(self.experiment.packets)
    }

    fn place(&mut self, node: NodeId, machine: usize, process: impl Hosted) {
        self.places.insert(node, machine);
        self.run.place(node, self.processors[machine]);
        self.run.add(at(node), process);
        let cost = |cycles| Distribution::Constant(cycles);
        let costs = [
            (HANDLE, cost(MESSAGE_US / 2.0)),
            (LOOK, cost(self.experiment.connection_us.into())),
            (MULTIPLY, cost(MULTIPLICATION_US)),
        ];
        self.run.set_costs(at(node), Costs::from(costs));
    }

    /// Processes of the program, the master first: who goes where. Workers go round robin, the first to the other machine.
    fn processes(&self) -> Vec<(NodeId, usize, Part)> {
        let (master, workers, dimension) = match self.experiment.subject {
            Subject::Jmatrix { dimension, workers } => {
                (Part::Matrix { left: dimension * dimension }, workers, dimension)
            }
            Subject::Jblock { blocks, step } => {
                (Part::Blocks { at: 1, count: blocks, step: step as usize }, 0, 0)
            }
        };
        let worker = |number: u32| {
            let node = NodeId(FIRST_WORKER + u16::try_from(number).unwrap_or(u16::MAX));
            let machine = usize::from(self.experiment.machines == 2 && number.is_multiple_of(2));
            (node, machine, Part::Worker { dimension })
        };
        [(MASTER, 0, master)].into_iter().chain((0..workers).map(worker)).collect()
    }

    fn place_all(&mut self) {
        let processes = self.processes();
        let kernel = |machine: usize| NodeId(KERNEL.0 + machine as u16);
        let (kernels, count) = (self.experiment.kernels, processes.len() as u32);
        let connections = if kernels { self.experiment.machines.into() } else { count };
        let ways: BTreeMap<NodeId, NodeId> = processes
            .iter()
            .map(|(node, machine, _)| (*node, if kernels { kernel(*machine) } else { *node }))
            .collect();
        let manager = || Manager::new(self.mail(), connections, ways.clone());
        let (queue, hash) = (self.stocked_queue(manager()), self.stocked_hash(manager()));
        self.place(QUEUE, 0, queue);
        self.place(HASH, 0, hash);
        for machine in 0..usize::from(self.experiment.machines) {
            let own = processes.iter().filter(|(_, other, _)| *other == machine).count() as u32;
            if kernels {
                // And the two managers.
                self.place(kernel(machine), machine, Kernel::new(self.mail(), own + 2, MANAGERS));
            }
        }
        for (node, machine, part) in processes {
            let way = if kernels { Way::Kernel(kernel(machine)) } else { Way::Direct(MANAGERS) };
            self.place(node, machine, Process::new(self.mail(), node, way, part));
        }
    }

    fn stocked_queue(&self, manager: Manager) -> Manager {
        match self.experiment.subject {
            Subject::Jmatrix { dimension, .. } => {
                manager.stocked(Class::Task, (dimension * dimension) as usize, 24)
            }
            Subject::Jblock { .. } => manager,
        }
    }

    /// A row and a column stand for all: they are read, and all are of one length.
    fn stocked_hash(&self, manager: Manager) -> Manager {
        match self.experiment.subject {
            Subject::Jmatrix { dimension, .. } => {
                let bytes = (dimension * ELEMENT_BYTES) as usize + 16;
                manager.stocked(Class::Row, 1, bytes).stocked(Class::Column, 1, bytes)
            }
            Subject::Jblock { .. } => manager,
        }
    }

    /// Every two processes that tell each other something.
    fn join_all(&mut self) {
        let is_program = |node: NodeId| node == MASTER || node.0 >= FIRST_WORKER;
        let is_manager = |node: NodeId| node == QUEUE || node == HASH;
        let nodes: Vec<(NodeId, usize)> =
            self.places.iter().map(|(node, machine)| (*node, *machine)).collect();
        for &(one, here) in &nodes {
            for &(other, there) in &nodes {
                let is_kernel = |node| !is_program(node) && !is_manager(node);
                let speak = match self.experiment.kernels {
                    true => is_kernel(other) && (is_manager(one) || is_program(one) && here == there),
                    false => is_manager(one) && is_program(other),
                };
                if speak {
                    self.join((one, here), (other, there));
                }
            }
        }
    }

    fn join(&mut self, (one, here): (NodeId, usize), (other, there): (NodeId, usize)) {
        if here == there {
            let at_once = LinkModel {
                delay_min: Span::ZERO,
                delay_max: Span::ZERO,
                window_frames: 1 << 20,
                max_bulk_bytes: 1 << 30,
                ..LinkModel::default()
            };
            self.run.connect(at(one), at(other), at_once);
        } else {
            let station = |machine: usize| Station(machine as u16);
            self.run.connect_through(self.ethernet, (at(one), station(here)), (at(other), station(there)));
        }
        let packet = PACKET_US + if here == there { 0.0 } else { REMOTE_US };
        let costs = FrameCosts {
            send: packet / 2.0,
            receive: packet / 2.0,
            send_byte: BYTE_US / 2.0,
            receive_byte: BYTE_US / 2.0,
            ..FrameCosts::default()
        };
        self.run.set_frame_costs(one, other, costs);
    }

    fn begin(&mut self, node: NodeId) {
        let begin = OwnedFrame { kind: BEGIN, token: Token(0), body: Bytes::new(), bulk: Bytes::new() };
        self.run.inject(at(node), begin);
    }

    fn run(mut self) -> Outcome {
        let workers: Vec<NodeId> =
            self.places.keys().copied().filter(|node| node.0 >= FIRST_WORKER).collect();
        workers.into_iter().for_each(|node| self.begin(node));
        self.run.run_for(START);
        self.run.reset_statistics();
        self.begin(MASTER);
        let ended =
            |run: &Simulation| run.get::<Process>(at(MASTER)).and_then(|master| master.ended).is_some();
        assert!(self.run.run_until(LIMIT, ended), "{:?} does not come to its end", self.experiment);
        let master = self.run.get::<Process>(at(MASTER)).expect("it was placed");
        let began = master.began.expect("it has begun");
        let seconds = |from: Time, to: Time| (to.0 - from.0) as f64 / 1e9;
        let took = master.ended.map_or(0.0, |ended| seconds(began, ended));
        let starts = std::iter::once(&began).chain(&master.moved);
        let blocks = starts.zip(&master.moved).map(|(from, to)| seconds(*from, *to)).collect();
        let mut busy = [0.0; 2];
        for (busy, processor) in busy.iter_mut().zip(&self.processors) {
            *busy = self.run.processor_statistics(*processor).utilisation;
        }
        Outcome { seconds: took, blocks, busy, digest: self.run.digest() }
    }
}

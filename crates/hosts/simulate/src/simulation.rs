//! A run.

mod calls;
mod carriage;
mod disconnect;
mod events;
mod execution;
mod faults;
mod links;
mod view;
mod ways;

use crate::arrival::Arrival;
use crate::cells::{CellModel, Cells};
use crate::choices::Choices;
use crate::device::{Device, DeviceStatistics, PortStatistics};
use crate::digest::Digest;
use crate::disk::Disk;
use crate::hosted::Hosted;
use crate::ids::{DeviceId, ProcessorId};
use crate::link::Luck;
use crate::mark::Mark;
use crate::node::{Instance, Node, NodeStatistics};
use crate::nodes::Nodes;
use crate::outbox::Costs;
use crate::parcels::Parcels;
use crate::picos::Picos;
use crate::processor::{Processor, ProcessorModel};
use crate::route::Routes;
use crate::schedule::Schedule;
use crate::service::ServiceModel;
use crate::thread::Threads;
use carriage::{Carried, Medium};
pub use events::Stall;
use events::{Event, KeptBack};
use quintet_contract::{Address, NodeId, Random, Time};
use std::any::Any;
use std::collections::{BTreeMap, VecDeque};

pub use faults::Restart;
pub use view::{DeviceLoad, MessageUnderWay, Passed, PortLoad, Settled};
pub use ways::Way;

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
    /// What decides about the links of an explored run.
    choices: Option<Choices>,
    now: Picos,
    schedule: Schedule<Event>,
    nodes: Nodes,
    threads: Threads,
    processors: Vec<Processor>,
    media: Vec<Medium>,
    routes: Routes,
    parcels: Parcels,
    cells: Cells,
    /// What links that are held keep back, in the order in which it came.
    kept_back: Vec<KeptBack>,
    /// What devices carry, by ticket.
    carried: BTreeMap<u64, Carried>,
    tickets: u64,
    services: ServiceModel,
    service_random: Random,
    /// The disks that were used.
    disks: BTreeMap<NodeId, Disk>,
    events: u64,
    digest: Digest,
    /// Events since time last passed.
    events_now: u64,
    stall: Option<Stall>,
    /// When counting began: the end of the warm-up.
    counting_since: Picos,
    /// Marks that modules made and nobody has taken.
    marks: Vec<Mark>,
    /// Calls that are due and were not taken.
    calls: VecDeque<u64>,
    /// What became of messages of devices, if somebody looks at it.
    settled: Option<Vec<Settled>>,
    /// The messages of links, likewise.
    passed: Option<Vec<Passed>>,
}

/// The kinds of streams of randomness. A link's stream is named by two addresses, which never reach these.
mod streams {
    pub(super) const SERVICES: u64 = u64::MAX;
    pub(super) const PROCESSORS: u64 = 0xffff_fffe_0000_0000;
    pub(super) const DISKS: u64 = 0xffff_fffc_0000_0000;
    pub(super) const CELLS: u64 = u64::MAX - 1;
    pub(super) const DEVICES: u64 = 0xffff_fffd_0000_0000;
}

/// What was counted at a processor.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ProcessorStatistics {
    /// The share of time in which it was busy, 0 to 1.
    pub utilisation: f64,
    /// Messages from devices that found its queue full and were lost.
    pub lost: u64,
}

impl Simulation {
    /// An empty run. Everything random in it follows from `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Simulation {
            seed,
            choices: None,
            now: Picos::default(),
            schedule: Schedule::new(),
            nodes: Nodes::default(),
            threads: Threads::default(),
            processors: Vec::new(),
            media: Vec::new(),
            routes: Routes::new(),
            parcels: Parcels::default(),
            cells: Cells::new(CellModel::default(), Luck::None),
            kept_back: Vec::new(),
            carried: BTreeMap::new(),
            tickets: 0,
            services: ServiceModel::default(),
            service_random: Random::new(seed, streams::SERVICES),
            disks: BTreeMap::new(),
            events: 0,
            digest: Digest::default(),
            events_now: 0,
            stall: None,
            counting_since: Picos::ZERO,
            marks: Vec::new(),
            calls: VecDeque::new(),
            settled: None,
            passed: None,
        }
    }

    /// An empty run that is explored: the delays, losses and duplicates of its links are among `choices`, everything else
    /// random follows from `seed`.
    #[must_use]
    pub fn explored(seed: u64, choices: Choices) -> Self {
        Simulation { choices: Some(choices), ..Simulation::new(seed) }
    }

    /// Says how cells behave that are written from now on. In an explored run it is among the choices which value is read.
    pub fn set_cells(&mut self, model: CellModel) {
        let luck = match &self.choices {
            Some(choices) => Luck::Chosen(choices.stream(streams::CELLS)),
            None => Luck::Random(Random::new(self.seed, streams::CELLS)),
        };
        self.cells = Cells::new(model, luck);
    }

    /// Replaces the model of every node's disk and device.
    pub fn set_services(&mut self, services: ServiceModel) {
        self.services = services;
    }

    /// Adds a processing element. Nodes are put on it with [`Simulation::place`] and [`Simulation::spread`].
    pub fn add_processor(&mut self, model: ProcessorModel) -> ProcessorId {
        let number = self.processors.len();
        let random = Random::new(self.seed, streams::PROCESSORS | number as u64);
        self.processors.push(Processor::new(model, random, self.now));
        ProcessorId(number)
    }

    /// Adds a transfer device.
    pub fn add_device(&mut self, device: Box<dyn Device>) -> DeviceId {
        let number = self.media.len();
        let random = Random::new(self.seed, streams::DEVICES | number as u64);
        self.media.push(Medium::new(device, random));
        DeviceId(number)
    }

    /// Puts a node on a processor, where its instances take turns: they handle their inputs in the order in which those came, each to its
    /// end. A node that is not put on one has an abstract one to itself.
    pub fn place(&mut self, id: NodeId, processor: ProcessorId) {
        match self.nodes.get_mut(id) {
            Some(node) => self.threads.put(&mut node.threads, processor),
            None => {
                let threads = self.threads.of_node(self.nodes.next_place(), processor);
                self.nodes.insert(Node::new(id, threads));
            }
        }
    }

    /// Puts a node on several processors: each instance that is added from now on handles its inputs on whichever of them is free,
    /// the first that is; if none is, on the one that comes to it first. One instance is never on two at once; different ones run
    /// beside each other. [`add_on`](Simulation::add_on) binds an instance to one of them.
    ///
    /// # Panics
    /// If there is none.
    pub fn spread(&mut self, id: NodeId, processors: &[ProcessorId]) {
        let first = processors.first().expect("a node is on one processor at least");
        self.place(id, *first);
        if let Some(node) = self.nodes.get_mut(id) {
            node.threads.spread(processors);
        }
    }

    /// Has a node run before those of smaller priority that are ready on its processors; all have 0 unless it is set. Nothing happens if there
    /// is no such node, and to what it has ready already.
    pub fn prioritise(&mut self, id: NodeId, priority: u8) {
        let Some(node) = self.nodes.get(id) else { return };
        for place in node.threads.all() {
            self.threads[place].priority = priority;
        }
    }

    /// Has a node's instances hear each other before what waits for them from elsewhere, as layers of one program do that call each other:
    /// a frame within the node passes all inputs that wait and are none, but not what is begun in the moment in which it is sent. Nothing happens if there is no such node, and to instances that
    /// are added to processors of their own later.
    pub fn hear_own_first(&mut self, id: NodeId) {
        let Some(node) = self.nodes.get(id) else { return };
        for place in node.threads.all() {
            self.threads[place].own_first = true;
        }
    }

    /// Places a protocol at an address and starts it now. A node comes into being with its first instance.
    pub fn add(&mut self, at: Address, protocol: impl Hosted) {
        if self.nodes.get(at.node).is_none() {
            let own = self.add_processor(ProcessorModel::default());
            self.place(at.node, own);
        }
        self.install(at, protocol, None);
    }

    /// Places a protocol at an address and starts it now, bound to a processor wherever its node is: those of a node that are bound to
    /// one take turns there. An instance that takes the place of another one runs where that did, a restarted one where it was. A node
    /// that was on none is on this one.
    pub fn add_on(&mut self, at: Address, processor: ProcessorId, protocol: impl Hosted) {
        if self.nodes.get(at.node).is_none() {
            self.place(at.node, processor);
        }
        self.install(at, protocol, Some(processor));
    }

    /// Places a protocol at an address of a node that is [`spread`](Simulation::spread), and starts it now: unlike others it handles so many
    /// inputs at once, each on whichever processor is free, the first come first. It stands for a program of which several run beside each other:
    /// what it makes of an input it says when that is begun.
    ///
    /// # Panics
    /// If the node is not spread over processors, or `at_once` is 0.
    pub fn add_parallel(&mut self, at: Address, at_once: usize, protocol: impl Hosted) {
        let node = self.nodes.get_mut(at.node).filter(|node| !node.threads.roamed().is_empty());
        let node = node.expect("the node is spread over processors");
        assert!(at_once > 0, "it handles one input at a time at least");
        if node.instance(at.port).is_none() {
            self.threads.assign_to_team(&mut node.threads, at.port, at_once);
        }
        self.install(at, protocol, None);
    }

    fn install(&mut self, at: Address, protocol: impl Hosted, bound_to: Option<ProcessorId>) {
        if let Some(node) = self.nodes.get_mut(at.node) {
            if node.instance(at.port).is_none() {
                self.threads.assign(&mut node.threads, at.port, bound_to);
            }
            node.place(at.port, Box::new(protocol));
        }
        self.deliver(at, Arrival::Started, self.now);
    }

    /// Says what the work of the instance at `at` costs. Nothing happens if there is none.
    pub fn set_costs(&mut self, at: Address, costs: Costs) {
        if let Some(instance) = self.instance_mut(at) {
            instance.costs = costs;
        }
    }

    /// The simulated time.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now.time()
    }

    /// The simulated time, exactly.
    #[must_use]
    pub fn clock(&self) -> Picos {
        self.now
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
        let instance = self.nodes.get(at.node)?.instance(at.port)?;
        (*instance.protocol).as_any().downcast_ref()
    }

    /// The protocol at `at`, to be changed by a test.
    pub fn get_mut<P: Any>(&mut self, at: Address) -> Option<&mut P> {
        (*self.instance_mut(at)?.protocol).as_any_mut().downcast_mut()
    }

    /// Forgets what was counted so far: the end of a warm-up.
    pub fn reset_statistics(&mut self) {
        self.counting_since = self.now;
        for processor in &mut self.processors {
            processor.busy.reset(self.now);
            processor.lost = 0;
        }
        for medium in &mut self.media {
            medium.device.reset_statistics(self.now);
        }
        self.routes.reset_statistics();
        for node in self.nodes.iter_mut() {
            node.statistics = NodeStatistics::default();
        }
    }

    /// What was counted at a processor since the start or [`Simulation::reset_statistics`].
    #[must_use]
    pub fn processor_statistics(&self, id: ProcessorId) -> ProcessorStatistics {
        let processor = &self.processors[id.0];
        ProcessorStatistics { utilisation: processor.busy.mean(self.now), lost: processor.lost }
    }

    /// What was counted at a device.
    #[must_use]
    pub fn device_statistics(&self, id: DeviceId) -> DeviceStatistics {
        let counted = self.media[id.0].device.statistics(self.now);
        DeviceStatistics { blocked: self.routes.blocked_at(id), ..counted }
    }

    /// What was counted at a port of a device: see [`Device::port`].
    #[must_use]
    pub fn port_statistics(&self, id: DeviceId, index: usize) -> Option<PortStatistics> {
        self.media[id.0].device.port(self.now, index)
    }

    /// What was counted at a node, if there is one.
    #[must_use]
    pub fn node_statistics(&self, id: NodeId) -> Option<&NodeStatistics> {
        self.nodes.get(id).map(|node| &node.statistics)
    }

    /// The marks that modules made since the last call, in the order of time. They are kept until they are taken.
    pub fn take_marks(&mut self) -> std::vec::Drain<'_, Mark> {
        self.marks.drain(..)
    }

    /// When the next event is, if one is pending.
    #[must_use]
    pub fn next_at(&self) -> Option<Picos> {
        self.schedule.next_at()
    }

    /// Since when things are counted.
    #[must_use]
    pub fn counting_since(&self) -> Picos {
        self.counting_since
    }

    fn instance_mut(&mut self, at: Address) -> Option<&mut Instance> {
        self.nodes.get_mut(at.node)?.instance_mut(at.port)
    }
}

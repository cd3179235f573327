//! The elements of figure 6.1, and the modules on them.

use super::case::{Case, Lan, Transport};
use super::given;
use super::inferred::Inferred;
use quintet_contract::{Address, NodeId, Random, Span, Stage};
use quintet_simulate::device::{
    BackOff, Bus, BusParameters, Collision, CollisionParameters, Contention, Device, Framing, Ring,
    RingParameters, Station,
};
use quintet_simulate::{
    Costs, DeviceId, Distribution, Instruction, LinkModel, MessageType, Module, ModuleSpec, Picos,
    ProcessorId, ProcessorModel, Simulation, Successor, Timing,
};

/// A processing element. Its modules are one process: they run in turn, each to its end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Element {
    ClientApplic,
    ClientXport,
    ServerApplic,
    ServerXport,
    VectorProcessor,
    LoadSender,
    LoadReceiver,
}

impl Element {
    const ALL: [Element; 7] = [
        Element::ClientApplic,
        Element::ClientXport,
        Element::ServerApplic,
        Element::ServerXport,
        Element::VectorProcessor,
        Element::LoadSender,
        Element::LoadReceiver,
    ];

    const fn node(self) -> NodeId {
        NodeId(self as u16 + 1)
    }

    fn of(address: Address) -> Element {
        Element::ALL[usize::from(address.node.0 - 1)]
    }

    fn model(self, server_mips: u32) -> ProcessorModel {
        let host = |cycle| ProcessorModel {
            cycle,
            time_slice: Some(given::TIME_SLICE),
            output_controller: false,
            ..ProcessorModel::default()
        };
        let applic = |cycle| ProcessorModel { input_controller: false, ..host(cycle) };
        let xport = |cycle| ProcessorModel { io_setup: given::IO_SETUP, ..host(cycle) };
        match self {
            Element::ClientApplic => applic(given::CLIENT_CYCLE),
            Element::ClientXport => xport(given::CLIENT_CYCLE),
            Element::ServerApplic => applic(Picos(1_000_000 / u64::from(server_mips))),
            Element::ServerXport => xport(given::SERVER_CYCLE),
            Element::VectorProcessor => {
                ProcessorModel { cycle: given::VECTOR_CYCLE, time_slice: None, ..host(Picos::ZERO) }
            }
            Element::LoadSender | Element::LoadReceiver => ProcessorModel::default(),
        }
    }
}

/// The transfer devices.
#[derive(Clone, Copy, Debug)]
enum Medium {
    Sbus,
    Vmebus,
    Lan,
}

/// The one instruction of all modules: a cycle.
const CYCLE: Stage = Stage(0);
/// Of the background load: a message each 10 ms.
const LOAD_PERIOD: f64 = 0.01;
const FIRST_PORT: u16 = 1024;

/// The elements, and the modules as far as they are defined.
pub(super) struct Plant {
    pub(super) case: Case,
    pub(super) inferred: Inferred,
    seed: u64,
    ports: [u16; 7],
    messages: u32,
    modules: Vec<(Address, ModuleSpec)>,
    /// Pairs that tell each other something without a message on a bus.
    signals: Vec<(Address, Address)>,
}

/// What a finished plant is.
pub(super) struct Running {
    pub(super) run: Simulation,
    processors: Vec<ProcessorId>,
    lan: DeviceId,
}

impl Plant {
    pub(super) fn new(case: Case, inferred: &Inferred, seed: u64) -> Plant {
        let mut plant = Plant {
            case,
            inferred: *inferred,
            seed,
            ports: [FIRST_PORT; 7],
            messages: 0,
            modules: Vec::new(),
            signals: Vec::new(),
        };
        plant.add_load();
        plant
    }

    /// The address of a module that will be defined.
    pub(super) fn module(&mut self, on: Element) -> Address {
        let port = &mut self.ports[on as usize];
        *port += 1;
        Address::new(on.node().0, *port - 1)
    }

    /// A kind of message that there was not yet.
    pub(super) fn message(&mut self) -> MessageType {
        self.messages += 1;
        MessageType(self.messages)
    }

    /// The module at `at` runs when it has got `count` messages of a kind.
    pub(super) fn on(
        &mut self,
        at: Address,
        (message, count): (MessageType, u32),
        instructions: Vec<Instruction>,
    ) {
        self.modules.push((at, ModuleSpec { messages: vec![(message, count)], ..idle(instructions) }));
    }

    /// The module at `at` runs when its predecessor is done.
    pub(super) fn after(&mut self, at: Address, instructions: Vec<Instruction>) {
        self.modules.push((at, ModuleSpec { predecessors: 1, ..idle(instructions) }));
    }

    /// Starts the module at `at`, which runs after a predecessor, at time 0.
    pub(super) fn start(&mut self, at: Address) {
        let starter = self.module(Element::of(at));
        let timing = Timing { first: Distribution::Constant(0.0), every: None, limit: 1 };
        self.modules.push((starter, ModuleSpec { timing: Some(timing), ..idle(vec![]) }));
        self.follow(starter, at);
    }

    /// `next`, on the same element, runs after the module at `at`.
    pub(super) fn follow(&mut self, at: Address, next: Address) {
        if let Some((_, spec)) = self.modules.iter_mut().find(|(address, _)| *address == at) {
            spec.successors.push(Successor { to: next, number: 0, weight: None });
        }
    }

    /// What `from` sends to `to` takes no bus and no time.
    pub(super) fn signal(&mut self, from: Address, to: Address) {
        self.signals.push((from, to));
    }

    /// Two more stations, one of which sends to the other. Sizes and times vary, as the paper says; it gives no figures.
    fn add_load(&mut self) {
        let (sender, receiver) = (self.module(Element::LoadSender), self.module(Element::LoadReceiver));
        let message = self.message();
        let mean = (self.inferred.load * LOAD_PERIOD * 1e7 - 160.0) / 8.0;
        let bytes = Distribution::Normal { mean, deviation: mean / 5.0 };
        let every = Distribution::Normal { mean: LOAD_PERIOD, deviation: LOAD_PERIOD / 5.0 };
        let first = Distribution::Uniform { low: 0.0, high: LOAD_PERIOD };
        let timing = Timing { first, every: Some(every), limit: u64::MAX };
        let instructions = vec![Instruction::Send { to: receiver, message, bytes }];
        self.modules.push((sender, ModuleSpec { timing: Some(timing), ..idle(instructions) }));
        self.on(receiver, (message, 1), vec![]);
    }

    /// Puts everything into a run.
    pub(super) fn build(self) -> Running {
        let mut run = Simulation::new(self.seed);
        let processors: Vec<_> = Element::ALL
            .iter()
            .map(|element| run.add_processor(element.model(self.case.server_mips)))
            .collect();
        for (element, processor) in Element::ALL.iter().zip(&processors) {
            run.place(element.node(), *processor);
        }
        let sbus = run.add_device(bus(given::SBUS_CYCLE, 2));
        let vmebus = run.add_device(bus(given::VMEBUS_CYCLE, 3));
        let lan = run.add_device(self.lan());
        let joints = self.joints();
        for (index, (at, spec)) in self.modules.into_iter().enumerate() {
            run.add(at, Module::new(spec, Random::new(self.seed, index as u64)));
            run.set_costs(at, Costs::from([(CYCLE, Distribution::Constant(1.0))]));
        }
        for (from, to) in joints {
            if self.signals.contains(&(from, to)) {
                let at_once =
                    LinkModel { delay_min: Span::ZERO, delay_max: Span::ZERO, ..LinkModel::default() };
                run.connect(from, to, at_once);
                continue;
            }
            let (medium, here, there) = way(Element::of(from), Element::of(to));
            let device = match medium {
                Medium::Sbus => sbus,
                Medium::Vmebus => vmebus,
                Medium::Lan => lan,
            };
            run.connect_through(device, (from, here), (to, there));
        }
        Running { run, processors, lan }
    }

    /// Which modules send to which on another element, each pair once.
    fn joints(&self) -> Vec<(Address, Address)> {
        let sends = self.modules.iter().flat_map(|(from, spec)| {
            spec.instructions.iter().filter_map(move |instruction| match instruction {
                Instruction::Send { to, .. } if to.node != from.node => Some((*from, *to)),
                _ => None,
            })
        });
        let mut joints: Vec<_> = sends.collect();
        joints.sort_unstable();
        joints.dedup();
        joints
    }

    fn lan(&self) -> Box<dyn Device> {
        const STATIONS: u16 = 4;
        match self.case.lan {
            Lan::Ethernet => {
                let framing = Framing {
                    words_per_block: 1518,
                    block_overhead: Picos(16_000_000),
                    ..Framing::serial(10_000_000)
                };
                let unit = Picos::from_seconds(self.inferred.contention_unit_us * 1e-6);
                let parameters = CollisionParameters {
                    framing,
                    stations: STATIONS,
                    collision_window: Picos(9_600_000),
                    contention: Contention::Interval { low: 0, high: 1024, unit },
                    back_off: BackOff::TEN_MEGABIT,
                    jam_time: Picos(3_200_000),
                };
                Box::new(Collision::new(parameters).expect("the parameters are possible"))
            }
            Lan::Fddi => {
                Box::new(Ring::new(RingParameters::fddi(STATIONS)).expect("the parameters are possible"))
            }
        }
    }

    pub(super) fn transport(&self) -> Transport {
        self.case.transport
    }
}

impl Running {
    /// The share of time in which an element was busy, in percent.
    pub(super) fn utilisation(&self, element: Element) -> f64 {
        100.0 * self.run.processor_statistics(self.processors[element as usize]).utilisation
    }

    /// That of the LAN.
    pub(super) fn lan_utilisation(&self) -> f64 {
        100.0 * self.run.device_statistics(self.lan).utilisation()
    }
}

fn bus(cycle: Picos, stations: u16) -> Box<dyn Device> {
    let framing = Framing {
        cycle_time: cycle,
        bits_per_cycle: 32,
        cycles_per_word: 1,
        word_overhead: Picos::ZERO,
        words_per_block: 0,
        block_overhead: Picos::ZERO,
    };
    Box::new(Bus::new(BusParameters { framing, stations }).expect("the parameters are possible"))
}

/// What joins two elements, and at which stations.
fn way(from: Element, to: Element) -> (Medium, Station, Station) {
    let station = |element| match element {
        Element::ClientApplic | Element::ServerApplic => Station(1),
        Element::VectorProcessor | Element::LoadSender => Station(2),
        Element::LoadReceiver => Station(3),
        Element::ClientXport | Element::ServerXport => Station(0),
    };
    match (from.min(to), from.max(to)) {
        (Element::ClientApplic, _) => (Medium::Sbus, station(from), station(to)),
        (Element::ServerApplic, _) => (Medium::Vmebus, station(from), station(to)),
        (Element::ClientXport, _) => {
            let lan = |element| Station(u16::from(element == Element::ServerXport));
            (Medium::Lan, lan(from), lan(to))
        }
        _ => (Medium::Lan, station(from), station(to)),
    }
}

fn idle(instructions: Vec<Instruction>) -> ModuleSpec {
    ModuleSpec {
        timing: None,
        messages: vec![],
        predecessors: 0,
        any_predecessor: false,
        instructions,
        successors: vec![],
    }
}

/// So many cycles of work.
pub(super) fn work(cycles: f64) -> Instruction {
    Instruction::Execute(CYCLE, Distribution::Constant(cycles))
}

/// A message of so many bytes.
pub(super) fn send((to, message): (Address, MessageType), bytes: f64) -> Instruction {
    Instruction::Send { to, message, bytes: Distribution::Constant(bytes) }
}

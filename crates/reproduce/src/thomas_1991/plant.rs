//! The elements of figure 6.1, and the modules on them.

use super::case::{Case, Transport};
use super::element::{Element, client_of};
use super::inferred::Inferred;
use super::running::Running;
use super::setting::{Coding, Setting};
use super::transport::Door;
use quintet_contract::{Address, NodeId, Port, Random, Span, Stage};
use quintet_simulate::device::{Bus, BusParameters, Class, Device, Framing, Station};
use quintet_simulate::{
    Costs, DeviceId, Distribution, Instruction, LinkModel, MessageType, Module, ModuleSpec, ProcessorId,
    Simulation, Successor, Timing,
};
use std::collections::{BTreeMap, BTreeSet};

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
    pub(super) setting: Setting,
    pub(super) coding: Coding,
    seed: u64,
    /// The client whose modules are being defined, by its number.
    client: u16,
    /// The next port of each element's node for that client.
    ports: [u16; Element::COUNT as usize],
    messages: u32,
    modules: Vec<(Address, ModuleSpec)>,
}

/// The transfer devices of a run. Each client has an SBus of its own.
struct Media {
    sbuses: Vec<DeviceId>,
    vmebus: DeviceId,
    lan: DeviceId,
}

impl Plant {
    pub(super) fn new(case: Case, setting: Setting, inferred: &Inferred, seed: u64) -> Plant {
        let mut plant = Plant {
            case,
            inferred: *inferred,
            setting,
            coding: setting.encoding.coding(inferred),
            seed,
            client: 0,
            ports: [FIRST_PORT; Element::COUNT as usize],
            messages: 0,
            modules: Vec::new(),
        };
        plant.add_load();
        plant
    }

    /// The modules defined from now on are those of another client.
    pub(super) fn next_client(&mut self) {
        self.client += 1;
        self.ports = [FIRST_PORT; Element::COUNT as usize];
    }

    /// The address of a module that will be defined.
    pub(super) fn module(&mut self, on: Element) -> Address {
        let port = &mut self.ports[on as usize];
        *port += 1;
        Address::new(on.node(self.client).0, *port - 1)
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
        let starter = self.module(Element::of(at.node));
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

    /// Where a message goes in that comes out at `door` without a bus and at once.
    pub(super) fn interrupt(&mut self, door: Door) -> Door {
        let (at, message) = (self.module(Element::Interrupt), door.1);
        self.on(at, (message, 1), vec![send(door, 0.0)]);
        (at, message)
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
        let instructions =
            vec![Instruction::Send { to: receiver, message, bytes, class: Class::Asynchronous }];
        self.modules.push((sender, ModuleSpec { timing: Some(timing), ..idle(instructions) }));
        self.on(receiver, (message, 1), vec![]);
    }

    /// Puts everything into a run.
    pub(super) fn build(self) -> Running {
        let mut run = Simulation::new(self.seed);
        let processors = self.add_processors(&mut run);
        let media = self.add_media(&mut run);
        let joints = self.joints();
        let lan = self.case.lan;
        for (index, (at, spec)) in self.modules.into_iter().enumerate() {
            run.add(at, Module::new(spec, Random::new(self.seed, index as u64)));
            run.set_costs(at, Costs::from([(CYCLE, Distribution::Constant(1.0))]));
        }
        let at_once = LinkModel { delay_min: Span::ZERO, delay_max: Span::ZERO, ..LinkModel::default() };
        for ((one, other), joined) in joints {
            let Some((medium, here, there)) = way(one, other) else {
                run.attach(one, other, &joined, at_once);
                continue;
            };
            let device = match medium {
                Medium::Sbus => media.sbuses[usize::from(client_of(one))],
                Medium::Vmebus => media.vmebus,
                Medium::Lan => media.lan,
            };
            run.attach_through(device, (one, here), (other, there), &joined);
        }
        Running::new(run, processors, lan, [media.vmebus, media.lan])
    }

    /// One of each element for the first client, then what there is more of; a client's node is on the processor whose
    /// turn it is.
    fn add_processors(&self, run: &mut Simulation) -> [Vec<ProcessorId>; Element::COUNT as usize] {
        let Setting { clients, heads, server_processors, machines, .. } = self.setting;
        let model = |element: Element| element.model(machines, self.case.server_mips);
        let mut processors = Element::ALL.map(|element| vec![run.add_processor(model(element))]);
        for (element, processors) in Element::ALL.into_iter().zip(&mut processors) {
            let count = match element {
                Element::ServerApplic => server_processors,
                Element::VectorProcessor => heads,
                _ if element.is_clients_own() => clients,
                _ => 1,
            };
            processors.extend((1..count).map(|_| run.add_processor(model(element))));
        }
        for client in 0..clients {
            for (element, processors) in Element::ALL.into_iter().zip(&processors) {
                if client == 0 || element.is_for_clients() {
                    let processor = processors[usize::from(client) % processors.len()];
                    run.place(element.node(client), processor);
                }
            }
        }
        processors
    }

    fn add_media(&self, run: &mut Simulation) -> Media {
        let Setting { clients, machines, .. } = self.setting;
        let first = run.add_device(bus(machines.client_bus(), 2));
        let vmebus = run.add_device(bus(machines.server_bus(), 3));
        let lan = run.add_device(self.case.lan.device(clients + 3, &self.inferred));
        let mut sbuses = vec![first];
        sbuses.extend((1..clients).map(|_| run.add_device(bus(machines.client_bus(), 2))));
        Media { sbuses, vmebus, lan }
    }

    /// Which modules of two nodes send to each other: the ports of each pair of nodes.
    fn joints(&self) -> BTreeMap<(NodeId, NodeId), Vec<(Port, Port)>> {
        let sends = self.modules.iter().flat_map(|(from, spec)| {
            spec.instructions.iter().filter_map(move |instruction| match instruction {
                Instruction::Send { to, .. } if to.node != from.node => Some((*from, *to)),
                _ => None,
            })
        });
        let mut joints: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for (one, other) in sends.map(|(from, to)| (from.min(to), from.max(to))) {
            joints.entry((one.node, other.node)).or_default().insert((one.port, other.port));
        }
        joints.into_iter().map(|(nodes, ports)| (nodes, ports.into_iter().collect())).collect()
    }

    pub(super) fn transport(&self) -> Transport {
        self.case.transport
    }
}

fn bus(framing: Framing, stations: u16) -> Box<dyn Device> {
    Box::new(Bus::new(BusParameters { framing, stations }).expect("the parameters are possible"))
}

/// What carries between two nodes on different elements, and at which stations; none: an interrupt. All processors of the server, and
/// all heads, are at one station of the VMEbus each: a bus serves requests as they come, whoever makes them.
fn way(one: NodeId, other: NodeId) -> Option<(Medium, Station, Station)> {
    let elements = [Element::of(one), Element::of(other)];
    let medium = match elements[0].min(elements[1]) {
        _ if elements.contains(&Element::Interrupt) => return None,
        Element::ClientApplic => Medium::Sbus,
        Element::ServerApplic => Medium::Vmebus,
        _ => Medium::Lan,
    };
    Some((medium, station(medium, one), station(medium, other)))
}

fn station(medium: Medium, node: NodeId) -> Station {
    match (medium, Element::of(node)) {
        (Medium::Lan, Element::ClientXport) => match client_of(node) {
            0 => Station(0),
            // Between them are the server's station and two of background load.
            client => Station(client + 3),
        },
        (Medium::Lan, Element::ServerXport) => Station(1),
        (_, Element::ClientXport | Element::ServerXport) => Station(0),
        (_, Element::ClientApplic | Element::ServerApplic) => Station(1),
        (_, Element::VectorProcessor | Element::LoadSender) => Station(2),
        (_, Element::LoadReceiver) => Station(3),
        (_, Element::Interrupt) => unreachable!("an interrupt goes by no device"),
    }
}

fn idle(instructions: Vec<Instruction>) -> ModuleSpec {
    ModuleSpec {
        timing: None,
        messages: vec![],
        predecessors: 0,
        any_predecessor: false,
        instructions,
        variables: Vec::new(),
        successors: vec![],
    }
}

/// So many cycles of work.
pub(super) fn work(cycles: f64) -> Instruction {
    Instruction::Execute(CYCLE, Distribution::Constant(cycles))
}

/// A message of so many bytes.
pub(super) fn send((to, message): (Address, MessageType), bytes: f64) -> Instruction {
    let bytes = Distribution::Constant(bytes);
    Instruction::Send { to, message, bytes, class: Class::Asynchronous }
}

/// A read or a job has come to its end.
pub(super) fn mark(at: Address) -> Instruction {
    Instruction::Mark { at, number: 1 }
}

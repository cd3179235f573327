//! The simulated host from outside: processors, devices, faults.

mod broken_session;
mod calls;
mod disconnect;
mod faults;
mod frame_costs;
mod links;
mod marks;
mod own_first;
mod processors;
mod programs;
mod resumed_session;
mod several_processors;
mod torn_writes;

use quintet_contract::{Address, Random, Span, Stage};
use quintet_simulate::device::Class;
use quintet_simulate::{
    Costs, Distribution, Instruction, LinkModel, MessageType, Module, ModuleSpec, Simulation, Timing,
};

/// The one kind of message there is here.
const NOTE: MessageType = MessageType(0);
/// The one instruction there is here.
const WORK: Stage = Stage(0);

const fn at(node: u16) -> Address {
    Address::new(node, 1024)
}

/// A module that runs at `first` seconds, once.
fn starter(first: f64, instructions: Vec<Instruction>) -> ModuleSpec {
    let timing = Timing { first: Distribution::Constant(first), every: None, limit: 1 };
    ModuleSpec {
        timing: Some(timing),
        messages: vec![],
        predecessors: 0,
        any_predecessor: false,
        instructions,
        variables: Vec::new(),
        successors: vec![],
    }
}

/// A module that runs for each message.
fn server(instructions: Vec<Instruction>) -> ModuleSpec {
    ModuleSpec { timing: None, messages: vec![(NOTE, 1)], ..starter(0.0, instructions) }
}

fn work(times: f64) -> Instruction {
    Instruction::Execute(WORK, Distribution::Constant(times))
}

fn note(to: u16, bytes: f64) -> Instruction {
    let bytes = Distribution::Constant(bytes);
    Instruction::Send { to: at(to), message: NOTE, bytes, class: Class::Asynchronous }
}

/// Adds a module as node `node`; each unit of its work is one cycle.
fn add(run: &mut Simulation, node: u16, spec: ModuleSpec) {
    run.add(at(node), Module::new(spec, Random::new(1, node.into())));
    run.set_costs(at(node), Costs::from([(WORK, Distribution::Constant(1.0))]));
}

fn join(run: &mut Simulation, a: u16, b: u16) {
    let direct = LinkModel { delay_min: Span::ZERO, delay_max: Span::ZERO, ..LinkModel::default() };
    run.connect(at(a), at(b), direct);
}

/// When a node's last activation ended, in microseconds.
fn ended(run: &Simulation, node: u16) -> Option<f64> {
    let statistics = run.node_statistics(at(node).node)?;
    statistics.last_end.map(|end| end.as_seconds() * 1e6)
}

//! How fast models run, and what they take.
//!
//! | file | holds |
//! | --- | --- |
//! | `simulate/hold.rs` | the queue of pending events, with a thousand of them and a million |
//! | `simulate/queue.rs` | a queue with one server |
//! | `simulate/ethernet.rs` | stations on one Ethernet |
//! | `simulate/hops.rs` | packets over several hops of a network |
//! | `simulate/lan.rs` | requests over several hops, from a model file |
//! | `simulate/processes.rs` | the queue, of processes in Python |
//! | `simulate/nodes.rs` | memory of ten thousand nodes |

mod ethernet;
mod hold;
mod hops;
mod lan;
mod nodes;
mod processes;
mod queue;

use super::case::Case;
use quintet::{Code, Error};
use quintet_contract::{Address, Random};
use quintet_simulate::device::Class;
use quintet_simulate::{Distribution, Instruction, MessageType, Module, ModuleSpec, Timing};

pub(crate) use nodes::NodesArguments;

/// The one kind of message of these models.
const CUSTOMER: MessageType = MessageType(0);

pub(super) fn cases() -> Vec<Case> {
    let networks = [ethernet::cases(), hops::cases(), lan::cases()];
    let all = [hold::cases(), queue::cases()].into_iter().chain(networks);
    let all = all.chain([processes::cases(), nodes::cases()]);
    all.flatten().collect()
}

/// A module that sends `count` messages, at exponential intervals of `mean` seconds.
fn source(to: Address, bytes: f64, mean: f64, count: u64) -> ModuleSpec {
    let between = Distribution::Exponential { mean };
    let timing = Timing { first: between.clone(), every: Some(between), limit: count };
    ModuleSpec { timing: Some(timing), messages: Vec::new(), ..server(vec![send(to, bytes)]) }
}

/// A module that executes this for each message.
fn server(instructions: Vec<Instruction>) -> ModuleSpec {
    ModuleSpec {
        timing: None,
        messages: vec![(CUSTOMER, 1)],
        predecessors: 0,
        any_predecessor: false,
        instructions,
        variables: Vec::new(),
        successors: Vec::new(),
    }
}

fn send(to: Address, bytes: f64) -> Instruction {
    let bytes = Distribution::Constant(bytes);
    Instruction::Send { to, message: CUSTOMER, bytes, class: Class::Asynchronous }
}

/// The module with the random stream of its address.
fn module(at: Address, spec: ModuleSpec) -> Module {
    Module::new(spec, Random::new(1, u64::from(at.to_bits())))
}

/// That a model did all that was asked for.
fn check(done: u64, wanted: u64) -> Result<(), Error> {
    if done == wanted {
        return Ok(());
    }
    Err(Error::new(Code::Mismatch, format!("the model came to {done} of {wanted}")))
}

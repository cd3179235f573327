//! An M/M/1 queue: customers come at random, wait for the server in order, and are served for a random time.

use super::super::case::{Beside, Better, Case, Group, Round, Unit};
use super::super::peer::Peer;
use super::{check, module, server, source};
use quintet::Error;
use quintet_contract::{Address, Span, Stage};
use quintet_simulate::{Costs, Distribution, Instruction, LinkModel, Simulation};
use std::time::Instant;

/// Customers of a round.
const CUSTOMERS: u64 = 500_000;
const WARM_UP: u64 = 20_000;
/// From one customer to the next, in seconds.
const BETWEEN: f64 = 10e-6;
/// The service of one, in picoseconds: cycles of the default processor. The load is 0.8.
const SERVICE: f64 = 8e6;

const SERVE: Stage = Stage(0);
const SOURCE: Address = Address::new(1, 1024);
const SERVER: Address = Address::new(2, 1024);

/// A process-based simulator in Python.
const SIMPY: Peer = Peer::new("simpy", "simpy_models.py", "mm1");
/// A simulator of asynchronous models in Rust, on one thread.
const NEXOSIM: Peer = Peer::new("nexosim", "nexosim", "mm1");

pub(super) fn cases() -> Vec<Case> {
    let unit = Unit::PerSecond("customers");
    [(SIMPY, 20.), (NEXOSIM, 1.)]
        .into_iter()
        .map(|(peer, goal)| {
            Case::new(Group::Simulate, "mm1", unit, Better::Higher, prepare)
                .beside(Beside::Program(peer))
                .goal(goal)
        })
        .collect()
}

/// Customers a second: a module sends each to another over a link without delay; waiting, response and use are counted.
fn prepare() -> Result<Round, Error> {
    simulate(WARM_UP)?;
    Ok(Box::new(|| {
        let started = Instant::now();
        simulate(CUSTOMERS)?;
        Ok(CUSTOMERS as f64 / started.elapsed().as_secs_f64())
    }))
}

/// Simulates so many customers.
fn simulate(customers: u64) -> Result<(), Error> {
    let mut run = Simulation::new(1);
    let serve = Instruction::Execute(SERVE, Distribution::Constant(1.0));
    run.add(SOURCE, module(SOURCE, source(SERVER, 0.0, BETWEEN, customers)));
    run.add(SERVER, module(SERVER, server(vec![serve])));
    run.set_costs(SERVER, Costs::from([(SERVE, Distribution::Exponential { mean: SERVICE })]));
    let direct = LinkModel { delay_min: Span::ZERO, delay_max: Span::ZERO, ..LinkModel::default() };
    run.connect(SOURCE, SERVER, direct);
    while run.step() {}
    check(run.node_statistics(SERVER.node).map_or(0, |statistics| statistics.activations), customers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_customer_is_served() {
        simulate(1_000).expect("all are served");
    }
}

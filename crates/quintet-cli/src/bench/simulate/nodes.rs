//! What ten thousand modelled nodes take.
//!
//! A process of its own builds and runs the model and asks the kernel how its anonymous memory grew: what the allocator adds is in it.

use super::super::case::{Better, Case, Group, Round, Unit};
use super::super::peer::Statistic;
use super::super::space::anonymous_bytes;
use super::{CUSTOMER, check, module, send, server};
use crate::companion::Companion;
use crate::connection::refused;
use crate::output::print_line;
use clap::Args;
use quintet::{Code, Error};
use quintet_contract::{Address, Span};
use quintet_simulate::{Distribution, LinkModel, ModuleSpec, Simulation, Timing};
use serde_json::json;
use std::io::read_to_string;
use std::process::ExitCode;

const NODES: u16 = 10_000;
/// 2 GiB.
const GOAL: f64 = (2_u64 << 30) as f64;

/// Builds a ring of modelled nodes, runs it, and says what memory it took.
#[derive(Args)]
pub(crate) struct NodesArguments {
    /// How many nodes
    #[arg(long, default_value_t = NODES, value_parser = clap::value_parser!(u16).range(2..60_000))]
    nodes: u16,
}

pub(super) fn cases() -> Vec<Case> {
    vec![Case::new(Group::Simulate, "nodes-10000", Unit::Bytes, Better::Lower, prepare).goal(GOAL)]
}

/// Memory of 10,000 nodes in a ring, each a module on a processor of its own with links to both neighbours, after each has
/// sent and received 10 messages.
fn prepare() -> Result<Round, Error> {
    Ok(Box::new(|| {
        let mut running = Companion::start(["bench-nodes".into()])?;
        let said = running.output().map(read_to_string).transpose();
        let said = said.map_err(refused("hear what the nodes took"))?.unwrap_or_default();
        let missing =
            || Error::new(Code::PeerDied, "the process that simulates nodes ended before it was done");
        Statistic::Mean.find(&said).ok_or_else(missing)
    }))
}

impl NodesArguments {
    /// Says it as the programs of benches/peers do.
    pub(crate) fn run(&self) -> Result<ExitCode, Error> {
        let before = anonymous_bytes()?;
        let mut run = Simulation::new(1);
        let at = |node: u16| Address::new(1 + node, 1024);
        for node in 0..self.nodes {
            run.add(at(node), module(at(node), relay(at((node + 1) % self.nodes))));
        }
        for node in 0..self.nodes {
            run.connect(at(node), at((node + 1) % self.nodes), LinkModel::default());
        }
        run.run_for(Span::from_secs(1));
        let taken = anonymous_bytes()?.saturating_sub(before);
        for node in 0..self.nodes {
            check(run.node_statistics(at(node).node).map_or(0, |statistics| statistics.waiting.count()), 10)?;
        }
        print_line(json!({"case": "nodes-10000", "unit": "bytes", "statistic": "mean", "value": taken}))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Sends ten messages to the next node, one each 10 ms, and takes those that come.
fn relay(next: Address) -> ModuleSpec {
    let every = Distribution::Constant(10e-3);
    let timing = Timing { first: every.clone(), every: Some(every), limit: 10 };
    ModuleSpec { timing: Some(timing), messages: vec![(CUSTOMER, 0)], ..server(vec![send(next, 100.0)]) }
}

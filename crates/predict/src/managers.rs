//! A space over several managers, each on a core of its own: how many pairs a second its clients come to together.

use crate::calibrate::{Calibrated, machine};
use crate::floor::{Floor, Place, program_at, relay};
use crate::program::{BEGIN, BYTES, Client, Keys};
use crate::study::interval;
use bytes::Bytes;
use quintet_contract::{NodeId, OwnedFrame, Span, Token};
use quintet_simulate::in_parallel;
use quintet_simulate::statistics::Interval;
use quintet_tuple_space::codec::MAX_MANAGERS;

/// Until all have greeted each other.
const START: Span = Span::from_millis(100);
/// Until a signature is where it belongs.
const WARM_UP: Span = Span::from_millis(5);
/// For how long pairs are counted.
const COUNTED: Span = Span::from_millis(20);
const FIRST_CLIENT: u16 = 1;
/// Clients at most.
pub const MOST_CLIENTS: u16 = 1_000;

/// Clients that put and take, and the managers of their space.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ManagersPlan {
    /// What tuples are told apart by.
    pub keys: Keys,
    /// How many managers, from 1 to 16. One is a space that is not spread, without a router, as it is live.
    pub managers: u8,
    /// How many clients, from 1 to [`MOST_CLIENTS`], each a process with a core of its own.
    pub clients: u16,
}

/// What one run said.
#[derive(Clone, PartialEq, Debug)]
pub struct ManagersRun {
    /// Of all clients together.
    pub pairs_per_second: f64,
    /// The share of the time in which each manager's core was busy, whatever it did.
    pub busy: Vec<f64>,
    /// Sums up the run: the same for the same seed, on every machine.
    pub digest: u64,
}

/// What runs over seeds said together.
#[derive(Clone, PartialEq, Debug)]
pub struct ManagersRow {
    /// What was run.
    pub plan: ManagersPlan,
    /// A seed each. It decides at which manager a key is.
    pub runs: Vec<ManagersRun>,
}

impl ManagersRow {
    /// The mean over the seeds, and how far from it the true mean may lie: infinite for one seed.
    ///
    /// # Panics
    /// If there is no run.
    pub fn interval(&self, value: impl Fn(&ManagersRun) -> f64) -> Interval {
        interval(self.runs.iter().map(value)).expect("there is a run")
    }

    /// How busy the busiest manager was, in the mean.
    #[must_use]
    pub fn busiest(&self) -> f64 {
        self.interval(|run| run.busy.iter().copied().fold(0.0, f64::max)).mean
    }
}

/// Runs a plan on a machine with a core for each manager and each client.
///
/// # Panics
/// If there are no managers or clients, or more than the plan may have.
#[must_use]
pub fn managers(calibrated: &Calibrated, plan: &ManagersPlan, seed: u64) -> ManagersRun {
    let ManagersPlan { keys, managers, clients } = *plan;
    assert!((1..=MAX_MANAGERS).contains(&managers.into()), "from 1 to MAX_MANAGERS managers");
    assert!((1..=MOST_CLIENTS).contains(&clients), "from 1 to MOST_CLIENTS clients");
    let cluster = machine(u32::from(managers) + u32::from(clients), calibrated);
    let mut floor = Floor::new(seed, &cluster, BYTES).expect("there is no network");
    let places = match managers {
        1 => vec![floor.add_space(0)],
        _ => floor.add_managers(0, managers),
    };
    let nodes = FIRST_CLIENT..FIRST_CLIENT + clients;
    for node in nodes.clone().map(NodeId) {
        floor.add_program(0, node, Client::new(relay(node), node.0.into(), keys));
    }
    floor.simulation.run_for(START);
    for node in nodes.clone().map(NodeId) {
        let begin = OwnedFrame { kind: BEGIN, token: Token(0), body: Bytes::new(), bulk: Bytes::new() };
        floor.simulation.inject(program_at(node), begin);
    }
    floor.simulation.run_for(WARM_UP);
    floor.simulation.reset_statistics();
    let before = pairs(&floor, nodes.clone());
    floor.simulation.run_for(COUNTED);
    let busy = |place: &Place| floor.simulation.processor_statistics(place.core).utilisation;
    ManagersRun {
        pairs_per_second: (pairs(&floor, nodes) - before) as f64 / (COUNTED.0 as f64 * 1e-9),
        busy: places.iter().map(busy).collect(),
        digest: floor.simulation.digest(),
    }
}

/// Pairs of all clients so far.
fn pairs(floor: &Floor<'_>, nodes: core::ops::Range<u16>) -> u64 {
    let pairs = |node| {
        let client: &Client = floor.simulation.get(program_at(NodeId(node))).expect("it was placed there");
        assert_eq!(client.caller.failed, None, "the space refuses no pair");
        client.pairs
    };
    nodes.map(pairs).sum()
}

/// Runs a plan once a seed. The results are the same however many threads run.
#[must_use]
pub fn managers_row(calibrated: &Calibrated, plan: &ManagersPlan, seeds: u64) -> ManagersRow {
    let seeds: Vec<u64> = (0..seeds).collect();
    let runs = in_parallel(&seeds, |seed| managers(calibrated, plan, *seed));
    ManagersRow { plan: *plan, runs }
}

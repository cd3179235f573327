//! Beyond the study: today's hosts, up to the most nodes and switches that there may be.

mod losing;
mod sizes;
mod streams;

pub(super) use sizes::draw;

use super::bed::{Bed, Machines, Plan, Wires};
use super::figure::Figure;
use super::measure::{micros, quantile, row};
use super::program::{Task, Way};
use quintet_contract::{NodeId, Span};
use quintet_isotach::Topology;

/// Bytes of a message's data.
const DATA: usize = 64;
/// Messages of each pair whose latency is looked at, one at a time.
const TURNS: u32 = 8;
/// Switches of the network with a slow host, and hosts at each.
const SMALL: (u16, u16) = (4, 4);
const SWITCHES: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];
const SWITCHES_QUICK: [usize; 3] = [1, 4, 16];
const FAN_OUT: [usize; 6] = [1, 4, 16, 64, 128, 255];
const FAN_OUT_QUICK: [usize; 3] = [1, 4, 16];
const SLOWNESS: [usize; 4] = [1, 10, 100, 1_000];
const JITTER: [usize; 5] = [1, 2, 4, 8, 16];
/// The ways that are compared: fast messages keep no copy for their sender to send again, and are of the study only.
pub(super) const WAYS: [Way; 3] = [Way::Plain, Way::Agreed, Way::Safe];
/// Streams of the randomness that chooses receivers.
const CHOICE: u64 = 1;

/// What was found.
pub(super) struct Beyond {
    pub(super) figures: Vec<Figure>,
    pub(super) findings: Vec<String>,
}

/// What a run came to.
struct Outcome {
    /// Latencies in microseconds, ascending.
    latencies: Vec<f64>,
    /// Isochrons, or messages.
    sent: u64,
    tokens: u64,
    seconds: f64,
}

impl Outcome {
    fn mean(&self) -> f64 {
        self.latencies.iter().sum::<f64>() / self.latencies.len().max(1) as f64
    }

    /// The same with those of another run.
    fn with(mut self, other: Outcome) -> Outcome {
        self.latencies.extend(other.latencies);
        self.latencies.sort_by(f64::total_cmp);
        let Outcome { sent, tokens, seconds, .. } = other;
        Outcome {
            sent: self.sent + sent,
            tokens: self.tokens + tokens,
            seconds: self.seconds + seconds,
            ..self
        }
    }

    fn tokens_each(&self) -> f64 {
        self.tokens as f64 / self.sent as f64
    }

    fn quantile(&self, share: f64) -> f64 {
        quantile(&self.latencies, share)
    }
}

/// Sends so many to each, one after the other, each when the one before has been acknowledged.
pub(super) fn one_by_one(to: Vec<Vec<NodeId>>, turns: u32) -> Task {
    let left = u32::try_from(to.len()).expect("few") * turns;
    Task::Stream { to, window: 1, left }
}

/// Runs a plan to its end; of which hosts the latencies are.
fn run_plan(plan: Plan, of: impl Fn(NodeId) -> bool) -> Outcome {
    let isochrons: u64 = plan
        .tasks
        .values()
        .map(|task| if let Task::Stream { left, .. } = task { u64::from(*left) } else { 0 })
        .sum();
    let hosts: Vec<NodeId> = plan.topology.nodes().collect();
    let mut bed = Bed::new(plan);
    bed.begin();
    bed.rest();
    let received = hosts.into_iter().filter(|host| of(*host)).flat_map(|host| &bed.program(host).arrivals);
    let mut latencies: Vec<f64> = received.map(|arrival| micros(arrival.latency.0)).collect();
    latencies.sort_by(f64::total_cmp);
    Outcome { latencies, sent: isochrons, tokens: bed.tokens(), seconds: bed.run.clock().as_seconds() }
}

fn plan(topology: Topology, way: Way) -> Plan {
    Plan::new(topology, Machines::Today(Wires::STEADY), way, DATA)
}

/// Between the two ends of a row of switches.
fn across(switches: usize, way: Way) -> Outcome {
    let switches = u16::try_from(switches).expect("few");
    let topology = row(switches, 2).expect("there may be as many switches");
    let mut plan = plan(topology, way);
    plan.tasks.insert(NodeId(1), one_by_one(vec![vec![NodeId(2 * switches)]], TURNS));
    run_plan(plan, |_| true)
}

/// To so many hosts at one switch: how long until the last has it.
fn to_many(receivers: usize, way: Way) -> f64 {
    let receivers = u16::try_from(receivers).expect("few");
    let mut plan = plan(row(1, receivers + 1).expect("there may be as many hosts"), way);
    plan.tasks.insert(NodeId(1), one_by_one(vec![(2..=receivers + 1).map(NodeId).collect()], TURNS));
    run_plan(plan, |_| true).quantile(1.0)
}

/// Latencies while the last host is so many times slower: of messages to it, or of all others.
fn beside_slow(times: usize, way: Way, to_slow: bool) -> f64 {
    let topology = row(SMALL.0, SMALL.1).expect("it is small");
    let hosts: Vec<NodeId> = topology.nodes().collect();
    let slow = NodeId(SMALL.0 * SMALL.1);
    let mut plan = plan(topology, way);
    for (at, host) in hosts.iter().enumerate().filter(|(_, host)| **host != slow) {
        // The first tells the slow one something, the others somebody at the next switch, and none of them both.
        let next = hosts[(at + usize::from(SMALL.1)) % (hosts.len() - 1)];
        let to = if at == 0 { slow } else { next };
        plan.tasks.insert(*host, one_by_one(vec![vec![to]], TURNS));
    }
    plan.slow = Some((slow, times as u64));
    run_plan(plan, |host| (host == slow) == to_slow).mean()
}

/// Across eight switches whose links take up to so many times as long as the shortest.
fn varied(jitter: usize, way: Way, seeds: u64) -> f64 {
    let of_seed = |seed| {
        let topology = row(8, 2).expect("it is small");
        let mut plan = Plan { seed, ..plan(topology, way) };
        let longest = Span(Wires::STEADY.shortest.0 * jitter as u64);
        plan.machines = Machines::Today(Wires { longest, ..Wires::STEADY });
        plan.tasks.insert(NodeId(1), one_by_one(vec![vec![NodeId(16)]; 8], TURNS));
        run_plan(plan, |_| true).mean()
    };
    (0..seeds).map(of_seed).sum::<f64>() / seeds as f64
}

/// From one end of a row of switches to the other, at rest before.
fn distances(switches: &[usize], beyond: &mut Beyond) {
    let mut latency =
        Figure::beyond("A", "across a row of switches, nothing else under way", "switches", "us");
    let mut tokens = Figure::beyond("B", "tokens of one isochron across the row", "switches", "tokens");
    for way in WAYS {
        latency = latency.simulated(way.name(), switches, |count| across(count, way).mean());
    }
    for way in Way::ISOCHRONS {
        tokens = tokens.simulated(way.name(), switches, |count| across(count, way).tokens_each());
    }
    let last = *switches.last().expect("there are some") as f64;
    let of = |way: Way| latency.value(way.name(), last).unwrap_or_default();
    beyond.findings.push(format!(
        "Across {last} switches in a row, with nothing else under way, a plain message takes {:.0} us, an agreed isochron {:.0} and a safe one {:.0}.",
        of(Way::Plain), of(Way::Agreed), of(Way::Safe)
    ));
    beyond.figures.extend([latency, tokens]);
}

fn fan_out(is_quick: bool, beyond: &mut Beyond) {
    let receivers: &[usize] = if is_quick { &FAN_OUT_QUICK } else { &FAN_OUT };
    let figure = Figure::beyond("F", "one switch: until the last receiver has it", "receivers", "us");
    let figure = WAYS
        .into_iter()
        .fold(figure, |figure, way| figure.simulated(way.name(), receivers, |count| to_many(count, way)));
    beyond.figures.push(figure);
}

fn slow_host(beyond: &mut Beyond) {
    let mut figure = Figure::beyond("G", "one slow host of 16 at 4 switches", "times as slow", "us, mean");
    for way in WAYS {
        let name = |whose: &str| format!("{}, {whose}", way.name());
        figure = figure.simulated(name("others"), &SLOWNESS, |times| beside_slow(times, way, false));
        figure = figure.simulated(name("to the slow one"), &SLOWNESS, |times| beside_slow(times, way, true));
    }
    let others = |times| figure.value("isochrons, safe, others", times).unwrap_or_default();
    let (usual, slowest) = (others(1.0), others(1_000.0));
    beyond.findings.push(format!(
        "A host that is 1000 times slower than 15 others makes isochrons between those take {slowest:.1} us where they took {usual:.1}: nobody waits for a token of it."
    ));
    beyond.figures.push(figure);
}

fn jitter(seeds: u64, beyond: &mut Beyond) {
    let figure =
        Figure::beyond("H", "8 switches, links that vary", "longest by shortest time of a link", "us, mean");
    let figure = WAYS.into_iter().fold(figure, |figure, way| {
        figure.simulated(way.name(), &JITTER, |jitter| varied(jitter, way, seeds))
    });
    beyond.figures.push(figure);
}

/// Everything beyond the study.
pub(super) fn run(is_quick: bool, seeds: u64) -> Beyond {
    let mut beyond = Beyond { figures: Vec::new(), findings: Vec::new() };
    let switches: &[usize] = if is_quick { &SWITCHES_QUICK } else { &SWITCHES };
    distances(switches, &mut beyond);
    streams::run(is_quick, switches, &mut beyond);
    sizes::everybody_sends(is_quick, &mut beyond);
    fan_out(is_quick, &mut beyond);
    slow_host(&mut beyond);
    jitter(seeds, &mut beyond);
    losing::run(is_quick, seeds, &mut beyond);
    sizes::one_host_sends(is_quick, &mut beyond);
    beyond
}

//! Networks of 16 to 10,000 hosts: when everybody sends, and what one isochron takes while nothing else is under way, against distance and against the number of its
//! receivers.

use super::super::figure::Figure;
use super::super::measure::tree;
use super::super::program::Way;
use super::{Beyond, CHOICE, Outcome, TURNS, one_by_one, plan, run_plan};
use quintet_contract::{NodeId, Random};
use quintet_isotach::Topology;
use std::collections::BTreeSet;

/// Hosts at a switch.
const HOSTS_EACH: usize = 16;
/// Receivers of an isochron in a network where everybody sends.
const RECEIVERS: usize = 4;
const HOSTS: [usize; 4] = [16, 256, 1024, 10_000];
const HOSTS_QUICK: [usize; 2] = [16, 256];
/// Networks in which one host sends.
const AT_REST: [usize; 3] = [16, 256, 10_000];
/// Receivers of one isochron, as far as there are so many others; with the data of all it may have 60 KiB.
const FAN_OUT: [usize; 6] = [1, 4, 16, 64, 256, 512];
/// Streams of the randomness that chooses receivers of one sender.
const ONE_CHOICE: u64 = 2;

/// A tree of switches, each with 16 hosts and four switches below it.
fn large(hosts: usize) -> Topology {
    let narrow = |count: usize| u16::try_from(count).expect("node numbers are");
    let topology = tree(narrow(hosts / HOSTS_EACH), narrow(HOSTS_EACH), |at| (at > 0).then(|| (at - 1) / 4));
    topology.expect("there may be as many hosts and switches")
}

/// So many other hosts, in the order in which they are drawn.
pub(in super::super) fn draw(
    hosts: &[NodeId],
    sender: NodeId,
    count: usize,
    random: &mut Random,
) -> Vec<NodeId> {
    let mut drawn = Vec::new();
    while drawn.len() < count {
        let other = hosts[usize::try_from(random.below(hosts.len() as u64)).expect("few")];
        if other != sender && !drawn.contains(&other) {
            drawn.push(other);
        }
    }
    drawn
}

/// Every host sends isochrons to four others, one after the other.
fn everybody(topology: Topology, way: Way) -> Outcome {
    let hosts: Vec<NodeId> = topology.nodes().collect();
    let mut random = Random::new(0, CHOICE);
    let mut plan = plan(topology, way);
    for host in &hosts {
        let to = draw(&hosts, *host, RECEIVERS, &mut random);
        plan.tasks.insert(*host, one_by_one(vec![to], TURNS));
    }
    run_plan(plan, |_| true)
}

/// One host sends to these, one isochron after the other.
fn one_sends(topology: &Topology, way: Way, sender: NodeId, to: Vec<NodeId>) -> Outcome {
    let mut plan = plan(topology.clone(), way);
    plan.tasks.insert(sender, one_by_one(vec![to], TURNS));
    run_plan(plan, |_| true)
}

/// Everybody sends, in networks of more and more hosts.
pub(super) fn everybody_sends(is_quick: bool, beyond: &mut Beyond) {
    let sizes = if is_quick { HOSTS_QUICK.to_vec() } else { HOSTS.to_vec() };
    let runs: Vec<[Outcome; 2]> =
        sizes.iter().map(|hosts| Way::ISOCHRONS.map(|way| everybody(large(*hosts), way))).collect();
    let across = "hosts, 16 a switch";
    let mut latency = Figure::beyond("C", "everybody sends to 4 others", across, "us");
    let mut tokens = Figure::beyond("D", "tokens while everybody sends", across, "tokens an isochron");
    let mut rate = Figure::beyond("E", "isochrons while everybody sends", across, "thousands a second");
    let of = |hosts: usize, index: usize| {
        &runs[sizes.iter().position(|size| *size == hosts).expect("one of them")][index]
    };
    for (index, way) in Way::ISOCHRONS.into_iter().enumerate() {
        latency = latency.simulated(way.name(), &sizes, |hosts| of(hosts, index).mean());
        let name = format!("{}, 99 of 100", way.name());
        latency = latency.simulated(name, &sizes, |hosts| of(hosts, index).quantile(0.99));
        tokens = tokens.simulated(way.name(), &sizes, |hosts| of(hosts, index).tokens_each());
        rate = rate.simulated(way.name(), &sizes, |hosts| {
            of(hosts, index).sent as f64 / of(hosts, index).seconds / 1e3
        });
    }
    if let (Some(hosts), Some([_, safe])) = (sizes.last(), runs.last()) {
        beyond.findings.push(format!(
            "With {hosts} hosts that all send safe isochrons to 4 others a message takes {:.0} us in the mean and {:.0} at most in 99 of 100; an isochron takes {:.2} tokens of the whole network.",
            safe.mean(),
            safe.quantile(0.99),
            safe.tokens_each()
        ));
    }
    beyond.figures.extend([latency, tokens, rate]);
}

/// What one isochron takes in networks that are at rest before.
pub(super) fn one_host_sends(is_quick: bool, beyond: &mut Beyond) {
    let mut distance = Against {
        latency: Figure::beyond("I", "one isochron, nothing else under way", "switches on the way", "us"),
        tokens: Figure::beyond("J", "tokens of one isochron", "switches on the way", "tokens"),
    };
    let mut fan_out = Against {
        latency: Figure::beyond("K", "one isochron: until the last receiver has it", "receivers", "us"),
        tokens: Figure::beyond("L", "tokens of one isochron", "receivers", "tokens"),
    };
    let sizes: &[usize] = if is_quick { &HOSTS_QUICK } else { &AT_REST };
    for hosts in sizes {
        let topology = large(*hosts);
        for way in Way::ISOCHRONS {
            let name = format!("{hosts} hosts, {}", way.name());
            distance = distance.with(&name, by_distance(&topology, way));
            fan_out = fan_out.with(&name, by_fan_out(&topology, way, is_quick));
        }
    }
    beyond.findings.extend([distance.finding("across", "switches"), fan_out.finding("to", "receivers")]);
    beyond.figures.extend([distance.latency, distance.tokens, fan_out.latency, fan_out.tokens]);
}

/// The latency and the tokens of one isochron, against something.
struct Against {
    latency: Figure,
    tokens: Figure,
}

impl Against {
    /// With one more network, and what was found there at each place.
    fn with(self, name: &str, found: Vec<(usize, Outcome)>) -> Against {
        let places: Vec<usize> = found.iter().map(|(at, _)| *at).collect();
        let mut values = found.iter().map(|(_, outcome)| outcome.quantile(1.0));
        let latency = self.latency.simulated(name, &places, |_| values.next().unwrap_or_default());
        let mut values = found.iter().map(|(_, outcome)| outcome.tokens_each());
        let tokens = self.tokens.simulated(name, &places, |_| values.next().unwrap_or_default());
        Against { latency, tokens }
    }

    /// What the last line ends with.
    fn finding(&self, so_far: &str, unit: &str) -> String {
        let last = |figure: &Figure| figure.lines.last().and_then(|line| line.points.last().copied());
        let (across, latency) = last(&self.latency).unwrap_or_default();
        let (_, tokens) = last(&self.tokens).unwrap_or_default();
        let name = self.latency.lines.last().map_or("", |line| line.name.as_str());
        format!(
            "With nothing else under way ({name}), one that goes {so_far} {across} {unit} takes {latency:.0} us at most and {tokens:.0} tokens of the whole network."
        )
    }
}

/// From the last host to one at each distance that there is.
fn by_distance(topology: &Topology, way: Way) -> Vec<(usize, Outcome)> {
    let sender = topology.nodes().last().expect("there are hosts");
    let mut seen = BTreeSet::new();
    let others = topology.nodes().filter(|host| *host != sender);
    let first_of_each: Vec<(u32, NodeId)> = others
        .filter_map(|host| Some((topology.distance(sender, host)?, host)))
        .filter(|(distance, _)| seen.insert(*distance))
        .collect();
    let mut found: Vec<(usize, Outcome)> = first_of_each
        .into_iter()
        .map(|(distance, host)| (distance as usize, one_sends(topology, way, sender, vec![host])))
        .collect();
    found.sort_by_key(|(distance, _)| *distance);
    found
}

/// From the last host to more and more others, wherever they are.
fn by_fan_out(topology: &Topology, way: Way, is_quick: bool) -> Vec<(usize, Outcome)> {
    let hosts: Vec<NodeId> = topology.nodes().collect();
    let sender = *hosts.last().expect("there are hosts");
    let counts = if is_quick { &FAN_OUT[..3] } else { &FAN_OUT };
    let to = |count: usize| draw(&hosts, sender, count, &mut Random::new(0, ONE_CHOICE));
    let counts = counts.iter().copied().filter(|count| *count < hosts.len());
    counts.map(|count| (count, one_sends(topology, way, sender, to(count)))).collect()
}

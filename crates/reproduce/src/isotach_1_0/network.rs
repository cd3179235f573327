//! Isochrons on a network of anybody's: a topology, with hosts and wires of today.

mod report;

pub use super::bed::Wires;

use super::bed::{Bed, Machines, Plan};
use super::beyond::{WAYS, draw, one_by_one};
use super::measure::{micros, quantile};
use super::program::Way;
use core::fmt;
use quintet_contract::{Bytes, NodeId, Random, Span};
use quintet_isotach::limits::{MAX_ISOCHRON_BYTES, MAX_UNEXECUTED};
use quintet_isotach::{Operation, Topology, TopologyError};
use quintet_session::MAX_ASKED;
use quintet_wire::encode_to_vec;
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of data that a message has at least: when it was sent.
pub const MIN_DATA_BYTES: usize = 8;
/// Others that an isochron goes to at most: as many plain messages a node may have under way.
pub const MAX_RECEIVERS: usize = MAX_UNEXECUTED - 1;
/// Longer than any run takes, however slow its wires are.
const LIMIT: Span = Span::from_secs(1_000_000_000);
/// Streams of the randomness that chooses senders and receivers.
const SENDERS: u64 = 3;
const RECEIVERS: u64 = 4;

/// What nodes do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Load {
    /// How many nodes send; none: all. Which ones, the seed says.
    pub senders: Option<usize>,
    /// To how many others an isochron goes, for each sender the same ones, which the seed chooses.
    pub receivers: usize,
    /// Isochrons of each sender, the next when the last has been executed everywhere.
    pub isochrons: u32,
    /// Bytes of each message: [`MIN_DATA_BYTES`] at least.
    pub data: usize,
    /// Everything random follows from it.
    pub seed: u64,
}

/// Why there is no such run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NetworkError {
    /// There are not as many nodes.
    TooFewNodes {
        /// Of what.
        what: &'static str,
        /// How many were asked for.
        asked: usize,
        /// How many there may be.
        most: usize,
    },
    /// Messages have too few bytes.
    TooLittleData {
        /// How many were asked for.
        asked: usize,
    },
    /// An isochron would be too large.
    TooLarge {
        /// Its messages.
        messages: usize,
        /// Its bytes, encoded.
        bytes: usize,
    },
    /// Of the peers of a node, with sessions.
    TooManyPeers {
        /// The node, or one that stands for a switch.
        node: NodeId,
        /// Its peers.
        peers: usize,
    },
    /// With token managers in processes of their own it is no topology any more: its text becomes too long.
    Topology(TopologyError),
}

impl fmt::Display for NetworkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NetworkError::TooFewNodes { what, asked, most } => {
                write!(f, "{asked} {what}, of which there are {most} at most: ask for fewer, or add nodes")
            }
            NetworkError::TooLittleData { asked } => {
                write!(f, "messages of {asked} bytes, expected {MIN_DATA_BYTES} at least")
            }
            NetworkError::TooLarge { messages, bytes } => write!(
                f,
                "an isochron with {messages} messages of together {bytes} bytes, above the limits of {MAX_RECEIVERS} and {MAX_ISOCHRON_BYTES}: ask for fewer receivers or less data"
            ),
            NetworkError::TooManyPeers { node, peers } => write!(
                f,
                "node {} has {peers} peers, above the limit of {MAX_ASKED} where frames are lost: ask for fewer senders or receivers, or for no loss",
                node.0
            ),
            NetworkError::Topology(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for NetworkError {}

/// What isochrons took, or messages.
#[derive(Clone, PartialEq, Debug)]
pub struct Latencies {
    /// How many there were.
    pub count: usize,
    /// Microseconds until the last receiver had its part: half of them took as long at most.
    pub median: f64,
    /// 99 of 100 of them.
    pub p99: f64,
}

/// What one way of messages came to.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// The way.
    pub way: Way,
    /// By the switches on the way to the farthest receiver.
    pub by_distance: BTreeMap<u32, Latencies>,
    /// Of all.
    pub all: Latencies,
    /// Messages that were received.
    pub messages: u64,
    /// Tokens that all switches sent.
    pub tokens: u64,
    /// How long the run took.
    pub seconds: f64,
}

/// What was found on a network.
#[derive(Clone, PartialEq, Debug)]
pub struct Network {
    /// Nodes that are at switches.
    pub nodes: usize,
    /// Switches.
    pub switches: usize,
    /// The smallest and the largest logical distance of a node and another; none: there is one node only.
    pub distances: Option<(u32, u32)>,
    /// What nodes did.
    pub load: Load,
    /// Over what.
    pub wires: Wires,
    /// Plain messages to the same receivers, then isochrons.
    pub outcomes: Vec<Outcome>,
}

impl Network {
    /// Runs a load on a topology, once for each way of a message.
    ///
    /// # Errors
    /// [`NetworkError`]: the topology or an isochron has no room for the load.
    pub fn simulate(topology: &Topology, load: Load, wires: Wires) -> Result<Network, NetworkError> {
        let plan = plan(topology, load, wires)?;
        let run = |way| run(Plan { way, ..plan.clone() });
        Ok(Network {
            nodes: topology.node_count(),
            switches: topology.switches().len(),
            distances: distances(topology),
            load,
            wires,
            outcomes: WAYS.into_iter().map(run).collect(),
        })
    }
}

/// What is to be run, the way apart.
fn plan(topology: &Topology, load: Load, wires: Wires) -> Result<Plan, NetworkError> {
    let nodes: Vec<NodeId> = topology.nodes().collect();
    at_most("receivers of an isochron", load.receivers, nodes.len() - 1)?;
    at_most("senders", load.senders.unwrap_or(0), nodes.len())?;
    if load.data < MIN_DATA_BYTES {
        return Err(NetworkError::TooLittleData { asked: load.data });
    }
    let send = Operation::Send { to: nodes[0], handler: 0, bytes: Bytes::from(vec![0; load.data]) };
    let bytes = load.receivers * encode_to_vec(&send).len();
    if bytes > MAX_ISOCHRON_BYTES || load.receivers > MAX_RECEIVERS {
        return Err(NetworkError::TooLarge { messages: load.receivers, bytes });
    }
    let (topology, shared) = apart(topology).map_err(NetworkError::Topology)?;
    let mut plan = Plan::new(topology, Machines::Today(wires), Way::Safe, load.data);
    let mut random = Random::new(load.seed, RECEIVERS);
    for sender in senders(&nodes, load) {
        let to = draw(&nodes, sender, load.receivers, &mut random);
        plan.tasks.insert(sender, one_by_one(vec![to], load.isochrons));
    }
    let plan = Plan { shared, limit: LIMIT, seed: load.seed, ..plan };
    if wires.loss_per_million.is_some() {
        few_peers(&plan)?;
    }
    Ok(plan)
}

fn at_most(what: &'static str, asked: usize, most: usize) -> Result<(), NetworkError> {
    if asked <= most { Ok(()) } else { Err(NetworkError::TooFewNodes { what, asked, most }) }
}

/// Sessions of a node are with so many others at most.
fn few_peers(plan: &Plan) -> Result<(), NetworkError> {
    let mut peers: BTreeMap<NodeId, usize> = BTreeMap::new();
    for (one, other) in plan.links() {
        for node in [one, other] {
            *peers.entry(node).or_default() += 1;
        }
    }
    match peers.into_iter().find(|(_, peers)| *peers > MAX_ASKED) {
        Some((node, peers)) => Err(NetworkError::TooManyPeers { node, peers }),
        None => Ok(()),
    }
}

/// Those that send.
fn senders(nodes: &[NodeId], load: Load) -> BTreeSet<NodeId> {
    let Some(count) = load.senders.filter(|count| *count < nodes.len()) else {
        return nodes.iter().copied().collect();
    };
    let (mut random, mut senders) = (Random::new(load.seed, SENDERS), BTreeSet::new());
    while senders.len() < count {
        senders.insert(nodes[usize::try_from(random.below(nodes.len() as u64)).expect("few")]);
    }
    senders
}

/// The same with a node of its own for each token manager that is in the process of a node, and whose that is.
fn apart(topology: &Topology) -> Result<(Topology, BTreeMap<NodeId, NodeId>), TopologyError> {
    let is_free =
        |node: &NodeId| topology.switch_of(*node).is_none() && topology.switch_kept_by(*node).is_none();
    let mut free = (0..=u16::MAX).rev().map(NodeId).filter(is_free);
    let (mut switches, mut shared) = (topology.switches().to_vec(), BTreeMap::new());
    for switch in switches.iter_mut().filter(|switch| topology.switch_of(switch.manager).is_some()) {
        let own = free.next().expect("there are more numbers than nodes and switches");
        shared.insert(own, core::mem::replace(&mut switch.manager, own));
    }
    let name = |at: usize| topology.switches()[at].name.clone();
    let wires: Vec<_> = (0..switches.len())
        .flat_map(|at| topology.neighbours(at).iter().map(move |other| (at, *other)))
        .filter(|(at, other)| at < other)
        .map(|(at, other)| (name(at), name(other)))
        .collect();
    Ok((Topology::new(switches, &wires)?, shared))
}

/// The smallest and the largest logical distance of two nodes.
fn distances(topology: &Topology) -> Option<(u32, u32)> {
    let used: Vec<_> = topology.switches().iter().filter(|switch| !switch.nodes.is_empty()).collect();
    let between = |one: NodeId, other: NodeId| topology.distance(one, other).expect("nodes are at switches");
    let apart = used.iter().enumerate().flat_map(|(at, one)| {
        let later = used[at + 1..].iter();
        later.map(|other| between(one.nodes[0], other.nodes[0]))
    });
    let beside = used.iter().filter(|switch| switch.nodes.len() > 1).map(|_| 1);
    let all = apart.chain(beside);
    all.fold(None, |found, distance| {
        let (least, most) = found.unwrap_or((distance, distance));
        Some((distance.min(least), distance.max(most)))
    })
}

/// Runs it to its end.
fn run(plan: Plan) -> Outcome {
    let (topology, way) = (plan.topology.clone(), plan.way);
    let mut bed = Bed::new(plan);
    bed.begin();
    bed.rest();
    // An isochron is known by its sender and its time, as each of a sender's begins after the one before.
    let mut found: BTreeMap<(NodeId, u64), (u32, u64)> = BTreeMap::new();
    let mut messages = 0;
    for node in topology.nodes() {
        for arrival in &bed.program(node).arrivals {
            let distance = topology.distance(arrival.from, node).expect("nodes are at switches");
            let (farthest, longest) = found.entry((arrival.from, arrival.sent.0)).or_default();
            (*farthest, *longest) = (distance.max(*farthest), arrival.latency.0.max(*longest));
            messages += 1;
        }
    }
    let mut by_distance: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (distance, latency) in found.values() {
        by_distance.entry(*distance).or_default().push(micros(*latency));
    }
    Outcome {
        way,
        all: latencies(by_distance.values().flatten().copied().collect()),
        by_distance: by_distance.into_iter().map(|(distance, all)| (distance, latencies(all))).collect(),
        messages,
        tokens: bed.tokens(),
        seconds: bed.seconds(),
    }
}

fn latencies(mut micros: Vec<f64>) -> Latencies {
    micros.sort_by(f64::total_cmp);
    Latencies { count: micros.len(), median: quantile(&micros, 0.5), p99: quantile(&micros, 0.99) }
}

//! Single experiments.

use super::bed::{Bed, Machines, Plan};
use super::parameters::{STUDY_HEADER_BYTES, WINDOW};
use super::program::{Task, Way};
use quintet_contract::{NodeId, Span, Time};
use quintet_isotach::{Switch, Topology, Variable};

/// Round trips of which a mean is taken; one before them is not counted.
const TURNS: u32 = 20;
/// Senders of the contention test.
const SENDERS: u16 = 4;
/// Of the network whose plain messages are watched while others pass tokens.
const WATCHED: [NodeId; 2] = [NodeId(1), NodeId(2)];

/// How long a stream of messages is watched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Length {
    /// Messages.
    pub(super) messages: u32,
    /// Of what goes on without end.
    pub(super) span: Span,
}

/// What a stream of messages came to.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Stream {
    /// Megabits of data a second, at the receiver.
    pub(super) mbps: f64,
    /// Microseconds of the sender's processor a message, all that it causes there included.
    pub(super) send_us: f64,
}

/// What a receiver with several senders came to.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Contention {
    /// Megabits of data a second that it received.
    pub(super) mbps: f64,
    /// Microseconds of a round trip meanwhile, of one more host.
    pub(super) round_trip_us: f64,
    /// Messages that were sent and not received when all had come to rest.
    pub(super) lost: i64,
}

/// So many switches in a row, each with so many hosts, numbered from 1.
///
/// # Errors
/// What a topology of isochrons refuses: too many switches or hosts.
pub(super) fn row(switches: u16, hosts_each: u16) -> Result<Topology, quintet_isotach::TopologyError> {
    tree(switches, hosts_each, |at| at.checked_sub(1))
}

/// The same with another parent of each switch but the first.
pub(super) fn tree(
    switches: u16,
    hosts_each: u16,
    parent: impl Fn(u16) -> Option<u16>,
) -> Result<Topology, quintet_isotach::TopologyError> {
    let name = |at: u16| format!("s{at}");
    let switch = |at: u16| Switch {
        name: name(at),
        manager: super::bed::manager_of(at.into()),
        nodes: (1..=hosts_each).map(|host| NodeId(at * hosts_each + host)).collect(),
    };
    let wires: Vec<_> = (0..switches).filter_map(|at| Some((name(parent(at)?), name(at)))).collect();
    Topology::new((0..switches).map(switch).collect(), &wires)
}

/// Hosts of the study's network: eight at one switch or four at each of two.
fn study(switches: u16) -> Topology {
    row(switches, 8 / switches).expect("the study's network is small")
}

/// The host that is farthest from the first.
fn farthest(switches: u16) -> NodeId {
    if switches == 1 { NodeId(2) } else { NodeId(5) }
}

/// A plan for packets of so many bytes.
pub(super) fn plan(switches: u16, way: Way, packet: usize) -> Plan {
    Plan::new(study(switches), Machines::Study, way, packet - STUDY_HEADER_BYTES)
}

fn mean_interval_us(times: &[Time]) -> f64 {
    let (first, last) = (times.first(), times.last());
    let span = first.zip(last).map_or(0, |(first, last)| last.0 - first.0);
    micros(span) / (times.len().max(2) - 1) as f64
}

/// Microseconds of nanoseconds.
pub(super) fn micros(nanos: u64) -> f64 {
    nanos as f64 / 1e3
}

/// The value below which that share of them is, of values in ascending order.
pub(super) fn quantile(ascending: &[f64], share: f64) -> f64 {
    let last = ascending.len().saturating_sub(1);
    ascending.get((last as f64 * share).round() as usize).copied().unwrap_or_default()
}

fn mbps(messages: u64, data: usize, seconds: f64) -> f64 {
    messages as f64 * data as f64 * 8.0 / seconds / 1e6
}

/// The mean round trip of a packet of so many bytes between two hosts that are as far from each other as may be, in microseconds.
pub(super) fn round_trip(switches: u16, way: Way, packet: usize) -> f64 {
    let mut plan = plan(switches, way, packet);
    plan.tasks.insert(NodeId(1), Task::RoundTrips { to: farthest(switches), left: TURNS + 1 });
    let mut bed = Bed::new(plan);
    bed.begin();
    bed.rest();
    mean_interval_us(&bed.program(NodeId(1)).returns)
}

/// A stream of messages between the same two: isochrons, or turns, of `size` packets.
pub(super) fn stream(switches: u16, way: Way, packet: usize, size: usize, length: Length) -> Stream {
    let to = farthest(switches);
    let mut plan = plan(switches, way, packet);
    let left = length.messages / u32::try_from(size).expect("isochrons are small");
    plan.tasks.insert(NodeId(1), Task::Stream { to: vec![vec![to; size]], window: WINDOW, left });
    watch(Bed::new(plan), NodeId(1), to, packet - STUDY_HEADER_BYTES)
}

/// Runs what is planned to its end and looks at the stream between two hosts.
pub(super) fn watch(mut bed: Bed, from: NodeId, to: NodeId, data: usize) -> Stream {
    bed.begin();
    bed.rest();
    let seconds = bed.run.clock().as_seconds();
    let receiver = bed.program(to);
    let (first, last) = receiver.span.expect("the stream arrives");
    let sent = bed.program(from).sent;
    Stream {
        mbps: mbps(receiver.received - 1, data, micros(last.0 - first.0) / 1e6),
        send_us: bed.busy(from) * seconds * 1e6 / sent as f64,
    }
}

/// The mean time of a read of another host's variable, in microseconds.
pub(super) fn remote_read(way: Way) -> f64 {
    let variable = Variable(0);
    let mut plan = Plan { data: 8, ..plan(1, way, 64) };
    plan.copies.insert(variable, NodeId(2));
    plan.tasks.insert(NodeId(1), Task::Reads { variable, left: TURNS + 1 });
    let mut bed = Bed::new(plan);
    bed.begin();
    bed.rest();
    mean_interval_us(&bed.program(NodeId(1)).returns)
}

/// Four hosts send to one as fast as they can, and one more exchanges single messages with it.
pub(super) fn contention(way: Way, packet: usize, length: Length) -> Contention {
    let (receiver, asker) = (NodeId(1), NodeId(2));
    let mut plan = plan(1, way, packet);
    for sender in 0..SENDERS {
        let task = Task::Stream { to: vec![vec![receiver]], window: WINDOW, left: u32::MAX };
        plan.tasks.insert(NodeId(3 + sender), task);
    }
    plan.tasks.insert(asker, Task::RoundTrips { to: receiver, left: u32::MAX });
    let mut bed = Bed::new(plan);
    bed.begin();
    bed.run.run_for(Span(length.span.0 / 4));
    let (before, turns) = (bed.program(receiver).received, bed.program(asker).returns.len());
    bed.run.run_for(length.span);
    let received = bed.program(receiver).received - before;
    let returns = bed.program(asker).returns[turns..].to_vec();
    bed.stop();
    bed.rest();
    let senders = (0..SENDERS).map(|sender| NodeId(3 + sender)).chain([asker]);
    let sent: u64 = senders.map(|sender| bed.program(sender).sent).sum();
    Contention {
        mbps: mbps(received, packet - STUDY_HEADER_BYTES, length.span.0 as f64 / 1e9),
        round_trip_us: mean_interval_us(&returns),
        lost: sent as i64 - bed.program(receiver).received as i64,
    }
}

/// What others do while raw messages are watched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Background {
    /// There is no isonet's work at all.
    Rest,
    /// Two other hosts, at two switches, send isochrons to each other one after the other, so that tokens pass all the time.
    Tokens,
    /// The same, and the token manager of the first switch is in the receiver's own process.
    TokensBeside,
}

impl Background {
    pub(super) const ALL: [Background; 3] = [Background::Rest, Background::Tokens, Background::TokensBeside];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Background::Rest => "tokens at rest",
            Background::Tokens => "tokens pass",
            Background::TokensBeside => "tokens pass, manager beside the receiver",
        }
    }
}

/// The plan of raw messages between two hosts of the first switch, with what others do.
fn beside(background: Background, packet: usize, task: Task) -> Plan {
    let mut plan = plan(2, Way::Raw, packet);
    plan.tasks.insert(WATCHED[0], task);
    if background != Background::Rest {
        for (from, to) in [(3, 7), (8, 4)] {
            let (from, to) = (NodeId(from), NodeId(to));
            let task = Task::Stream { to: vec![vec![to]], window: 1, left: u32::MAX };
            plan.tasks.insert(from, task);
            plan.others.insert(from, Way::Safe);
        }
    }
    if background == Background::TokensBeside {
        plan.shared.insert(super::bed::manager_of(0), WATCHED[1]);
    }
    plan
}

/// The round trip of raw messages in microseconds, their data in megabits a second, and microseconds between two tokens of a switch meanwhile (0: none passes).
pub(super) fn watched(background: Background, packet: usize, length: Length) -> [f64; 3] {
    let turns = Task::RoundTrips { to: WATCHED[1], left: u32::MAX };
    let mut bed = Bed::new(beside(background, packet, turns));
    bed.begin();
    bed.run.run_for(length.span);
    let round_trip = mean_interval_us(&bed.program(WATCHED[0]).returns);
    let task = Task::Stream { to: vec![vec![WATCHED[1]]], window: WINDOW, left: u32::MAX };
    let mut bed = Bed::new(beside(background, packet, task));
    bed.begin();
    bed.run.run_for(length.span);
    let receiver = bed.program(WATCHED[1]);
    let (first, last) = receiver.span.expect("the stream arrives");
    let data = packet - STUDY_HEADER_BYTES;
    let rate = mbps(receiver.received - 1, data, micros(last.0 - first.0) / 1e6);
    let each = bed.tokens() / 2;
    let interval = if each == 0 { 0.0 } else { micros(length.span.0) / each as f64 };
    [round_trip, rate, interval]
}

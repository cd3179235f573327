//! Messages of all members to all members, in one order: isochrons beside a fixed sequencer that is made of plain messages, and beside what
//! others have for that, over sockets. Over shared memory, and over TCP as well. How many of all members together a second, and how long one takes under that load until it is back at its sender.

use super::super::case::{Beside, Better, Case, Group, Prepare, Round, Unit};
use super::super::link::Over;
use super::super::peer::{Peer, Statistic};
use super::super::row::percentile;
use super::net::Net;
use super::task::{Noted, Task, Way};
use super::{PLACEMENT, WAITING};
use quintet::Error;
use std::time::Instant;

/// Multicasts of a round, shared out among the members.
const COUNT: usize = 6_000;
const BYTES: usize = 64;
/// At least as fast as the sequencer, whose messages are lost with it, and as each of the others.
const GOAL: f64 = 1.;
const JGROUPS: &str = "jgroups-sequencer";
/// So many times as fast as JGroups, of three members.
const JGROUPS_GOAL: f64 = 5.;
/// Multicasts of a member that are under way.
const WINDOW: usize = 16;

/// So many multicasts of a peer as here, and untimed ones.
const OPTIONS: &[&str] = &["--iterations", "6000", "--warmup", "600"];
/// With so many untimed ones as it takes until all that counts is compiled: after 30,000 it had half the rate.
const JAVA_OPTIONS: &[&str] = &["--iterations", "6000", "--warmup", "300000"];
/// With as many: after 100,000 it had two thirds of the rate.
const TOA_OPTIONS: &[&str] = &["--order", "toa", "--iterations", "6000", "--warmup", "300000"];

/// What of the latencies counts: half of them are at most this, and all but one in a hundred.
const MEDIAN: usize = 50;
const TAIL: usize = 99;

macro_rules! cases {
    ($members:literal, $over:ident, $link:literal, $jgroups_goal:expr) => {
        [
            Compared {
                name: concat!("ordered-multicast-", $members, "-", $link),
                what: RATE,
                ours: || rate(Over::$over, $members, Way::Isochrons(1)),
                sequencer: || rate(Over::$over, $members, Way::Sequencer),
                peers: peers(concat!("multicast-", $members), Statistic::Middle),
                jgroups_goal: $jgroups_goal,
            },
            Compared {
                name: concat!("ordered-multicast-", $members, "-p50-", $link),
                what: LATENCY,
                ours: || latency(Over::$over, $members, Way::Isochrons(1), MEDIAN),
                sequencer: || latency(Over::$over, $members, Way::Sequencer, MEDIAN),
                peers: peers(concat!("multicast-", $members, "-latency"), Statistic::Middle),
                jgroups_goal: GOAL,
            },
            Compared {
                name: concat!("ordered-multicast-", $members, "-p99-", $link),
                what: LATENCY,
                ours: || latency(Over::$over, $members, Way::Isochrons(1), TAIL),
                sequencer: || latency(Over::$over, $members, Way::Sequencer, TAIL),
                peers: peers(concat!("multicast-", $members, "-latency"), Statistic::Percentile99),
                jgroups_goal: GOAL,
            },
        ]
    };
}

const RATE: (Unit, Better) = (Unit::PerSecond("messages"), Better::Higher);
const LATENCY: (Unit, Better) = (Unit::Nanoseconds, Better::Lower);

/// What is measured of a group of so many members, and what is beside it.
struct Compared {
    name: &'static str,
    what: (Unit, Better),
    ours: Prepare,
    sequencer: Prepare,
    peers: [Peer; 5],
    jgroups_goal: f64,
}

fn peers(case: &'static str, statistic: Statistic) -> [Peer; 5] {
    let peer = |name, program, options| Peer { statistic, ..Peer::new(name, program, case).with(options) };
    [
        peer("corosync-cpg", "corosync_multicast", OPTIONS),
        peer("nats-jetstream", "nats_multicast", OPTIONS),
        peer("etcd", "etcd_multicast", OPTIONS),
        peer(JGROUPS, "jgroups_multicast", JAVA_OPTIONS),
        peer("jgroups-toa", "jgroups_multicast", TOA_OPTIONS),
    ]
}

pub(super) fn cases() -> Vec<Case> {
    let all = [
        cases!(3, Shm, "shm", JGROUPS_GOAL),
        cases!(4, Shm, "shm", GOAL),
        cases!(8, Shm, "shm", GOAL),
        cases!(3, Tcp, "tcp", JGROUPS_GOAL),
        cases!(4, Tcp, "tcp", GOAL),
        cases!(8, Tcp, "tcp", GOAL),
    ];
    all.into_iter().flatten().flat_map(Compared::cases).collect()
}

impl Compared {
    /// One beside each, measured together.
    fn cases(self) -> Vec<Case> {
        let Compared { name, what: (unit, better), ours, sequencer, peers, jgroups_goal } = self;
        let case = |beside, goal| {
            Case::new(Group::Isotach, name, unit, better, ours)
                .beside(beside)
                .goal(goal)
                .under(WAITING, PLACEMENT)
                .on_all_processors()
        };
        let mut cases = vec![case(Beside::Itself { name: "sequencer", prepare: sequencer }, GOAL)];
        let goal_beside = |peer: &Peer| if peer.name == JGROUPS { jgroups_goal } else { GOAL };
        cases.extend(peers.map(|peer| case(Beside::Program(peer), goal_beside(&peer))));
        cases
    }
}

/// Multicasts a second of all members together.
fn rate(over: Over, members: u16, way: Way) -> Result<Round, Error> {
    let (net, task) = prepare(over, members, way, Noted::Nothing)?;
    Ok(net.rounds(move |net| {
        let started = Instant::now();
        net.all_do(0..members, &task)?;
        Ok((task.count * usize::from(members)) as f64 / started.elapsed().as_secs_f64())
    }))
}

/// The time that so many in a hundred of all members' multicasts take at most, in nanoseconds.
fn latency(over: Over, members: u16, way: Way, percent: usize) -> Result<Round, Error> {
    let (net, task) = prepare(over, members, way, Noted::Latencies)?;
    Ok(net.rounds(move |net| {
        let latencies = net.all_do(0..members, &task)?;
        let latencies_ns = latencies.iter().map(|latency| latency.as_nanos() as f64).collect();
        Ok(percentile(latencies_ns, percent).unwrap_or_default())
    }))
}

/// The members, warmed up, and what each is to do in a round.
fn prepare(over: Over, members: u16, way: Way, noted: Noted) -> Result<(Net, Task), Error> {
    let net = Net::start(over, members)?;
    let all = usize::from(members);
    let receivers: Vec<u16> = (0..members).collect();
    let task = |count| Task { way, bytes: BYTES, count, window: WINDOW, receivers: receivers.clone(), noted };
    net.all_do(0..members, &task(COUNT / all / 10))?;
    Ok((net, task(COUNT / all)))
}

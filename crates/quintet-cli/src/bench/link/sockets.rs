//! Frames over Unix sockets and TCP, beside bare sockets and ZeroMQ.

use super::child::Over;
use super::{ADAPTIVE, OWN_CORES, SPINNING, echo, one_way, stream};
use crate::bench::case::{Beside, Better, Case, Group, Prepare, Unit};
use crate::bench::peer::{Peer, Statistic};

/// Bare blocking sockets.
const BLOCKING: f64 = 1.;
/// Sockets that are read over and over.
const BARE_SPINNING: f64 = 1.15;
const ZEROMQ: f64 = 4.;
/// Bare writes of 64 KiB.
const BARE_BULK: f64 = 0.9;

pub(super) fn cases() -> Vec<Case> {
    let unix = |case| Peer::new("limit-unix", "limit_unix", case);
    let tcp = |case| Peer::new("limit-tcp", "limit_tcp", case);
    // The median of ZeroMQ's windows is that of messages which lay in its buffer already.
    let zeromq = |case| Peer { statistic: Statistic::Mean, ..Peer::new("zeromq", "zmq_rate", case) };
    vec![
        round_trip("unix-rtt-64", || echo::prepare(Over::Unix, false), unix("rtt-64"))
            .goal(BLOCKING)
            .under(ADAPTIVE, OWN_CORES),
        round_trip("unix-rtt-64-spin", || echo::prepare(Over::Unix, true), unix("rtt-64-spin"))
            .goal(BARE_SPINNING)
            .under(SPINNING, OWN_CORES),
        round_trip("tcp-rtt-64", || echo::prepare(Over::Tcp, false), tcp("rtt-64"))
            .goal(BLOCKING)
            .under(ADAPTIVE, OWN_CORES),
        round_trip("tcp-rtt-64-spin", || echo::prepare(Over::Tcp, true), tcp("rtt-64-spin"))
            .goal(BARE_SPINNING)
            .under(SPINNING, OWN_CORES),
        one_way("unix-rate-64", Unit::PerSecond("messages"), || stream::small(Over::Unix))
            .beside(Beside::Program(zeromq("rate-64-ipc")))
            .goal(ZEROMQ),
        one_way("tcp-rate-64", Unit::PerSecond("messages"), || stream::small(Over::Tcp))
            .beside(Beside::Program(zeromq("rate-64-tcp")))
            .goal(ZEROMQ),
        one_way("unix-bulk-1m", Unit::BytesPerSecond, || stream::bulk_1m(Over::Unix))
            .beside(Beside::Program(unix("bulk-1m")))
            .goal(BARE_BULK),
        one_way("tcp-bulk-1m", Unit::BytesPerSecond, || stream::bulk_1m(Over::Tcp))
            .beside(Beside::Program(tcp("bulk-1m")))
            .goal(BARE_BULK),
    ]
}

fn round_trip(name: &'static str, prepare: Prepare, peer: Peer) -> Case {
    Case::new(Group::Link, name, Unit::Nanoseconds, Better::Lower, prepare).beside(Beside::Program(peer))
}

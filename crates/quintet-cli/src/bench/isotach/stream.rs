//! Many messages to one member, from one sender or several at the same time: what arrives, beside plain messages.

use super::super::case::{Better, Case, Prepare, Round, Unit};
use super::super::link::Over;
use super::latency::LARGEST;
use super::messaging;
use super::net::Net;
use super::task::{Noted, Task, Way};
use super::{MESSAGING, PLAIN, case};
use quintet::Error;
use std::time::Instant;

/// The goal of the isotach study (Bartholet 1999).
const GOAL: f64 = 0.5;
/// Isochrons or plain messages of a sender that are under way.
pub(super) const WINDOW: usize = 64;
/// Messages of a round.
const COUNT: usize = 20_000;
/// Of them, where each is large.
const FEW: usize = 2_000;

/// What arrives.
const RATE: (Unit, Better) = (Unit::BytesPerSecond, Better::Higher);

/// Of one sender, with so many messages in each isochron.
macro_rules! sized {
    ($name:literal, $over:ident, $size:literal, $bytes:expr, $count:expr) => {
        (
            $name,
            || prepare(Over::$over, 1, Way::Isochrons($size), $bytes, $count),
            || prepare(Over::$over, 1, Way::Plain, $bytes, $count),
            || messaging::streams(Over::$over, $bytes, $count),
        )
    };
}

/// Of several senders.
macro_rules! contended {
    ($name:literal, $senders:literal, $bytes:expr) => {
        (
            $name,
            || prepare(Over::Shm, $senders, Way::Isochrons(1), $bytes, COUNT),
            || prepare(Over::Shm, $senders, Way::Plain, $bytes, COUNT),
        )
    };
}

pub(super) fn cases() -> Vec<Case> {
    let of_one: [(_, Prepare, Prepare, Prepare); 12] = [
        sized!("isochron-stream-16-shm", Shm, 1, 16, COUNT),
        sized!("isochron-stream-64-shm", Shm, 1, 64, COUNT),
        sized!("isochron-stream-1k-shm", Shm, 1, 1 << 10, COUNT),
        sized!("isochron-stream-8k-shm", Shm, 1, 8 << 10, COUNT),
        sized!("isochron-stream-60k-shm", Shm, 1, LARGEST, FEW),
        sized!("isochron-stream-16-tcp", Tcp, 1, 16, COUNT),
        sized!("isochron-stream-64-tcp", Tcp, 1, 64, COUNT),
        sized!("isochron-stream-1k-tcp", Tcp, 1, 1 << 10, COUNT),
        sized!("isochron-stream-8k-tcp", Tcp, 1, 8 << 10, COUNT),
        sized!("isochron-stream-60k-tcp", Tcp, 1, LARGEST, FEW),
        sized!("isochron-of-4-64-shm", Shm, 4, 64, COUNT),
        sized!("isochron-of-16-64-shm", Shm, 16, 64, COUNT),
    ];
    let of_several: [(_, Prepare, Prepare); 2] = [
        contended!("isochron-contention-4-64-shm", 4, 64),
        contended!("isochron-contention-4-1k-shm", 4, 1 << 10),
    ];
    let beside_both = |(name, ours, plain, calls)| {
        [(PLAIN, plain), (MESSAGING, calls)].map(|beside| case(name, RATE, ours, beside).goal(GOAL))
    };
    let contended = of_several.map(|(name, ours, plain)| case(name, RATE, ours, (PLAIN, plain)).goal(GOAL));
    of_one.into_iter().flat_map(beside_both).chain(contended).collect()
}

fn prepare(over: Over, senders: u16, way: Way, bytes: usize, count: usize) -> Result<Round, Error> {
    let net = Net::start(over, if senders == 1 { 2 } else { senders + 1 })?;
    stream(&net, senders, way, bytes, count / 10)?;
    Ok(net.rounds(move |net| stream(net, senders, way, bytes, count)))
}

/// What arrives at member 0 of several others, or of member 0 at the next one, in bytes a second; `count` messages of all senders together.
///
/// # Errors
/// A member is gone.
pub(super) fn stream(net: &Net, senders: u16, way: Way, bytes: usize, count: usize) -> Result<f64, Error> {
    let (receiver, from) = if senders == 1 { (1, 0..1) } else { (0, 1..senders + 1) };
    let count = count / usize::from(senders);
    let task = task(way, bytes, count, receiver);
    let started = Instant::now();
    net.all_do(from, &task)?;
    Ok((bytes * count * usize::from(senders)) as f64 / started.elapsed().as_secs_f64())
}

/// So many messages to a member, with the usual window.
pub(super) fn task(way: Way, bytes: usize, count: usize, receiver: u16) -> Task {
    Task { way, bytes, count, window: WINDOW, receivers: vec![receiver], noted: Noted::Nothing }
}

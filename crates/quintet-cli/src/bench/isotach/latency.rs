//! A message to another member and one back, each begun by the handler of the one before: what isochrons take, beside plain messages and calls.

use super::super::case::{Better, Case, Prepare, Round, Unit};
use super::super::link::Over;
use super::messaging;
use super::net::Net;
use super::task::Way;
use super::{MESSAGING, PLAIN, case};
use quintet::Error;
use std::time::Instant;

/// Round trips of a round.
const COUNT: usize = 2_000;
/// The goal of the isotach study (Bartholet 1999), which its prototype missed at small messages.
pub(super) const GOAL: f64 = 2.;

/// Of a message.
pub(super) const LARGEST: usize = 64 << 10;

macro_rules! sized {
    ($name:literal, $over:ident, $bytes:expr) => {
        (
            $name,
            || prepare(Over::$over, Way::Isochrons(1), $bytes),
            || prepare(Over::$over, Way::Plain, $bytes),
            || messaging::round_trips(Over::$over, $bytes, COUNT),
        )
    };
}

pub(super) fn cases() -> Vec<Case> {
    let cases: [(_, Prepare, Prepare, Prepare); 10] = [
        sized!("isochron-rtt-16-shm", Shm, 16),
        sized!("isochron-rtt-64-shm", Shm, 64),
        sized!("isochron-rtt-1k-shm", Shm, 1 << 10),
        sized!("isochron-rtt-8k-shm", Shm, 8 << 10),
        sized!("isochron-rtt-64k-shm", Shm, LARGEST),
        sized!("isochron-rtt-16-tcp", Tcp, 16),
        sized!("isochron-rtt-64-tcp", Tcp, 64),
        sized!("isochron-rtt-1k-tcp", Tcp, 1 << 10),
        sized!("isochron-rtt-8k-tcp", Tcp, 8 << 10),
        sized!("isochron-rtt-64k-tcp", Tcp, LARGEST),
    ];
    let beside_both = |(name, ours, plain, calls)| {
        [(PLAIN, plain), (MESSAGING, calls)]
            .map(|beside| case(name, (Unit::Nanoseconds, Better::Lower), ours, beside).goal(GOAL))
    };
    cases.into_iter().flat_map(beside_both).collect()
}

/// The mean of the round trips of two members.
fn prepare(over: Over, way: Way, bytes: usize) -> Result<Round, Error> {
    let net = Net::start(over, 2)?;
    net.this.ping(way, 1, bytes, COUNT / 10)?;
    Ok(net.rounds(move |net| round_trip(net, way, bytes, COUNT)))
}

/// The mean of so many isochrons of member 0 that read a variable of the next one, in nanoseconds.
///
/// # Errors
/// The member is gone.
pub(super) fn read(net: &Net, count: usize) -> Result<f64, Error> {
    let started = Instant::now();
    (0..count).try_for_each(|_| net.this.read())?;
    Ok(started.elapsed().as_nanos() as f64 / count as f64)
}

/// The mean of so many round trips of member 0 and the next one, in nanoseconds.
///
/// # Errors
/// The member is gone.
pub(super) fn round_trip(net: &Net, way: Way, bytes: usize, count: usize) -> Result<f64, Error> {
    let started = Instant::now();
    net.this.ping(way, 1, bytes, count)?;
    Ok(started.elapsed().as_nanos() as f64 / count as f64)
}

//! A message to another member and one back, each begun by the handler of the one before: what isochrons take, beside plain messages.

use super::super::case::{Beside, Better, Case, Group, Prepare, Round, Unit};
use super::super::link::Over;
use super::net::Net;
use super::task::Way;
use super::{PLACEMENT, PLAIN, WAITING};
use quintet::Error;
use std::time::Instant;

/// Round trips of a round.
const COUNT: usize = 2_000;
/// The goal of the isotach study (Bartholet 1999), which its prototype missed at small messages.
const GOAL: f64 = 2.;

/// Of a message: what fits an isochron, in place of 64 KiB.
pub(super) const LARGEST: usize = 60_000;

macro_rules! case {
    ($name:literal, $over:ident, $bytes:expr) => {
        (
            $name,
            || prepare(Over::$over, Way::Isochrons(1), $bytes),
            || prepare(Over::$over, Way::Plain, $bytes),
        )
    };
}

pub(super) fn cases() -> Vec<Case> {
    let cases: [(_, Prepare, Prepare); 10] = [
        case!("isochron-rtt-16-shm", Shm, 16),
        case!("isochron-rtt-64-shm", Shm, 64),
        case!("isochron-rtt-1k-shm", Shm, 1 << 10),
        case!("isochron-rtt-8k-shm", Shm, 8 << 10),
        case!("isochron-rtt-60k-shm", Shm, LARGEST),
        case!("isochron-rtt-16-tcp", Tcp, 16),
        case!("isochron-rtt-64-tcp", Tcp, 64),
        case!("isochron-rtt-1k-tcp", Tcp, 1 << 10),
        case!("isochron-rtt-8k-tcp", Tcp, 8 << 10),
        case!("isochron-rtt-60k-tcp", Tcp, LARGEST),
    ];
    cases
        .map(|(name, prepare, beside)| {
            Case::new(Group::Isotach, name, Unit::Nanoseconds, Better::Lower, prepare)
                .beside(Beside::Itself { name: PLAIN, prepare: beside })
                .goal(GOAL)
                .under(WAITING, PLACEMENT)
                .on_all_processors()
        })
        .into()
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

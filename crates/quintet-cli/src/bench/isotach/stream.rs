//! Many messages to one member, from one sender or several at the same time: what arrives, beside plain messages.

use super::super::case::{Beside, Better, Case, Group, Prepare, Round, Unit};
use super::super::link::Over;
use super::latency::LARGEST;
use super::net::Net;
use super::task::{Noted, Task, Way};
use super::{PLACEMENT, PLAIN, WAITING};
use quintet::Error;
use std::time::Instant;

/// The goal of the isotach study (Bartholet 1999).
const GOAL: f64 = 0.5;
/// Isochrons or plain messages of a sender that are under way.
const WINDOW: usize = 64;
/// Messages of a round.
const COUNT: usize = 20_000;
/// Of them, where each is large.
const FEW: usize = 2_000;

macro_rules! case {
    ($name:literal, $over:ident, $senders:literal, $size:literal, $bytes:expr, $count:expr) => {
        (
            $name,
            || prepare(Over::$over, $senders, Way::Isochrons($size), $bytes, $count),
            || prepare(Over::$over, $senders, Way::Plain, $bytes, $count),
        )
    };
}

pub(super) fn cases() -> Vec<Case> {
    let cases: [(_, Prepare, Prepare); 14] = [
        case!("isochron-stream-16-shm", Shm, 1, 1, 16, COUNT),
        case!("isochron-stream-64-shm", Shm, 1, 1, 64, COUNT),
        case!("isochron-stream-1k-shm", Shm, 1, 1, 1 << 10, COUNT),
        case!("isochron-stream-8k-shm", Shm, 1, 1, 8 << 10, COUNT),
        case!("isochron-stream-60k-shm", Shm, 1, 1, LARGEST, FEW),
        case!("isochron-stream-16-tcp", Tcp, 1, 1, 16, COUNT),
        case!("isochron-stream-64-tcp", Tcp, 1, 1, 64, COUNT),
        case!("isochron-stream-1k-tcp", Tcp, 1, 1, 1 << 10, COUNT),
        case!("isochron-stream-8k-tcp", Tcp, 1, 1, 8 << 10, COUNT),
        case!("isochron-stream-60k-tcp", Tcp, 1, 1, LARGEST, FEW),
        // So many messages in each isochron.
        case!("isochron-of-4-64-shm", Shm, 1, 4, 64, COUNT),
        case!("isochron-of-16-64-shm", Shm, 1, 16, 64, COUNT),
        case!("isochron-contention-4-64-shm", Shm, 4, 1, 64, COUNT),
        case!("isochron-contention-4-1k-shm", Shm, 4, 1, 1 << 10, COUNT),
    ];
    cases
        .map(|(name, prepare, beside)| {
            Case::new(Group::Isotach, name, Unit::BytesPerSecond, Better::Higher, prepare)
                .beside(Beside::Itself { name: PLAIN, prepare: beside })
                .goal(GOAL)
                .under(WAITING, PLACEMENT)
                .on_all_processors()
        })
        .into()
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

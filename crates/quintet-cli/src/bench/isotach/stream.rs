//! Many messages to one member: what arrives of one sender, beside plain messages.

use super::super::case::{Better, Case, Prepare, Round, Unit};
use super::super::link::Over;
use super::latency::LARGEST;
use super::messaging;
use super::net::Net;
use super::task::{Noted, Task, Way};
use super::{MESSAGING, PLAIN, case};
use quintet::{Code, Error};
use std::time::Instant;

/// The goal of the isotach study (Bartholet 1999).
pub(super) const GOAL: f64 = 0.5;
/// Isochrons or plain messages of a sender that are under way.
pub(super) const WINDOW: usize = 64;
/// Messages of a round.
pub(super) const COUNT: usize = 20_000;
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

pub(super) fn cases() -> Vec<Case> {
    let cases: [(_, Prepare, Prepare, Prepare); 12] = [
        sized!("isochron-stream-16-shm", Shm, 1, 16, COUNT),
        sized!("isochron-stream-64-shm", Shm, 1, 64, COUNT),
        sized!("isochron-stream-1k-shm", Shm, 1, 1 << 10, COUNT),
        sized!("isochron-stream-8k-shm", Shm, 1, 8 << 10, COUNT),
        sized!("isochron-stream-64k-shm", Shm, 1, LARGEST, FEW),
        sized!("isochron-stream-16-tcp", Tcp, 1, 16, COUNT),
        sized!("isochron-stream-64-tcp", Tcp, 1, 64, COUNT),
        sized!("isochron-stream-1k-tcp", Tcp, 1, 1 << 10, COUNT),
        sized!("isochron-stream-8k-tcp", Tcp, 1, 8 << 10, COUNT),
        sized!("isochron-stream-64k-tcp", Tcp, 1, LARGEST, FEW),
        sized!("isochron-of-4-64-shm", Shm, 4, 64, COUNT),
        sized!("isochron-of-16-64-shm", Shm, 16, 64, COUNT),
    ];
    let beside_both = |(name, ours, plain, calls)| {
        [(PLAIN, plain), (MESSAGING, calls)].map(|beside| case(name, RATE, ours, beside).goal(GOAL))
    };
    cases.into_iter().flat_map(beside_both).collect()
}

/// Members that have sent so before.
///
/// # Errors
/// The system refused, or a member is gone.
pub(super) fn prepare(
    over: Over,
    senders: u16,
    way: Way,
    bytes: usize,
    count: usize,
) -> Result<Round, Error> {
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
    let (before, started) = (net.this.arrivals().of_each(), Instant::now());
    net.all_do(from.clone(), &task)?;
    let took = started.elapsed();
    if receiver == net.this.number() {
        all_have_arrived(from, count, &before, &net.this.arrivals().of_each())?;
    }
    Ok((bytes * count * usize::from(senders)) as f64 / took.as_secs_f64())
}

/// That so many of each of those have come.
fn all_have_arrived(
    mut senders: impl Iterator<Item = u16>,
    count: usize,
    before: &[usize],
    after: &[usize],
) -> Result<(), Error> {
    senders.try_for_each(|sender| {
        let at = usize::from(sender);
        let arrived = after[at] - before[at];
        if arrived == count {
            return Ok(());
        }
        let text = format!("member {sender} has sent {count} messages, of which {arrived} have arrived");
        Err(Error::new(Code::Mismatch, text))
    })
}

/// So many messages to a member, with the usual window.
pub(super) fn task(way: Way, bytes: usize, count: usize, receiver: u16) -> Task {
    Task { way, bytes, count, window: WINDOW, receivers: vec![receiver], noted: Noted::Nothing }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_sent_more_than_has_arrived_is_named() {
        assert_eq!(all_have_arrived(1..3, 5, &[0, 1, 2], &[9, 6, 7]), Ok(()));
        let lost = all_have_arrived(1..3, 5, &[0, 1, 2], &[9, 6, 6]).expect_err("one is missing");
        assert_eq!(lost.code(), Code::Mismatch);
        assert!(lost.text().contains("member 2 has sent 5 messages, of which 4"), "{lost}");
    }
}

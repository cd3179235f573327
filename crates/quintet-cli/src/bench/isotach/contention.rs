//! Four members that send to one at the same time, beside plain messages: what arrives in all, and in each tenth of a round. A round fails if of any sender not as much has arrived as it has sent.

use super::super::case::{Better, Case, Prepare, Round, Unit};
use super::super::link::Over;
use super::net::Net;
use super::stream::{self, GOAL, stream};
use super::task::Way;
use super::{PLAIN, case};
use quintet::Error;
use std::time::Instant;

const SENDERS: u16 = 4;
/// Messages of a round of which each tenth is looked at: longer than the system lets one process run at a stretch.
const COUNT: usize = 100_000;
const PARTS: usize = 10;
const ISOCHRONS: Way = Way::Isochrons(1);

const RATE: (Unit, Better) = (Unit::BytesPerSecond, Better::Higher);
/// Of the middle tenth.
const SLOWEST: (Unit, Better) = (Unit::Share, Better::Higher);
const FASTEST: (Unit, Better) = (Unit::Share, Better::Lower);

/// What of the tenths of a round counts, which are in ascending order.
type Of = fn(&[f64]) -> f64;

macro_rules! contended {
    ($name:literal, $bytes:expr) => {
        [
            (
                concat!($name, "-shm"),
                RATE,
                Some(GOAL),
                || stream::prepare(Over::Shm, SENDERS, ISOCHRONS, $bytes, stream::COUNT),
                || stream::prepare(Over::Shm, SENDERS, Way::Plain, $bytes, stream::COUNT),
            ),
            contended!($name, "-middle-tenth-shm", RATE, $bytes, middle),
            contended!($name, "-slowest-tenth-shm", SLOWEST, $bytes, |tenths| tenths[0] / middle(tenths)),
            contended!($name, "-fastest-tenth-shm", FASTEST, $bytes, |tenths| tenths[PARTS - 1]
                / middle(tenths)),
        ]
    };
    ($name:literal, $tenth:literal, $what:ident, $bytes:expr, $of:expr) => {
        (
            concat!($name, $tenth),
            $what,
            None,
            || tenths(ISOCHRONS, $bytes, $of),
            || tenths(Way::Plain, $bytes, $of),
        )
    };
}

pub(super) fn cases() -> Vec<Case> {
    let all: [[(_, _, _, Prepare, Prepare); 4]; 2] =
        [contended!("isochron-contention-4-64", 64), contended!("isochron-contention-4-1k", 1 << 10)];
    let case_of = |(name, what, goal, isochrons, plain)| {
        let case = case(name, what, isochrons, (PLAIN, plain));
        if let Some(goal) = goal { case.goal(goal) } else { case }
    };
    all.into_iter().flatten().map(case_of).collect()
}

fn middle(tenths: &[f64]) -> f64 {
    tenths[PARTS / 2]
}

/// What counts of the tenths of a round.
fn tenths(way: Way, bytes: usize, of: Of) -> Result<Round, Error> {
    let net = Net::start(Over::Shm, SENDERS + 1)?;
    stream(&net, SENDERS, way, bytes, COUNT / 10)?;
    Ok(net.rounds(move |net| rates(net, way, bytes).map(|rates| of(&rates))))
}

/// Bytes a second in each tenth of a round, in ascending order.
fn rates(net: &Net, way: Way, bytes: usize) -> Result<Vec<f64>, Error> {
    let arrivals = net.this.arrivals();
    arrivals.expect(COUNT / PARTS);
    let started = Instant::now();
    stream(net, SENDERS, way, bytes, COUNT)?;
    let ends = arrivals.take_parts();
    let begins = [started].into_iter().chain(ends.iter().copied());
    let rate = |(begin, end): (Instant, &Instant)| {
        (bytes * COUNT / PARTS) as f64 / end.duration_since(begin).as_secs_f64()
    };
    let mut rates: Vec<f64> = begins.zip(&ends).map(rate).collect();
    rates.sort_by(f64::total_cmp);
    Ok(rates)
}

//! The workloads of predictions, live.

use super::super::case::Round;
use super::super::link::Over;
use super::super::row::median;
use super::super::space::median_of_groups;
use super::super::space::served::Served;
use quintet::{Bytes, Error, Lab, Pending, Space, Template, Tuple, Value, template, tuple};
use quintet_contract::Span;
use quintet_predict::Link;
use quintet_predict::calibrate::{Calibrated, DEPTH, Measured, PAUSE, SMALL, calibrate, sizes};
use std::ops::RangeInclusive;
use std::thread;
use std::time::{Duration, Instant};

/// Bytes that the pairs of a round move, and how many pairs it has at most and at least.
const ROUND_BYTES: usize = 32 << 20;
const MOST_PAIRS: u64 = 4_000;
const LEAST_PAIRS: u64 = 40;
/// Pairs that are timed together where reading the clock would weigh.
const GROUP: u64 = 16;
const SMALL_PAIR_BYTES: usize = 4 << 10;
/// Small pairs before each run of larger ones of a calibration, and pairs before those that are timed of a round: so many waits on each
/// side that one is a probe whether spinning pays. A side that was once kept from its processor, or had nothing to do while the other half
/// of a turn was measured, sleeps from then on, at every wait of the next 128.
const PAIRS_BETWEEN: usize = 64;
/// Bytes of such a run, and its pairs: the first pairs after small ones are slower, and must not weigh in the medians.
const RUN_BYTES: usize = 1 << 20;
const RUN_PAIRS: RangeInclusive<usize> = 16..=256;
/// Pairs after a pause in a round.
const PAUSED_PAIRS: u64 = 60;
/// Pairs of a round with many under way.
const PIPELINED_PAIRS: u64 = 8_000;

/// A tuple and what takes it.
struct Pair {
    tuple: Tuple,
    template: Template,
}

impl Pair {
    fn of(bytes: usize) -> Pair {
        let data = Value::Binary(Bytes::from(vec![7; bytes]));
        Pair { tuple: tuple!["pair", data], template: template!["pair", ?[u8]] }
    }

    fn once(&self, space: &Space) -> Result<(), Error> {
        space.out(self.tuple.clone())?;
        space.take(&self.template).map(|_| ())
    }

    /// The median in nanoseconds.
    fn round(&self, space: &Space, bytes: usize) -> Result<f64, Error> {
        (0..PAIRS_BETWEEN).try_for_each(|_| self.once(space))?;
        let count =
            u64::try_from(ROUND_BYTES / bytes.max(1)).unwrap_or(MOST_PAIRS).clamp(LEAST_PAIRS, MOST_PAIRS);
        median_of_groups(count, group(bytes), || self.once(space))
    }

    fn round_after_pauses(&self, space: &Space, pause: Span) -> Result<f64, Error> {
        let mut taken = Vec::new();
        for _ in 0..PAUSED_PAIRS {
            thread::sleep(Duration::from(pause));
            let started = Instant::now();
            self.once(space)?;
            taken.push(started.elapsed().as_nanos() as f64);
        }
        Ok(median(taken).unwrap_or(0.))
    }

    /// The median of groups of `depth` pairs, in nanoseconds a pair.
    fn round_of_many(&self, space: &Space, depth: u64) -> Result<f64, Error> {
        let tuples = std::slice::from_ref(&self.tuple);
        let mut under_way: Vec<Pending> = Vec::new();
        let mut taken = Vec::new();
        for _ in 0..PIPELINED_PAIRS.div_ceil(depth) {
            let started = Instant::now();
            for _ in 0..depth {
                under_way.push(space.begin().out(tuples)?);
                under_way.push(space.begin().take(&self.template)?);
            }
            under_way.drain(..).try_for_each(|pending| pending.finish().map(|_| ()))?;
            taken.push(started.elapsed().as_nanos() as f64 / depth as f64);
        }
        Ok(median(taken).unwrap_or(0.))
    }
}

/// How many pairs of so many bytes are timed together.
fn group(bytes: usize) -> u64 {
    if bytes <= SMALL_PAIR_BYTES { GROUP } else { 1 }
}

/// Measures what costs follow from. Each way to wait has a space of its own: both sides learn whether spinning pays, and
/// what one case teaches would slow the next.
pub(super) struct Calibrator {
    over: Over,
    here: Space,
    awaited: Space,
    pipelined: Space,
    paused: Space,
    small: Pair,
    /// Of [`sizes`], with these.
    larger: Vec<(usize, Pair)>,
    /// Ended when dropped, after the connections.
    _served: [Served; 3],
}

impl Calibrator {
    pub(super) fn new(over: Over) -> Result<Calibrator, Error> {
        let start = || Served::start_over(over);
        let served = [start()?, start()?, start()?];
        let calibrator = Calibrator {
            over,
            here: Lab::embedded().space(),
            awaited: served[0].connect()?,
            pipelined: served[1].connect()?,
            paused: served[2].connect()?,
            small: Pair::of(SMALL),
            larger: sizes(link(over)).iter().map(|bytes| (*bytes, Pair::of(*bytes))).collect(),
            _served: served,
        };
        calibrator.measure()?;
        Ok(calibrator)
    }

    fn measure(&self) -> Result<Measured, Error> {
        Ok(Measured {
            in_process: self.small.round(&self.here, SMALL)?,
            apart: self.small.round(&self.awaited, SMALL)?,
            pipelined: self.small.round_of_many(&self.pipelined, DEPTH)?,
            copied: self.larger_rounds()?,
            paused: self.small.round_after_pauses(&self.paused, PAUSE)?,
        })
    }

    fn larger_rounds(&self) -> Result<Vec<f64>, Error> {
        self.larger.iter().map(|(bytes, pair)| self.larger_round(pair, *bytes)).collect()
    }

    /// The median of larger pairs, in nanoseconds, small ones between their runs.
    fn larger_round(&self, pair: &Pair, bytes: usize) -> Result<f64, Error> {
        let count = (RUN_BYTES / bytes).clamp(*RUN_PAIRS.start(), *RUN_PAIRS.end()) as u64;
        let mut taken = Vec::new();
        for _ in 0..LEAST_PAIRS {
            (0..PAIRS_BETWEEN).try_for_each(|_| self.small.once(&self.awaited))?;
            taken.push(median_of_groups(count, group(bytes), || pair.once(&self.awaited))?);
        }
        Ok(median(taken).unwrap_or(0.))
    }

    pub(super) fn calibrate(&self) -> Result<Calibrated, Error> {
        Ok(calibrate(link(self.over), &self.measure()?))
    }
}

/// What the simulation calls it. To it TLS is TCP: what the cipher costs is calibrated with the rest.
fn link(over: Over) -> Link {
    match over {
        Over::Shm => Link::SharedMemory,
        Over::Unix => Link::Unix,
        Over::Tcp | Over::Tls => Link::Tcp,
    }
}

pub(super) fn in_process() -> Result<Round, Error> {
    let (space, pair) = (Lab::embedded().space(), Pair::of(SMALL));
    pair.round(&space, SMALL)?;
    Ok(Box::new(move || pair.round(&space, SMALL)))
}

/// Pairs with a space in another process, each awaited.
pub(super) fn one_by_one(over: Over, bytes: usize) -> Result<Round, Error> {
    apart(over, bytes, move |pair, space| pair.round(space, bytes))
}

/// Small pairs, each after a pause.
pub(super) fn paused(over: Over, pause: Span) -> Result<Round, Error> {
    apart(over, SMALL, move |pair, space| pair.round_after_pauses(space, pause))
}

/// Pairs of which `depth` are under way.
pub(super) fn many(over: Over, bytes: usize, depth: u64) -> Result<Round, Error> {
    apart(over, bytes, move |pair, space| pair.round_of_many(space, depth))
}

fn apart(
    over: Over,
    bytes: usize,
    round: impl Fn(&Pair, &Space) -> Result<f64, Error> + 'static,
) -> Result<Round, Error> {
    let served = Served::start_over(over)?;
    let (space, pair) = (served.connect()?, Pair::of(bytes));
    round(&pair, &space)?;
    Ok(served.rounds(move || round(&pair, &space)))
}

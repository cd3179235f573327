//! Round trips of several pairs of processes on the same two processors.
//!
//! As limit_futex does it: `across` puts the two sides of a pair on two processors, `within` both on one, with the pairs
//! dealt out over both. The pairs begin a round together, each trip is a sample, and a figure is over all samples of all
//! pairs. Those who starve show in the mean, hardly in the median.

use super::ADAPTIVE;
use super::child::arguments;
use super::echo::EchoLink;
use crate::bench::case::{Beside, Better, Case, Group, Prepare, Round, Unit};
use crate::bench::peer::{Peer, Statistic};
use crate::bench::row::{median, percentile};
use crate::companion::Companion;
use crate::connection::refused;
use crate::pinning::{Pin, allowed};
use quintet::{Code, Error};
use std::io::{Read, Write};
use std::process::{ChildStdin, ChildStdout};
use std::time::Instant;

/// Round trips of a pair in a round, and those before it that do not count; limit_futex does as many.
const TRIPS: u64 = 20_000;
const WARM_UP: u64 = 1_000;
/// Bytes of a number between a pair and who asks for its samples.
const WORD: usize = 8;

/// How pairs lie on two processors.
struct Spread {
    pairs: usize,
    /// The sides of a pair are on two processors, not on one.
    across: bool,
    placement: &'static str,
    goal: f64,
    limit: Peer,
}

const ACROSS_2: Spread = Spread {
    pairs: 2,
    across: true,
    placement: "2 pairs on the same 2 cores, sides across",
    goal: 1.,
    limit: limit("rtt-across-2", &["--pairs", "2", "--placement", "across"]),
};
const WITHIN_2: Spread = Spread {
    pairs: 2,
    across: false,
    placement: "2 pairs, each on a core of its own",
    goal: 1.,
    limit: limit("rtt-within-2", &["--pairs", "2", "--placement", "within"]),
};
const ACROSS_4: Spread = Spread {
    pairs: 4,
    across: true,
    placement: "4 pairs on the same 2 cores, sides across",
    goal: 1.3,
    limit: limit("rtt-across-4", &["--pairs", "4", "--placement", "across"]),
};
const WITHIN_4: Spread = Spread {
    pairs: 4,
    across: false,
    placement: "4 pairs, two on each of 2 cores",
    goal: 1.3,
    limit: limit("rtt-within-4", &["--pairs", "4", "--placement", "within"]),
};

const fn limit(case: &'static str, options: &'static [&'static str]) -> Peer {
    Peer::new("limit-futex", "limit_futex", case).with(options)
}

pub(super) fn cases() -> Vec<Case> {
    use Statistic::{Mean, Middle};
    vec![
        case("shm-rtt-64-shared-2-across-mean", &ACROSS_2, Mean, || prepare(&ACROSS_2, Mean)),
        case("shm-rtt-64-shared-2-across-p50", &ACROSS_2, Middle, || prepare(&ACROSS_2, Middle)),
        case("shm-rtt-64-shared-2-within-mean", &WITHIN_2, Mean, || prepare(&WITHIN_2, Mean)),
        case("shm-rtt-64-shared-2-within-p50", &WITHIN_2, Middle, || prepare(&WITHIN_2, Middle)),
        case("shm-rtt-64-shared-4-across-mean", &ACROSS_4, Mean, || prepare(&ACROSS_4, Mean)),
        case("shm-rtt-64-shared-4-across-p50", &ACROSS_4, Middle, || prepare(&ACROSS_4, Middle)),
        case("shm-rtt-64-shared-4-within-mean", &WITHIN_4, Mean, || prepare(&WITHIN_4, Mean)),
        case("shm-rtt-64-shared-4-within-p50", &WITHIN_4, Middle, || prepare(&WITHIN_4, Middle)),
    ]
}

fn case(name: &'static str, spread: &Spread, statistic: Statistic, prepare: Prepare) -> Case {
    Case::new(Group::Link, name, Unit::Nanoseconds, Better::Lower, prepare)
        .beside(Beside::Program(Peer { statistic, ..spread.limit }))
        .goal(spread.goal)
        .under(ADAPTIVE, spread.placement)
}

fn prepare(spread: &Spread, statistic: Statistic) -> Result<Round, Error> {
    let processors = two_processors()?;
    let mut pairs = Vec::new();
    for pair in 0..spread.pairs {
        let asking = processors[pair % 2];
        let echoing = if spread.across { processors[(pair + 1) % 2] } else { asking };
        pairs.push(Pair::start(asking, echoing)?);
    }
    together(&mut pairs, WARM_UP)?;
    Ok(Box::new(move || {
        let samples = together(&mut pairs, TRIPS)?;
        let figure = match statistic {
            Statistic::Mean => Some(samples.iter().sum::<f64>() / samples.len() as f64),
            Statistic::Middle => median(samples),
            Statistic::Percentile99 => percentile(samples, 99),
        };
        Ok(figure.unwrap_or(0.))
    }))
}

/// The first two processors that may be used.
fn two_processors() -> Result<[usize; 2], Error> {
    let allowed = allowed()?;
    allowed.first_chunk().copied().ok_or_else(|| Error::new(Code::Resource, "this case needs two processors"))
}

/// Every pair makes so many trips at once; gives all samples in nanoseconds.
fn together(pairs: &mut [Pair], trips: u64) -> Result<Vec<f64>, Error> {
    pairs.iter_mut().try_for_each(|pair| pair.begin(trips))?;
    // Nobody tells its samples, which takes a while, before the last one is done.
    pairs.iter_mut().try_for_each(Pair::done)?;
    let mut samples = Vec::new();
    pairs.iter_mut().try_for_each(|pair| pair.tell(trips, &mut samples))?;
    Ok(samples)
}

/// The asking process of a pair, seen from here. It began its echo itself.
struct Pair {
    input: ChildStdin,
    output: ChildStdout,
    /// Ended when dropped.
    _asking: Companion,
}

impl Pair {
    fn start(asking: usize, echoing: usize) -> Result<Pair, Error> {
        let processors = [asking, echoing].map(|processor| processor.to_string().into());
        let mut companion = Companion::start_listening(arguments("ask", processors))?;
        let channels = companion.input().zip(companion.output());
        let (input, output) = channels.ok_or_else(|| Error::new(Code::PeerDied, "a pair has no pipes"))?;
        Ok(Pair { input, output, _asking: companion })
    }

    fn begin(&mut self, trips: u64) -> Result<(), Error> {
        self.input.write_all(&trips.to_le_bytes()).map_err(refused("begin a round"))
    }

    fn done(&mut self) -> Result<(), Error> {
        self.output.read_exact(&mut [0; WORD]).map_err(refused("wait for a pair"))
    }

    fn tell(&mut self, trips: u64, samples: &mut Vec<f64>) -> Result<(), Error> {
        self.input.write_all(&[0; WORD]).map_err(refused("ask for samples"))?;
        let mut word = [0; WORD];
        for _ in 0..trips {
            self.output.read_exact(&mut word).map_err(refused("read samples"))?;
            samples.push(u64::from_le_bytes(word) as f64);
        }
        Ok(())
    }
}

/// The asking process: reads how many trips to make, makes them and says so; then reads another word and tells the samples.
pub(super) fn ask(asking: usize, echoing: usize) -> Result<(), Error> {
    let _pin = Pin::to(asking)?;
    let mut link = EchoLink::start(Some(echoing))?;
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
    let (mut word, mut samples) = ([0; WORD], Vec::new());
    // Its end is the end of who asks.
    while input.read_exact(&mut word).is_ok() {
        measure(&mut link, u64::from_le_bytes(word), &mut samples)?;
        output.write_all(&word).and_then(|()| output.flush()).map_err(refused("say that it is done"))?;
        input.read_exact(&mut word).map_err(refused("wait to be asked"))?;
        output.write_all(&samples).and_then(|()| output.flush()).map_err(refused("tell samples"))?;
    }
    Ok(())
}

/// Each trip's nanoseconds.
fn measure(link: &mut EchoLink, trips: u64, samples: &mut Vec<u8>) -> Result<(), Error> {
    samples.clear();
    (0..WARM_UP).try_for_each(|_| link.trip())?;
    let mut started = Instant::now();
    for _ in 0..trips {
        link.trip()?;
        let now = Instant::now();
        let nanoseconds = (now - started).as_nanos() as u64;
        samples.extend_from_slice(&nanoseconds.to_le_bytes());
        started = now;
    }
    Ok(())
}

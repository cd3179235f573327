//! All runs, figure by figure beside what is printed.

mod csv;
mod html;
mod json;
mod text;

use super::published::{Across, PUBLISHED, Published};
use super::quartiles::Quartiles;
use super::regression::Regression;
use super::sample::{Packets, Sample, Subject, Usage};
use std::collections::{BTreeMap, BTreeSet};

/// Where it was measured.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Place {
    /// Processors of this machine.
    pub processors: usize,
    /// Whether each machine of the experiment had one of them, and no other.
    pub is_one_each: bool,
    /// How many processes wanted one before it began: the system's mean over a minute.
    pub load_before: f64,
    /// The same when it had ended.
    pub load_after: f64,
    /// Why nothing was measured on two machines, if they were wanted.
    pub no_second: Option<String>,
}

/// All runs.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Measured {
    /// In the order in which they were made.
    pub samples: Vec<Sample>,
    /// Where.
    pub place: Place,
}

/// The times of one program at several places, with one packet and with two.
#[derive(Clone, PartialEq, Debug)]
pub struct Figure {
    /// What is printed of it.
    pub published: Published,
    /// With two packets, and with one.
    pub curves: Vec<Curve>,
    /// By how much less time one packet took over all places, in percent: a value each turn, compared within it.
    pub decrease_percent: Quartiles,
    /// By how much less of the processors' time it took, in percent: what else the machine does hardly changes that.
    pub processor_percent: Quartiles,
    /// How many turns there were.
    pub turns: usize,
}

/// Times at several places.
#[derive(Clone, PartialEq, Debug)]
pub struct Curve {
    /// How messages went.
    pub packets: Packets,
    /// Across, and seconds.
    pub points: Vec<(f64, Quartiles)>,
    /// Of jblock: the line through all times of blocks, in seconds.
    pub line: Option<Regression>,
}

/// A line that is drawn: its name, and its points, each with what lies across, up, and its half width.
pub type DrawnLine = (String, Vec<(f64, f64, f64)>);

/// Draws a figure as an SVG element: title, across, up, and lines.
pub type Drawing<'a> = &'a dyn Fn(&str, &str, &str, &[DrawnLine]) -> String;

/// As many places as jblock's times are shown at.
const SHOWN: usize = 20;

impl Measured {
    /// The figures of which something was measured, in the paper's order.
    #[must_use]
    pub fn figures(&self) -> Vec<Figure> {
        PUBLISHED.iter().filter_map(|published| self.figure(published)).collect()
    }

    fn figure(&self, published: &Published) -> Option<Figure> {
        let samples: Vec<&Sample> = self
            .samples
            .iter()
            .filter(|sample| sample.machines == published.machines && belongs(sample.subject, published))
            .collect();
        let has = |packets| samples.iter().any(|sample| sample.packets == packets);
        if !Packets::BOTH.into_iter().all(has) {
            return None;
        }
        let curve = |packets| match published.across {
            Across::Bytes => of_blocks(packets, &samples),
            across => of_runs(packets, across, &samples),
        };
        let decreases_of = |of: fn(&Sample) -> f64| decreases(&samples, of);
        let (times, processor) =
            (decreases_of(|sample| sample.seconds), decreases_of(|sample| sample.usage.processor_ns as f64));
        Some(Figure {
            published: *published,
            curves: Packets::BOTH.map(curve).into(),
            turns: times.len(),
            decrease_percent: Quartiles::of(times),
            processor_percent: Quartiles::of(processor),
        })
    }

    /// What an operation cost with so many packets in runs of that program on so many machines: microseconds of time, of processor, and waits; and
    /// the system's share of the processor's time. None if nothing was measured.
    #[must_use]
    pub fn per_operation(&self, program: &str, machines: u8, packets: Packets) -> Option<PerOperation> {
        let of = |sample: &&Sample| {
            sample.machines == machines && sample.packets == packets && name(sample.subject) == program
        };
        let samples: Vec<&Sample> = self.samples.iter().filter(of).collect();
        let operations = samples.iter().map(|sample| sample.operations).sum::<u64>() as f64;
        if operations == 0.0 {
            return None;
        }
        let usage = samples.iter().fold(Usage::default(), |sum, sample| sum.plus(&sample.usage));
        let seconds = samples.iter().map(|sample| sample.seconds).sum::<f64>();
        let ticks = (usage.user_ns + usage.system_ns) as f64;
        Some(PerOperation {
            micros: seconds * 1e6 / operations,
            processor_micros: usage.processor_ns as f64 / 1e3 / operations,
            waits: usage.waits as f64 / operations,
            system_share: if ticks > 0.0 { usage.system_ns as f64 / ticks } else { 0.0 },
        })
    }

    /// With how many workers jmatrix at dimension 10 took least, with one packet. None if nothing was measured.
    #[must_use]
    pub fn fastest_workers(&self, machines: u8) -> Option<Fastest> {
        let mut times: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for sample in self.samples.iter().filter(|sample| sample.machines == machines) {
            if let (Subject::Jmatrix { dimension: 10, workers }, Packets::One) =
                (sample.subject, sample.packets)
            {
                times.entry(workers).or_default().push(sample.seconds);
            }
        }
        let all: Vec<(u32, Quartiles)> =
            times.into_iter().map(|(workers, times)| (workers, Quartiles::of(times))).collect();
        let (workers, least) = *all.iter().min_by(|one, other| one.1.median.total_cmp(&other.1.median))?;
        let as_good = all.iter().filter(|(other, times)| *other != workers && times.low <= least.high);
        Some(Fastest {
            workers,
            as_good: as_good.map(|(workers, _)| *workers).collect(),
            most: all.last()?.0,
        })
    }
}

/// With how many workers it took least.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fastest {
    /// By the medians.
    pub workers: u32,
    /// Other numbers, whose lower quartile is not above the upper one of that.
    pub as_good: Vec<u32>,
    /// As many as were tried.
    pub most: u32,
}

/// What one operation cost.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PerOperation {
    /// Of the program's time.
    pub micros: f64,
    /// Of all processes on processors.
    pub processor_micros: f64,
    /// How often a thread gave its processor up.
    pub waits: f64,
    /// Of the processors' time, what the system took, 0 to 1.
    pub system_share: f64,
}

/// The program's name.
fn name(subject: Subject) -> &'static str {
    match subject {
        Subject::Jmatrix { .. } => "jmatrix",
        Subject::Jblock { .. } => "jblock",
    }
}

fn belongs(subject: Subject, published: &Published) -> bool {
    match (subject, published.across) {
        (Subject::Jmatrix { workers, .. }, Across::Dimension) => workers == 5,
        (Subject::Jmatrix { dimension, .. }, Across::Workers) => dimension == 10,
        (Subject::Jblock { .. }, Across::Bytes) => true,
        _ => false,
    }
}

/// Where across a run of jmatrix lies.
fn place(subject: Subject, across: Across) -> u32 {
    match (subject, across) {
        (Subject::Jmatrix { dimension, .. }, Across::Dimension) => dimension,
        (Subject::Jmatrix { workers, .. }, _) => workers,
        (Subject::Jblock { blocks, .. }, _) => blocks,
    }
}

fn of_runs(packets: Packets, across: Across, samples: &[&Sample]) -> Curve {
    let mut places: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for sample in samples.iter().filter(|sample| sample.packets == packets) {
        places.entry(place(sample.subject, across)).or_default().push(sample.seconds);
    }
    let points = places.into_iter().map(|(at, times)| (f64::from(at), Quartiles::of(times)));
    Curve { packets, points: points.collect(), line: None }
}

/// The times of blocks: the line through the medians over turns, and these at a few places.
fn of_blocks(packets: Packets, samples: &[&Sample]) -> Curve {
    let mut sizes: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for sample in samples.iter().filter(|sample| sample.packets == packets) {
        let Subject::Jblock { step, .. } = sample.subject else { continue };
        for (block, nanoseconds) in (1_u64..).zip(&sample.blocks_ns) {
            sizes.entry(block * u64::from(step)).or_default().push(*nanoseconds as f64 / 1e9);
        }
    }
    let all: Vec<(f64, Quartiles)> =
        sizes.into_iter().map(|(size, times)| (size as f64, Quartiles::of(times))).collect();
    let middles: Vec<(f64, f64)> = all.iter().map(|(size, times)| (*size, times.median)).collect();
    let every = all.len().div_ceil(SHOWN).max(1);
    let points = all.iter().skip(every - 1).step_by(every).copied().collect();
    Curve { packets, points, line: Regression::of(&middles) }
}

/// Of each turn that has the same runs with both: by how much one packet took less over all of them, in percent.
fn decreases(samples: &[&Sample], measure: fn(&Sample) -> f64) -> Vec<f64> {
    let turns: BTreeSet<u32> = samples.iter().map(|sample| sample.turn).collect();
    let of_turn = |turn: u32| {
        let time = |packets| {
            let of = samples.iter().filter(|sample| sample.turn == turn && sample.packets == packets);
            let times: BTreeMap<Subject, f64> = of.map(|sample| (sample.subject, measure(sample))).collect();
            times
        };
        let (one, two) = (time(Packets::One), time(Packets::Two));
        let is_whole = !one.is_empty() && one.keys().eq(two.keys());
        let sum = |times: &BTreeMap<Subject, f64>| times.values().sum::<f64>();
        is_whole.then(|| 100.0 * (1.0 - sum(&one) / sum(&two)))
    };
    turns.into_iter().filter_map(of_turn).collect()
}

#[cfg(test)]
pub(super) mod tests;

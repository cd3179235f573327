//! All experiments, beside what is printed.

use super::machines::{Experiment, Outcome, simulate};
use super::parameters::CONNECTION_US;
use crate::cell::{Cell, Column, Role};
use crate::linda_lan::explanation::machines_in_words;
use crate::linda_lan::published::{Across, PUBLISHED, Published};
use crate::linda_lan::{Packets, Subject};
use crate::report::Report;

/// Blocks that stand for the paper's 10,000: as long on average, and in a hundredth of the number.
const BLOCKS: u32 = 100;
/// By which each is longer, in bytes.
const STEP: u32 = 3_200;
/// As many of them are drawn.
const SHOWN: usize = 20;
/// With each dimension.
const WORKERS: u32 = 5;
/// With each number of workers.
const DIMENSION: u32 = 10;
/// Workers of the sweep, at most.
const MOST_WORKERS: u32 = 16;
/// Processes that multiply, with L-Kernels and without.
const PROCESSES: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];
/// What a connection may cost, in microseconds.
pub(super) const CONNECTIONS_US: [u32; 2] = [CONNECTION_US, 10 * CONNECTION_US];
/// Their matrices: each process has some tasks.
const LARGER: u32 = 20;

/// Seconds by the number of workers, at dimension 10 with one packet.
#[derive(Clone, PartialEq, Debug)]
pub struct Sweep {
    /// On how many machines.
    pub machines: u8,
    /// Workers, and seconds.
    pub points: Vec<(u32, f64)>,
}

impl Sweep {
    /// The number of workers with which it takes least, and whether it takes longer with more.
    #[must_use]
    pub fn fastest(&self) -> Option<(u32, bool)> {
        let (workers, _) = self.points.iter().min_by(|one, other| one.1.total_cmp(&other.1))?;
        Some((*workers, self.points.last().is_some_and(|last| last.0 > *workers)))
    }
}

/// The same work through L-Kernels and without.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct KernelRow {
    /// On how many machines.
    pub machines: u8,
    /// What a connection costs, in microseconds.
    pub connection_us: u32,
    /// Processes that work.
    pub processes: u32,
    /// Seconds through L-Kernels.
    pub kernels: f64,
    /// Seconds with direct connections.
    pub direct: f64,
}

/// The times of one program at several places, with two packets and with one.
#[derive(Clone, PartialEq, Debug)]
pub struct SimulatedFigure {
    /// What is printed of it.
    pub published: Published,
    /// What lies across, and seconds: with two packets, and with one.
    pub curves: [(Packets, Vec<(f64, f64)>); 2],
    /// By how much less time one packet takes over all places, in percent.
    pub decrease_percent: f64,
}

/// All of it.
#[derive(Clone, PartialEq, Debug)]
pub struct Simulated {
    /// What is printed, cell by cell.
    pub report: Report,
    /// The paper's figures, in its order.
    pub figures: Vec<SimulatedFigure>,
    /// Workers until more are slower.
    pub sweeps: Vec<Sweep>,
    /// L-Kernels or not.
    pub kernels: Vec<KernelRow>,
}

impl Simulated {
    /// Simulates everything with so many seeds, of which the means are taken.
    #[must_use]
    pub fn run(seeds: u64) -> Simulated {
        let mut study = Study { seeds: seeds.max(1), digest: 0 };
        let mut report = Report::new("linda-lan", seeds);
        report.cells = study.times();
        let figures: Vec<SimulatedFigure> =
            PUBLISHED.iter().map(|published| study.figure(published)).collect();
        report.cells.extend(figures.iter().map(share));
        let sweeps = [1, 2].map(|machines| study.sweep(machines)).into();
        let pairs = [1, 2].into_iter().flat_map(|machines| CONNECTIONS_US.map(|cost| (machines, cost)));
        let kernels = pairs.flat_map(|(machines, cost)| study.kernels(machines, cost)).collect();
        report.digest = study.digest;
        Simulated { report, figures, sweeps, kernels }
    }

    /// From how many processes on L-Kernels are faster on so many machines, if a connection costs so much; none if they are with no number that was
    /// simulated.
    #[must_use]
    pub fn crossing(&self, machines: u8, connection_us: u32) -> Option<u32> {
        let rows = || {
            self.kernels.iter().filter(|row| (row.machines, row.connection_us) == (machines, connection_us))
        };
        let last_slower = rows().filter(|row| row.kernels >= row.direct).map(|row| row.processes).max();
        rows().map(|row| row.processes).filter(|processes| Some(*processes) > last_slower).min()
    }
}

struct Study {
    seeds: u64,
    digest: u64,
}

impl Study {
    fn seconds(&mut self, experiment: Experiment) -> f64 {
        self.means(experiment).0
    }

    /// The seconds of a run, and of each of its blocks.
    fn means(&mut self, experiment: Experiment) -> (f64, Vec<f64>) {
        let (mut sum, mut blocks) = (0.0, Vec::new());
        for seed in 0..self.seeds {
            let Outcome { seconds, blocks: of_run, digest, .. } = simulate(&experiment, seed);
            sum += seconds;
            blocks.resize(of_run.len(), 0.0);
            blocks.iter_mut().zip(of_run).for_each(|(sum, seconds)| *sum += seconds);
            self.digest = self.digest.rotate_left(5) ^ digest;
        }
        let seeds = self.seeds as f64;
        (sum / seeds, blocks.into_iter().map(|sum| sum / seeds).collect())
    }

    fn of(&mut self, subject: Subject, machines: u8, packets: Packets) -> f64 {
        self.seconds(Experiment::of_paper(subject, machines, packets))
    }

    fn times(&mut self) -> Vec<Cell> {
        let printed = [(1, 20, 12.0, Role::Fitted), (1, 30, 27.0, Role::Fitted), (2, 30, 18.0, Role::Fitted)];
        let cell = |(machines, dimension, published, role): (u8, u32, f64, Role)| {
            let subject = Subject::Jmatrix { dimension, workers: WORKERS };
            Cell {
                table: if machines == 1 { "5.1" } else { "5.2" },
                row: format!(
                    "jmatrix {dimension} by {dimension}, {WORKERS} workers, {}",
                    machines_in_words(machines)
                ),
                column: Column::Time("seconds, one packet"),
                published,
                ours: Some(self.of(subject, machines, Packets::One)),
                naive: None,
                role,
                set_aside: None,
                miss: None,
            }
        };
        printed.map(cell).into()
    }

    fn figure(&mut self, published: &Published) -> SimulatedFigure {
        let mut curve = |packets| match published.across {
            Across::Bytes => self.blocks(published.machines, packets),
            across => self.runs(across, published.machines, packets),
        };
        let [(two, two_seconds), (one, one_seconds)] = Packets::BOTH.map(&mut curve);
        SimulatedFigure {
            published: *published,
            curves: [(Packets::Two, two), (Packets::One, one)],
            decrease_percent: 100.0 * (1.0 - one_seconds / two_seconds),
        }
    }

    /// Across and seconds of jmatrix, and the seconds of all runs.
    fn runs(&mut self, across: Across, machines: u8, packets: Packets) -> (Vec<(f64, f64)>, f64) {
        let subject = |number: u32| match across {
            Across::Workers => (number, Subject::Jmatrix { dimension: DIMENSION, workers: number }),
            _ => (10 * number, Subject::Jmatrix { dimension: 10 * number, workers: WORKERS }),
        };
        let points: Vec<(f64, f64)> = (1..=5)
            .map(subject)
            .map(|(at, subject)| (f64::from(at), self.of(subject, machines, packets)))
            .collect();
        let sum = points.iter().map(|(_, seconds)| seconds).sum();
        (points, sum)
    }

    /// Bytes and seconds of some blocks, and the seconds of all.
    fn blocks(&mut self, machines: u8, packets: Packets) -> (Vec<(f64, f64)>, f64) {
        let experiment =
            Experiment::of_paper(Subject::Jblock { blocks: BLOCKS, step: STEP }, machines, packets);
        let (seconds, blocks) = self.means(experiment);
        let sizes = (1..=BLOCKS).map(|block| f64::from(block * STEP));
        let every = blocks.len() / SHOWN;
        let points = sizes.zip(blocks).skip(every - 1).step_by(every).collect();
        (points, seconds)
    }

    fn sweep(&mut self, machines: u8) -> Sweep {
        let time = |workers| {
            (workers, self.of(Subject::Jmatrix { dimension: DIMENSION, workers }, machines, Packets::One))
        };
        Sweep { machines, points: (1..=MOST_WORKERS).map(time).collect() }
    }

    fn kernels(&mut self, machines: u8, connection_us: u32) -> Vec<KernelRow> {
        let row = |processes| {
            let subject = Subject::Jmatrix { dimension: LARGER, workers: processes };
            let paper = Experiment::of_paper(subject, machines, Packets::One);
            let mut time = |kernels| self.seconds(Experiment { kernels, connection_us, ..paper });
            KernelRow { machines, connection_us, processes, kernels: time(true), direct: time(false) }
        };
        PROCESSES.map(row).into()
    }
}

/// A figure's cell.
fn share(figure: &SimulatedFigure) -> Cell {
    let published = &figure.published;
    let is_fitted = published.machines == 1 && published.across != Across::Workers;
    let role = if is_fitted { Role::Fitted } else { Role::Predicted };
    let copied = if published.program == "jblock" { 11.0 } else { 25.0 };
    Cell {
        table: published.figure,
        row: format!(
            "{}, {}, by {}",
            published.program,
            machines_in_words(published.machines),
            published.across.name()
        ),
        column: Column::Share("percent less with one packet"),
        published: published.decrease_percent,
        ours: Some(figure.decrease_percent),
        naive: (role == Role::Predicted).then_some(copied),
        role,
        set_aside: None,
        miss: None,
    }
}

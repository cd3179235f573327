//! Runs of a job over seeds and numbers of workers.

use crate::cluster::Cluster;
use crate::farm::{FarmError, FarmRun, run_until};
use crate::job::Job;
use quintet_model::Watch;
use quintet_simulate::in_parallel;
use quintet_simulate::statistics::{Interval, Replications};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// The confidence of every interval.
pub const CONFIDENCE: f64 = 0.95;

/// What runs over seeds said together.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// How many workers.
    pub workers: usize,
    /// Those that went to their end or to a standstill, in the order of the seeds.
    pub runs: Vec<FarmRun>,
    /// Those in which a program was refused something: the seed, and why.
    pub failures: Vec<(u64, String)>,
}

impl Row {
    /// The mean over the runs that have the value, and how far from it the true mean may lie; none if no run has it. The
    /// half width is infinite for one run, which says nothing of it.
    pub fn interval(&self, value: impl Fn(&FarmRun) -> Option<f64>) -> Option<Interval> {
        interval(self.runs.iter().filter_map(value))
    }

    /// Runs that were made, those that failed among them.
    #[must_use]
    pub fn made(&self) -> usize {
        self.runs.len() + self.failures.len()
    }

    /// Runs in which the job did not end.
    #[must_use]
    pub fn unfinished(&self) -> usize {
        self.runs.iter().filter(|run| run.makespan.is_none()).count()
    }
}

/// The mean of these values, and how far from it the true mean may lie: infinite for one value; none for none.
pub(crate) fn interval(of: impl Iterator<Item = f64>) -> Option<Interval> {
    let mut values = Replications::new();
    of.for_each(|value| values.add(value));
    let alone = values.tally().mean().map(|mean| Interval { mean, half_width: f64::INFINITY });
    values.interval(CONFIDENCE).ok().or(alone)
}

/// Runs a job with each number of workers, once a seed. The results are the same however many threads run. A run that fails is part
/// of its row; the others go on.
///
/// # Errors
/// A job that does not fit the machines.
pub fn study(cluster: &Cluster, job: &Job, workers: &[usize], seeds: u64) -> Result<Vec<Row>, FarmError> {
    study_watched(cluster, job, workers, seeds, &Watch { stop: &AtomicBool::new(false), ended: &|| () })
}

/// The same, looked at from outside. Once it is stopped: the rows that are whole, and, where there are any, those runs of the next one
/// that had ended.
///
/// # Errors
/// Those of [`study`].
pub fn study_watched(
    cluster: &Cluster,
    job: &Job,
    workers: &[usize],
    seeds: u64,
    watch: &Watch<'_>,
) -> Result<Vec<Row>, FarmError> {
    let mut rows = Vec::new();
    for workers in workers {
        let row = row(cluster, &Job { workers: *workers, ..job.clone() }, seeds, watch)?;
        if row.made() > 0 {
            rows.push(row);
        }
        if watch.stop.load(Relaxed) {
            break;
        }
    }
    Ok(rows)
}

fn row(cluster: &Cluster, job: &Job, seeds: u64, watch: &Watch<'_>) -> Result<Row, FarmError> {
    let seeds: Vec<u64> = (0..seeds).collect();
    let ended = in_parallel(&seeds, |seed| {
        if watch.stop.load(Relaxed) {
            return Err(FarmError::Stopped);
        }
        let ended = run_until(cluster, job, *seed, watch.stop);
        if ended != Err(FarmError::Stopped) {
            (watch.ended)();
        }
        ended
    });
    let mut row = Row { workers: job.workers, runs: Vec::new(), failures: Vec::new() };
    for (seed, ended) in seeds.into_iter().zip(ended) {
        match ended {
            Ok(run) => row.runs.push(run),
            Err(FarmError::Failed(why)) => row.failures.push((seed, why)),
            Err(FarmError::Stopped) => {}
            Err(misfit) => return Err(misfit),
        }
    }
    Ok(row)
}

//! What a job tells of itself in numbers: the loop writes them down after each thing that happens, and whoever is asked reads them.

use crate::metrics::Part;
use quintet::{Measurement, Metric};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

static METRICS: [Metric; 5] = [
    Metric::gauge("quintet_job_workers", "Workers that run, on all machines"),
    Metric::counter("quintet_job_workers_restarted", "Workers that were started again"),
    Metric::counter("quintet_job_tasks_submitted", "Tasks that the master has put, as far as it tells"),
    Metric::counter("quintet_job_tasks_done", "Tasks that were done"),
    Metric::counter("quintet_job_tasks_redone", "Tasks that another worker took again, each once"),
];

/// In the order of their metrics.
pub(super) type Counts = [u64; METRICS.len()];

/// Shared by the job's loop and whoever tells.
#[derive(Clone, Default)]
pub(super) struct JobCounts(Arc<[AtomicU64; METRICS.len()]>);

impl JobCounts {
    pub(super) fn note(&self, counts: Counts) {
        self.0.iter().zip(counts).for_each(|(place, count)| place.store(count, Ordering::Relaxed));
    }

    /// What tells them.
    pub(super) fn part(&self) -> Part {
        let counts = Arc::clone(&self.0);
        let measure = move |_| {
            let values = counts.iter().map(|count| count.load(Ordering::Relaxed));
            Some(METRICS.iter().zip(values).map(|(metric, value)| Measurement { metric, value }).collect())
        };
        Part { name: "job", space: None, measure: Box::new(measure) }
    }
}

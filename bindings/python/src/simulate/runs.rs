//! Runs on all processors of the machine, which a signal ends.

use super::model::SimulatedModel;
use super::problems::raise;
use super::row::Row;
use crate::connection::SLICE;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use quintet::{Code, Error};
use quintet_model::{Model, ModelError};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;

/// Every model with every seed. Shared with threads that may outlive the call: when nobody waits for results any more, each
/// ends with the run that it is in.
struct Jobs {
    models: Vec<Arc<Model>>,
    seeds: Vec<u64>,
    next: AtomicUsize,
}

/// The number of a job, and what came of it.
type Done = (usize, Result<Row, ModelError>);

impl Jobs {
    fn count(&self) -> usize {
        self.models.len() * self.seeds.len()
    }

    /// The next job that nobody has begun.
    fn begin(&self) -> Option<(usize, &Model, u64)> {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        let model = self.models.get(index.checked_div(self.seeds.len())?)?;
        Some((index, model, self.seeds[index % self.seeds.len()]))
    }

    /// Does jobs until there are no more, or nobody waits for them.
    fn work(&self, done: &Sender<Done>) {
        while let Some((index, model, seed)) = self.begin() {
            if done.send((index, model.run(seed).and_then(|run| Row::of(model, run)))).is_err() {
                return;
            }
        }
    }
}

/// Runs each model with each seed: the rows of the first model in the order of the seeds, then those of the second.
///
/// Raises BadValue for a model that cannot run, Resource if there is no thread for it, and the exception of a signal's
/// handler.
#[pyfunction]
pub(crate) fn run_all(
    py: Python<'_>,
    models: Vec<PyRef<'_, SimulatedModel>>,
    seeds: Vec<u64>,
) -> PyResult<Vec<Row>> {
    let has_file = models.iter().any(|model| model.has_file);
    let models = models.iter().map(|model| Arc::clone(&model.model)).collect();
    let jobs = Arc::new(Jobs { models, seeds, next: AtomicUsize::new(0) });
    let done = start(&jobs).map_err(crate::error::raise)?;
    let rows = collect(py, done, jobs.count())?;
    rows.into_iter().collect::<Result<_, _>>().map_err(|error| raise(error, has_file))
}

/// Starts a thread for each processor.
fn start(jobs: &Arc<Jobs>) -> Result<Receiver<Done>, Error> {
    let (send, receive) = channel();
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get).min(jobs.count());
    for _ in 0..threads {
        let (jobs, send) = (Arc::clone(jobs), send.clone());
        let named = thread::Builder::new().name("quintet-run".to_owned());
        let started = named.spawn(move || jobs.work(&send));
        started.map_err(|error| Error::new(Code::Resource, format!("no thread for a run: {error}")))?;
    }
    Ok(receive)
}

/// Waits for all results, and looks for signals meanwhile.
fn collect(py: Python<'_>, mut done: Receiver<Done>, count: usize) -> PyResult<Vec<Result<Row, ModelError>>> {
    let mut rows: Vec<_> = (0..count).map(|_| None).collect();
    for _ in 0..count {
        let (index, row) = loop {
            let waiting = &mut done;
            match py.detach(move || waiting.recv_timeout(SLICE)) {
                Ok(found) => break found,
                Err(RecvTimeoutError::Timeout) => py.check_signals()?,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(PyRuntimeError::new_err(
                        "a run ended without a result: a defect of the simulator",
                    ));
                }
            }
        };
        py.check_signals()?;
        rows[index] = Some(row);
    }
    Ok(rows.into_iter().flatten().collect())
}

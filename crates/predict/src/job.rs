//! A job: a master that puts tasks and takes results, and workers.

use quintet_contract::Span;
use quintet_simulate::Distribution;

/// A job on machines.
#[derive(Clone, PartialEq, Debug)]
pub struct Job {
    /// How many tasks.
    pub tasks: u64,
    /// Bytes of a task's data.
    pub task_bytes: usize,
    /// Bytes of a result's data.
    pub result_bytes: usize,
    /// What a task takes on a processor of speed 1, in seconds. Each task draws its own time, the same in every run of a seed.
    pub compute: Distribution,
    /// How many workers.
    pub workers: usize,
    /// How long a lease lives unless renewed; none: a plain take, which loses the task of a worker that dies.
    pub lease: Option<Span>,
    /// Where its processes are.
    pub places: Places,
    /// A worker that dies.
    pub kill: Option<Kill>,
}

/// Groups of machines, by name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Places {
    /// The machine of the space: the first of its group.
    pub space: String,
    /// That of the master.
    pub master: String,
    /// The machines of the workers, one after another in turn.
    pub workers: Vec<String>,
}

/// The death of a worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kill {
    /// Which one, counted from 0.
    pub worker: usize,
    /// When, from the first task put.
    pub at: Span,
    /// After how long the space is told.
    pub noticed_after: Span,
}

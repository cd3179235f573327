//! One run of a job.

use crate::cluster::Cluster;
use crate::costs::CYCLES;
use crate::floor::{Floor, Place, program_at, relay};
use crate::job::{Job, Kill};
use crate::program::{BEGIN, COMPUTE, Compute, Master, Redone, Worker};
use bytes::Bytes;
use core::fmt;
use quintet_contract::{Address, NodeId, OwnedFrame, Span, Token};
use quintet_simulate::device::DeviceError;
use quintet_simulate::{Costs, Distribution, Picos};
use quintet_wire::registry::PORT_USER;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// Until when all clients have greeted the space and the workers wait for tasks.
const START: Span = Span::from_millis(100);
/// A run ends when no task was put and no result came for so long, and for so many times what a task takes.
const STILL: Span = Span::from_secs(60);
const STILL_TASKS: f64 = 1_000.0;
const MASTER: NodeId = NodeId(1);
/// Workers are numbered in 16 bits, two nodes each.
pub(crate) const MOST_WORKERS: usize = 30_000;

/// What one run said.
#[derive(Clone, PartialEq, Debug)]
pub struct FarmRun {
    /// What it was drawn from.
    pub seed: u64,
    /// From the first task put to the last result taken, in seconds; none if the job did not end.
    pub makespan: Option<f64>,
    /// Results that the master has.
    pub results: u64,
    /// The share of the time in which the core of the space was busy, whatever it did.
    pub space: f64,
    /// The same of the workers' cores, in the mean.
    pub workers: f64,
    /// The share in which a line between network and the space's machine carried something, both directions in the mean;
    /// none without a network. On a shared medium, that of the medium.
    pub network: Option<f64>,
    /// What the worker that was killed held.
    pub killed_with: Option<u64>,
    /// Tasks that were taken again.
    pub redone: Vec<Redone>,
    /// Sums up the run: the same for the same seed, on every machine.
    pub digest: u64,
    /// Events simulated.
    pub events: u64,
}

/// Why a job cannot run on machines.
#[derive(Clone, PartialEq, Debug)]
pub enum FarmError {
    /// There are no machines of this name.
    NoSuchMachine(String),
    /// Machines apart, and no network.
    NoNetwork,
    /// More workers than the simulator numbers.
    TooManyWorkers(usize),
    /// The worker to be killed is not there.
    NoSuchWorker(usize),
    /// The network cannot be.
    Network(DeviceError),
    /// A program was refused something.
    Failed(String),
    /// It was stopped before its end.
    Stopped,
}

impl fmt::Display for FarmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FarmError::NoSuchMachine(name) => write!(f, "there is no machine {name}"),
            FarmError::NoNetwork => f.write_str("the job uses several machines, and there is no [network]"),
            FarmError::TooManyWorkers(workers) => {
                write!(f, "{workers} workers, above the limit of {MOST_WORKERS}")
            }
            FarmError::NoSuchWorker(worker) => write!(f, "there is no worker {worker} to kill"),
            FarmError::Network(error) => write!(f, "an impossible network: {error}"),
            FarmError::Failed(text) => write!(f, "the job failed: {text}"),
            FarmError::Stopped => f.write_str("the run was stopped"),
        }
    }
}

impl core::error::Error for FarmError {}

/// Runs a job once.
///
/// # Errors
/// A job that does not fit the machines, or that the space refuses.
pub fn run(cluster: &Cluster, job: &Job, seed: u64) -> Result<FarmRun, FarmError> {
    run_until(cluster, job, seed, &AtomicBool::new(false))
}

/// The same, until its end or until `stop` is true.
///
/// # Errors
/// Those of [`run`]; that it was stopped.
pub(crate) fn run_until(
    cluster: &Cluster,
    job: &Job,
    seed: u64,
    stop: &AtomicBool,
) -> Result<FarmRun, FarmError> {
    Farm::new(cluster, job, seed, stop)?.run(seed)
}

struct Farm<'a> {
    floor: Floor<'a>,
    job: &'a Job,
    space: Place,
    workers: Vec<Place>,
    stop: &'a AtomicBool,
}

/// The node of a worker and that of its computing side.
fn nodes(worker: usize) -> (NodeId, NodeId) {
    let first = u16::try_from(2 + 2 * worker).expect("the number of workers was checked");
    (NodeId(first), NodeId(first + 1))
}

fn machines(cluster: &Cluster, group: &str) -> Result<Vec<usize>, FarmError> {
    let found = cluster.machines.iter().enumerate().filter(|(_, machine)| machine.group == group);
    let found: Vec<_> = found.map(|(index, _)| index).collect();
    if found.is_empty() { Err(FarmError::NoSuchMachine(group.to_owned())) } else { Ok(found) }
}

fn check(cluster: &Cluster, job: &Job) -> Result<(usize, usize, Vec<usize>), FarmError> {
    if job.workers > MOST_WORKERS {
        return Err(FarmError::TooManyWorkers(job.workers));
    }
    if let Some(kill) = job.kill.filter(|kill| kill.worker >= job.workers) {
        return Err(FarmError::NoSuchWorker(kill.worker));
    }
    let (space, master) =
        (machines(cluster, &job.places.space)?[0], machines(cluster, &job.places.master)?[0]);
    let groups = job.places.workers.iter().map(|group| machines(cluster, group));
    let workers: Vec<usize> = groups.collect::<Result<Vec<_>, _>>()?.concat();
    let apart = workers.iter().chain([&master]).any(|machine| *machine != space);
    if apart && cluster.network.is_none() {
        return Err(FarmError::NoNetwork);
    }
    Ok((space, master, workers))
}

impl<'a> Farm<'a> {
    fn new(
        cluster: &'a Cluster,
        job: &'a Job,
        seed: u64,
        stop: &'a AtomicBool,
    ) -> Result<Farm<'a>, FarmError> {
        let (space, master, machines) = check(cluster, job)?;
        let largest = job.task_bytes.max(job.result_bytes);
        let mut floor = Floor::new(seed, cluster, largest).map_err(FarmError::Network)?;
        let space = floor.add_space(space);
        floor.add_program(master, MASTER, Master::new(relay(MASTER), job.tasks, job.task_bytes));
        let mut farm = Farm { floor, job, space, workers: Vec::new(), stop };
        for worker in 0..job.workers {
            let machine = machines[worker % machines.len()];
            farm.add_worker(worker, machine, seed);
        }
        Ok(farm)
    }

    fn add_worker(&mut self, number: usize, machine: usize, seed: u64) {
        let (node, computing) = nodes(number);
        let computing = Address { node: computing, port: PORT_USER };
        let (lease, result_bytes) = (self.job.lease, self.job.result_bytes);
        let worker = Worker::new(number, relay(node), computing, lease, result_bytes);
        let place = self.floor.add_program(machine, node, worker);
        let nanoseconds = Costs::from([(COMPUTE, Distribution::Constant(CYCLES / 1e9))]);
        self.floor.add_side(computing, Compute::new(seed, self.job.compute.clone()), place, nanoseconds);
        self.floor.join_threads(program_at(node), computing);
        self.workers.push(place);
    }

    fn begin(&mut self, node: NodeId) {
        let begin = OwnedFrame { kind: BEGIN, token: Token(0), body: Bytes::new(), bulk: Bytes::new() };
        self.floor.simulation.inject(program_at(node), begin);
    }

    fn run(mut self, seed: u64) -> Result<FarmRun, FarmError> {
        for worker in 0..self.job.workers {
            self.begin(nodes(worker).0);
        }
        self.floor.simulation.run_for(START);
        self.floor.simulation.reset_statistics();
        let began = self.floor.simulation.clock();
        self.begin(MASTER);
        let mut killed_with = None;
        if let Some(kill) = self.job.kill {
            let stop = self.stop;
            self.floor.simulation.run_until(kill.at, |run| is_over(run) || stop.load(Relaxed));
            killed_with = self.kill(kill);
        }
        self.run_to_the_end();
        match self.failure() {
            Some(text) => Err(FarmError::Failed(text)),
            None if self.stop.load(Relaxed) && !is_over(&self.floor.simulation) => Err(FarmError::Stopped),
            None => Ok(self.result(seed, began, killed_with)),
        }
    }

    /// Runs until the master has all results, or nothing happens any more that would bring one, or it is stopped.
    fn run_to_the_end(&mut self) {
        let task = self.job.compute.mean() * STILL_TASKS;
        let still = STILL.0.max(Picos::from_seconds(task).time().0);
        let stop = self.stop;
        let ends = |run: &quintet_simulate::Simulation| is_over(run) || stop.load(Relaxed);
        loop {
            let before = self.master().steps();
            let progress = |run: &quintet_simulate::Simulation| ends(run) || master(run).steps() > before;
            if !self.floor.simulation.run_until(Span(still), progress) || ends(&self.floor.simulation) {
                return;
            }
        }
    }

    /// Ends a worker; the task it held.
    fn kill(&mut self, kill: Kill) -> Option<u64> {
        let (node, computing) = nodes(kill.worker);
        let held = self.worker(kill.worker).task();
        self.floor.simulation.crash(node, kill.noticed_after);
        self.floor.simulation.crash(computing, Span::ZERO);
        held
    }

    fn master(&self) -> &Master {
        master(&self.floor.simulation)
    }

    fn worker(&self, number: usize) -> &Worker {
        let found = self.floor.simulation.get(program_at(nodes(number).0));
        found.expect("a worker was placed there")
    }

    fn failure(&self) -> Option<String> {
        let workers =
            (0..self.job.workers).filter(|worker| self.job.kill.is_none_or(|kill| kill.worker != *worker));
        let mut workers = workers.filter_map(|worker| self.worker(worker).caller.failed.as_ref());
        self.master().caller.failed.as_ref().or_else(|| workers.next()).cloned()
    }

    fn result(&self, seed: u64, began: Picos, killed_with: Option<u64>) -> FarmRun {
        let simulation = &self.floor.simulation;
        let busy = |place: &Place| simulation.processor_statistics(place.core).utilisation;
        let mut cores: Vec<_> = self.workers.clone();
        cores.sort_by_key(|place| place.core);
        cores.dedup_by_key(|place| place.core);
        let workers = cores.iter().map(busy).sum::<f64>() / cores.len().max(1) as f64;
        let network = self.floor.network.map(|device| simulation.device_statistics(device));
        let lines = |carriers: u32| if carriers > 1 { f64::from(carriers) / 2.0 } else { 1.0 };
        let mut redone: Vec<_> =
            (0..self.job.workers).flat_map(|worker| self.worker(worker).redone.clone()).collect();
        redone.sort_by_key(|redone| (redone.task, redone.attempt));
        let finished = self.master().finished;
        FarmRun {
            seed,
            makespan: finished.map(|at| (Picos::reaching(at) - began).as_seconds()),
            results: self.master().taken,
            space: busy(&self.space),
            workers,
            network: network.map(|device| device.utilisation() * lines(device.carriers)),
            killed_with,
            redone,
            digest: simulation.digest(),
            events: simulation.events(),
        }
    }
}

fn master(simulation: &quintet_simulate::Simulation) -> &Master {
    simulation.get(program_at(MASTER)).expect("the master was placed there")
}

fn is_over(simulation: &quintet_simulate::Simulation) -> bool {
    let master = master(simulation);
    master.finished.is_some() || master.caller.failed.is_some()
}

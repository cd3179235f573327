//! The worker farm: how short its tasks may be.
//!
//! A task keeps a processor busy for as long as it says, by the clock of the thread that does it: what it computes is the same whoever
//! else has the processor meanwhile. Its workers are efficient if all tasks one by one take little longer than the same tasks where each worker
//! is given its share at once. Where workers have all the processors, what the space and the master take is missing to them, as it is to
//! users of such a machine; with fewer workers than processors it is their waiting alone that shows. Others that use the machine slow down both.

use super::super::case::{Beside, Better, Case, Group, Prepare, Round, Unit};
use super::super::link::arguments;
use super::super::peer::Peer;
use super::super::predict::compute;
use super::super::row::median;
use super::WAITING;
use super::served::Served;
use crate::companion::Companion;
use crate::connection::refused;
use quintet::{Code, Error, Lab, LinkAddress, Space, Tuple, template, tuple};
use std::io::{BufRead, BufReader, Write};
use std::time::{Duration, Instant};

const PLACEMENT: &str = "master, workers and the space on any core";
/// Which part of the time tasks one by one may take for tasks given at once.
const EFFICIENT: f64 = 0.9;
/// Tasks among which the shortest is looked for, in nanoseconds, and to what factor.
const SHORTEST: f64 = 10e3;
const LONGEST: f64 = 10e6;
const FACTOR: f64 = 1.1;
/// What each worker computes for a look, in nanoseconds, and how many tasks it does at least; the peer's numbers.
const COMPUTED: f64 = 200e6;
const LEAST_TASKS: u64 = 20;
/// Looks at tasks of one length: the median counts.
const LOOKS: usize = 3;
const LEASE: Duration = Duration::from_secs(10);

/// How a worker has a task.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Held {
    /// Taken: gone with its worker.
    Taken,
    /// Leased, and acknowledged with its result.
    Leased,
}

pub(super) fn cases() -> Vec<Case> {
    let cases: [(_, Prepare); 4] = [
        ("farm-1-smallest-90", || prepare(1, Held::Taken)),
        ("farm-2-smallest-90", || prepare(2, Held::Taken)),
        ("farm-1-leased-smallest-90", || prepare(1, Held::Leased)),
        ("farm-2-leased-smallest-90", || prepare(2, Held::Leased)),
    ];
    cases
        .map(|(name, prepare)| {
            Case::new(Group::Space, name, Unit::Nanoseconds, Better::Lower, prepare)
                .beside(Beside::Program(Peer::new("redis-c", "redis_farm", name)))
                .under(WAITING, PLACEMENT)
                .on_all_processors()
        })
        .into()
}

/// The shortest task of which so many workers, each a process, do nine in the time of ten that they are given at once, from the first one
/// put to the last result taken; in nanoseconds, over shared memory.
fn prepare(workers: usize, held: Held) -> Result<Round, Error> {
    let served = Served::start_managers(1)?;
    let space = served.connect()?;
    let processes = (0..workers).map(|_| start_worker(served.address(), held));
    let farm = Farm { processes: processes.collect::<Result<_, _>>()?, space };
    farm.efficiency(SHORTEST)?;
    Ok(served.rounds(move || shortest(|task| farm.median_efficiency(task))))
}

/// A master and its workers, which end before their space does.
struct Farm {
    processes: Vec<Companion>,
    space: Space,
}

impl Farm {
    fn median_efficiency(&self, task: f64) -> Result<f64, Error> {
        let looks = (0..LOOKS).map(|_| self.efficiency(task)).collect::<Result<_, _>>()?;
        Ok(median(looks).unwrap_or(0.))
    }

    /// How long tasks given at once take, of how long they take one by one, with tasks of so many nanoseconds.
    fn efficiency(&self, task: f64) -> Result<f64, Error> {
        let workers = self.processes.len() as u64;
        let share = ((COMPUTED / task) as u64).max(LEAST_TASKS);
        Ok(self.time(workers, share, task)? / self.time(workers * share, 1, task)?)
    }

    /// Nanoseconds for so many tasks, each so often.
    fn time(&self, tasks: u64, times: u64, task: f64) -> Result<f64, Error> {
        let results = template!["result", ?u64];
        let started = Instant::now();
        for number in 0..tasks {
            self.space.out(tuple!["task", number, task as u64, times])?;
        }
        for _ in 0..tasks {
            self.space.take(&results)?;
        }
        Ok(started.elapsed().as_nanos() as f64)
    }
}

/// The shortest task, in nanoseconds, with which the efficiency is high enough.
///
/// # Errors
/// It is not with the longest task, either.
fn shortest(mut efficiency: impl FnMut(f64) -> Result<f64, Error>) -> Result<f64, Error> {
    let mut is_enough = |task| efficiency(task).map(|part| part >= EFFICIENT);
    let (mut too_short, mut enough) = (SHORTEST, LONGEST);
    if is_enough(too_short)? {
        return Ok(too_short);
    }
    if !is_enough(enough)? {
        let text = "tasks of 10 ms take more than ten ninths of their time: others have the processors";
        return Err(Error::new(Code::Resource, text));
    }
    while enough / too_short > FACTOR {
        let middle = (too_short * enough).sqrt();
        if is_enough(middle)? {
            enough = middle;
        } else {
            too_short = middle;
        }
    }
    Ok(enough)
}

fn start_worker(address: &LinkAddress, held: Held) -> Result<Companion, Error> {
    let leases = (held == Held::Leased).then(|| "--leases".into());
    let mut worker =
        Companion::start(arguments("farm", [address.to_string().into()].into_iter().chain(leases)))?;
    if let Some(output) = worker.output() {
        // It says a line when it is connected.
        BufReader::new(output).read_line(&mut String::new()).map_err(refused("hear from a worker"))?;
    }
    Ok(worker)
}

/// Plays a worker: does tasks until the space goes.
///
/// # Errors
/// The space went.
pub(in crate::bench) fn work(address: &LinkAddress, leases: bool) -> Result<(), Error> {
    let space = Lab::connect(address.clone(), 0, LEASE)?.space();
    // Nobody listens any more if that fails: the space goes as well.
    let _ = writeln!(std::io::stdout(), "ready");
    let tasks = template!["task", ?u64, ?u64, ?u64];
    loop {
        if leases {
            let task = space.lease(&tasks, None)?;
            let result = do_task(task.tuple())?;
            task.acknowledge(&[result])?;
        } else {
            let result = do_task(&space.take(&tasks)?)?;
            space.out(result)?;
        }
    }
}

/// The result of a task, which says its number, how long it takes, and how often it is to be done.
fn do_task(task: &Tuple) -> Result<Tuple, Error> {
    let field = |at: usize| u64::try_from(task[at].clone());
    let (number, nanoseconds, times) = (field(1)?, field(2)?, field(3)?);
    (0..times).for_each(|_| compute(Duration::from_nanos(nanoseconds)));
    Ok(tuple!["result", number])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With a constant cost of each task beside its own time.
    fn with_cost(cost: f64) -> Result<f64, Error> {
        shortest(|task| Ok(task / (task + cost)))
    }

    #[test]
    fn the_shortest_task_has_nine_times_what_it_costs() {
        let found = with_cost(50e3).expect("450 us are less than 10 ms");
        assert!((450e3..=450e3 * FACTOR).contains(&found), "{found}");
        assert_eq!(with_cost(100.).ok(), Some(SHORTEST), "nothing shorter is tried");
    }

    #[test]
    fn where_no_task_is_long_enough_there_is_no_figure() {
        let why = with_cost(10e6).expect_err("half of the time is missing");
        assert!(why.to_string().contains("others have the processors"), "{why}");
    }
}

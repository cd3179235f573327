//! The worker farm: live, and predicted.

use super::super::case::Round;
use super::super::link::{Over, arguments};
use super::super::space::served::Served;
use crate::companion::Companion;
use crate::connection::refused;
use crate::pinning::{Pin, allowed};
use quintet::{Error, Lab, LinkAddress, Space, template, tuple};
use quintet_contract::Span;
use quintet_predict::calibrate::{Calibrated, SMALL, machine};
use quintet_predict::{Job, Places, run};
use quintet_simulate::Distribution;
use rustix::time::{ClockId, clock_gettime};
use std::io::{BufRead, BufReader, Write};
use std::time::{Duration, Instant};

/// What a round computes on each core at least.
const ROUND: Duration = Duration::from_millis(200);
const LEAST_TASKS: u64 = 40;
const LEASE: Duration = Duration::from_secs(10);

/// How many tasks a round has.
fn tasks(workers: usize, micros: u64) -> u64 {
    let all = u64::try_from(ROUND.as_micros()).unwrap_or(u64::MAX).saturating_mul(workers as u64);
    (all / micros.max(1)).max(LEAST_TASKS)
}

/// Nanoseconds from the first task put to the last result taken.
pub(super) fn predict(workers: usize, micros: u64) -> Result<Round, Error> {
    // Asked now: a round stays on one processor.
    let cores = u32::try_from(allowed()?.len()).unwrap_or(u32::MAX);
    super::predict(Over::Shm, move |calibrated| makespan(calibrated, cores, workers, micros))
}

fn makespan(calibrated: &Calibrated, cores: u32, workers: usize, micros: u64) -> Option<f64> {
    let cluster = machine(cores, calibrated);
    let this = || "this".to_owned();
    let job = Job {
        tasks: tasks(workers, micros),
        task_bytes: SMALL,
        result_bytes: SMALL,
        compute: Distribution::Constant(micros as f64 / 1e6),
        workers,
        lease: Some(Span::from(LEASE)),
        places: Places { space: this(), master: this(), workers: vec![this()] },
        kill: None,
    };
    run(&cluster, &job, 1).ok()?.makespan.map(|seconds| seconds * 1e9)
}

/// The same live: a space, so many processes that compute, and this one as the master.
pub(super) fn measure(workers: usize, micros: u64) -> Result<Round, Error> {
    let served = Served::start()?;
    let space = served.connect()?;
    let processes =
        processors(workers)?.into_iter().map(|processor| worker(served.address(), micros, processor));
    let processes = processes.collect::<Result<Vec<_>, _>>()?;
    let tasks = tasks(workers, micros);
    farm(&space, workers as u64)?;
    // Workers end before their space does.
    let round = (processes, move || farm(&space, tasks));
    Ok(served.rounds(move || {
        let (_, farm) = &round;
        farm()
    }))
}

/// The processors of the workers: as the simulation has them, on the one with the fewest processes, the space being on the
/// second and the master on the first.
fn processors(workers: usize) -> Result<Vec<usize>, Error> {
    let mut cores: Vec<(usize, u32)> = allowed()?.into_iter().map(|core| (core, 0)).collect();
    let second = 1.min(cores.len() - 1);
    cores.swap(0, second);
    let mut place = || {
        let core =
            cores.iter_mut().min_by_key(|(_, processes)| *processes).expect("a process runs on a core");
        core.1 += 1;
        core.0
    };
    place();
    place();
    Ok((0..workers).map(|_| place()).collect())
}

fn worker(address: &LinkAddress, micros: u64, processor: usize) -> Result<Companion, Error> {
    let others = [address.to_string().into(), micros.to_string().into(), processor.to_string().into()];
    let mut worker = Companion::start(arguments("work", others))?;
    if let Some(output) = worker.output() {
        // It says a line when it is connected.
        BufReader::new(output).read_line(&mut String::new()).map_err(refused("hear from a worker"))?;
    }
    Ok(worker)
}

fn farm(space: &Space, tasks: u64) -> Result<f64, Error> {
    let (data, results) = ([0u8; SMALL], template!["result", ?i64, ?[u8]]);
    let started = Instant::now();
    for task in 0..tasks {
        space.out(tuple!["task", task.cast_signed(), &data])?;
    }
    for _ in 0..tasks {
        space.take(&results)?;
    }
    Ok(started.elapsed().as_nanos() as f64)
}

/// Plays a worker on a processor: computes so many microseconds for each task, until the space goes.
///
/// # Errors
/// The space went, or the system refused.
pub(in crate::bench) fn work(address: &LinkAddress, micros: u64, processor: usize) -> Result<(), Error> {
    let _pin = Pin::to(processor)?;
    let space = Lab::connect(address.clone(), 0, LEASE)?.space();
    // Nobody listens any more if that fails: the space goes as well.
    let _ = writeln!(std::io::stdout(), "ready");
    let (data, tasks) = ([0u8; SMALL], template!["task", ?i64, ?[u8]]);
    loop {
        let task = space.lease(&tasks, None)?;
        let number: i64 = task.tuple()[1].clone().try_into().unwrap_or_default();
        compute(Duration::from_micros(micros));
        task.acknowledge(&[tuple!["result", number, &data]])?;
    }
}

/// Uses so much of the processor's time, whoever else uses it meanwhile.
pub(in crate::bench) fn compute(time: Duration) {
    let used = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default();
    let end = used() + time;
    while used() < end {
        std::hint::spin_loop();
    }
}

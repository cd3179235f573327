//! Clusters of several machines, as a testbed makes them: how long a machine takes to join, a job to start, a loss to be known.

mod lab;

use super::case::{Beside, Better, Case, Group, Prepare, Round, Unit};
use super::peer::Peer;
use crate::connection::refused as system_refused;
use lab::{Lab, did};
use quintet::{Code, Error};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// After which a loss is known at the latest.
const KILL_GOAL: f64 = 0.1e9;
const CUT_GOAL: f64 = 1e9;
/// How much longer a machine may take to join fifteen others than two.
const GROWTH_GOAL: f64 = 2.;
/// How long a machine may be missed.
const LIMIT: Duration = Duration::from_secs(60);

const START_2: Peer = Peer::new("openmpi", "mpi_start.py", "start-2");
const START_16: Peer = Peer::new("openmpi", "mpi_start.py", "start-16");
const RAY_2: Peer = Peer::new("ray", "ray_start.py", "start-2");
const RAY_16: Peer = Peer::new("ray", "ray_start.py", "start-16");
const RAY_64: Peer = Peer::new("ray", "ray_start.py", "start-64");
/// Of the time that Ray takes to start as many.
const RAY_GOAL: f64 = 0.1;

pub(super) fn cases() -> Vec<Case> {
    let case =
        |name, prepare: Prepare| Case::new(Group::Cluster, name, Unit::Nanoseconds, Better::Lower, prepare);
    vec![
        case("join-2", || join(2)),
        // A testbed has 16 machines at most.
        case("join-15", || join(15))
            .beside(Beside::Itself { name: "join-2", prepare: || join(2) })
            .goal(GROWTH_GOAL),
        case("start-2", || start(2)).beside(Beside::Program(START_2)).goal(1.),
        case("start-16", || start(16)).beside(Beside::Program(START_16)).goal(1.),
        case("start-2", || start(2)).beside(Beside::Program(RAY_2)).goal(RAY_GOAL),
        case("start-16", || start(16)).beside(Beside::Program(RAY_16)).goal(RAY_GOAL),
        case("start-64", || start(64)).beside(Beside::Program(RAY_64)).goal(RAY_GOAL),
        case("detect-kill", detect_kill).goal(KILL_GOAL),
        case("detect-cut", detect_cut).goal(CUT_GOAL),
    ]
}

/// `quintet join` to a cluster of so many machines, from its start until it returns: the machine's agent serves then.
fn join(members: usize) -> Result<Round, Error> {
    on_every_processor(move || {
        let mut lab = Lab::up(members, 1)?;
        Ok(move || {
            let token = lab.token()?;
            let started = Instant::now();
            lab.join_in_background(members, &token)?;
            let took = nanoseconds(started.elapsed());
            lab.leave(members)?;
            Ok(took)
        })
    })
}

/// `quintet run` of so many processes on two machines, from its start until it has ended. They end as soon as they have begun.
fn start(processes: usize) -> Result<Round, Error> {
    on_every_processor(move || {
        let lab = Lab::up(2, 0)?;
        let count = processes.to_string();
        Ok(move || {
            let words = ["run", "--hosts", "m0,m1", "-n", &count, "--worker", "program", "true"];
            let started = Instant::now();
            did(lab.command(0, &words)?)?;
            Ok(nanoseconds(started.elapsed()))
        })
    })
}

/// From the kill of an agent until the agent of another machine says that it does not seem to be there, as `quintet status` does.
fn detect_kill() -> Result<Round, Error> {
    on_every_processor(|| {
        let mut lab = Lab::up(3, 0)?;
        Ok(move || {
            let watch = lab.watch(0)?;
            let started = Instant::now();
            lab.kill(1)?;
            watch.until(LIMIT, true)?;
            let took = nanoseconds(started.elapsed());
            lab.start(1)?;
            watch.until(LIMIT, false)?;
            Ok(took)
        })
    })
}

/// From the cut of a machine's lines until the agent of another says that it is silent.
fn detect_cut() -> Result<Round, Error> {
    on_every_processor(|| {
        let lab = Lab::up(3, 0)?;
        Ok(move || {
            let watch = lab.watch(0)?;
            let started = Instant::now();
            lab.cut(1)?;
            watch.until(LIMIT, true)?;
            let took = nanoseconds(started.elapsed());
            lab.heal(1)?;
            watch.until(LIMIT, false)?;
            Ok(took)
        })
    })
}

fn nanoseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e9
}

/// A thread that measures on every processor that there is: the one that asks for a round stays on one, and so would all that it starts.
struct Measuring {
    ask: Option<Sender<()>>,
    told: Receiver<Result<f64, Error>>,
    thread: Option<JoinHandle<()>>,
}

/// A round that is made, measured, and tidied up after, by a thread of its own.
fn on_every_processor<R, M>(make: M) -> Result<Round, Error>
where
    R: FnMut() -> Result<f64, Error>,
    M: FnOnce() -> Result<R, Error> + Send + 'static,
{
    let (ask, asked) = channel::<()>();
    let (tell, told) = channel();
    let thread = thread::Builder::new().spawn(move || {
        let mut round = make();
        // Made, or not.
        let mut is_heard = tell.send(round.as_ref().map(|_| 0.).map_err(Clone::clone)).is_ok();
        while let (true, Ok(round), Ok(())) = (is_heard, &mut round, asked.recv()) {
            is_heard = tell.send(round()).is_ok();
        }
    });
    let thread = Some(thread.map_err(system_refused("start a thread"))?);
    let measuring = Measuring { ask: Some(ask), told, thread };
    measuring.next()?;
    Ok(Box::new(move || {
        measuring.ask.iter().for_each(|ask| _ = ask.send(()));
        measuring.next()
    }))
}

impl Measuring {
    fn next(&self) -> Result<f64, Error> {
        let gone = || Error::new(Code::PeerDied, "the thread that measures has ended");
        self.told.recv().map_err(|_| gone())?
    }
}

impl Drop for Measuring {
    fn drop(&mut self) {
        self.ask = None;
        if let Some(thread) = self.thread.take() {
            // One that panicked has said so.
            let _ = thread.join();
        }
    }
}

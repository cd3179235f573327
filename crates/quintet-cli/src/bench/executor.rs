//! Tasks of Python: `quintet.Executor` beside the executors that are in use.
//!
//! One script measures all of them, ours too, with two workers each. A round starts the executor anew, and warms it up. Of those that
//! do so, another one measures the same with a worker on each of two machines of a testbed.

use super::case::{Beside, Better, Case, Group, Prepare, Round, Unit};
use super::peer::{Peer, Statistic, set_this_program};
use crate::python::default_python;
use quintet::{Code, Error};
use std::path::Path;
use std::process::Command;

/// What measures ours, beside the peers' sources.
const SCRIPT: &str = "benches/peers/executor_tasks.py";
/// The same on two machines.
const ON_MACHINES: &str = "benches/peers/executor_machines.py";

/// A case of each of the others.
const fn others(case: &'static str) -> [Peer; 4] {
    [
        Peer::new("processes", "executor_tasks.py", case).with(&["--with", "processes"]),
        Peer::new("loky", "executor_tasks.py", case).with(&["--with", "loky"]),
        Peer::new("dask", "executor_tasks.py", case).with(&["--with", "dask"]),
        Peer::new("ray", "executor_tasks.py", case).with(&["--with", "ray"]),
    ]
}

/// The same on two machines, of those that go beyond one.
const fn others_on_machines(case: &'static str) -> [Peer; 2] {
    [
        Peer::new("dask", "executor_machines.py", case).with(&["--with", "dask"]),
        Peer::new("ray", "executor_machines.py", case).with(&["--with", "ray"]),
    ]
}

static TASKS_0: [Peer; 4] = others("tasks-0");
static TASKS_100US: [Peer; 4] = others("tasks-100us");
static TASKS_1MS: [Peer; 4] = others("tasks-1ms");
static TASKS_10MS: [Peer; 4] = others("tasks-10ms");
static SUBMIT_0: [Peer; 4] = others("submit-0");
static ARRAY_SAME: [Peer; 4] = others("array-8m-same");
static ARRAY_DISTINCT: [Peer; 4] = others("array-8m-distinct");
static SMALLEST: [Peer; 4] = others("smallest-90");
static TASKS_0_MACHINES: [Peer; 2] = others_on_machines("tasks-0");
static TASKS_100US_MACHINES: [Peer; 2] = others_on_machines("tasks-100us");
static TASKS_1MS_MACHINES: [Peer; 2] = others_on_machines("tasks-1ms");
static TASKS_10MS_MACHINES: [Peer; 2] = others_on_machines("tasks-10ms");
static SMALLEST_MACHINES: [Peer; 2] = others_on_machines("smallest-90");

pub(super) fn cases() -> Vec<Case> {
    let rate = |name, prepare: Prepare, peers: &'static [Peer]| {
        let unit = Unit::PerSecond("tasks");
        Case::new(Group::Executor, name, unit, Better::Higher, prepare)
            .beside(Beside::Programs(peers))
            .goal(2.)
            .on_all_processors()
    };
    let time = |name, prepare: Prepare, peers: &'static [Peer]| {
        Case::new(Group::Executor, name, Unit::Nanoseconds, Better::Lower, prepare)
            .beside(Beside::Programs(peers))
            .on_all_processors()
    };
    vec![
        rate("tasks-0", || prepare("tasks-0"), &TASKS_0),
        rate("tasks-100us", || prepare("tasks-100us"), &TASKS_100US),
        rate("tasks-1ms", || prepare("tasks-1ms"), &TASKS_1MS),
        rate("tasks-10ms", || prepare("tasks-10ms"), &TASKS_10MS),
        rate("submit-0", || prepare("submit-0"), &SUBMIT_0),
        time("smallest-90", || prepare("smallest-90"), &SMALLEST[1..2]).goal(0.5),
        time("smallest-90", || prepare("smallest-90"), &SMALLEST[3..]).goal(0.05),
        time("array-8m-same", || prepare("array-8m-same"), &ARRAY_SAME).goal(1.),
        time("array-8m-distinct", || prepare("array-8m-distinct"), &ARRAY_DISTINCT).goal(1.),
        rate("tasks-0-two-machines", || on_machines("tasks-0"), &TASKS_0_MACHINES),
        rate("tasks-100us-two-machines", || on_machines("tasks-100us"), &TASKS_100US_MACHINES),
        rate("tasks-1ms-two-machines", || on_machines("tasks-1ms"), &TASKS_1MS_MACHINES),
        rate("tasks-10ms-two-machines", || on_machines("tasks-10ms"), &TASKS_10MS_MACHINES),
        time("smallest-90-two-machines", || on_machines("smallest-90"), &SMALLEST_MACHINES[1..]).goal(0.05),
    ]
}

fn prepare(case: &'static str) -> Result<Round, Error> {
    Ok(Box::new(move || round(SCRIPT, case)))
}

fn on_machines(case: &'static str) -> Result<Round, Error> {
    Ok(Box::new(move || round(ON_MACHINES, case)))
}

fn round(script: &str, case: &str) -> Result<f64, Error> {
    let failed = |why: String| Error::new(Code::Resource, format!("{script}: {why}"));
    if !Path::new(script).exists() {
        return Err(failed("not here; start this in the repository's root".to_owned()));
    }
    let mut command = Command::new(default_python());
    command.args([script, "--with", "quintet", "--rounds", "1", "--case", case]);
    set_this_program(&mut command);
    // Under a job of ours its workers would do the tasks.
    command.env_remove("QUINTET_SPACE").env_remove("QUINTET_SPACE_ADDRESS");
    let output = command.output().map_err(|error| failed(format!("Python cannot be started: {error}")))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    Statistic::Middle
        .find(&String::from_utf8_lossy(&output.stdout))
        .ok_or_else(|| failed("it said nothing that is known here".to_owned()))
}

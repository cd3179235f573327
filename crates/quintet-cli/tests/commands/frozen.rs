//! Jobs of which every process is stopped at once, for longer than anybody waits for a silent peer: this test's own executable.

use crate::kill_one::lab;
use crate::tool::{LONG, quintet, result, script, state, text, wait_until};
use quintet::{Code, Lab, LinkAddress, template, tuple};
use quintet_testbed::{Child, TempDir};
use rustix::process::{Pid, Signal, kill_process};
use std::env;
use std::thread::sleep;
use std::time::Duration;

/// Twice the settings link.silence_limit_ms and link.resume_window_ms, and a lease of this job.
const FREEZE: Duration = Duration::from_secs(20);
/// Twice the setting link.keep_alive_ms: by then whoever waits has asked whether the other side lives.
const LONGER: Duration = Duration::from_secs(2);
const LEASE: Duration = Duration::from_secs(10);
const WORKERS: usize = 2;
const TASKS: i64 = 12;

/// A job's master; nothing in the ordinary run of the tests.
#[test]
fn master_of_a_frozen_job() {
    let Some(lab) = lab() else { return };
    let space = lab.space();
    (0..TASKS).for_each(|task| space.out(tuple!["task", task]).unwrap());
    println!("master {}", std::process::id());
    println!("cluster {}", env::var("QUINTET_CLUSTER").unwrap());
    println!("space {}", env::var("QUINTET_SPACE").unwrap());
    for task in 0..TASKS {
        assert_eq!(
            space.take(&template!["result", task, ?i64]).unwrap(),
            tuple!["result", task, task * task]
        );
    }
    assert_eq!(space.count(&template!["result", ?i64, ?i64]).unwrap(), 0, "none is there twice");
    println!("all results are right");
}

/// A job's worker; nothing in the ordinary run of the tests. It holds its first task until it is told to go on.
#[test]
fn worker_of_a_frozen_job() {
    let (Some(lab), Ok(_)) = (lab(), env::var("QUINTET_RANK")) else { return };
    let space = lab.space();
    let mut is_told = false;
    while let Ok(lease) = space.lease(&template!["task", ?i64], None) {
        if !std::mem::replace(&mut is_told, true) {
            println!("holding {}", std::process::id());
            space.read(&template!["go on"]).unwrap();
        }
        let task = i64::try_from(lease.tuple()[1].clone()).unwrap();
        // Its lease ran out while everybody was stopped: then the task is done again.
        match lease.acknowledge(&[tuple!["result", task, task * task]]) {
            Ok(()) => {}
            Err(error) => assert_eq!(error.code(), Code::LeaseLost, "{error}"),
        }
    }
}

/// A job all of whose processes wait for something: its workers hold tasks, its master waits for a result.
struct Job {
    _folder: TempDir,
    process: Child,
    /// The space's, its master and its workers.
    processes: Vec<u32>,
    address: LinkAddress,
    cluster: u128,
}

impl Job {
    fn start(link: &str) -> Job {
        let folder = TempDir::new().unwrap();
        let this = env::current_exe().unwrap();
        let role = |name: &str| format!("exec {} frozen::{name} --exact --nocapture --quiet", text(&this));
        let worker = script(&folder, "worker", &role("worker_of_a_frozen_job"));
        let master = script(&folder, "master", &role("master_of_a_frozen_job"));
        let workers = WORKERS.to_string();
        let process = quintet([
            "run",
            "-n",
            &workers,
            "--link",
            link,
            "--json",
            "--python",
            text(&worker),
            text(&master),
        ]);
        let (mut processes, mut address, mut cluster) = (vec![process.id()], None, None);
        while processes.len() < 2 + WORKERS || address.is_none() {
            let line = process.output().next_line(LONG);
            let line = line.unwrap_or_else(|| panic!("{}", process.output().text()));
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                [.., "master" | "holding", id] => processes.push(id.parse().unwrap()),
                [.., "cluster", number] => cluster = Some(number.parse().unwrap()),
                [.., "space", at] => address = Some(at.parse().unwrap()),
                _ => {}
            }
        }
        let (address, cluster) = (address.unwrap(), cluster.expect("it was said before"));
        Job { _folder: folder, process, processes, address, cluster }
    }

    /// It goes on to its end.
    fn finish(self, what: &str) {
        let other = Lab::connect(&self.address, self.cluster, LEASE).expect("the space goes on");
        other.space().out(tuple!["go on"]).unwrap();
        let (code, said) = result(self.process);
        assert!(code == 0 && said.contains("all results are right"), "{what}: {said}");
        assert!(said.contains("\"restarts\":0"), "{what}: a worker was lost: {said}");
    }
}

fn signal<'a>(processes: impl IntoIterator<Item = &'a u32>, signal: Signal) {
    for process in processes {
        let id = Pid::from_raw(i32::try_from(*process).unwrap()).unwrap();
        kill_process(id, signal).expect("it lives");
    }
}

#[test]
fn a_job_that_is_stopped_altogether_for_twenty_seconds_goes_on_as_if_nothing_had_been() {
    let jobs: Vec<_> = ["shm", "unix", "tcp"]
        .into_iter()
        .flat_map(|link| [(link, true), (link, false)])
        .map(|(link, together)| (link, together, Job::start(link)))
        .collect();
    let spaces_alone =
        || jobs.iter().filter(|(_, together, _)| !together).map(|(_, _, job)| &job.processes[0]);
    let all = || jobs.iter().flat_map(|(_, _, job)| &job.processes);
    // Half of the spaces stand still before their clients do, who ask whether they live, and after them. These sleeps wait for nothing:
    // that everybody stands still for so long is what is tested.
    signal(spaces_alone(), Signal::STOP);
    sleep(LONGER);
    signal(all(), Signal::STOP);
    wait_until(|| all().all(|process| state(*process) == Some('T')));
    sleep(FREEZE);
    let is_alone = |process: &&u32| spaces_alone().any(|space| space == *process);
    signal(all().filter(|process| !is_alone(process)), Signal::CONT);
    sleep(LONGER);
    signal(spaces_alone(), Signal::CONT);
    for (link, together, job) in jobs {
        job.finish(&format!("{link}, the space {}", if together { "with its clients" } else { "alone" }));
    }
}

//! `run --kernels --hosts`: a kernel on each machine, and one of them is killed.

use super::lab::Machines;
use super::redone::{check, squares};
use super::{at, numbers, summary};
use crate::tool::{result, text};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;

/// The processes that are kernels of jobs on this machine.
fn kernels(lab: &Machines, name: &str) -> Vec<Pid> {
    let folder = lab.folder(name);
    let of = |entry: fs::DirEntry| {
        let words = fs::read(entry.path().join("cmdline")).ok()?;
        let is_kernel = words.split(|byte| *byte == 0).any(|word| word == b"shm:quintet-kernel");
        let is_here = is_kernel && fs::read_link(entry.path().join("cwd")).ok()?.starts_with(&folder);
        is_here.then(|| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)).flatten()
    };
    fs::read_dir("/proc").unwrap().filter_map(|entry| of(entry.unwrap())).collect()
}

#[test]
fn every_machine_of_a_job_has_a_kernel_whether_the_space_has_one_manager_or_several() {
    let lab = Machines::up(&["a", "b", "c"]);
    let there = "quintet status --json >/dev/null && echo reached by $QUINTET_SPACE idle $$; exec sleep 1000";
    let worker = at(&lab, "worker", there);
    let master = at(&lab, "master", &there.replacen("quintet", env!("CARGO_BIN_EXE_quintet"), 1));
    for managers in ["1", "3"] {
        let words = ["run", "--kernels", "--managers", managers, "--hosts", "b,c", "-n", "4", "--python"];
        let words: Vec<&str> = words.into_iter().chain([text(&worker), text(&master)]).collect();
        let job = lab.command("a", &words);
        // Two on each other machine, and the master.
        numbers(&job, " idle ", 5);
        assert!(["b", "c"].iter().all(|name| !kernels(&lab, name).is_empty()));
        job.terminate().unwrap();
        let (_, said) = result(job);
        let reached = |by: &str| said.lines().filter(|line| line.contains(by)).count();
        assert_eq!((reached("/quintet-kernel idle "), reached("/kernel idle ")), (4, 1), "{said}");
        assert!(["b", "c"].iter().all(|name| kernels(&lab, name).is_empty()), "they end with the job");
    }
}

#[test]
fn the_task_of_a_worker_that_is_killed_behind_a_kernel_elsewhere_is_redone() {
    let lab = Machines::up(&["a", "b", "c"]);
    for managers in ["1", "3"] {
        let options = ["--kernels", "--managers", managers, "--hosts", "b,c", "-n", "3", "--kill-one"];
        let said = check(squares(&lab, &options));
        assert!(said.contains("when it was killed; redone by worker"), "{said}");
    }
}

#[test]
fn a_machine_whose_kernel_is_killed_starts_no_more_workers() {
    let lab = Machines::up(&["a", "b", "c"]);
    let job = squares(&lab, &["--kernels", "--hosts", "b,c", "-n", "1"]);
    numbers(&job, "[worker 0 on b] holding ", 1);
    kernels(&lab, "b").into_iter().for_each(|kernel| kill_process(kernel, Signal::KILL).expect("sent"));
    let said = check(job);
    assert!(said.contains("quintet: b: its kernel has ended; no more workers are started there"), "{said}");
    assert_eq!(summary(&said)["machines"][0], "c", "{said}");
}

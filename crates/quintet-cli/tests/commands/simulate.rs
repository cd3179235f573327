//! `simulate cluster`: the examples, and what is said of files that are wrong; `simulate managers`.

use crate::simulate_run::wait_until_handled;
use crate::tool::{quintet, result, text};
use quintet_testbed::TempDir;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;

const MACHINES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/lab-10g.toml");
const JOB: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/farm.toml");

#[test]
fn the_example_says_what_more_workers_give() {
    let rows = || {
        let said = result(quintet([
            "simulate",
            "cluster",
            MACHINES,
            JOB,
            "--workers",
            "2,8",
            "--seeds",
            "2",
            "--json",
        ]));
        assert_eq!(said.0, 0, "{}", said.1);
        said.1.lines().map(|line| serde_json::from_str(line).expect("an object")).collect::<Vec<Value>>()
    };
    let (first, again) = (rows(), rows());
    assert_eq!(first, again, "the same seeds are the same runs");
    let makespan = |row: usize| first[row]["makespan_s"]["mean"].as_f64().expect("the job ended");
    assert!(makespan(1) < makespan(0) / 3., "{first:?}");
    let run = &first[1]["runs"][0];
    assert_eq!(run["redone"][0]["task"], run["killed_with"], "{run}");
    assert_eq!(run["redone"][0]["attempt"], 2, "{run}");
}

#[test]
fn a_table_is_for_people() {
    let (status, said) = result(quintet(["simulate", "cluster", MACHINES, JOB, "--seeds", "1"]));
    assert_eq!(status, 0, "{said}");
    for word in ["makespan", "tasks/s", "killed at 100.000 ms", "redone by worker"] {
        assert!(said.contains(word), "{word} is not in: {said}");
    }
    assert!(!said.contains("+-"), "one run has no interval: {said}");
}

#[test]
fn a_mistake_is_told_with_its_line_and_what_may_have_been_meant() {
    let folder = TempDir::new().unwrap();
    let machines = folder.join("machines.toml");
    fs::write(&machines, "[machine.head]\ncoers = 4\n[network]\nrate = \"10\"\n").unwrap();
    let (status, said) = result(quintet(["simulate", "cluster", text(&machines), JOB]));
    assert_eq!(status, 65, "{said}");
    for words in
        ["line 2, machine.head.coers: there is no such key; did you mean cores?", "line 4, network.rate"]
    {
        assert!(said.contains(words), "{words} is not in: {said}");
    }
}

#[test]
fn machines_that_the_job_needs_and_the_file_lacks_are_named() {
    let folder = TempDir::new().unwrap();
    let machines = folder.join("machines.toml");
    fs::write(&machines, "[machine.head]\ncores = 4\n").unwrap();
    let (status, said) = result(quintet(["simulate", "cluster", text(&machines), JOB]));
    assert_eq!(status, 65, "{said}");
    assert!(said.contains("there is no machine node"), "{said}");
}

#[test]
fn a_run_that_fails_is_named_with_its_row_and_the_others_stay() {
    let folder = TempDir::new().unwrap();
    let (machines, job) = (folder.join("machines.toml"), folder.join("job.toml"));
    let slow = fs::read_to_string(MACHINES).unwrap().replace("10 Gb/s", "1 Mb/s");
    let large = fs::read_to_string(JOB).unwrap().replace("\"4 KiB\"", "\"1 MiB\"").replace("= 1000", "= 4");
    fs::write(&machines, slow).unwrap();
    fs::write(&job, &large[..large.find("[kill]").unwrap()]).unwrap();
    let table = ["simulate", "cluster", text(&machines), text(&job), "--workers", "1,16", "--seeds", "2"];
    let (status, said) = result(quintet(table));
    assert_eq!(status, 65, "{said}");
    assert!(said.contains("16 workers, seed 1: failed: the other side is silent"), "{said}");
    assert!(said.contains("2 runs failed"), "{said}");
    let one = said.lines().find(|line| line.starts_with("      1 ")).expect("the other row is there");
    assert!(one.contains(" s +- "), "{said}");
}

#[test]
fn a_row_that_came_to_a_standstill_says_why() {
    let (status, said) =
        result(quintet(["simulate", "cluster", MACHINES, JOB, "--workers", "1", "--seeds", "1"]));
    assert_eq!(status, 0, "{said}");
    assert!(said.contains("1 workers: 1 of 1 runs did not end: its only worker was killed"), "{said}");
}

#[test]
fn an_interrupted_sweep_says_how_many_rows_were_finished() {
    let sweep = ["simulate", "cluster", MACHINES, JOB, "--workers", "2,8", "--seeds", "10000"];
    let child = quintet(sweep);
    wait_until_handled(child.id());
    kill_process(Pid::from_raw(child.id().cast_signed()).unwrap(), Signal::INT).unwrap();
    let (status, said) = result(child);
    assert!(status == 130 && said.contains("0 of 2 rows were finished"), "{status}: {said}");
}

#[test]
fn managers_with_a_core_each_do_more_of_what_has_keys_and_not_of_what_has_none() {
    let folder = TempDir::new().unwrap();
    let plot = folder.join("managers.svg");
    let words =
        ["simulate", "managers", "--managers", "1,2", "--seeds", "1", "--json", "--plot", text(&plot)];
    let (status, said) = result(quintet(words));
    assert_eq!(status, 0, "{said}");
    let objects: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let costs: Vec<&Value> = objects.iter().filter(|object| object["cost"].is_string()).collect();
    assert!(costs.iter().all(|cost| cost["origin"] == "fitted" && cost["ns"].as_f64() > Some(0.0)), "{said}");
    let pairs = |workload: &str, managers: u64| {
        let mut rows = objects.iter();
        let row =
            rows.find(|row| row["workload"] == workload && row["managers"] == managers).expect(workload);
        row["pairs_per_s"]["mean"].as_f64().unwrap()
    };
    assert!(pairs("by key", 2) > 1.3 * pairs("by key", 1), "{said}");
    assert!(pairs("without a key", 2) < pairs("without a key", 1), "{said}");
    let drawn = fs::read_to_string(&plot).unwrap();
    assert!(drawn.contains("<svg") && drawn.contains("by key"), "{drawn}");
}

#[test]
fn costs_of_managers_are_those_of_the_machines_that_are_named() {
    let folder = TempDir::new().unwrap();
    let machines = folder.join("machines.toml");
    fs::write(&machines, "[machine.head]\ncores = 4\n[costs]\nsend = \"500 ns\"\n").unwrap();
    let words =
        ["simulate", "managers", text(&machines), "--managers", "2", "--clients", "2", "--seeds", "1"];
    let (status, said) = result(quintet(words));
    assert_eq!(status, 0, "{said}");
    let sent = said.lines().find(|line| line.contains("frame sent")).expect("a cost");
    assert!(sent.contains("500 ns") && sent.contains("given") && sent.contains("machines.toml"), "{said}");
    assert!(!said.contains("+-"), "one run has no interval: {said}");
}

//! Traces and histograms of a job on several machines, the clock of one of which is a day ahead.

use super::lab::Machines;
use crate::tool::{result, text, wait_until};
use crate::trace::{Slice, slices};
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;

/// Seconds.
const AHEAD: u64 = 86_400;
/// This test's own executable as a job: `own_workers.rs`.
const PART: [&str; 4] = ["own_workers::part_of_a_job", "--exact", "--nocapture", "--quiet"];

/// What a job on both machines leaves for `--trace` and `--histograms`, and says.
fn traced(lab: &Machines) -> (Vec<Slice>, Vec<String>, String) {
    let (path, logs, this) =
        (lab.room.join("job.pftrace"), lab.room.join("logs"), env::current_exe().unwrap());
    let options = [
        "run",
        "--hosts",
        "a,b",
        "-n",
        "4",
        "--trace",
        text(&path),
        "--histograms",
        text(&logs),
        text(&this),
    ];
    let (code, said) = result(lab.command("a", &[&options[..], &PART].concat()));
    assert_eq!(code, 0, "{said}");
    let names = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    let logs = fs::read_dir(&logs).expect("they are kept").map(names).collect();
    (slices(&fs::read(path).expect("it is written")), logs, said)
}

/// The error that a trace states of the clock of a machine, in nanoseconds.
fn stated_error(said: &str) -> u64 {
    let words = said.split("the trace shows b by this machine's clock, right within ").nth(1).expect(said);
    let milliseconds: f64 = words.split(' ').next().unwrap().parse().expect(said);
    (milliseconds * 1e6).round() as u64
}

#[test]
fn workers_of_a_machine_whose_clock_is_ahead_are_in_the_trace_where_they_belong() {
    let Some(lab) = Machines::with_a_clock_ahead(["a", "b"], AHEAD) else { return };
    let (slices, logs, said) = traced(&lab);
    let error = stated_error(&said);
    assert!(error < 1_000_000_000, "what it is good for is less than a second: {said}");
    let processes: BTreeSet<&str> = slices.iter().map(|slice| &*slice.process).collect();
    for worker in
        ["worker 1 on b (within ", "worker 3 on b (within ", "worker 0", "worker 2", "space", "master"]
    {
        assert_eq!(
            processes.iter().filter(|process| process.starts_with(worker)).count(),
            1,
            "{worker}: {processes:?}"
        );
    }
    let of = |process: &str, track: &str| {
        slices.iter().filter(|slice| slice.process.starts_with(process) && slice.track == track).count()
    };
    for worker in ["worker 1", "worker 3"] {
        assert!(of(worker, "tasks") > 0 && of(worker, "operations") > 1, "{worker} has done something");
    }
    // No frame comes sooner than it was sent, by more than the error.
    let mut ends: BTreeMap<u64, Vec<&Slice>> = BTreeMap::new();
    for slice in &slices {
        slice.flows.iter().for_each(|flow| ends.entry(*flow).or_default().push(slice));
    }
    let is_there = |slice: &Slice| slice.process.contains(" on b");
    let pairs = ends.values().filter(|ends| ends.len() == 2 && ends.iter().any(|slice| is_there(slice)));
    let mut frames = 0;
    for pair in pairs {
        frames += 1;
        // Both lie in the second or so that the job took: a day apart is what they would be.
        let (one, other) = (pair[0].begins, pair[1].begins);
        assert!(one.abs_diff(other) < 60_000_000_000, "{pair:?}");
    }
    assert!(frames > 20, "{frames} of them");
    let space = || slices.iter().filter(|slice| slice.process == "space");
    let (first, last) = (space().map(|slice| slice.begins).min(), space().map(|slice| slice.begins).max());
    for slice in slices.iter().filter(|slice| is_there(slice)) {
        let within = first.unwrap() <= slice.begins + error && slice.begins <= last.unwrap() + error;
        // What a worker does before it has connected and after its last answer has no frame.
        assert!(within || slice.flows.is_empty(), "{slice:?}");
    }
    for worker in ["worker-1-", "worker-3-"] {
        let name =
            logs.iter().find(|name| name.starts_with(worker) && name.ends_with("-b.hlog")).expect("fetched");
        let log = fs::read_to_string(lab.room.join("logs").join(name)).unwrap();
        assert!(log.contains("Tag=take,") && log.contains("Tag=acknowledge,"), "{log}");
    }
    assert_eq!(logs.len(), 5, "{logs:?}");
    wait_until(|| lab.jobs("b").is_empty());
}

#[test]
fn the_trace_of_a_job_that_loses_a_machine_shows_the_others_and_says_what_it_lacks() {
    let mut lab = Machines::up(&["a", "b"]);
    let idle = super::at(&lab, "idle", "echo idle $$; exec sleep 1000");
    let master = super::at(&lab, "master", "while [ ! -e go ]; do sleep 0.05; done; exit 7");
    let path = lab.room.join("job.pftrace");
    let words =
        ["run", "--hosts", "a,b", "-n", "2", "--trace", text(&path), "--python", text(&idle), text(&master)];
    let job = lab.program("a", &words).in_folder(lab.room.path()).spawn().unwrap();
    super::numbers(&job, "idle", 2);
    lab.kill("b");
    wait_until(|| job.output().text().contains("b is lost to this job"));
    fs::write(lab.room.join("go"), "").unwrap();
    let (code, said) = result(job);
    assert!(
        code == 7 && said.contains("the trace or the histograms of b cannot be fetched: the machine is lost"),
        "{code}: {said}"
    );
    assert!(!slices(&fs::read(path).expect("it is written")).is_empty(), "what is here is there");
}

//! `quintet run --kill-one` with a real master and real workers: this test's own executable.

use crate::tool::{quintet, result, script, text};
use quintet::{Lab, LinkAddress, template, tuple};
use quintet_testbed::TempDir;
use std::env;
use std::time::Duration;

const TASKS: i64 = 20;
const LEASE: Duration = Duration::from_secs(10);

pub(crate) fn lab() -> Option<Lab> {
    let address: LinkAddress =
        env::var("QUINTET_SPACE").ok()?.parse().expect("the job says where its space is");
    let cluster = env::var("QUINTET_CLUSTER").ok()?.parse().ok()?;
    Some(Lab::connect(address, cluster, LEASE).expect("the job's space is there"))
}

/// A job's master; nothing in the ordinary run of the tests. The other tasks wait for the first, so that it is its holder
/// who is killed.
#[test]
fn master_of_a_job() {
    let Some(lab) = lab() else { return };
    let space = lab.space();
    for task in 0..TASKS {
        space.out(tuple!["quintet.event", "submitted", -1i64, task, 0i64]).unwrap();
        space.out(tuple!["task", task]).unwrap();
        if task == 0 {
            space.read(&template!["result", task, ?i64]).unwrap();
        }
    }
    let results = (0..TASKS).map(|task| space.take(&template!["result", task, ?i64]).unwrap());
    assert!(results.map(|result| i64::try_from(result[2].clone()).unwrap()).eq((0..TASKS).map(|n| n * n)));
    println!("all results are there");
}

/// A job's worker; nothing in the ordinary run of the tests. The first task is done at its second attempt only.
#[test]
fn worker_of_a_job() {
    let (Some(lab), Ok(rank)) = (lab(), env::var("QUINTET_RANK")) else { return };
    let (space, rank): (_, i64) = (lab.space(), rank.parse().unwrap());
    while let Ok(lease) = space.lease(&template!["task", ?i64], None) {
        let task = i64::try_from(lease.tuple()[1].clone()).unwrap();
        let attempt = i64::from(lease.attempt());
        space.out(tuple!["quintet.event", "holding", rank, task, attempt]).unwrap();
        if task == 0 && attempt == 1 {
            let _ = space.take(&template!["nothing of the kind"]);
        }
        let done = tuple!["quintet.event", "done", rank, task, attempt];
        lease.acknowledge(&[tuple!["result", task, task * task], done]).unwrap();
    }
}

fn run_job(options: &[&str]) -> (i32, String) {
    let folder = TempDir::new().unwrap();
    let this = env::current_exe().unwrap();
    let role = |name: &str| format!("exec {} kill_one::{name} --exact --nocapture --quiet", text(&this));
    let worker = script(&folder, "worker", &role("worker_of_a_job"));
    let master = script(&folder, "master", &role("master_of_a_job"));
    let record = folder.join("job.rec");
    let mut arguments = vec!["run", "-n", "3", "--python", text(&worker), "--record", text(&record)];
    arguments.extend(options);
    arguments.push(text(&master));
    let arguments: [&str; 9] = arguments.try_into().expect("one option");
    let (code, said) = result(quintet(arguments));
    let (replayed, words) = result(quintet(["replay", text(&record)]));
    assert_eq!(replayed, 0, "{words}");
    (code, said)
}

#[test]
fn the_task_of_a_killed_worker_is_redone() {
    let (code, said) = run_job(&["--kill-one"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("all results are there"), "{said}");
    let line =
        said.lines().find(|line| line.contains("when it was killed; redone by worker")).expect("reported");
    assert!(line.ends_with("(attempt 2)"), "{line}");
    assert!(said.contains("ended with signal 9; the job goes on with 2"), "{said}");
    assert!(said.contains(&format!("{TASKS} of {TASKS} tasks done")), "{said}");
}

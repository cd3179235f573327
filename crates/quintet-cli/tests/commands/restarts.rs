//! `quintet run` with tasks that end every worker that takes them: this test's own executable.

use crate::kill_one::lab;
use crate::tool::{result, script, start, text};
use quintet::{template, tuple};
use quintet_testbed::TempDir;
use std::env;

const TASKS: i64 = 8;
/// The deadly ones: what this variable of the environment lists.
const DEADLY: &str = "DEADLY_TASKS";

fn deadly() -> Vec<i64> {
    let list = env::var(DEADLY).expect("the job's environment has it");
    list.split(' ').map(|task| task.parse().expect("a number")).collect()
}

/// A job's master; nothing in the ordinary run of the tests.
#[test]
fn master_of_a_deadly_job() {
    let Some(lab) = lab() else { return };
    let (space, deadly) = (lab.space(), deadly());
    (0..TASKS).for_each(|task| space.out(tuple!["task", task]).unwrap());
    for task in (0..TASKS).filter(|task| !deadly.contains(task)) {
        space.take(&template!["result", task]).unwrap();
    }
    while space.status().unwrap().dead_letters < deadly.len() as u64 {
        std::thread::yield_now();
    }
    println!("{} dead letters, and all other results are there", deadly.len());
}

/// A job's worker; nothing in the ordinary run of the tests.
#[test]
fn worker_of_a_deadly_job() {
    let (Some(lab), Ok(_)) = (lab(), env::var("QUINTET_RANK")) else { return };
    let (space, deadly) = (lab.space(), deadly());
    while let Ok(lease) = space.lease(&template!["task", ?i64], None) {
        let task = i64::try_from(lease.tuple()[1].clone()).unwrap();
        if deadly.contains(&task) {
            std::process::exit(9);
        }
        lease.acknowledge(&[tuple!["result", task]]).unwrap();
    }
}

fn run_job(workers: &str, deadly: &str) -> String {
    let folder = TempDir::new().unwrap();
    let this = env::current_exe().unwrap();
    let role = |name: &str| format!("exec {} restarts::{name} --exact --nocapture --quiet", text(&this));
    let worker = script(&folder, "worker", &role("worker_of_a_deadly_job"));
    let master = script(&folder, "master", &role("master_of_a_deadly_job"));
    let arguments = ["run", "-n", workers, "--json", "--python", text(&worker), text(&master)];
    let (code, said) = result(start(arguments, &[(DEADLY, deadly)]));
    assert_eq!(code, 0, "{said}");
    said
}

#[test]
fn a_task_that_ends_every_worker_becomes_a_dead_letter_and_the_others_are_done() {
    let said = run_job("4", "3");
    assert!(said.contains("1 dead letters, and all other results are there"), "{said}");
    assert!(said.contains("ended with status 9; it is started again"), "{said}");
    // The setting space.max_attempts is 5: of five deaths one at least was a second one. The job may end before the others are made good.
    let made = said.split_once("\"restarts\":").and_then(|(_, rest)| rest[..1].parse::<u64>().ok());
    assert!(made.is_some_and(|made| (1..=5).contains(&made)), "{said}");
}

#[test]
fn as_many_deadly_tasks_as_there_are_workers_and_more_end_no_job() {
    for (workers, deadly) in [("2", "0 1"), ("1", "0 1 3 4 6")] {
        let said = run_job(workers, deadly);
        let count = deadly.split(' ').count();
        assert!(said.contains(&format!("{count} dead letters, and all other results are there")), "{said}");
    }
}

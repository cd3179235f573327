//! `quintet run` with a task that ends every worker that takes it: this test's own executable.

use crate::kill_one::lab;
use crate::tool::{quintet, result, script, text};
use quintet::{template, tuple};
use quintet_testbed::TempDir;
use std::env;

const TASKS: i64 = 8;
const DEADLY: i64 = 3;

/// A job's master; nothing in the ordinary run of the tests.
#[test]
fn master_of_a_deadly_job() {
    let Some(lab) = lab() else { return };
    let space = lab.space();
    (0..TASKS).for_each(|task| space.out(tuple!["task", task]).unwrap());
    for task in (0..TASKS).filter(|task| *task != DEADLY) {
        space.take(&template!["result", task]).unwrap();
    }
    while space.status().unwrap().dead_letters == 0 {
        std::thread::yield_now();
    }
    println!("one dead letter, and all other results are there");
}

/// A job's worker; nothing in the ordinary run of the tests.
#[test]
fn worker_of_a_deadly_job() {
    let (Some(lab), Ok(_)) = (lab(), env::var("QUINTET_RANK")) else { return };
    let space = lab.space();
    while let Ok(lease) = space.lease(&template!["task", ?i64], None) {
        let task = i64::try_from(lease.tuple()[1].clone()).unwrap();
        if task == DEADLY {
            std::process::exit(9);
        }
        lease.acknowledge(&[tuple!["result", task]]).unwrap();
    }
}

#[test]
fn a_task_that_ends_every_worker_becomes_a_dead_letter_and_the_others_are_done() {
    let folder = TempDir::new().unwrap();
    let this = env::current_exe().unwrap();
    let role = |name: &str| format!("exec {} restarts::{name} --exact --nocapture --quiet", text(&this));
    let worker = script(&folder, "worker", &role("worker_of_a_deadly_job"));
    let master = script(&folder, "master", &role("master_of_a_deadly_job"));
    let arguments = ["run", "-n", "4", "--json", "--python", text(&worker), text(&master)];
    let (code, said) = result(quintet(arguments));
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("one dead letter, and all other results are there"), "{said}");
    assert!(said.contains("ended with status 9; it is started again"), "{said}");
    // The setting space.max_attempts is 5: of five deaths one at least was a second one. The job may end before the others are made good.
    let made = said.split_once("\"restarts\":").and_then(|(_, rest)| rest[..1].parse::<u64>().ok());
    assert!(made.is_some_and(|made| (1..=5).contains(&made)), "{said}");
}

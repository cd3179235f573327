//! `quintet run` with a program that is its own worker: this test's own executable.

use crate::tool::{is_alive, quintet, result, script, text, wait_until_gone};
use quintet::{Job, Lab, template, tuple};
use quintet_testbed::TempDir;
use std::env;

const TASKS: i64 = 20;
const ENOUGH: i64 = -1;

/// Master and worker of a job; nothing in the ordinary run of the tests.
#[test]
fn part_of_a_job() {
    let job = Job::from_environment().expect("the job says what is what");
    if job.workers == 0 {
        return;
    }
    let space = Lab::from_environment().expect("the job's space is there").space();
    let Some(rank) = job.rank else { return master(&space, job.workers) };
    space.out(tuple!["worker", i64::from(rank), i64::from(std::process::id())]).unwrap();
    loop {
        let task = space.lease(&template!["task", ?i64], None).unwrap();
        match i64::try_from(task.tuple()[1].clone()).unwrap() {
            ENOUGH => return task.acknowledge(&[]).unwrap(),
            number => task.acknowledge(&[tuple!["result", number, number * number]]).unwrap(),
        }
    }
}

fn master(space: &quintet::Space, workers: u32) {
    (0..TASKS).for_each(|task| space.out(tuple!["task", task]).unwrap());
    for task in 0..TASKS {
        space.take(&template!["result", task, task * task]).unwrap();
    }
    let process = |rank: u32| {
        let worker = space.take(&template!["worker", i64::from(rank), ?i64]).unwrap();
        u32::try_from(i64::try_from(worker[2].clone()).unwrap()).unwrap()
    };
    let processes: Vec<u32> = (0..workers).map(process).collect();
    assert!(processes.iter().all(|process| is_alive(*process)));
    (0..workers).for_each(|_| space.out(tuple!["task", ENOUGH]).unwrap());
    wait_until_gone(&processes);
    // The job hears of these ends while it answers.
    (0..1000).for_each(|_| drop(space.status().unwrap()));
    println!("{workers} workers have done {TASKS} tasks and ended");
}

#[test]
fn a_program_that_asks_for_its_rank_is_started_as_worker_too() {
    let this = env::current_exe().unwrap();
    let part = ["own_workers::part_of_a_job", "--exact", "--nocapture", "--quiet"];
    let arguments = ["run", "-n", "3", "--json", text(&this), part[0], part[1], part[2], part[3]];
    let (code, said) = result(quintet(arguments));
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("3 workers have done 20 tasks and ended"), "{said}");
    assert!(!said.contains("ended with status"), "workers that are done are not news: {said}");
}

#[test]
fn who_the_workers_are_can_be_said() {
    let folder = TempDir::new().unwrap();
    let idle = script(&folder, "idle", "echo idle $QUINTET_RANK; exec sleep 1000");
    // A script asks for nothing that could be seen in it.
    let both = script(
        &folder,
        "both",
        "[ -z \"$QUINTET_RANK\" ] && echo master || { echo rank $QUINTET_RANK; exit 3; }",
    );
    let (code, said) = result(quintet(["run", "-n", "1", "--python", text(&idle), text(&both)]));
    assert!(code == 0 && said.contains("master") && !said.contains("rank"), "{said}");
    let slow = script(
        &folder,
        "slow",
        "[ -n \"$QUINTET_RANK\" ] && { echo rank $QUINTET_RANK; exit 3; }; exec sleep 1000",
    );
    let arguments = ["run", "-n", "1", "--worker", "program", "--python", text(&idle), text(&slow)];
    let (code, said) = result(quintet(arguments));
    assert!(code == 69 && said.contains("[worker 0] rank 0") && !said.contains("idle"), "{said}");
    assert!(said.contains("ended with status 3; it is started again"), "one that fails is: {said}");
}

//! What was lost is done again: workers that are killed, machines that are lost, machines that start nothing.

use super::lab::Machines;
use super::{at, numbers, summary};
use crate::tool::{result, text, wait_until_gone};
use quintet::{Lab, template, tuple};
use quintet_testbed::Child;
use rustix::process::{Pid, Signal, kill_process};
use std::env;

const TASKS: i64 = 30;
/// Tasks that wait to be done, of those that take no time.
const AHEAD: i64 = 16;

fn lab_of_the_job() -> Option<Lab> {
    env::var("QUINTET_SPACE").ok()?;
    Some(Lab::from_environment().expect("the job's space is there"))
}

/// A job's master; nothing in the ordinary run of the tests. The other tasks wait for the first.
#[test]
fn master_of_a_job() {
    let Some(lab) = lab_of_the_job() else { return };
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
    let (Some(lab), Ok(rank)) = (lab_of_the_job(), env::var("QUINTET_RANK")) else { return };
    let (space, rank): (_, i64) = (lab.space(), rank.parse().unwrap());
    while let Ok(lease) = space.lease(&template!["task", ?i64], None) {
        let task = i64::try_from(lease.tuple()[1].clone()).unwrap();
        let attempt = i64::from(lease.attempt());
        space.out(tuple!["quintet.event", "holding", rank, task, attempt]).unwrap();
        if task == 0 && attempt == 1 {
            println!("holding {}", std::process::id());
            let _ = space.take(&template!["nothing of the kind"]);
        }
        let done = tuple!["quintet.event", "done", rank, task, attempt];
        lease.acknowledge(&[tuple!["result", task, task * task], done]).unwrap();
    }
}

/// A job's master; nothing in the ordinary run of the tests. It has tasks until one of them was done again.
#[test]
fn master_of_a_hasty_job() {
    let Some(lab) = lab_of_the_job() else { return };
    let space = lab.space();
    let put = |task: i64| {
        space.out(tuple!["quintet.event", "submitted", -1i64, task, 0i64]).unwrap();
        space.out(tuple!["task", task]).unwrap();
    };
    (0..AHEAD).for_each(put);
    for task in AHEAD.. {
        let result = space.take(&template!["result", ?i64]).unwrap();
        if result[1] != 1i64.into() {
            break;
        }
        put(task);
    }
    println!("a task was done again");
}

/// A job's worker; nothing in the ordinary run of the tests. It has done a task as soon as it has said that it holds it.
#[test]
fn worker_of_a_hasty_job() {
    let (Some(lab), Ok(rank)) = (lab_of_the_job(), env::var("QUINTET_RANK")) else { return };
    let (space, rank): (_, i64) = (lab.space(), rank.parse().unwrap());
    while let Ok(lease) = space.lease(&template!["task", ?i64], None) {
        let task = i64::try_from(lease.tuple()[1].clone()).unwrap();
        let event = |word| tuple!["quintet.event", word, rank, task, i64::from(lease.attempt())];
        space.out(event("holding")).unwrap();
        let (done, result) = (event("done"), tuple!["result", i64::from(lease.attempt())]);
        lease.acknowledge(&[result, done]).unwrap();
    }
}

/// The job whose tasks are squares, with these options.
pub(super) fn squares(lab: &Machines, options: &[&str]) -> Child {
    job(lab, ["worker_of_a_job", "master_of_a_job"], options)
}

fn job(lab: &Machines, roles: [&str; 2], options: &[&str]) -> Child {
    let this = env::current_exe().unwrap();
    let role = |name: &str| format!("exec {} hosts::redone::{name} --exact --nocapture --quiet", text(&this));
    let (worker, master) = (at(lab, "worker", &role(roles[0])), at(lab, "master", &role(roles[1])));
    let mut words =
        vec!["run", "--json", "--set", "link.silence_limit_ms=3000", "--set", "link.resume_window_ms=1000"];
    if !options.contains(&"--python") {
        words.extend(["--python", text(&worker)]);
    }
    words.extend(options);
    words.push(text(&master));
    lab.command("a", &words)
}

pub(super) fn check(job: Child) -> String {
    let (code, said) = result(job);
    assert!(code == 0 && said.contains("all results are there"), "{said}");
    let tasks = &summary(&said)["tasks"];
    assert_eq!(
        (&tasks["submitted"], &tasks["done"], &tasks["redone"]),
        (&TASKS.into(), &TASKS.into(), &1.into()),
        "{said}"
    );
    said
}

#[test]
fn the_task_of_a_worker_that_is_killed_elsewhere_is_redone() {
    let lab = Machines::up(&["a", "b", "c"]);
    let said = check(squares(&lab, &["--hosts", "b,c", "-n", "3", "--kill-one"]));
    assert!(said.contains("when it was killed; redone by worker"), "{said}");
    assert!(said.contains("ended with signal 9; the job goes on with 2"), "{said}");
    // One that somebody else kills is started again where it was.
    let job = squares(&lab, &["--hosts", "b", "-n", "1"]);
    let holder = numbers(&job, "holding ", 1);
    kill_process(Pid::from_raw(i32::try_from(holder[0]).unwrap()).unwrap(), Signal::KILL).expect("sent");
    let said = check(job);
    assert!(said.contains("worker 0 ended with signal 9; it is started again"), "{said}");
    assert_eq!(
        (&summary(&said)["machines"][0], &summary(&said)["restarts"]),
        (&"b".into(), &1.into()),
        "{said}"
    );
}

#[test]
fn the_tasks_of_a_machine_that_is_lost_are_redone_on_the_others() {
    let mut lab = Machines::up(&["a", "b", "c"]);
    let job = squares(&lab, &["--hosts", "b,c", "-n", "1"]);
    let holder = numbers(&job, "[worker 0 on b] holding ", 1);
    lab.kill("b");
    wait_until_gone(&holder);
    let said = check(job);
    assert!(said.contains("quintet: b is lost to this job: "), "{said}");
    assert_eq!(summary(&said)["machines"][0], "c", "{said}");
}

#[test]
fn a_machine_that_starts_nothing_is_asked_once() {
    let lab = Machines::up(&["a", "b", "c"]);
    let this = env::current_exe().unwrap();
    // c and a have such a Python, b has none.
    for name in ["a", "c"] {
        let role = format!("exec {} hosts::redone::worker_of_a_job --exact --nocapture --quiet", text(&this));
        let path = at(&lab, &format!("python-{name}"), &role);
        std::fs::copy(path, lab.bin(name).join("our-python")).expect("copied");
    }
    let job = squares(&lab, &["--hosts", "b,c", "-n", "3", "--python", "our-python", "--kill-one"]);
    let said = check(job);
    assert_eq!(said.matches("no more workers are started there").count(), 1, "{said}");
    assert_eq!(summary(&said)["machines"], serde_json::json!(["c", "c", "c"]), "{said}");
    let job = squares(&lab, &["--hosts", "b", "-n", "2", "--python", "our-python"]);
    let (code, said) = result(job);
    assert!(code == 69 && said.contains("no machine of --hosts starts workers any more: b: "), "{said}");
    assert!(said.contains("our-python"), "{said}");
}

#[test]
fn a_machine_whose_python_has_no_package_is_named_with_what_to_do() {
    let lab = Machines::up(&["a", "b", "c"]);
    let this = env::current_exe().unwrap();
    let role = format!("exec {} hosts::redone::worker_of_a_job --exact --nocapture --quiet", text(&this));
    let words = "echo \"$0: Error while finding module specification for 'quintet.worker' (ModuleNotFoundError: No module named 'quintet')\" >&2; exit 1";
    for (name, lines) in [("b", words), ("c", &role)] {
        let path = at(&lab, &format!("python-{name}"), lines);
        std::fs::copy(path, lab.bin(name).join("our-python")).expect("copied");
    }
    let said = check(squares(&lab, &["--hosts", "b,c", "-n", "3", "--python", "our-python", "--kill-one"]));
    let told =
        "b: its Python has no package quintet: install it there, or name a Python that has it with --python";
    assert_eq!(said.matches(told).count(), 1, "{said}");
    let (code, said) = result(squares(&lab, &["--hosts", "b", "-n", "1", "--python", "our-python"]));
    assert!(code == 69 && said.contains("starts workers any more: b: its Python has no package"), "{said}");
}

#[test]
fn who_has_done_its_task_when_it_is_killed_elsewhere_is_not_the_proof() {
    let lab = Machines::up(&["a", "b", "c"]);
    let roles = ["worker_of_a_hasty_job", "master_of_a_hasty_job"];
    for _ in 0..5 {
        let (code, said) = result(job(&lab, roles, &["--hosts", "b,c", "-n", "4", "--kill-one"]));
        assert!(code == 0 && said.contains("a task was done again"), "{said}");
        // It may have been stopped when it had taken another one, and before it could say so.
        let is_told = ["when it was killed; redone by worker", "perhaps the killed worker"];
        assert!(is_told.iter().any(|words| said.contains(words)), "{said}");
    }
}

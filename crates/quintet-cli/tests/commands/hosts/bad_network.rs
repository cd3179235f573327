//! A cluster whose network loses packets, carries them one way only, or has a machine elsewhere; and machines that stand still for longer than
//! what they hold is theirs.

use super::ending::wait_until_no_folder_is_left;
use super::lab::Machines;
use super::redone::{check, squares};
use super::{at, numbers, summary};
use crate::tool::{result, text, wait_until, wait_until_gone};
use quintet::{Lab, template, tuple};
use quintet_testbed::{Child, Lines};
use serde_json::Value;
use std::{env, fs};

const TASKS: i64 = 20;

fn lab_of_the_job() -> Option<Lab> {
    env::var("QUINTET_SPACE").ok()?;
    Some(Lab::from_environment().expect("the job's space is there"))
}

/// A job's master; nothing in the ordinary run of the tests.
#[test]
fn master_of_a_plain_job() {
    let Some(lab) = lab_of_the_job() else { return };
    let space = lab.space();
    (0..TASKS).for_each(|task| space.out(tuple!["task", task]).unwrap());
    let results = (0..TASKS).map(|task| space.take(&template!["result", task, ?i64]).unwrap());
    assert!(results.map(|result| i64::try_from(result[2].clone()).unwrap()).eq((0..TASKS).map(|n| n * n)));
    println!("all results are there");
}

/// A job's worker; nothing in the ordinary run of the tests.
#[test]
fn worker_of_a_plain_job() {
    let (Some(lab), Ok(_)) = (lab_of_the_job(), env::var("QUINTET_RANK")) else { return };
    let space = lab.space();
    while let Ok(lease) = space.lease(&template!["task", ?i64], None) {
        let task = i64::try_from(lease.tuple()[1].clone()).unwrap();
        lease.acknowledge(&[tuple!["result", task, task * task]]).unwrap();
    }
}

fn plain_job(lab: &Machines, hosts: &str) -> Child {
    let this = env::current_exe().unwrap();
    let role =
        |name: &str| format!("exec {} hosts::bad_network::{name} --exact --nocapture --quiet", text(&this));
    let worker = at(lab, "plain-worker", &role("worker_of_a_plain_job"));
    let master = at(lab, "plain-master", &role("master_of_a_plain_job"));
    let words = ["run", "--json", "--hosts", hosts, "-n", "2", "--python", text(&worker), text(&master)];
    lab.command("a", &words)
}

/// What a machine shows of the cluster.
fn shown(lab: &Machines, at: &str) -> Value {
    let object: Value = serde_json::from_str(&lab.does(at, &["status", "--json"])).expect("an object");
    object["cluster"].clone()
}

/// Of the machine of that name, as that one shows it.
fn machine(lab: &Machines, at: &str, name: &str) -> Value {
    let shown = shown(lab, at);
    let machines = shown["machines"].as_array().expect("a list");
    machines.iter().find(|machine| machine["name"] == name).cloned().unwrap_or_default()
}

/// Returns when all of these show all of these as up, in one view.
fn wait_until_all_are_up(lab: &Machines, names: &[&str]) {
    let is_up = |machine: &Value| machine["state"].as_str().is_some_and(|state| state.starts_with("up"));
    wait_until(|| {
        let all: Vec<Value> = names.iter().map(|name| shown(lab, name)).collect();
        let is_whole = |one: &Value| {
            let machines = one["machines"].as_array().expect("a list");
            machines.len() == names.len() && machines.iter().all(is_up) && one["view"] == all[0]["view"]
        };
        all.iter().all(is_whole)
    });
}

/// Returns when all of these show the same view, with all of these in it. On a line that loses much one may look silent at any time.
fn wait_until_all_agree(lab: &Machines, names: &[&str]) {
    wait_until(|| {
        let all: Vec<Value> = names.iter().map(|name| shown(lab, name)).collect();
        let has_all = |one: &Value| one["machines"].as_array().map(Vec::len) == Some(names.len());
        all.iter().all(|one| has_all(one) && one["view"] == all[0]["view"])
    });
}

#[test]
fn a_cluster_outlives_a_line_that_loses_a_third_or_carries_one_way_and_a_machine_that_stands_still() {
    let Some(lab) = Machines::on_a_network(&["a", "b", "c"]) else { return };
    let bed = lab.bed.as_ref().expect("a network");

    bed.lose(&Lines::of("b"), 300_000).expect("lossy");
    let (code, said) = result(plain_job(&lab, "b,c"));
    assert!(code == 0 && said.contains("all results are there"), "{said}");
    assert_eq!(summary(&said)["machines"], serde_json::json!(["b", "c"]), "{said}");
    wait_until_all_agree(&lab, &["a", "b", "c"]);
    bed.heal(&Lines::All).expect("mended");
    wait_until_all_are_up(&lab, &["a", "b", "c"]);

    bed.cut(&Lines::one_way("b", "a")).expect("cut");
    wait_until(|| machine(&lab, "a", "b")["state"] != "up");
    assert_eq!(machine(&lab, "a", "c")["state"], "up", "that line is as before");
    assert_eq!(shown(&lab, "a")["machines"].as_array().map(Vec::len), Some(3), "nobody is removed by time");
    bed.heal(&Lines::All).expect("mended");
    wait_until_all_are_up(&lab, &["a", "b", "c"]);

    // The lease of a task is over before its machine is given up: another machine does it.
    let job = squares(&lab, &["--hosts", "b,c", "-n", "2", "--set", "space.lease_ms=1000"]);
    let holder = numbers(&job, " holding ", 1);
    let still = if job.output().text().contains("on b] holding") { "b" } else { "c" };
    bed.freeze(still).expect("frozen");
    check(job);
    bed.thaw(still).expect("thawed");
    wait_until_gone(&holder);
    wait_until_no_folder_is_left(&lab);
    wait_until_all_are_up(&lab, &["a", "b", "c"]);

    // No process outlives the agent that has started it.
    let job = squares(&lab, &["--hosts", "b", "-n", "1"]);
    let holder = numbers(&job, " holding ", 1);
    lab.does("b", &["down"]);
    wait_until_gone(&holder);
}

#[test]
fn a_machine_whose_address_changes_is_lost_to_the_job_and_comes_back_at_its_new_one() {
    let Some(mut lab) = Machines::on_a_network(&["a", "b", "c"]) else { return };
    let job = squares(&lab, &["--hosts", "b,c", "-n", "1"]);
    let holder = numbers(&job, "[worker 0 on b] holding ", 1);
    let bed = lab.bed.as_mut().expect("a network");
    let [first, second, third, _] = bed.machine("b").expect("it is one").address().octets();
    let new = [first, second, third, 99].into();
    bed.readdress("b", new, 24).expect("moved");
    let said = check(job);
    assert!(said.contains("quintet: b is lost to this job: "), "{said}");
    assert_eq!(summary(&said)["machines"][0], "c", "{said}");
    // As whoever runs it there would: the agent is told where it listens now, and tells the others.
    lab.does("b", &["down"]);
    wait_until_gone(&holder);
    let place = format!("{new}:7400");
    fs::write(lab.folder("b").join("place"), &place).expect("the folder is there");
    lab.start("b");
    wait_until(|| ["a", "c"].iter().all(|name| machine(&lab, name, "b")["address"] == place.as_str()));
    wait_until_all_are_up(&lab, &["a", "b", "c"]);
    let (code, said) = result(plain_job(&lab, "b"));
    assert!(code == 0 && said.contains("all results are there"), "{said}");
}

//! How testbeds begin and end.

use crate::talk::Talker;
use crate::{LONG, testbed, wait_until};
use quintet_testbed::{Mode, Plan, Program, Testbed, TestbedError, argument, namespaces_refused};
use std::path::PathBuf;
use std::process::Command;

/// What is there of a testbed: namespaces, its folder.
struct Traces {
    namespaces: Vec<PathBuf>,
    folder: PathBuf,
}

impl Traces {
    fn of(testbed: &Testbed) -> Traces {
        let machines = testbed.machines();
        let namespaces = machines.iter().filter_map(quintet_testbed::Machine::namespace);
        let machine = machines[0].folder().to_owned();
        Traces {
            namespaces: namespaces.map(|name| PathBuf::from("/run/netns").join(name)).collect(),
            folder: machine.ancestors().nth(2).expect("it is in the testbed's").to_owned(),
        }
    }

    fn are_all(&self) -> bool {
        self.namespaces.iter().all(|path| path.exists()) && self.folder.is_dir()
    }

    fn are_none(&self) -> bool {
        !self.namespaces.iter().any(|path| path.exists()) && !self.folder.exists()
    }
}

fn is_running(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['Z', 'X']))
}

#[test]
fn nothing_is_left_of_a_testbed_that_was_dropped() {
    let Some(testbed) = testbed() else { return };
    let traces = Traces::of(&testbed);
    let mut a = Talker::on(&testbed.machine("a").expect("it is one"));
    let stray: u32 = a.ask("fork").parse().expect("a number");
    assert!(traces.are_all() && is_running(stray) && Testbed::names().contains(&testbed.name().to_owned()));
    drop(testbed);
    assert!(traces.are_none() && !is_running(stray) && !is_running(a.process()));
}

#[test]
fn a_name_is_taken_once_and_what_was_made_stays_as_it_is() {
    let Some(testbed) = testbed() else { return };
    let again = Plan { mode: Some(Mode::Loopback), ..Plan::new(testbed.name(), ["a"]) };
    let error = Testbed::up(&again).expect_err("the name is taken");
    assert!(matches!(error, TestbedError::Exists { .. }), "{error}");
    assert!(error.to_string().contains("quintet testbed down --name"), "{error}");
    assert!(Traces::of(&testbed).are_all());
    let other = Testbed::open(testbed.name()).expect("it is up");
    assert_eq!(other.machines(), testbed.machines());
    drop(other);
    assert!(Traces::of(&testbed).are_all(), "who opened it does not remove it");
}

#[test]
fn two_testbeds_know_nothing_of_each_other() {
    let (Some(one), Some(other)) = (testbed(), testbed()) else { return };
    assert_ne!(one.machines()[0].address(), other.machines()[0].address());
    let [mut a, b] = ["a", "b"].map(|name| Talker::on(&one.machine(name).expect("it is one")));
    let mut stranger = Talker::on(&other.machine("a").expect("it is one"));
    assert!(stranger.misses(&a) && a.reaches(&b));
    drop(other);
    assert!(a.reaches(&b) && Traces::of(&one).are_all());
}

#[test]
fn a_testbed_that_is_half_made_is_removed() {
    if let Some(why) = namespaces_refused() {
        println!("skipped: no network namespaces here: {why}");
        return;
    }
    let plan = Plan { mode: Some(Mode::Namespaces), ..Plan::unnamed(["a", "b"]) };
    let mut switch = Command::new("sh");
    switch.args(["-c", "echo no cables >&2"]);
    let error = Testbed::start(&plan, switch).expect_err("its switch ends");
    assert!(error.to_string().contains("cannot start the switch: no cables"), "{error}");
    assert!(!Testbed::names().contains(&plan.name));
    assert!(!PathBuf::from(format!("/run/netns/quintet.{}.a", plan.name)).exists());
}

#[test]
fn a_namespace_that_nobody_has_is_in_nobodys_way() {
    if let Some(why) = namespaces_refused() {
        println!("skipped: no network namespaces here: {why}");
        return;
    }
    let plan = Plan { mode: Some(Mode::Namespaces), ..Plan::unnamed(["a", "b"]) };
    let stray = format!("quintet.{}.b", plan.name);
    let added = Command::new("ip").args(["netns", "add", &stray]).status();
    assert!(added.expect("it starts").success());
    let mut sleep =
        Command::new("ip").args(["netns", "exec", &stray, "sleep", "1000"]).spawn().expect("it starts");
    wait_until(|| {
        std::fs::read_to_string(format!("/proc/{}/comm", sleep.id())).is_ok_and(|name| name == "sleep\n")
    });
    let testbed = Testbed::up(&plan).expect("it is made");
    assert_eq!(sleep.wait().expect("it ended").code(), None, "by a signal");
    let [mut a, b] = ["a", "b"].map(|name| Talker::on(&testbed.machine(name).expect("it is one")));
    assert!(a.reaches(&b));
}

/// As a child: has a testbed until it is killed.
#[test]
fn what_a_killed_owner_leaves_is_removed_by_the_next_one() {
    if let Some(mode) = argument() {
        let mode = if mode == "loopback" { Mode::Loopback } else { Mode::Namespaces };
        let testbed = Testbed::up(&Plan { mode: Some(mode), ..Plan::unnamed(["a"]) }).expect("it is made");
        let mut command = testbed.machine("a").expect("it is one").command("sleep").expect("it is there");
        let mut child = command.arg("1000").spawn().expect("it starts");
        println!("up {} {}", testbed.name(), child.id());
        let _ = child.wait();
    }
    let modes =
        if namespaces_refused().is_none() { vec!["namespaces", "loopback"] } else { vec!["loopback"] };
    for mode in modes {
        let this = "lifetime::what_a_killed_owner_leaves_is_removed_by_the_next_one";
        let mut owner = Program::this_test(this, mode).expect("known").spawn().expect("it starts");
        let said = owner.output().wait_for("up ", LONG).expect("it is up");
        let (name, process) = said.split_once(' ').expect("two words");
        let process: u32 = process.parse().expect("a number");
        let left = Testbed::open(name).expect("it is up");
        let traces = Traces::of(&left);
        let refused = left.down().expect_err("its owner lives");
        assert!(matches!(refused, TestbedError::Owned { .. }), "{refused}");
        assert!(traces.are_all() && is_running(process));
        owner.kill().expect("killed");
        assert!(matches!(Testbed::open(name), Err(TestbedError::NotUp { .. })), "nobody has it");
        let next =
            Testbed::up(&Plan { mode: Some(Mode::Loopback), ..Plan::unnamed(["a"]) }).expect("it is made");
        assert!(traces.are_none() && !is_running(process));
        drop(next);
    }
}

//! Who may put what others run into the cluster's space.

use super::machine::Machine;
use crate::tool::{LONG, wait_until};
use quintet::{Code, Error, Lab, SpaceAddress, template, tuple};
use std::time::Duration;

/// As a program on that machine connects to `quintet://lab`.
fn connect(machine: &Machine) -> Result<Lab, Error> {
    let address: SpaceAddress = format!("quintet://{}", machine.lab().display()).parse().unwrap();
    Lab::connect(address, 0, Duration::from_secs(10))
}

fn lab(machine: &Machine) -> Lab {
    connect(machine).expect("the cluster's space is there")
}

fn task() -> quintet::Tuple {
    tuple!["quintet.task", "pool", 1i64, b"pickle"]
}

fn joined(name: &'static str, of: &Machine, allow: &str) -> Machine {
    let machine = Machine::new(name);
    machine.join_with(of, allow);
    machine
}

/// The text of its refusal.
#[track_caller]
fn refused<T>(tried: Result<T, Error>) -> String {
    let Err(error) = tried else { panic!("it is allowed") };
    assert_eq!(error.code(), Code::NotAllowed, "{error}");
    error.to_string()
}

#[test]
fn a_member_without_code_puts_data_and_nothing_that_others_run_and_the_audit_log_says_so() {
    let a = Machine::founded();
    let (b, c) = (joined("b", &a, "join"), joined("c", &a, "join,code"));
    let (on_a, on_b, on_c) = (lab(&a), lab(&b), lab(&c));
    for lab in [&on_a, &on_c] {
        lab.space().out(task()).unwrap();
    }
    let text = refused(on_b.space().out(task()));
    assert!(text.contains("quintet token create --allow join,code"), "{text}");
    let line = a.wait_for_refusal(|line| line["what"] == "code");
    assert_eq!((&line["name"], &line["code"]), (&"b".into(), &"NotAllowed".into()), "{line}");
    assert_eq!(line["identity"], b.identity(), "{line}");
    assert!(line["from"].as_str().is_some_and(|from| from.starts_with("127.")), "{line}");

    // In a pack, as results of a task that it may have, and as a worker.
    refused(on_b.space().out_many(&[tuple!["row", 1i64], task()], None));
    on_a.space().out(tuple!["job", 7i64]).unwrap();
    let lease = on_b.space().lease(&template!["job", ?i64], Some(LONG)).unwrap();
    refused(lease.acknowledge(&[tuple!["done", 7i64], task()]));
    refused(on_b.space().lease(&template!["quintet.task", ?str, ?i64, ?quintet::Bytes], Some(LONG)));

    // Data goes both ways.
    on_b.space().out(tuple!["row", vec![1u8; 1 << 20]]).unwrap();
    on_c.space().take(&template!["row", ?quintet::Bytes]).unwrap();
    assert_eq!(on_a.space().count(&template![?str, ?str, ?i64, ?quintet::Bytes]).unwrap(), 2);
}

#[test]
fn the_grant_ends_with_the_membership_and_comes_with_a_new_token() {
    let a = Machine::founded();
    let b = joined("b", &a, "join,code");
    let on_b = lab(&b);
    on_b.space().out(task()).unwrap();
    a.does(&["leave", "b"]);
    // At the latest when the serving machine knows of it, and has ended its connection.
    wait_until(|| on_b.space().out(task()).is_err());
    wait_until(|| b.ask(&["leave", "--forget"]).0 == 0);
    b.join_with(&a, "join");
    refused(lab(&b).space().out(task()));
}

#[test]
fn a_machine_that_serves_without_code_grants_its_own_programs_no_more() {
    let a = Machine::founded();
    let b = joined("b", &a, "join");
    a.wait_until_shown(&[("a", "up (this machine)"), ("b", "up")]);
    a.does(&["leave"]);
    wait_until(|| connect(&b).is_ok());
    refused(lab(&b).space().out(task()));
    lab(&b).space().out(tuple!["row", 1i64]).unwrap();
}

#[test]
fn after_its_agent_was_started_again_a_founder_grants_itself_at_once_and_others_when_they_are_heard() {
    let a = Machine::founded();
    let b = joined("b", &a, "join,code");
    a.does(&["down"]);
    a.up();
    lab(&a).space().out(task()).unwrap();
    wait_until(|| connect(&b).and_then(|lab| lab.space().out(task())).is_ok());
}

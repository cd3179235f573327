//! Children are started, heard, frozen and ended.

use quintet_testbed::{Child, Program, argument};
use std::io::BufRead;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(20);

/// As a child: repeats its input, and ends with its argument as the status.
#[test]
fn an_echo_is_heard_and_its_status_known() {
    if let Some(status) = argument() {
        for line in std::io::stdin().lock().lines() {
            println!("heard {}", line.expect("text"));
        }
        eprintln!("bye");
        std::process::exit(status.parse().expect("a number"));
    }
    let mut child = echo("7");
    child.say("one").expect("it reads");
    assert_eq!(child.output().wait_for("heard ", LIMIT).as_deref(), Some("one"));
    assert!(child.wait(Duration::ZERO).expect("waited").is_none_or(|status| status.code() == Some(7)));
    assert_eq!(child.wait(LIMIT).expect("waited").and_then(|status| status.code()), Some(7));
    assert_eq!(child.output().wait_for("bye", LIMIT).as_deref(), Some(""), "errors are captured too");
    assert_eq!(child.output().next_line(LIMIT), None, "it closed its output");
    assert!(child.output().text().contains("heard one\nbye"));
}

fn echo(status: &str) -> Child {
    Program::this_test("an_echo_is_heard_and_its_status_known", status)
        .expect("the executable is known")
        .spawn()
        .expect("it starts")
}

fn state(child: &Child) -> String {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let state = status.lines().find_map(|line| line.strip_prefix("State:"));
    state.unwrap_or("gone").trim().chars().take(1).collect()
}

#[test]
fn a_frozen_child_stands_still_until_it_is_thawed() {
    let mut child = echo("0");
    child.say("one").expect("it reads");
    assert_eq!(child.output().wait_for("heard ", LIMIT).as_deref(), Some("one"));
    child.freeze().expect("it lives");
    while state(&child) != "T" {
        std::thread::yield_now();
    }
    child.say("two").expect("the pipe has room");
    assert_eq!(child.output().next_line(Duration::ZERO), None);
    child.thaw().expect("it lives");
    assert_eq!(child.output().wait_for("heard ", LIMIT).as_deref(), Some("two"));
}

#[test]
fn a_killed_child_is_gone() {
    let mut child = echo("0");
    let status = child.kill().expect("killed");
    assert_eq!(status.code(), None, "ended by a signal");
    assert_eq!(state(&child), "g");
    child.kill().expect("again does nothing");
    let (child, again) = (echo("0"), echo("0"));
    let id = again.id();
    drop(again);
    assert!(!std::path::Path::new(&format!("/proc/{id}")).exists(), "a dropped child is killed");
    child.terminate().expect("it lives");
}

//! A closed lab is closed for everything that was made from it, whatever of that still lives.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use quintet::{Code, Lab, ServeConfig, Server, live, template, tuple};
use quintet_testbed::TempDir;
use std::path::Path;
use std::time::Duration;

const LEASE: Duration = Duration::from_secs(30);
const LONG: Duration = Duration::from_secs(30);

/// Runs a test with two clients of a served space.
fn serving(test: impl Fn(Lab, Lab)) {
    let folder = TempDir::new().unwrap();
    let socket = folder.join("space");
    let _server = Server::start(&socket, &ServeConfig::default()).unwrap();
    let client = || Lab::connect(Path::new(&socket), 0, LEASE).unwrap();
    test(client(), client());
}

#[test]
fn a_lease_returns_although_its_handle_lives() {
    serving(|lab, other| {
        let (space, other) = (lab.space(), other.space());
        other.out(tuple!["task"]).unwrap();
        let lease = space.lease(&template!["task"], None).unwrap();
        lab.close();
        assert_eq!(other.lease(&template!["task"], Some(LONG)).unwrap().attempt(), 2);
        assert_eq!(lease.acknowledge(&[tuple!["result"]]).unwrap_err().code(), Code::Closed);
        assert_eq!(other.count(&template!["result"]).unwrap(), 0);
    });
}

#[test]
fn a_take_under_way_ends_and_takes_nothing() {
    serving(|lab, other| {
        let mut take = lab.space().begin().take(&template!["x"]).unwrap();
        lab.close();
        let error = take.wait(LONG).expect("it has ended").unwrap_err();
        assert_eq!((error.code(), error.text()), (Code::Closed, "this lab was closed by the program"));
        // Perhaps before the space has seen even the take.
        other.space().out(tuple!["x"]).unwrap();
        other.space().take_within(&template!["x"], LONG).unwrap();
    });
}

#[test]
fn threads_that_wait_are_told() {
    let lab = Lab::embedded();
    closes_waits(&lab, &lab);
    serving(|lab, other| closes_waits(&lab, &other));
}

/// Closes a lab for which several threads wait, `other` seeing them.
fn closes_waits(lab: &Lab, other: &Lab) {
    let waits: Vec<_> = (0..3i64)
        .map(|n| {
            let space = lab.space();
            std::thread::spawn(move || space.take(&template!["never", n]).unwrap_err().code())
        })
        .collect();
    while other.space().status().unwrap().waiters < 3 {
        std::thread::yield_now();
    }
    lab.close();
    for wait in waits {
        assert_eq!(wait.join().unwrap(), Code::Closed);
    }
}

#[test]
fn what_is_asked_later_says_that_it_was_closed() {
    let refused = |lab: Lab| {
        let (space, watch) = (lab.space(), lab.watch().unwrap());
        assert!(!lab.is_closed());
        lab.close();
        lab.close();
        assert!(lab.is_closed() && lab.clone().is_closed());
        watch.progress();
        let codes = [
            space.out(tuple!["x"]).unwrap_err().code(),
            space.take(&template!["x"]).unwrap_err().code(),
            space.lease(&template!["x"], None).err().unwrap().code(),
            space.begin().take(&template!["x"]).err().unwrap().code(),
            space.status().unwrap_err().code(),
            space.eval(live!["x", || 1i64]).err().unwrap().code(),
        ];
        assert_eq!(codes, [Code::Closed; 6]);
    };
    refused(Lab::embedded());
    serving(|lab, _| refused(lab));
}

#[test]
fn what_was_answered_before_can_be_collected() {
    serving(|lab, other| {
        other.space().out(tuple!["x"]).unwrap();
        let mut take = lab.space().begin().take(&template!["x"]).unwrap();
        while !take.is_done() {
            lab.space().status().unwrap();
        }
        lab.close();
        take.wait(Duration::ZERO).expect("it was answered").unwrap();
    });
}

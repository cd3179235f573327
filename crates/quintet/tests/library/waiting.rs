//! Many requests that wait keep nobody else waiting.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use quintet::{Code, Lab, ServeConfig, Server, SpaceConfig, template, tuple};
use quintet_testbed::TempDir;
use std::time::Duration;

const LEASE: Duration = Duration::from_secs(10);
const LONG: Duration = Duration::from_secs(60);

/// As `Space::begin` says.
#[test]
fn what_is_begun_beyond_the_window_goes_on_with_the_next_look() {
    let folder = TempDir::new().unwrap();
    let socket = folder.join("space");
    let _server = Server::start(&socket, &ServeConfig::default()).unwrap();
    let [lab, other] = [(); 2].map(|()| Lab::connect(&socket, 0, LEASE).unwrap());
    let waiters = || other.space().status().unwrap().waiters;
    let begin = |_| lab.space().begin().take(&template!["never"]).expect("it is sent, or kept");
    let waiting: Vec<_> = (0..1_000).map(begin).collect();
    while waiters() < 255 {
        std::thread::yield_now();
    }
    assert_eq!(waiters(), 255, "nobody looks in for the rest");
    while waiters() < 1_000 {
        assert!(waiting[0].peek(Duration::ZERO).is_none(), "nobody puts one");
    }
    waiting.into_iter().for_each(std::mem::forget);
}

#[test]
fn a_take_too_many_is_refused_and_what_serves_the_others_gets_through() {
    let folder = TempDir::new().unwrap();
    let socket = folder.join("space");
    let _server = Server::start(&socket, &ServeConfig::default()).unwrap();
    let lab = Lab::connect(&socket, 0, LEASE).unwrap();
    let (space, wanted) = (lab.space(), template!["x", ?i64]);
    let at_most = SpaceConfig::default().max_waiting;
    let mut waiting: Vec<_> =
        (0..at_most).map(|_| space.begin().take(&wanted).expect("it is sent")).collect();

    let mut more: Vec<_> = (0..1_000).map(|_| space.begin().take(&wanted).expect("it is sent")).collect();
    let mut status = space.begin().status().unwrap();
    let mut put = space.begin().out(&[tuple!["x", 7i64]]).unwrap();
    for take in &mut more {
        let refused = take.wait(LONG).expect("it does not wait for others").expect_err("there are too many");
        assert_eq!(refused.code(), Code::TooLarge);
        assert!(refused.text().contains("65536 requests"), "{refused}");
    }
    status.wait(LONG).expect("it does not wait for those that do").unwrap();
    put.wait(LONG).expect("nor does what serves them").unwrap();
    waiting[0].wait(LONG).expect("it has its tuple").unwrap();
    // The connection's end is theirs too: to cancel each takes longer.
    waiting.into_iter().for_each(std::mem::forget);
}

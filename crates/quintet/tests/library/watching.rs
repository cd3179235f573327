//! What happens to tuples is told as it happens, and whoever comes back goes on without a gap.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use quintet::{
    Cause, Change, Code, Lab, LinkAddress, ServeConfig, Server, Since, SpaceConfig, template, tuple,
};
use quintet_testbed::TempDir;
use std::time::Duration;

#[test]
fn events_are_told_in_their_order_and_whoever_comes_back_goes_on() {
    let space = Lab::embedded().space();
    space.out(tuple!["order", 0i64]).unwrap();
    let wanted = template!["order", ?i64];
    let mut orders = space.watch(Some(&wanted), Since::Now).unwrap();
    assert!(orders.next_within(Duration::ZERO).is_none());
    space.out(tuple!["other", 1i64]).unwrap();
    space.out(tuple!["order", 1i64]).unwrap();
    let lease = space.lease(&template!["order", 1i64], None).unwrap();
    lease.release().unwrap();
    let told: Vec<_> = (0..3).map(|_| orders.next().unwrap().unwrap()).collect();
    let changes: Vec<_> = told.iter().map(|event| event.change).collect();
    assert_eq!(changes, [Change::Put, Change::Leased, Change::Returned]);
    assert_eq!(orders.number(), told[2].number);
    let mut again = space.watch(Some(&wanted), Since::Number(told[0].number)).unwrap();
    assert_eq!([again.next().unwrap().unwrap(), again.next().unwrap().unwrap()], told[1..]);
    assert_eq!(again.next_within(Duration::ZERO), None);
}

#[test]
fn who_only_looks_never_waits_and_leaves_a_request_for_what_comes() {
    let space = Lab::embedded().space();
    let mut orders = space.watch(Some(&template!["order", ?i64]), Since::Now).unwrap();
    for n in 0..3i64 {
        assert!(orders.try_next().is_none());
        space.out(tuple!["order", n]).unwrap();
        // What waits goes on with the request of who looked, and each event comes once.
        let event = if n == 1 { orders.next() } else { orders.try_next() };
        assert_eq!(event.unwrap().unwrap().tuple, tuple!["order", n]);
    }
    assert!(orders.next_within(Duration::from_millis(1)).is_none() && orders.try_next().is_none());
    let seen = orders.number();
    drop(orders);
    assert_eq!(space.status().unwrap().waiters, 0);
    assert!(space.watch(None, Since::Number(seen)).unwrap().try_next().is_none());
}

#[test]
fn a_replacement_is_told_as_what_was_taken_and_what_was_put() {
    let space = Lab::embedded().space();
    space.out(tuple!["state", "idle"]).unwrap();
    let mut states = space.watch(Some(&template!["state", ?str]), Since::Start).unwrap();
    let busy = [tuple!["state", "busy"], tuple!["log", "begun"]];
    space.replace_if(&template!["state", "idle"], &busy).unwrap();
    space.select(&[template!["stop"], template!["state", ?str]]).unwrap();
    let told: Vec<_> = (0..4).map(|_| states.next().unwrap().unwrap()).collect();
    let told: Vec<_> = told.into_iter().map(|event| (event.change, event.tuple)).collect();
    let (idle, busy) = (tuple!["state", "idle"], tuple!["state", "busy"]);
    let expected = [
        (Change::There, idle.clone()),
        (Change::Taken, idle),
        (Change::Put, busy.clone()),
        (Change::Taken, busy),
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_space_with_several_managers_is_not_watched_as_a_whole_and_says_so() {
    let folder = TempDir::new().unwrap();
    let address: LinkAddress = format!("unix:{}", folder.join("space").display()).parse().unwrap();
    let config = ServeConfig { managers: 2, ..ServeConfig::default() };
    let server = Server::start(address, &config).unwrap();
    let lab = Lab::connect(&server.addresses()[0], 0, Duration::from_secs(60)).unwrap();
    for since in [Since::Now, Since::Start, Since::Number(1)] {
        let watched = lab.space().watch(None, since).and_then(|mut events| events.next().unwrap());
        let error = watched.unwrap_err();
        assert_eq!(error.code(), Code::BadValue);
        assert!(error.to_string().contains("several managers"), "{error}");
    }
    let wanted = template!["order", ?i64];
    for number in 1..4i64 {
        lab.space().out(tuple!["order", number]).unwrap();
    }
    lab.space().take(&template!["order", 2i64]).unwrap();
    let mut orders = lab.space().watch(Some(&wanted), Since::Start).unwrap();
    lab.space().take(&template!["order", 3i64]).unwrap();
    let told: Vec<_> = orders.by_ref().take(3).map(|event| event.unwrap()).collect();
    let changes: Vec<_> = told.iter().map(|event| event.change).collect();
    assert_eq!(changes, [Change::There, Change::There, Change::Taken]);
    let named = lab.create_space("orders", &quintet::SpaceSettings::default()).unwrap();
    let mut apart = named.watch(None, Since::Now).unwrap();
    named.out(tuple!["order", 7i64]).unwrap();
    assert_eq!(apart.next().unwrap().unwrap().change, Change::Put);
}

#[test]
fn what_is_there_comes_first_and_then_what_happens() {
    let space = Lab::embedded().space();
    for n in 0..1000i64 {
        space.out(tuple!["row", n]).unwrap();
    }
    space.out(tuple!["other"]).unwrap();
    let mut rows = space.watch(Some(&template!["row", ?i64]), Since::Start).unwrap();
    space.take(&template!["row", 500i64]).unwrap();
    for n in 0..1000i64 {
        let event = rows.next().unwrap().unwrap();
        assert_eq!((event.change, event.tuple), (Change::There, tuple!["row", n]));
    }
    let taken = rows.next().unwrap().unwrap();
    assert_eq!((taken.change, taken.tuple), (Change::Taken, tuple!["row", 500i64]));
}

#[test]
fn a_watch_of_what_is_kept_no_more_says_so_and_ends() {
    let config = SpaceConfig { max_bytes: 100_000, ..SpaceConfig::default() };
    let space = Lab::embedded_with(config, None).space();
    let mut slow = space.watch(None, Since::Now).unwrap();
    for n in 0..200i64 {
        space.out(tuple![n]).unwrap();
    }
    let error = slow.next().unwrap().unwrap_err();
    assert_eq!(error.code(), Code::TooOld);
    let Cause::TooOld(Some(oldest)) = error.cause() else { panic!("{:?}", error.cause()) };
    assert!(slow.next().is_none());
    let mut kept = space.watch(None, Since::Number(*oldest)).unwrap();
    let first = kept.next().unwrap().unwrap();
    assert_eq!(first.number, oldest + 1);
    assert!(first.tuple[0] != 0i64.into());
}

#[test]
fn a_served_space_tells_its_clients_and_so_does_a_named_one() {
    let folder = TempDir::new().unwrap();
    let address: LinkAddress = format!("unix:{}", folder.join("space").display()).parse().unwrap();
    let server = Server::start(address, &ServeConfig::default()).unwrap();
    let connect = || Lab::connect(&server.addresses()[0], 0, Duration::from_secs(60)).unwrap();
    let (one, other) = (connect(), connect());
    let named = one.create_space("orders", &quintet::SpaceSettings::default()).unwrap();
    let mut apart = named.watch(None, Since::Now).unwrap();
    let mut events = one.space().watch(None, Since::Now).unwrap();
    let putting = std::thread::spawn(move || other.space().out(tuple!["order", 7i64]));
    let event = events.next().unwrap().unwrap();
    assert_eq!((event.change, event.tuple), (Change::Put, tuple!["order", 7i64]));
    putting.join().unwrap().unwrap();
    assert!(apart.next_within(Duration::ZERO).is_none());
}

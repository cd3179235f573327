//! Groups from outside: all or nothing, embedded and over shared memory.

use crate::placements::labs as everywhere;
use quintet::{Code, Error, Lab, Outcome, ServeConfig, Server, Space, Template, Tuple, template, tuple};
use quintet_testbed::TempDir;
use std::thread;
use std::time::Duration;

const LEASE: Duration = Duration::from_secs(2);
const SOON: Duration = Duration::from_millis(20);

fn balance(account: &Tuple) -> i64 {
    account[2].clone().try_into().expect("a balance is a number")
}

fn account(name: &str) -> Template {
    template!["account", name, ?i64]
}

/// Moves one from the first account to the second.
fn transfer(space: &Space, from: &str, to: &str) -> Result<(), Error> {
    let group = space.group();
    let (source, target) = (group.take(&account(from))?, group.take(&account(to))?);
    group.out(tuple!["account", from, balance(&source) - 1])?;
    group.out(tuple!["account", to, balance(&target) + 1])?;
    group.commit()
}

#[test]
fn transfers_of_many_threads_keep_the_sum_which_is_never_seen_half_way() {
    everywhere(|client| {
        let space = client().space();
        space.out_many(&[tuple!["account", "a", 100i64], tuple!["account", "b", 100i64]], None).unwrap();
        let movers: Vec<_> = (0..3)
            .map(|_| {
                let space = client().space();
                thread::spawn(move || (0..50).try_for_each(|_| transfer(&space, "a", "b")))
            })
            .collect();
        loop {
            let is_last = movers.iter().all(thread::JoinHandle::is_finished);
            let group = space.group();
            let read = (group.read(&account("a")).unwrap(), group.read(&account("b")).unwrap());
            match group.commit() {
                Ok(()) => assert_eq!(balance(&read.0) + balance(&read.1), 200, "{read:?}"),
                Err(error) => assert_eq!(error.code(), Code::Conflict, "{error}"),
            }
            if is_last {
                break;
            }
        }
        movers.into_iter().for_each(|mover| mover.join().unwrap().unwrap());
        assert_eq!(space.take(&account("a")).unwrap(), tuple!["account", "a", -50i64]);
        assert_eq!(space.take(&account("b")).unwrap(), tuple!["account", "b", 250i64]);
    });
}

#[test]
fn a_group_that_is_dropped_or_aborted_has_not_happened() {
    everywhere(|client| {
        let (space, other) = (client().space(), client().space());
        space.out_many(&[tuple!["n", 1i64], tuple!["n", 2i64]], None).unwrap();
        for is_aborted in [true, false] {
            let group = space.group();
            assert_eq!(group.take(&template!["n", ?i64]).unwrap(), tuple!["n", 1i64]);
            assert_eq!(group.take(&template!["n", ?i64]).unwrap(), tuple!["n", 2i64]);
            assert_eq!(group.take_if(&template!["n", ?i64]).unwrap(), None);
            group.out(tuple!["n", 3i64]).unwrap();
            assert_eq!(other.count(&template!["n", ?i64]).unwrap(), 0);
            if is_aborted {
                group.abort().unwrap();
                assert_eq!(group.abort().unwrap_err().code(), Code::LeaseLost);
                assert_eq!(group.take_if(&template!["n", ?i64]).unwrap_err().code(), Code::LeaseLost);
                assert_eq!(group.out(tuple!["n", 4i64]).unwrap_err().code(), Code::LeaseLost);
            }
            drop(group);
            assert_eq!(other.count(&template!["n", ?i64]).unwrap(), 2);
        }
        assert_eq!(other.status().unwrap().redone, 0, "no attempt was counted");
        assert_eq!(other.take(&template!["n", ?i64]).unwrap(), tuple!["n", 1i64]);
        assert_eq!(other.take(&template!["n", ?i64]).unwrap(), tuple!["n", 2i64]);
    });
}

#[test]
fn a_group_whose_connection_ends_has_not_happened() {
    let dir = TempDir::new().expect("a temporary directory");
    let socket = dir.join("space");
    let server = Server::start(&socket, &ServeConfig::default()).expect("the space starts");
    let lab = |_| Lab::connect(&socket, 0, LEASE).expect("the space is there");
    let [leaving, staying] = [0, 1].map(lab);
    staying.space().out(tuple!["n", 1i64]).unwrap();
    let group = leaving.space().group();
    group.take(&template!["n", ?i64]).unwrap();
    group.out(tuple!["m"]).unwrap();
    leaving.close();
    assert_eq!(staying.space().take(&template!["n", ?i64]).unwrap(), tuple!["n", 1i64]);
    assert!(group.commit().is_err());
    assert_eq!(staying.space().count(&template!["m"]).unwrap(), 0);
    server.stop().expect("it ends in order");
}

#[test]
fn groups_that_wait_for_each_other_end_with_their_time() {
    everywhere(|client| {
        let (one, other) = (client().space(), client().space());
        one.out_many(&[tuple!["a"], tuple!["b"]], None).unwrap();
        let first = one.group();
        first.take(&template!["a"]).unwrap();
        let second = other.group().within(SOON);
        second.take(&template!["b"]).unwrap();
        let error = second.take(&template!["a"]).unwrap_err();
        assert_eq!(error.code(), Code::TimedOut);
        assert!(error.text().contains("under a lease"), "{error}");
        // Its time is over: what it had has returned, although nobody has aborted it.
        first.take(&template!["b"]).unwrap();
        assert_eq!(second.take_if(&template!["c"]).unwrap_err().code(), Code::TimedOut);
        assert_eq!(second.commit().unwrap_err().code(), Code::TimedOut);
        first.commit().unwrap();
        assert_eq!(one.status().unwrap().tuples, 0);
    });
}

#[test]
fn a_take_that_is_dropped_is_none_of_the_groups() {
    everywhere(|client| {
        let space = client().space();
        space.out_many(&[tuple!["n", 1i64], tuple!["n", 2i64]], None).unwrap();
        let group = space.group();
        drop(group.begin_take(&template!["n", ?i64], None).unwrap());
        let seen = group.begin_take(&template!["n", ?i64], None).unwrap().finish().unwrap();
        assert_eq!(group.accept(seen).unwrap(), Some(tuple!["n", 1i64]));
        let late = group.begin_take(&template!["n", ?i64], None).unwrap().finish().unwrap();
        let end = group.begin_commit().unwrap();
        drop(group.accept(late).expect_err("the group was told to end"));
        drop(group);
        end.finish().unwrap();
        assert_eq!(space.take_if(&template!["n", ?i64]).unwrap(), Some(tuple!["n", 2i64]));
        assert_eq!(space.group().accept(Outcome::Done).unwrap_err().code(), Code::Malformed);
    });
}

#[test]
fn an_end_that_is_called_off_returns_everything() {
    let config = quintet::SpaceConfig { max_tuples: 1, ..quintet::SpaceConfig::default() };
    let space = Lab::embedded_with(config, None).space();
    space.out(tuple!["full"]).unwrap();
    let group = space.group().within(None);
    group.read(&template!["full"]).unwrap();
    group.out(tuple!["more"]).unwrap();
    drop(group.begin_commit().unwrap());
    let state = space.status().unwrap();
    assert_eq!((state.tuples, state.parked, state.leases), (1, 0, 0));
}

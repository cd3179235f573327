//! Named spaces of an embedded lab and of servers: apart from each other, with quotas, listed, removed; recorded runs replay.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use quintet::{
    Code, Lab, Policy, Recorder, ServeConfig, Server, Space, SpaceConfig, SpaceSettings, SpacesConfig, stack,
    template, tuple,
};
use quintet_simulate::replay;
use quintet_testbed::TempDir;
use std::fs::File;
use std::time::Duration;

const LEASE: Duration = Duration::from_secs(60);

fn small() -> SpaceSettings {
    SpaceSettings { max_bytes: 4_000, ..SpaceSettings::default() }
}

/// The lab in this process, and one over each kind of link, with a second connection to the same.
fn everywhere(test: impl Fn(&Lab, &Lab)) {
    let own = Lab::embedded();
    test(&own, &own.clone());
    let folder = TempDir::new().unwrap();
    let config =
        ServeConfig { spaces: SpacesConfig { max_spaces: 3, max_bytes: 10_000 }, ..ServeConfig::default() };
    let links = ["shm:", "unix:"].map(|kind| format!("{kind}{}", folder.join(&kind[..3]).display()));
    for address in links.into_iter().chain(["tcp:127.0.0.1:0".to_owned()]) {
        let server = Server::start(address.parse::<quintet::LinkAddress>().unwrap(), &config).unwrap();
        let connect = || Lab::connect(&server.addresses()[0], 0, LEASE).unwrap();
        test(&connect(), &connect());
    }
}

fn rows(space: &Space) -> u64 {
    space.count(&template!["row", ?i64]).unwrap()
}

#[test]
fn each_space_has_tuples_leases_and_evaluations_of_its_own() {
    everywhere(|lab, other| {
        let (a, b) = (lab.create_space("a", &small()).unwrap(), lab.create_space("b", &small()).unwrap());
        assert_eq!((a.name(), lab.space().name()), (Some("a"), None));
        a.out(tuple!["row", 1i64]).unwrap();
        let there = other.named_space("a").unwrap();
        assert_eq!([rows(&there), rows(&b), rows(&lab.space())], [1, 0, 0]);
        let lease = there.lease(&template!["row", ?i64], None).unwrap();
        assert_eq!(rows(&a), 0);
        lease.acknowledge(&[tuple!["row", 2i64], tuple!["row", 3i64]]).unwrap();
        assert_eq!([rows(&a), rows(&b), rows(&other.space())], [2, 0, 0]);
        // A lease that is dropped, and a take that is, go back to where they came from.
        drop(there.lease(&template!["row", ?i64], None).unwrap());
        drop(there.begin().take(&template!["row", 2i64]).unwrap());
        drop(b.begin().take(&template!["row", ?i64]).unwrap());
        assert_eq!([rows(&a), rows(&b)], [2, 0]);
        b.eval(quintet::live!["row", || 9i64]).unwrap().finish().unwrap();
        assert_eq!([rows(&a), rows(&b), rows(&lab.space())], [2, 1, 0]);
        assert_eq!(a.list(None).count(), 2);
        assert_eq!((a.status().unwrap().tuples, b.status().unwrap().tuples), (2, 1));
    });
}

#[test]
fn a_group_happens_in_its_own_space_and_returns_there_what_it_took() {
    everywhere(|lab, other| {
        let a = lab.create_space("a", &small()).unwrap();
        let there = other.named_space("a").unwrap();
        a.out_many(&[tuple!["row", 1i64], tuple!["row", 2i64]], None).unwrap();
        lab.space().out(tuple!["row", 9i64]).unwrap();
        for is_aborted in [true, false] {
            let group = there.group();
            assert_eq!(group.take(&template!["row", ?i64]).unwrap(), tuple!["row", 1i64]);
            group.out(tuple!["row", 3i64]).unwrap();
            assert_eq!([rows(&a), rows(&lab.space())], [1, 1]);
            if is_aborted {
                group.abort().unwrap()
            } else {
                drop(group)
            }
            assert_eq!(a.read(&template!["row", ?i64]).unwrap(), tuple!["row", 1i64], "at its old place");
        }
        let group = there.group();
        let read = group.read(&template!["row", 2i64]).unwrap();
        group.out(read).unwrap();
        a.take(&template!["row", 2i64]).unwrap();
        assert_eq!(group.commit().unwrap_err().code(), Code::Conflict);
        let group = there.group();
        group.take(&template!["row", 1i64]).unwrap();
        group.out(tuple!["row", 4i64]).unwrap();
        group.commit().unwrap();
        assert_eq!([rows(&a), rows(&other.space())], [1, 1]);
        assert_eq!(a.read(&template!["row", ?i64]).unwrap(), tuple!["row", 4i64]);
        let group = there.group();
        group.take(&template!["row", 4i64]).unwrap();
        lab.remove_space("a").unwrap();
        assert_eq!(group.commit().unwrap_err().code(), Code::NoSuchSpace);
        lab.space().take(&template!["row", 9i64]).unwrap();
    });
}

#[test]
fn a_take_waits_in_its_own_space_and_is_told_when_that_is_removed() {
    everywhere(|lab, other| {
        let a = lab.create_space("a", &small()).unwrap();
        let waiting = other.named_space("a").unwrap();
        let take = waiting.begin().take(&template!["row", ?i64]).unwrap();
        other.space().out(tuple!["row", 1i64]).unwrap();
        lab.space().status().unwrap();
        assert!(!take.is_done());
        lab.remove_space("a").unwrap();
        assert_eq!(take.finish().unwrap_err().code(), Code::NoSuchSpace);
        let gone = a.out(tuple!["row", 2i64]).unwrap_err();
        assert!(gone.code() == Code::NoSuchSpace && gone.text().contains("no named spaces"), "{gone}");
        let again = lab.create_space("a", &small()).unwrap();
        assert_eq!(waiting.status().unwrap_err().code(), Code::NoSuchSpace, "another of the same name");
        assert_eq!(rows(&again), 0);
    });
}

#[test]
fn a_full_space_holds_up_its_own_puts_only() {
    everywhere(|lab, other| {
        let (a, b) = (lab.create_space("a", &small()).unwrap(), other.create_space("b", &small()).unwrap());
        let at_once = Some(Duration::ZERO);
        let full = (0..100i64).find_map(|n| a.out_many(&[tuple!["row", n]], at_once).err()).expect("a quota");
        assert_eq!(full.code(), Code::SpaceFull);
        let put = a.begin().out(&[tuple!["row", 100i64]]).unwrap();
        b.out(tuple!["row", 1i64]).unwrap();
        lab.space().out(tuple!["row", 1i64]).unwrap();
        // A task of the full space finds room for its results.
        let task = a.lease(&template!["row", ?i64], None).unwrap();
        task.acknowledge(&[tuple!["row", 200i64]]).unwrap();
        assert!(!put.is_done());
        a.take(&template!["row", ?i64]).unwrap();
        put.finish().unwrap();
    });
}

#[test]
fn what_cannot_be_had_says_why() {
    everywhere(|lab, other| {
        lab.create_space("a", &small()).unwrap();
        other.create_space("a", &small()).unwrap();
        let settings = SpaceSettings { max_tuples: 7, ..small() };
        assert_eq!(other.create_space("a", &settings).err().unwrap().code(), Code::SpaceExists);
        let absent = other.named_space("b").err().unwrap();
        assert!(absent.code() == Code::NoSuchSpace && absent.text().contains("there are: a"), "{absent}");
        assert_eq!(lab.remove_space("b").unwrap_err().code(), Code::NoSuchSpace);
        for bad in ["", "a b", "-", &"x".repeat(64)] {
            assert_eq!(lab.named_space(bad).err().unwrap().code(), Code::BadValue, "{bad:?}");
        }
        let logged = SpaceSettings { policy: Policy::Logged, ..small() };
        let refused = lab.create_space("c", &logged).err().unwrap();
        assert!(refused.code() == Code::BadValue && refused.text().contains("logged"), "{refused}");
        let huge = SpaceSettings { max_bytes: u64::MAX, ..small() };
        assert_eq!(lab.create_space("c", &huge).err().unwrap().code(), Code::SpaceFull);
    });
}

#[test]
fn all_spaces_are_listed_by_name() {
    let lab = Lab::embedded();
    for number in (0..20).rev() {
        lab.create_space(&format!("s{number:02}"), &small()).unwrap().out(tuple![number]).unwrap();
    }
    let spaces = lab.spaces().unwrap();
    let seen: Vec<_> = spaces.iter().map(|space| (space.name.to_string(), space.tuples)).collect();
    assert_eq!(seen, (0..20).map(|number| (format!("s{number:02}"), 1)).collect::<Vec<_>>());
    assert_eq!(spaces[0].settings.max_bytes, 4_000);
}

#[test]
fn recordings_of_named_spaces_replay() {
    let folder = TempDir::new().unwrap();
    let (socket, path) = (folder.join("space"), folder.join("job.qrec"));
    let recorder = Recorder::create(&path).unwrap();
    let config = ServeConfig { recorder: Some(recorder.clone()), ..ServeConfig::default() };
    let server = Server::start(&socket, &config).unwrap();
    let embedded = Lab::embedded_with(SpaceConfig::default(), Some(&recorder));
    for lab in [Lab::connect(&socket, 0, LEASE).unwrap(), embedded] {
        let space = lab.create_space("a", &small()).unwrap();
        for n in 0..50i64 {
            space.out(tuple!["row", n]).unwrap();
            space.take(&template!["row", ?i64]).unwrap();
        }
        let waiting = space.begin().take(&template!["row", ?i64]).unwrap();
        lab.remove_space("a").unwrap();
        assert_eq!(waiting.finish().unwrap_err().code(), Code::NoSuchSpace);
    }
    server.stop().unwrap();
    recorder.finish().unwrap();
    let replayed = replay(File::open(&path).unwrap(), &stack::make).expect("the same, byte for byte");
    assert!(replayed.frames > 200, "{replayed:?}");
}

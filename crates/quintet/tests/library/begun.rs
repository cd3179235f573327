//! What is begun reaches the space, whatever the program does next.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use quintet::{Lab, LinkAddress, Outcome, Pending, ServeConfig, Server, Space, template, tuple};
use quintet_testbed::TempDir;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(30);

/// A space that is served over every kind of link, and where.
fn served(dir: &TempDir) -> (Server, Vec<LinkAddress>) {
    let asked: Vec<LinkAddress> = vec![
        LinkAddress::SharedMemory(dir.join("shared")),
        LinkAddress::Unix(dir.join("unix")),
        "tcp:127.0.0.1:0".parse().unwrap(),
    ];
    let server = Server::start_at(&asked, &ServeConfig::default()).unwrap();
    let addresses = server.addresses().to_vec();
    (server, addresses)
}

fn connect(address: &LinkAddress) -> Space {
    Lab::connect(address.clone(), 0, LONG).unwrap().space()
}

/// Begins so many puts close behind each other.
fn begin_puts(space: &Space, count: i64) -> Vec<Pending> {
    (0..count).map(|number| space.begin().out(&[tuple!["begun", number]]).unwrap()).collect()
}

#[test]
fn it_is_sent_although_nobody_waits_for_it() {
    let dir = TempDir::new().unwrap();
    let (_server, addresses) = served(&dir);
    for address in addresses {
        let (busy, other) = (connect(&address), connect(&address));
        for count in [1, 2, 31, 32, 33, 100, 3, 200] {
            let begun = begin_puts(&busy, count);
            for number in 0..count {
                let taken = other.take_within(&template!["begun", ?i64], LONG);
                assert_eq!(taken.unwrap(), tuple!["begun", number], "{address}, {count} begun");
            }
            begun.into_iter().for_each(|pending| drop(pending.finish().unwrap()));
        }
    }
}

#[test]
fn it_is_sent_before_the_connection_ends() {
    let dir = TempDir::new().unwrap();
    let (_server, addresses) = served(&dir);
    for address in addresses {
        let (lab, other) = (Lab::connect(address.clone(), 0, LONG).unwrap(), connect(&address));
        let begun = begin_puts(&lab.space(), 5);
        lab.close();
        for number in 0..5i64 {
            let taken = other.take_within(&template!["begun", ?i64], LONG);
            assert_eq!(taken.unwrap(), tuple!["begun", number], "{address}");
        }
        drop(begun);
    }
}

#[test]
fn a_lease_of_what_is_there_waits_for_nothing() {
    let dir = TempDir::new().unwrap();
    let (_server, addresses) = served(&dir);
    let space = connect(&addresses[0]);
    let wanted = template!["row", ?i64];
    assert!(matches!(space.begin().lease_if(&wanted).unwrap().finish(), Ok(Outcome::NoMatch)));
    space.out(tuple!["row", 7i64]).unwrap();
    let outcome = space.begin().lease_if(&wanted).unwrap().finish().unwrap();
    let lease = space.leased(outcome).unwrap();
    assert_eq!((lease.tuple(), lease.attempt()), (&tuple!["row", 7i64], 1));
    assert!(
        matches!(space.begin().lease_if(&wanted).unwrap().finish(), Ok(Outcome::NoMatch)),
        "it is hidden"
    );
    lease.release().unwrap();
    assert_eq!(space.take_if(&wanted).unwrap(), Some(tuple!["row", 7i64]));
}

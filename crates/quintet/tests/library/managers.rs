//! A space that several managers serve, from outside.

#![allow(clippy::unwrap_used)]

use quintet::{
    Change, Code, Lab, LinkAddress, ServeConfig, Server, Since, SpaceConfig, SpaceSettings, Tuple, template,
    tuple,
};
use quintet_testbed::TempDir;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(30);

fn config(managers: u8) -> ServeConfig {
    ServeConfig { managers, ..ServeConfig::default() }
}

fn lab(address: &LinkAddress) -> Lab {
    Lab::connect(address.clone(), 0, LONG).unwrap()
}

fn measured(server: &Server, name: &str) -> u64 {
    let told = server.meter().measure(LONG).unwrap();
    told.iter()
        .filter(|measurement| measurement.metric.name == name)
        .map(|measurement| measurement.value)
        .sum()
}

#[test]
fn four_clients_share_a_space_of_three_managers_over_every_link() {
    let dir = TempDir::new().unwrap();
    for kind in ["shm", "unix"] {
        let address: LinkAddress = format!("{kind}:{}", dir.join(kind).display()).parse().unwrap();
        let server = Server::start(address.clone(), &config(3)).unwrap();
        std::thread::scope(|scope| {
            for client in 0..4i64 {
                let address = &address;
                scope.spawn(move || {
                    let space = lab(address).space();
                    for round in 0..100i64 {
                        space.out(tuple!["task", client, round]).unwrap();
                        let other = (client + round) % 4;
                        if other == client {
                            space.take(&template!["task", client, ?i64]).unwrap();
                        } else {
                            space.out(tuple!["other", other, round]).unwrap();
                        }
                    }
                });
            }
        });
        let space = lab(&address).space();
        let tasks = space.count(&template!["task", ?i64, ?i64]).unwrap();
        assert_eq!(tasks, 300, "it asks all managers, or the one that has them");
        let left = space.status().unwrap().tuples;
        assert_eq!(left, 600);
        assert!(measured(&server, "quintet_manager_migrations") > 0, "every template gave a key");
        // Without the key the tuples are gathered, and none is left behind.
        for _ in 0..left {
            assert!(space.take_if(&template![?str, ?i64, ?i64]).unwrap().is_some());
        }
        assert_eq!(space.take_if(&template![?str, ?i64, ?i64]).unwrap(), None);
        server.stop().unwrap();
    }
}

#[test]
fn a_key_that_most_is_asked_about_moves_while_it_is_asked_for() {
    let dir = TempDir::new().unwrap();
    let address: LinkAddress = format!("shm:{}", dir.join("space").display()).parse().unwrap();
    let config = ServeConfig { hot_key_requests: Some(16), ..config(2) };
    let server = Server::start(address.clone(), &config).unwrap();
    let space = lab(&address).space();
    (0..16i64).for_each(|key| space.out(tuple!["task", key, key]).unwrap());
    let begun = std::time::Instant::now();
    // Which of sixteen keys are neighbours nobody is told: four are asked for, then four others, until one manager has more to do than the other.
    for round in 0i64.. {
        let phase = i64::try_from(begun.elapsed().as_millis() / 800).unwrap();
        let key = (phase + round % 4 * (1 + 2 * (phase % 4))) % 16;
        assert_eq!(space.read_if(&template!["task", key, ?i64]).unwrap(), Some(tuple!["task", key, key]));
        if round % 100 == 0 && measured(&server, "quintet_manager_keys_moved") > 0 {
            break;
        }
        assert!(begun.elapsed() < LONG, "no key has moved");
    }
    assert!(lab(&address).space().status().unwrap().moved_keys > 0);
    server.stop().unwrap();
}

#[test]
fn a_key_that_is_declared_spreads_tuples_from_the_first_one() {
    let dir = TempDir::new().unwrap();
    let address: LinkAddress = format!("shm:{}", dir.join("space").display()).parse().unwrap();
    let server = Server::start(address.clone(), &config(3)).unwrap();
    let space = lab(&address).space();
    let types = template!["task", ?i64, ?i64];
    space.declare_key(&types, 1).unwrap();
    assert_eq!(measured(&server, "quintet_manager_migrations"), 1);
    (0..12i64).for_each(|key| space.out(tuple!["task", key, key]).unwrap());
    assert_eq!(space.take_if(&template!["task", 3i64, ?i64]).unwrap(), Some(tuple!["task", 3i64, 3i64]));
    assert!(measured(&server, "quintet_manager_requests") > 0);
    // It was wrong: a template leaves the key out.
    assert!(space.take_if(&types).unwrap().is_some());
    assert_eq!(measured(&server, "quintet_manager_migrations"), 2);
    assert_eq!(space.declare_key(&types, 3).unwrap_err().code(), Code::BadValue);
    server.stop().unwrap();
}

#[test]
fn a_lease_is_acknowledged_with_a_result_of_another_manager() {
    let dir = TempDir::new().unwrap();
    let address: LinkAddress = format!("shm:{}", dir.join("space").display()).parse().unwrap();
    let _server = Server::start(address.clone(), &config(4)).unwrap();
    let space = lab(&address).space();
    for number in 0..20i64 {
        space.out(tuple!["task", number]).unwrap();
        let lease = space.lease(&template!["task", ?i64], None).unwrap();
        lease.acknowledge(&[tuple!["result", number, 0.5f64]]).unwrap();
        let result = space.take_if(&template!["result", number, ?f64]).unwrap();
        assert_eq!(result, Some(tuple!["result", number, 0.5f64]), "it was acknowledged");
    }
}

/// The accounts are at several managers: each where its number says.
#[test]
fn transfers_between_managers_are_never_seen_half_way() {
    const ACCOUNTS: usize = 8;
    let dir = TempDir::new().unwrap();
    let address: LinkAddress = format!("shm:{}", dir.join("space").display()).parse().unwrap();
    let server = Server::start(address.clone(), &config(3)).unwrap();
    let space = lab(&address).space();
    space.declare_key(&template!["account", ?i64, ?i64], 1).unwrap();
    let account = |of: usize| template!["account", of as i64, ?i64];
    let stored = |of: usize, amount: i64| tuple!["account", of as i64, amount];
    let amount = |of: &Tuple| i64::try_from(of.values().last().unwrap().clone()).unwrap();
    let all: Vec<Tuple> = (0..ACCOUNTS).map(|of| stored(of, 100)).collect();
    space.out_many(&all, None).unwrap();
    std::thread::scope(|scope| {
        for mover in 0..3usize {
            let (address, account) = (&address, &account);
            scope.spawn(move || {
                let space = lab(address).space();
                for round in 0..40usize {
                    let (from, to) = ((mover + round) % ACCOUNTS, (mover + round + 1) % ACCOUNTS);
                    let group = space.group();
                    // In one order, so that no two wait for each other.
                    let first = amount(&group.take(&account(from.min(to))).unwrap());
                    let second = amount(&group.take(&account(from.max(to))).unwrap());
                    let step = if from < to { 1 } else { -1 };
                    group.out(stored(from.min(to), first - step)).unwrap();
                    group.out(stored(from.max(to), second + step)).unwrap();
                    group.commit().unwrap();
                }
            });
        }
        scope.spawn(|| {
            let (space, mut seen) = (lab(&address).space(), 0);
            while seen < 20 {
                let group = space.group();
                let read: Vec<i64> =
                    (0..ACCOUNTS).map(|of| amount(&group.read(&account(of)).unwrap())).collect();
                match group.commit() {
                    Ok(()) => {
                        assert_eq!(read.iter().sum::<i64>(), 800, "{read:?}");
                        seen += 1;
                    }
                    Err(error) => assert_eq!(error.code(), Code::Conflict, "{error}"),
                }
            }
        });
    });
    let left = (0..ACCOUNTS).map(|of| amount(&space.take_if(&account(of)).unwrap().unwrap()));
    assert_eq!(left.sum::<i64>(), 800);
    assert!(measured(&server, "quintet_manager_commits") > 5, "some accounts are at several managers");
}

/// Jobs and the word to stop are among signatures that are at several managers; each job that is selected is replaced by a result elsewhere.
#[test]
fn a_select_and_a_replacement_go_over_several_managers() {
    const JOBS: i64 = 30;
    let dir = TempDir::new().unwrap();
    let address: LinkAddress = format!("shm:{}", dir.join("space").display()).parse().unwrap();
    let server = Server::start(address.clone(), &config(3)).unwrap();
    let space = lab(&address).space();
    // The last ones nobody puts: with them there are always some at several.
    let templates = [
        template!["stop"],
        template!["job", ?i64],
        template![?i64, "urgent"],
        template![?i8],
        template![?i16],
        template![?f32],
        template![?bool],
        template![?i8, ?i8],
        template![?i16, ?i16],
        template![?f32, ?f32],
    ];
    assert_eq!(space.select_if(&templates).unwrap(), None);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let space = lab(&address).space();
                loop {
                    let (which, tuple) = space.select(&templates).unwrap();
                    if which == 0 {
                        return space.out(tuple).unwrap();
                    }
                    let mut values = tuple.values().iter();
                    let number = values.find_map(|value| i64::try_from(value.clone()).ok()).unwrap();
                    space.out(tuple!["begun", number]).unwrap();
                    let result = [tuple!["result", number, 0.5], tuple![number as f64]];
                    space.replace(&template!["begun", number], &result).unwrap();
                }
            });
        }
        for number in 0..JOBS / 2 {
            space.out(tuple!["job", number]).unwrap();
            space.out(tuple![number + JOBS / 2, "urgent"]).unwrap();
        }
        for number in 0..JOBS {
            space.take(&template!["result", number, ?f64]).unwrap();
            assert!(space.take_if(&template![number as f64]).unwrap().is_some(), "both are there at once");
        }
        space.out(tuple!["stop"]).unwrap();
    });
    let state = space.status().unwrap();
    assert_eq!((state.tuples, state.waiters, state.hidden), (1, 0, 0), "the word to stop");
    assert!(measured(&server, "quintet_manager_commits") > 30, "each select asks several managers");
}

#[test]
fn what_several_managers_cannot_be_is_said() {
    let dir = TempDir::new().unwrap();
    let path = dir.join("space");
    let refused = |address: &str, config: &ServeConfig| {
        let address: LinkAddress = address.parse().unwrap();
        Server::start(address, config).map(drop).unwrap_err()
    };
    let port = refused("tcp:127.0.0.1:0", &config(2));
    assert!(port.code() == Code::BadValue && port.text().contains("a port for each"), "{port}");
    let many = refused(&format!("shm:{}", path.display()), &config(17));
    assert!(many.code() == Code::BadValue && many.text().contains("16 at most"), "{many}");
    let logged = ServeConfig { log: Some(quintet::SpaceLog::new(dir.join("log"))), ..config(2) };
    let logged = refused(&format!("shm:{}", path.display()), &logged);
    assert!(logged.code() == Code::BadValue && logged.text().contains("keeps no log"), "{logged}");
}

#[test]
fn each_manager_has_a_quota_of_its_own() {
    let dir = TempDir::new().unwrap();
    let address: LinkAddress = format!("shm:{}", dir.join("space").display()).parse().unwrap();
    let space = SpaceConfig { max_tuples: 5, ..SpaceConfig::default() };
    let _server = Server::start(address.clone(), &ServeConfig { space, ..config(2) }).unwrap();
    let space = lab(&address).space();
    let mut put = 0;
    while space.out_many(&[tuple!["x", 1i64]], Some(Duration::ZERO)).is_ok() {
        put += 1;
    }
    assert_eq!(put, 5, "a signature is at one manager");
}

#[test]
fn who_watches_a_key_is_told_of_all_of_it_while_it_is_spread_and_gathered() {
    let dir = TempDir::new().unwrap();
    let address: LinkAddress = format!("shm:{}", dir.join("space").display()).parse().unwrap();
    let server = Server::start(address.clone(), &config(3)).unwrap();
    let mut watched: Vec<_> = (0..4i64)
        .map(|key| lab(&address).space().watch(Some(&template!["task", key, ?i64]), Since::Now).unwrap())
        .collect();
    let space = lab(&address).space();
    for number in 0..100i64 {
        space.out_many(&(0..4i64).map(|key| tuple!["task", key, number]).collect::<Vec<_>>(), None).unwrap();
        (0..4i64).for_each(|key| drop(space.take(&template!["task", key, ?i64]).unwrap()));
    }
    // Without the key they are gathered.
    let mut all = lab(&address).space().watch(Some(&template!["task", ?i64, ?i64]), Since::Now).unwrap();
    assert_eq!(measured(&server, "quintet_manager_migrations"), 2);
    space.out(tuple!["task", 2i64, 100i64]).unwrap();
    let told = all.next_within(LONG).unwrap().unwrap();
    assert_eq!((told.change, told.tuple), (Change::Put, tuple!["task", 2i64, 100i64]));
    for (key, watched) in (0i64..).zip(&mut watched) {
        for number in 0..100i64 {
            for change in [Change::Put, Change::Taken] {
                let told = watched.next_within(LONG).unwrap().unwrap();
                assert_eq!((told.change, told.tuple), (change, tuple!["task", key, number]));
            }
        }
    }
}

/// Whoever looks at both spaces, the one that it leaves first, finds all in one of them.
#[test]
fn what_is_collected_into_a_named_space_is_never_seen_half_way() {
    const ROUNDS: i64 = 200;
    let dir = TempDir::new().unwrap();
    for (kind, managers) in [("shm", 3), ("unix", 2)] {
        let address: LinkAddress = format!("{kind}:{}", dir.join(kind).display()).parse().unwrap();
        let server = Server::start(address.clone(), &config(managers)).unwrap();
        let ours = lab(&address);
        let (space, named) = (ours.space(), ours.create_space("named", &SpaceSettings::default()).unwrap());
        let (of, all) = (|round: i64| template!["row", round, ?i64], template!["row", ?i64, ?i64]);
        // Each round is at another manager.
        space.declare_key(&all, 1).unwrap();
        let round = AtomicI64::new(-1);
        std::thread::scope(|scope| {
            let moving = scope.spawn(|| {
                for number in 0..ROUNDS {
                    space
                        .out_many(&(0..12i64).map(|n| tuple!["row", number, n]).collect::<Vec<_>>(), None)
                        .unwrap();
                    round.store(number, Ordering::SeqCst);
                    assert_eq!(space.collect_into(&named, &of(number)), Ok(12));
                }
            });
            let theirs = lab(&address);
            let (space, named) = (theirs.space(), theirs.named_space("named").unwrap());
            while !moving.is_finished() {
                let number = round.load(Ordering::SeqCst);
                if number < 0 {
                    continue;
                }
                let rows = of(number);
                let first = (space.count(&rows).unwrap(), named.count(&rows).unwrap());
                assert!(matches!(first, (12, 0 | 12) | (0, 12)), "{first:?}");
                let last = (named.count(&rows).unwrap(), space.count(&rows).unwrap());
                assert!(matches!(last, (0, 0 | 12) | (12, 0)), "{last:?}");
            }
            moving.join().unwrap();
        });
        // Back to all managers, and together again.
        assert_eq!(named.copy_collect_into(&space, &all), Ok(12 * ROUNDS as u64));
        assert_eq!(space.count(&all), Ok(12 * ROUNDS as u64));
        let back = space.collect(&of(7)).unwrap();
        assert_eq!(back, (0..12i64).map(|n| tuple!["row", 7i64, n]).collect::<Vec<_>>(), "in their order");
        assert_eq!(space.collect_into(&named, &all), Ok(12 * (ROUNDS as u64 - 1)));
        assert!(measured(&server, "quintet_manager_commits") > 10, "others had them");
        server.stop().unwrap();
    }
}

#[test]
fn what_the_space_of_several_managers_does_not_do_named_ones_beside_it_do() {
    let dir = TempDir::new().unwrap();
    let address: LinkAddress = format!("shm:{}", dir.join("space").display()).parse().unwrap();
    let _server = Server::start(address.clone(), &config(3)).unwrap();
    let lab = lab(&address);
    let (space, rows) = (lab.space(), template!["row", ?i64]);
    let named = lab.create_space("orders", &SpaceSettings::default()).unwrap();
    let archive = lab.create_space("archive", &SpaceSettings::default()).unwrap();
    assert_eq!((space.managers(), named.managers()), (3, 1));

    let watched = space.watch(None, Since::Now).map(drop).unwrap_err();
    assert!(watched.code() == Code::BadValue && watched.text().contains("or a named space"), "{watched}");
    let mut events = named.watch(None, Since::Now).unwrap();
    named.out(tuple!["row", 1i64]).unwrap();
    assert_eq!(events.next_within(LONG).unwrap().unwrap().change, Change::Put);

    assert_eq!(named.collect_into(&archive, &rows), Ok(1));

    // A declared key of either is done once it is answered.
    space.begin().declare_key(&rows, 1).unwrap().finish().unwrap();
    named.begin().declare_key(&rows, 1).unwrap().finish().unwrap();
    assert_eq!(space.begin().declare_key(&rows, 2).map(drop).unwrap_err().code(), Code::BadValue);
}

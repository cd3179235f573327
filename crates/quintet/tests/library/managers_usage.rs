//! How a space is used that several managers serve, from outside.

#![allow(clippy::unwrap_used)]

use quintet::{
    Glimpse, HotKey, Lab, LinkAddress, Partition, ServeConfig, Server, Space, SpaceSettings, Value,
    WaitingRequest, template, tuple,
};
use quintet_testbed::TempDir;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(30);
const ROWS: i64 = 32;

fn served(dir: &TempDir) -> (Server, Lab) {
    let address: LinkAddress = format!("shm:{}", dir.join("space").display()).parse().unwrap();
    let config = ServeConfig { managers: 2, ..ServeConfig::default() };
    let server = Server::start(address.clone(), &config).unwrap();
    (server, Lab::connect(address, 0, LONG).unwrap())
}

/// Rows that both managers have.
fn with_rows(space: &Space) {
    space.declare_key(&template!["row", ?i64, ?i64], 1).unwrap();
    let rows: Vec<_> = (0..ROWS).map(|key| tuple!["row", key, key]).collect();
    space.out_many(&rows, None).unwrap();
    for manager in 0..2 {
        assert!(space.list(None).of_manager(manager).count() > 4, "manager {manager} has some of them");
    }
}

fn partitions(space: &Space) -> Vec<Partition> {
    space.partitions().collect::<Result<_, _>>().unwrap()
}

#[test]
fn a_partition_of_several_managers_is_told_once_with_all_their_counts() {
    let dir = TempDir::new().unwrap();
    let (server, lab) = served(&dir);
    let space = lab.space();
    with_rows(&space);
    for key in 0..ROWS {
        space.read(&template!["row", key, ?i64]).unwrap();
    }
    (0..ROWS / 2).for_each(|key| drop(space.take(&template!["row", key, ?i64]).unwrap()));
    let bytes: u64 = space.list(None).map(|row| row.unwrap().bytes).sum();
    let told = partitions(&space);
    let [rows] = &told[..] else { panic!("{told:?}") };
    assert_eq!((rows.tuples, rows.bytes, rows.put, rows.taken, rows.read), (16, bytes, 32, 16, 32));
    let shapes: Vec<(u64, u64)> = rows.shapes.iter().map(|shape| (shape.actuals, shape.asked)).collect();
    assert_eq!((rows.asked, shapes, rows.other_shapes), (48, vec![(0b11, 48)], 0));
    let by_manager = (0..2).map(|manager| space.partitions().of_manager(manager).collect::<Vec<_>>());
    let by_manager: Vec<Partition> = by_manager.flatten().collect::<Result<_, _>>().unwrap();
    let longest = by_manager.iter().map(|row| row.filled).max().unwrap();
    assert!(by_manager.len() == 2 && rows.filled <= longest, "it was told before: {rows:?} {by_manager:?}");
    assert!(by_manager.iter().all(|row| rows.since_put <= row.since_put), "the last put counts");
    server.stop().unwrap();
}

#[test]
fn a_client_of_several_managers_is_told_once_with_all_its_leases() {
    let dir = TempDir::new().unwrap();
    let (server, lab) = served(&dir);
    let space = lab.space();
    with_rows(&space);
    let other = Lab::connect(server.addresses()[0].clone(), 0, LONG).unwrap();
    let leases: Vec<_> =
        (0..ROWS).map(|key| other.space().lease(&template!["row", key, ?i64], None).unwrap()).collect();
    let clients = || space.clients().collect::<Result<Vec<_>, _>>().unwrap();
    let mut held: Vec<u32> = clients().iter().map(|client| client.leases).collect();
    held.sort_unstable();
    assert_eq!(held, [0, ROWS as u32], "of two clients one has leases of both managers");
    leases.into_iter().for_each(|lease| lease.acknowledge(&[]).unwrap());
    let acknowledged: u64 = clients().iter().map(|client| client.acknowledged).sum();
    assert_eq!(acknowledged, ROWS as u64);
    assert!((0..2).all(|manager| space.clients().of_manager(manager).count() == 2), "each tells its own");
    drop(other);
    server.stop().unwrap();
}

#[test]
fn hot_keys_of_several_managers_are_told_hottest_first() {
    let dir = TempDir::new().unwrap();
    let (server, lab) = served(&dir);
    let space = lab.space();
    with_rows(&space);
    // The more often the higher the number: three thousand questions, of which one in sixteen counts.
    for round in 0..ROWS * 6 {
        (0..ROWS).filter(|key| key * 6 > round).for_each(|key| {
            space.read(&template!["row", key, ?i64]).unwrap();
        });
    }
    let keys: Vec<HotKey> = space.hot_keys().collect::<Result<_, _>>().unwrap();
    let asked: Vec<u64> = keys.iter().map(|key| key.asked).collect();
    assert!(keys.len() == 16 && asked.is_sorted_by(|before, after| before >= after), "{asked:?}");
    let number = |key: &HotKey| match &key.fields[1] {
        Glimpse::Value(Value::I64(number)) => *number,
        other => panic!("{other:?}"),
    };
    let mut numbers: Vec<i64> = keys.iter().map(number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), 16, "each once");
    let of = |manager| space.hot_keys().of_manager(manager).count();
    assert!(of(0) > 4 && of(1) > 4, "both have such keys");
    server.stop().unwrap();
}

#[test]
fn one_who_waits_at_several_managers_is_told_once() {
    let dir = TempDir::new().unwrap();
    let (server, lab) = served(&dir);
    let space = lab.space();
    with_rows(&space);
    let wanted: Vec<_> = (0..ROWS).map(|key| template!["row", key, -1i64]).collect();
    let waits = space.begin().select(&wanted).unwrap();
    while space.status().unwrap().waiters == 0 {
        assert!(waits.peek(Duration::ZERO).is_none(), "it waits");
    }
    assert_eq!(space.status().unwrap().waiters, 1);
    let told: Vec<WaitingRequest> = space.waiting().collect::<Result<_, _>>().unwrap();
    let [row] = &told[..] else { panic!("{told:?}") };
    let first = [Value::from("row"), Value::I64(0), Value::I64(-1)].map(Glimpse::Value);
    assert_eq!(row.template.as_deref(), Some(&first[..]), "its first template, as of one manager");
    server.stop().unwrap();
}

/// One manager that a template names is asked alone; what several have is gathered at one before.
#[test]
fn tuples_of_several_managers_are_taken_up_to_a_number() {
    let dir = TempDir::new().unwrap();
    let (server, lab) = served(&dir);
    let space = lab.space();
    with_rows(&space);
    space.out_many(&[tuple!["row", 5i64, 50i64], tuple!["row", 5i64, 51i64]], None).unwrap();
    let fives = space.take_up_to(2, &template!["row", 5i64, ?i64]).unwrap();
    assert_eq!(fives, [tuple!["row", 5i64, 5i64], tuple!["row", 5i64, 50i64]]);
    let any = template!["row", ?i64, ?i64];
    assert_eq!(space.take_up_to(3, &any).unwrap().len(), 3);
    assert_eq!((space.take_up_to(100, &any).unwrap().len(), space.count(&any).unwrap()), (29, 0));
    server.stop().unwrap();
}

/// The first manager has them alone: who lists one is not sent on to the others.
#[test]
fn a_named_space_beside_several_managers_is_told_once() {
    let dir = TempDir::new().unwrap();
    let (server, lab) = served(&dir);
    lab.create_space("orders", &SpaceSettings::default()).unwrap();
    let orders = lab.named_space("orders").unwrap();
    orders.out_many(&(0..10i64).map(|n| tuple!["order", n]).collect::<Vec<_>>(), None).unwrap();
    assert_eq!(orders.list(None).take(100).count(), 10);
    let told: Vec<Partition> = orders.partitions().take(100).collect::<Result<_, _>>().unwrap();
    assert_eq!((told.len(), told[0].tuples), (1, 10));
    server.stop().unwrap();
}

//! Tuples that expire, of spaces that are served, kept in a log, and spread over managers.

use quintet::{Change, Lab, ServeConfig, Server, Since, Space, SpaceLog, SpaceSettings, template, tuple};
use quintet_testbed::TempDir;
use std::path::Path;
use std::time::Duration;

const SHORT: Duration = Duration::from_millis(1);
const LONG: Duration = Duration::from_secs(100_000);

fn connect(socket: &Path) -> Lab {
    Lab::connect(socket, 0, Duration::from_secs(10)).expect("the space is there")
}

/// Puts something that expires soon, and returns when it has.
fn let_expire(space: &Space, number: i64) {
    let mut events = space.watch(Some(&template!["gone", ?i64]), Since::Now).expect("it can be watched");
    space.out_for(tuple!["gone", number], SHORT).expect("there is room");
    for change in [Change::Put, Change::Expired] {
        let event = events.next().expect("it goes on").expect("the space is there");
        assert_eq!((event.change, event.tuple), (change, tuple!["gone", number]));
    }
}

#[test]
fn what_a_group_or_a_replacement_puts_may_expire() {
    let space = Lab::embedded().space();
    space.out(tuple!["here", 1i64]).expect("there is room");
    let begin = space.begin().expires_in(LONG);
    begin.replace(&template!["here", 1i64], &[tuple!["here", 2i64]]).unwrap().finish().expect("it matches");
    let group = space.group();
    group.take(&template!["here", ?i64]).expect("it is there");
    group.out(tuple!["kept", 1i64]).expect("it goes on");
    group.out_for(tuple!["here", 3i64], LONG).expect("it goes on");
    group.commit().expect("nobody else is there");
    let expires: Vec<bool> = space.list(None).map(|row| row.expect("a row").expires_in.is_some()).collect();
    assert_eq!(expires.len(), 2);
    assert_eq!(expires.iter().filter(|expires| **expires).count(), 1, "each has its own time");
}

#[test]
fn the_results_of_a_lease_may_expire() {
    let space = Lab::embedded().space();
    let results = [tuple!["result", 1i64], tuple!["result", 2i64]];
    let lease = || {
        space.out(tuple!["task"]).expect("there is room");
        space.lease(&template!["task"], None).expect("it is there")
    };
    lease().acknowledge_for(&results, LONG).expect("it is held");
    lease().acknowledge(&results).expect("it is held");
    let expires: Vec<bool> = space.list(None).map(|row| row.expect("a row").expires_in.is_some()).collect();
    assert_eq!(expires, [true, true, false, false]);
    let mut events = space.watch(Some(&template!["result", ?i64]), Since::Now).expect("it can be watched");
    lease().acknowledge_for(&results[..1], SHORT).expect("it is held");
    let mut changes = || events.next().expect("it goes on").expect("the space is there").change;
    assert_eq!([changes(), changes()], [Change::Put, Change::Expired]);
}

#[test]
fn what_expired_does_not_come_back_with_a_log_and_what_did_not_has_its_time_still() {
    let folder = TempDir::new().expect("a temporary directory");
    let (socket, log) = (folder.join("space"), folder.join("log"));
    let config = ServeConfig { log: Some(SpaceLog::new(&log)), ..ServeConfig::default() };
    let server = Server::start(&socket, &config).expect("a new log");
    let space = connect(&socket).space();
    let_expire(&space, 1);
    space.out_for(tuple!["here", 2i64], LONG).expect("there is room");
    server.stop().expect("it ends");
    let server = Server::start(&socket, &config).expect("the log is read");
    let space = connect(&socket).space();
    assert_eq!(space.read_if(&template!["gone", ?i64]).expect("it answers"), None);
    let rows: Vec<_> = space.list(None).collect::<Result<_, _>>().expect("a listing");
    let [row] = &rows[..] else { panic!("one tuple: {rows:?}") };
    let left = row.expires_in.expect("it expires still");
    assert!(left.0 > 0 && left <= LONG.into(), "{left} are left");
    let_expire(&space, 3);
    server.stop().expect("it ends");
}

#[test]
fn what_is_copied_to_another_space_expires_when_its_original_does() {
    let folder = TempDir::new().expect("a temporary directory");
    let socket = folder.join("space");
    let server = Server::start(&socket, &ServeConfig::default()).expect("it serves");
    let lab = connect(&socket);
    let (space, copies) = (lab.space(), lab.create_space("copies", &SpaceSettings::default()).expect("room"));
    space.out_for(tuple!["here", 1i64], LONG).expect("there is room");
    assert_eq!(space.copy_collect_into(&copies, &template!["here", ?i64]).expect("there is room"), 1);
    let row = copies.list(None).next().expect("a row").expect("a listing");
    assert!(row.expires_in.is_some_and(|left| left <= LONG.into()), "{row:?}");
    server.stop().expect("it ends");
}

//! `serve --policy logged`: killed again and again, without room on its disk, with a log that is none.

use crate::tool::{LONG, quintet, result, text};
use quintet::{Code, Error, Lab, Space, template, tuple};
use quintet_testbed::{Child, TempDir};
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const LEASE: Duration = Duration::from_secs(10);

/// A logged space that says that it is ready.
fn served(socket: &Path, log: &Path) -> Child {
    let server = quintet(["serve", "--listen", text(socket), "--policy", "logged", "--log-dir", text(log)]);
    server.output().wait_for("serving at", LONG).unwrap_or_else(|| panic!("{}", server.output().text()));
    server
}

fn connect(socket: &Path) -> Space {
    Lab::connect(socket, 0, LEASE).expect("the space is there").space()
}

/// What is known of an item.
#[derive(Clone, Copy, Default, Debug)]
struct Item {
    is_put: bool,
    taken: u32,
    finish_begun: bool,
    finished: bool,
}

/// What the clients of all rounds were told.
#[derive(Default)]
struct Account {
    items: BTreeMap<i64, Item>,
    /// Takes without an answer when the server ended.
    lost_takes: usize,
}

fn number(tuple: &quintet::Tuple) -> i64 {
    i64::try_from(tuple[1].clone()).unwrap()
}

/// A client that puts, takes and does tasks until the server is gone; each acknowledged operation is told.
fn client(space: &Space, first: i64, account: &Mutex<Account>, told: &Sender<()>) -> Error {
    let note = |item: i64, note: fn(&mut Item)| note(account.lock().unwrap().items.entry(item).or_default());
    for item in first.. {
        account.lock().unwrap().items.entry(item).or_default();
        if let Err(error) = space.out(tuple!["item", item]) {
            return error;
        }
        note(item, |item| item.is_put = true);
        match space.take_if(&template!["item", ?i64]) {
            Ok(taken) => taken.iter().for_each(|tuple| note(number(tuple), |item| item.taken += 1)),
            Err(error) => {
                account.lock().unwrap().lost_takes += 1;
                return error;
            }
        }
        if let Err(error) = space.out_many(&[tuple!["task", item], tuple!["pad", item]], None) {
            return error;
        }
        let task = match space.lease(&template!["task", ?i64], None) {
            Ok(task) => task,
            Err(error) => return error,
        };
        let done = number(task.tuple());
        note(done, |item| item.finish_begun = true);
        if let Err(error) = task.acknowledge(&[tuple!["done", done]]) {
            return error;
        }
        note(done, |item| item.finished = true);
        // Who waits for it has given up.
        let _ = told.send(());
    }
    unreachable!("there are numbers enough")
}

/// One life of the server, ended after so many rounds of its clients.
fn live(socket: &Path, log: &Path, round: i64, rounds: usize, account: &Arc<Mutex<Account>>) {
    let mut server = served(socket, log);
    let (told, is_told) = channel();
    std::thread::scope(|scope| {
        for number in 0..3 {
            let (space, told) = (connect(socket), told.clone());
            let first = (round * 10 + number) * 1_000_000;
            scope.spawn(move || {
                let error = client(&space, first, account, &told);
                assert_eq!(error.code(), Code::PeerDied, "{error}");
            });
        }
        for _ in 0..rounds {
            is_told.recv_timeout(LONG).expect("the clients get on");
        }
        server.kill().unwrap();
    });
}

/// Everything that matches, taken.
fn drain(space: &Space, name: &str) -> Vec<i64> {
    std::iter::from_fn(|| space.take_if(&template![name, ?i64]).unwrap())
        .map(|tuple| number(&tuple))
        .collect()
}

#[test]
fn a_logged_space_shows_its_status_though_it_has_no_named_ones() {
    let folder = TempDir::new().expect("a folder");
    let (socket, log) = (folder.path().join("s"), folder.path().join("log"));
    let _server = served(&socket, &log);
    connect(&socket).out(tuple!["item", 1i64]).expect("it is kept");
    let (code, said) = result(quintet(["status", "--space", text(&socket)]));
    assert_eq!(code, 0, "{said}");
    assert!(said.lines().any(|line| line.split_whitespace().eq(["tuples", "1"])), "{said}");
    let (code, said) = result(quintet(["status", "--space", text(&socket), "--json"]));
    assert_eq!(code, 0, "{said}");
    assert!(said.contains(r#""spaces":[]"#), "{said}");
}

#[test]
fn what_a_killed_server_acknowledged_is_there_when_it_comes_back() {
    // Many in a long run.
    let kills = std::env::var("QUINTET_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(6);
    let folder = TempDir::new().unwrap();
    let (socket, log) = (folder.join("space"), folder.join("log"));
    let account = Arc::<Mutex<Account>>::default();
    for round in 0..kills {
        live(&socket, &log, round, 1 + usize::try_from(round * 7 % 40).unwrap(), &account);
    }
    let server = served(&socket, &log);
    let space = connect(&socket);
    let (items, done) = (drain(&space, "item"), drain(&space, "done"));
    let Account { items: known, lost_takes } = &*account.lock().unwrap();
    let mut missing = 0;
    for (number, item) in known {
        let left = items.iter().filter(|left| *left == number).count();
        let found = left + usize::try_from(item.taken).unwrap();
        assert!(found <= 1, "item {number} was given twice: {item:?}, {left} left");
        missing += usize::from(item.is_put && found == 0);
        let results = done.iter().filter(|done| *done == number).count();
        let may_be = usize::from(item.finished)..=usize::from(item.finish_begun);
        assert!(may_be.contains(&results), "task {number}: {item:?}, {results} results");
    }
    assert!(missing <= *lost_takes, "{missing} items are missing, and {lost_takes} takes may have them");
    assert!(items.iter().all(|item| known.contains_key(item)), "nobody has put others");
    server.terminate().unwrap();
    assert_eq!(result(server).0, 0);
}

#[test]
fn a_full_disk_holds_answers_up_and_loses_nothing() {
    let folder = TempDir::new().unwrap();
    let (socket, log) = (folder.join("space"), folder.join("log"));
    let mut server = served(&socket, &log);
    let process = Pid::from_raw(i32::try_from(server.id()).unwrap());
    let before = getrlimit(Resource::Fsize);
    let limit = |bytes| prlimit(process, Resource::Fsize, Rlimit { current: bytes, ..before }).unwrap();
    // A link over shared memory takes files as well.
    let space = connect(&socket);
    limit(Some(20_000));
    let put = std::thread::spawn(move || {
        for number in 0..500i64 {
            space.out(tuple!["x", number, "a text that takes some room in the log"]).unwrap();
        }
        space
    });
    let is_full = || loop {
        let line = server.output().next_line(LONG).unwrap_or_else(|| panic!("{}", server.output().text()));
        if line.contains("cannot grow") {
            return;
        }
    };
    is_full();
    assert!(!put.is_finished(), "500 puts take more than that");
    limit(before.current);
    let space = put.join().unwrap();
    assert_eq!(space.count(&template!["x", ?i64, ?str]).unwrap(), 500);
    server.kill().unwrap();
    let _server = served(&socket, &log);
    assert_eq!(connect(&socket).count(&template!["x", ?i64, ?str]).unwrap(), 500);
}

#[test]
fn what_cannot_be_is_said_with_what_to_do() {
    let folder = TempDir::new().unwrap();
    let (socket, log) = (folder.join("space"), folder.join("log"));
    let (code, said) = result(quintet(["serve", "--listen", text(&socket), "--policy", "logged"]));
    assert!(code == 65 && said.contains("--log-dir DIR"), "{code} {said}");
    let (code, said) = result(quintet(["serve", "--listen", text(&socket), "--log-dir", text(&log)]));
    assert!(code == 65 && said.contains("--policy logged"), "{code} {said}");
    let (code, said) = result(quintet(["serve", "--listen", text(&socket), "--policy", "replicated"]));
    assert!(code == 64 && said.contains("volatile"), "{code} {said}");
    let first = served(&socket, &log);
    let again = |socket: &Path, cluster: &str| {
        let log = text(&log);
        let socket = text(socket);
        result(quintet([
            "serve",
            "--listen",
            socket,
            "--cluster",
            cluster,
            "--policy",
            "logged",
            "--log-dir",
            log,
        ]))
    };
    let (code, said) = again(&folder.join("other"), "0");
    assert!(code == 71 && said.contains("another process keeps the log"), "{code} {said}");
    let at = text(&socket);
    let (code, said) = result(quintet(["space", "create", "orders", "--space", at]));
    assert!(code == 65 && said.contains("--policy logged"), "{code} {said}");
    let (code, said) = result(quintet(["status", "--space", at, "--json"]));
    assert!(code == 0 && said.contains("\"spaces\""), "{code} {said}");
    first.terminate().unwrap();
    assert_eq!(result(first).0, 0);
    let (code, said) = again(&socket, "5");
    assert!(code == 65 && said.contains("cluster 0, not of port"), "{code} {said}");
    let file = log.join("space.log");
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[8] = 9;
    std::fs::write(&file, &bytes).unwrap();
    let (code, said) = again(&socket, "0");
    assert!(code == 65 && said.contains("version 9"), "{code} {said}");
    std::fs::write(&file, b"a text, and no log of anything").unwrap();
    let (code, said) = again(&socket, "0");
    assert!(code == 65 && said.contains("no log of this kind"), "{code} {said}");
}

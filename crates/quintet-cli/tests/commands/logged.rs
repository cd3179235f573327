//! `serve --policy logged`: killed again and again, without room on its disk, with a log that is none.

use crate::account::{kills_under_clients, number};
use crate::tool::{LONG, quintet, result, start, text, wait_until};
use quintet::{Code, Lab, LinkConfig, Space, SpaceAddress, template, tuple};
use quintet_testbed::{Child, TempDir};
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

const LEASE: Duration = Duration::from_secs(10);

/// A logged space that says that it is ready.
fn served(socket: &Path, log: &Path) -> Child {
    served_at(text(socket), log)
}

/// The same at any address.
pub(crate) fn served_at(address: &str, log: &Path) -> Child {
    let server = quintet(["serve", "--listen", address, "--policy", "logged", "--log-dir", text(log)]);
    server.output().wait_for("serving at", LONG).unwrap_or_else(|| panic!("{}", server.output().text()));
    server
}

fn connect(socket: &Path) -> Space {
    Lab::connect(socket, 0, LEASE).expect("the space is there").space()
}

/// The space at any address.
pub(crate) fn connect_to(address: &str) -> Space {
    let address: SpaceAddress = address.parse().expect("an address");
    Lab::connect(address, 0, LEASE).expect("the space is there").space()
}

/// A server that is killed so often under clients that go on, and what they were told is so.
fn killed_under_clients(address: &str, log: &Path, kills: i64) {
    let mut server = served_at(address, log);
    kills_under_clients(
        || connect_to(address),
        kills,
        |_| {
            server.kill().unwrap();
            server = served_at(address, log);
        },
    );
    server.terminate().unwrap();
    assert_eq!(result(server).0, 0);
}

#[test]
fn named_spaces_of_a_logged_server_are_kept_as_well() {
    let folder = TempDir::new().expect("a folder");
    let (socket, log) = (folder.path().join("s"), folder.path().join("log"));
    let mut server = served(&socket, &log);
    let at = text(&socket);
    for policy in ["volatile", "logged"] {
        let (code, said) = result(quintet(["space", "create", "orders", "--policy", policy, "--space", at]));
        assert!(code == 0, "{code} {said}");
    }
    let lab = Lab::connect(&*socket, 0, LEASE).expect("the space is there");
    let orders = lab.named_space("orders").expect("it was made");
    orders.out(tuple!["order", 1i64]).expect("it is kept");
    server.kill().unwrap();
    let _server = served(&socket, &log);
    assert_eq!(number(&orders.take(&template!["order", ?i64]).expect("it goes on")), 1);
    let (code, said) = result(quintet(["space", "show", "orders", "--space", at]));
    assert!(code == 0 && said.contains("logged"), "{code} {said}");
}

#[test]
fn a_logged_space_shows_its_status() {
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

/// A port of this machine that nobody listens at.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port()
}

fn killed_over_every_link(kills: i64) {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.join(name);
    let addresses = [
        text(&at("shared")).to_owned(),
        format!("unix:{}", text(&at("socket"))),
        format!("tcp:127.0.0.1:{}", free_port()),
    ];
    for (number, address) in addresses.iter().enumerate() {
        killed_under_clients(address, &at(&format!("log{number}")), kills);
    }
}

#[test]
fn clients_of_a_killed_server_go_on_and_nothing_is_lost_or_given_twice() {
    killed_over_every_link(7);
}

#[test]
#[ignore = "takes minutes: make kill"]
fn clients_of_a_server_that_is_killed_a_thousand_times_go_on() {
    killed_over_every_link(334);
}

#[test]
fn clients_of_a_server_that_ends_in_order_go_on_and_of_one_that_stays_away_are_told() {
    let folder = TempDir::new().unwrap();
    let (socket, log) = (folder.join("space"), folder.join("log"));
    let server = served(&socket, &log);
    let space = connect(&socket);
    let short = LinkConfig { resume_window: Duration::from_millis(200), ..LinkConfig::default() };
    let impatient = Lab::connect_with(&*socket, 0, LEASE, short).expect("the space is there").space();
    space.out(tuple!["x", 1i64]).unwrap();
    let lease = space.lease(&template!["x", ?i64], None).unwrap();
    server.terminate().unwrap();
    assert_eq!(result(server).0, 0);
    let error = impatient.read(&template!["x", ?i64]).expect_err("nobody came back");
    assert_eq!(error.code(), Code::PeerDied, "{error}");
    let _server = served(&socket, &log);
    lease.acknowledge(&[tuple!["y", 2i64]]).expect("the lease is still its holder's");
    assert_eq!(space.count(&template!["y", 2i64]).unwrap(), 1);
}

/// Its server is killed and started again, and waits for nobody any more when it asks again.
#[test]
fn who_asks_nothing_until_the_killed_server_has_forgotten_him_goes_on() {
    let folder = TempDir::new().unwrap();
    let (socket, log) = (folder.join("space"), folder.join("log"));
    let serve = || {
        let words = ["serve", "--listen", text(&socket), "--policy", "logged", "--log-dir", text(&log)];
        let server = start(words, &[("QUINTET_LINK_RESUME_WINDOW_MS", "50")]);
        server.output().wait_for("serving at", LONG).unwrap_or_else(|| panic!("{}", server.output().text()));
        server
    };
    let mut server = serve();
    let idle = connect(&socket);
    for life in 0..3i64 {
        idle.out(tuple!["item", life]).expect("it goes on");
        server.kill().unwrap();
        server = serve();
        let other = connect(&socket);
        wait_until(|| other.clients().count() == 1);
        assert_eq!(number(&idle.take(&template!["item", ?i64]).expect("it goes on")), life);
    }
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
    assert!(code == 65 && said.contains("needs --replica N"), "{code} {said}");
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
    let (code, said) = result(quintet(["space", "create", "a", "--policy", "replicated=3", "--space", at]));
    assert!(code == 65 && said.contains("keeps all its spaces logged"), "{code} {said}");
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

/// A log whose first part was written as a whole, with requests behind it of which everybody was told; where that part ends, and what it all holds.
fn log_of_two_lives(socket: &Path, log: &Path) -> (usize, Vec<u8>) {
    for life in 0..2i64 {
        let mut server = served(socket, log);
        let space = connect(socket);
        (0..20).for_each(|number| space.out(tuple!["item", 20 * life + number]).expect("it is kept"));
        server.kill().unwrap();
    }
    let bytes = std::fs::read(log.join("space.log")).unwrap();
    let first = bytes[16..24].try_into().map(u64::from_le_bytes).unwrap();
    (usize::try_from(first).unwrap(), bytes)
}

#[test]
fn a_log_that_was_changed_or_cut_short_is_named_by_its_byte_and_left_as_it_is() {
    let folder = TempDir::new().unwrap();
    let (socket, log) = (folder.join("space"), folder.join("log"));
    let (first, whole) = log_of_two_lives(&socket, &log);
    assert!(first > 24 && whole.len() > first + 100, "{first} of {}", whole.len());
    let changed = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x40;
        bytes
    };
    let words = ["serve", "--listen", text(&socket), "--policy", "logged", "--log-dir", text(&log)];
    for (what, bytes, expected) in [
        ("the snapshot is changed", changed(first - 30), "the log is damaged at byte ".to_owned()),
        ("a request is changed", changed(first + 20), format!("the log is damaged at byte {first}: ")),
        ("the snapshot is cut short", whole[..first - 1].to_vec(), "the log is damaged at byte ".to_owned()),
        ("only the beginning is left", whole[..20].to_vec(), "the log is damaged at byte 0".to_owned()),
    ] {
        std::fs::write(log.join("space.log"), &bytes).unwrap();
        let (code, said) = result(quintet(words));
        assert!(code == 65 && said.contains(&expected), "{what}: {code} {said}");
        assert_eq!(std::fs::read(log.join("space.log")).unwrap(), bytes, "{what}: it is left as it is");
    }
    std::fs::write(log.join("space.log"), &whole).unwrap();
    let _server = served(&socket, &log);
    let mut items = crate::account::drain(&connect(&socket), "item");
    items.sort_unstable();
    assert!(items.into_iter().eq(0..40), "all are there, once");
}

//! What an agent leaves on its disk that is left running, whoever knocks.

use super::machine::{Machine, object};
use crate::tool::{LONG, wait_until};
use quintet_testbed::{Child, Program};
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;

#[test]
fn whoever_is_refused_leaves_a_line_and_a_thousand_fill_no_disk() {
    let (a, other) = (Machine::founded(), Machine::founded());
    let b = Machine::joined("b", &a);

    // A certificate of another cluster.
    let space = format!("tls:{}", a.place);
    let foreign = other.program(&["status", "--space", &space]).env("QUINTET_IDENTITY", other.lab());
    assert_eq!(crate::tool::result(foreign.spawn().unwrap()).0, 77);
    let refused = a.wait_for_refusal(|line| line["code"] == "WrongCluster");
    assert!(refused["from"].as_str().is_some_and(|from| from.starts_with("127.")), "{refused}");
    assert!(refused["identity"].is_null() && refused["what"] == "connection", "nothing is proved: {refused}");

    // A token that was revoked: its holder has proved that it is that one's.
    let revoked = object(&a.does(&["token", "create", "--json"]));
    a.does(&["token", "revoke", revoked["id"].as_str().unwrap()]);
    let c = Machine::new("c");
    let at = format!("lab@{}", a.place);
    let token = revoked["token"].as_str().unwrap();
    c.is_refused(&["join", &at, token, "--name", "c", "--listen", &c.place], 77, &["revoked"]);
    let id = revoked["id"].as_str().unwrap();
    let of_token = |line: &Value| line["identity"].as_str().is_some_and(|identity| identity.starts_with(id));
    assert_eq!(a.wait_for_refusal(of_token)["code"], "NotAllowed");

    // A name that another machine has: asked for by the holder of a good token, which was let in so far.
    c.is_refused(&["join", &at, &a.token(), "--name", "b", "--listen", &c.place], 76, &["quintet leave"]);
    let taken = a.wait_for_refusal(|line| line["what"] == "enrolment");
    assert_eq!((&taken["code"], &taken["name"]), (&"DuplicateNode".into(), &"b".into()), "{taken}");

    // A machine that was removed, and does not know it.
    b.does(&["down"]);
    a.does(&["leave", "b"]);
    b.up();
    let removed = a.wait_for_refusal(|line| line["identity"] == b.identity());
    assert_eq!(
        (&removed["what"], &removed["code"]),
        (&"connection".into(), &"NotAllowed".into()),
        "{removed}"
    );

    for _ in 0..1000 {
        let mut stranger = TcpStream::connect(&a.place).unwrap();
        stranger.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        // Until it is turned away: however that looks to it.
        let _ = stranger.read(&mut [0; 64]);
    }
    let garbage = a.wait_for_refusal(|line| line["code"] == "BadValue");
    assert!(garbage["text"].as_str().is_some_and(|text| text.contains("does not speak TLS")), "{garbage}");
    b.does(&["down"]);
    a.does(&["down"]);
    let refusals = a.refusals();
    let lines = |code: &str| refusals.iter().filter(|line| line["code"] == code).count();
    assert!(lines("BadValue") <= 4 && lines("WrongCluster") == 1 && refusals.len() < 20, "{refusals:?}");
    for name in ["audit.log", "agent.log"] {
        let file = a.lab().join(name).metadata().unwrap();
        assert!(file.len() < 20_000, "{name}: {} bytes", file.len());
        assert_eq!(file.permissions().mode() & 0o777, 0o600, "{name}");
    }
}

#[test]
fn the_agents_log_says_when_and_is_begun_anew_while_the_agent_runs() {
    let a = Machine::founded();
    let log = a.lab().join("agent.log");
    let said = || fs::read_to_string(&log).unwrap_or_default();
    wait_until(|| said().contains("a (node 0) is in"));
    for line in said().lines() {
        let (time, _) = line.split_once(' ').expect("a time and a text");
        assert!(time.len() == "2026-11-22T14:18:41.123456Z".len(), "{line}");
        assert!(time.starts_with("20") && time.ends_with('Z'), "{line}");
    }
    // As long as it becomes in a year.
    fs::OpenOptions::new().append(true).open(&log).unwrap().write_all(&vec![b'\n'; 1 << 20]).unwrap();
    let b = Machine::joined("b", &a);
    wait_until(|| said().contains("b (node 1) is in"));
    assert!(log.metadata().unwrap().len() < 10_000);
    assert!(a.lab().join("agent.log.before").metadata().unwrap().len() > 1 << 20);
    b.does(&["leave"]);
    wait_until(|| said().contains("b (node 1) has left"));
    // What is left of it goes with the rest.
    a.does(&["down"]);
    a.does(&["leave", "--forget"]);
    let left: Vec<_> = fs::read_dir(a.lab()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("log")), "{left:?}");
}

#[test]
fn what_another_machine_says_of_itself_begins_no_line_of_the_log() {
    let (a, c) = (Machine::founded(), Machine::new("c"));
    let at = format!("lab@{}", a.place);
    let (code, said) = c.ask(&["join", &at, &a.token(), "--name", "x\nall is well", "--listen", &c.place]);
    assert_eq!(code, 65, "{said}");
    a.does(&["down"]);
    let log = fs::read_to_string(a.lab().join("agent.log")).unwrap();
    assert!(log.lines().all(|line| line.starts_with("20")), "{log}");
}

/// From now on no file of that process may be longer: that is as good as a full disk, and takes no rights.
fn limit_files(process: u32, bytes: Option<u64>) {
    let process = Pid::from_raw(process.cast_signed());
    let before = getrlimit(Resource::Fsize);
    prlimit(process, Resource::Fsize, Rlimit { current: bytes, ..before }).expect("it is this user's");
}

#[test]
fn an_agent_whose_disk_is_full_waits_for_room_and_loses_nothing() {
    let a = Machine::new("a");
    a.does(&["init", "lab", "--machine", "a"]);
    // So that its log is longer than its other files.
    a.up();
    let c = Machine::joined("c", &a);
    a.wait_until_shown(&[("a", "up (this machine)"), ("c", "up")]);
    c.does(&["leave"]);
    a.does(&["down"]);
    let ignoring = "trap '' XFSZ; exec \"$0\" \"$@\"";
    let words = ["-c", ignoring, env!("CARGO_BIN_EXE_quintet"), "up", "--foreground", "--listen", &a.place];
    let homes = ["HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"];
    let program = words.iter().fold(Program::new("sh"), Program::arg);
    let program = homes.iter().fold(program, |program, name| program.env(name, a.home.path()));
    let mut agent = program.spawn().unwrap();
    let says = |agent: &Child, words: &str| {
        let line =
            || agent.output().next_line(LONG).unwrap_or_else(|| panic!("{words}: {}", agent.output().text()));
        while !line().contains(words) {}
    };
    says(&agent, "ctrl-C ends it");
    a.wait_until_shown(&[("a", "up (this machine)")]);

    let token = a.token();
    let length = a.lab().join("membership.log").metadata().unwrap().len();
    limit_files(agent.id(), Some(length));
    let (b, at) = (Machine::new("b"), format!("lab@{}", a.place));
    let join = ["join", &at, &token, "--name", "b", "--listen", &b.place, "--json"];
    let joining = b.program(&join).spawn().unwrap();
    says(&agent, "membership.log cannot grow: File too large");
    a.wait_until_shown(&[("a", "up (this machine)")]);
    limit_files(agent.id(), None);
    says(&agent, "membership.log grows again");
    let (code, said) = crate::tool::result(joining);
    assert_eq!(code, 0, "{said}");
    b.keep_process(&said);
    a.wait_until_shown(&[("a", "up (this machine)"), ("b", "up")]);
    agent.kill().unwrap();
    a.up();
    a.wait_until_shown(&[("a", "up (this machine)"), ("b", "up")]);
    let mode = a.lab().join("membership.log").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

//! `init`, `up`, `join`, `status`, `leave`, `down`, `rotate`: a cluster of several machines, each a home folder of its own.

mod clock;
mod code;
mod left_running;
pub(crate) mod machine;
mod newcomers;

use crate::tool::{LONG, result, wait_until, wait_until_gone};
use machine::{Machine, object};
use quintet_testbed::Program;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

#[test]
fn machines_join_go_down_come_up_and_leave() {
    let a = Machine::founded();
    let (b, c) = (Machine::joined("b", &a), Machine::joined("c", &a));
    let here = "up (this machine)";
    a.wait_until_shown(&[("a", here), ("b", "up"), ("c", "up")]);
    b.wait_until_shown(&[("a", "up"), ("b", here), ("c", "up")]);
    c.wait_until_shown(&[("a", "up"), ("b", "up"), ("c", here)]);
    wait_until(|| {
        let shown = object(&b.does(&["status", "--json"]));
        shown["cluster"]["machines"].as_array().unwrap().iter().all(|machine| machine["votes"] == true)
    });
    let table = a.does(&["status"]);
    assert!(table.contains(&b.place) && table.contains("voter") && !table.contains("WARNING"), "{table}");

    assert_eq!(c.does(&["down"]), "this machine's agent has ended");
    a.wait_until_shown(&[("a", here), ("b", "up"), ("c", "down")]);
    c.up();
    a.wait_until_shown(&[("a", here), ("b", "up"), ("c", "up")]);

    let said = c.does(&["leave"]);
    assert!(said.contains("c (node 2) has left the cluster") && said.contains("is removed"), "{said}");
    wait_until_gone(&[c.process.get().unwrap()]);
    assert!(!c.lab().exists(), "nothing of the cluster is left there");
    a.wait_until_shown(&[("a", here), ("b", "up")]);
    c.join(&a);
    b.wait_until_shown(&[("a", "up"), ("b", here), ("c", "up")]);
}

#[test]
fn the_founder_may_leave_and_its_folder_keeps_the_authoritys_key() {
    let a = Machine::founded();
    let b = Machine::joined("b", &a);
    a.wait_until_shown(&[("a", "up (this machine)"), ("b", "up")]);
    let said = a.does(&["leave"]);
    assert!(said.contains("a (node 0) has left") && said.contains("keeps the authority's key"), "{said}");
    wait_until_gone(&[a.process.get().unwrap()]);
    let mut left: Vec<_> = fs::read_dir(a.lab()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["authority.key", "authority.pem", "tokens"]);
    b.wait_until_shown(&[("b", "up (this machine)")]);
    // With the key the other machine is the one that lets in.
    let key = b.lab().join("authority.key");
    fs::copy(a.lab().join("authority.key"), &key).unwrap();
    let c = Machine::joined("c", &b);
    b.wait_until_shown(&[("b", "up (this machine)"), ("c", "up")]);
    assert_eq!(object(&c.does(&["rotate", "--json"]))["signed_by"], Value::from(1));
}

#[test]
fn an_agent_outlives_its_command_and_down_leaves_nothing() {
    let a = Machine::founded();
    let agent = a.process.get().unwrap();
    let status = fs::read_to_string(format!("/proc/{agent}/stat")).unwrap();
    let fields: Vec<&str> = status.rsplit(") ").next().unwrap().split(' ').collect();
    let (group, session, terminal) = (fields[2], fields[3], fields[4]);
    assert_eq!((group, session, terminal), (&*agent.to_string(), &*agent.to_string(), "0"));
    assert_eq!(
        fs::read_link(format!("/proc/{agent}/cwd")).unwrap(),
        PathBuf::from("/"),
        "it keeps no folder"
    );
    // Ten times: what one leaves would be in the way of the next.
    for _ in 0..10 {
        let agent = a.process.get().unwrap();
        a.does(&["down"]);
        wait_until_gone(&[agent]);
        let left: Vec<_> = fs::read_dir(a.lab()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(!left.iter().any(|name| name.to_string_lossy().contains("socket")), "{left:?}");
        drop(TcpListener::bind(&a.place).expect("its port is free"));
        a.up();
    }
}

#[test]
fn an_agent_that_was_killed_comes_up_again_as_a_later_life() {
    let a = Machine::founded();
    // Before that there is no life in its log.
    a.wait_until_shown(&[("a", "up (this machine)")]);
    let agent = a.process.get().unwrap();
    kill_process(Pid::from_raw(agent.cast_signed()).unwrap(), Signal::KILL).unwrap();
    wait_until_gone(&[agent]);
    assert!(a.lab().join("agent.socket").exists(), "nobody was there to remove it");
    // Its last thread may take a moment longer.
    wait_until(|| a.ask(&["status"]).1.contains("does not run (nobody listens"));
    a.is_refused(&["status"], 69, &["does not run", "quintet up"]);
    a.up();
    wait_until(|| object(&a.does(&["status", "--json"]))["cluster"]["machines"][0]["incarnation"] == 2);
}

#[test]
fn an_agent_that_was_killed_is_lost_before_it_is_silent() {
    let a = Machine::founded();
    let b = Machine::joined("b", &a);
    let all_up = || a.wait_until_shown(&[("a", "up (this machine)"), ("b", "up")]);
    let log = || fs::read_to_string(a.lab().join("agent.log")).unwrap();
    let missed = "b (node 1) does not seem to be there: ";
    // On a machine that has no time for either for a second both are true: then it is tried again.
    let is_lost_at_once = (0..5).any(|_| {
        all_up();
        let before = log().matches(missed).count();
        let agent = b.process.get().unwrap();
        kill_process(Pid::from_raw(agent.cast_signed()).unwrap(), Signal::KILL).unwrap();
        wait_until(|| log().matches(missed).count() > before);
        let (log, agents_of_b) = (log(), [agent]);
        wait_until_gone(&agents_of_b);
        b.up();
        log.split(missed).nth(before + 1).unwrap().starts_with("its link is lost")
    });
    assert!(is_lost_at_once, "{}", log());
    all_up();
}

#[test]
fn commands_without_an_agent_or_a_cluster_say_what_to_type() {
    let a = Machine::new("a");
    for command in ["up", "down", "leave", "rotate"] {
        a.is_refused(&[command], 65, &["belongs to no cluster", "quintet init NAME", "quintet join"]);
    }
    a.is_refused(&["status"], 69, &["nobody listens there", "belong to a cluster", "quintet init NAME"]);
    a.is_refused(&["up", "other"], 65, &["quintet/other", "no such cluster"]);
    a.does(&["init", "lab", "--machine", "a"]);
    a.is_refused(&["init", "lab"], 65, &["is there already", "as a; quintet up lab", "quintet token create"]);
    assert_eq!(a.does(&["down"]), "no agent of this machine runs");
    for command in ["status", "leave"] {
        a.is_refused(&[command], 69, &["this machine's agent does not run", "quintet up"]);
    }
    a.up();
    a.is_refused(&["up"], 71, &["runs already", "quintet down"]);
    a.is_refused(&["leave", "nobody"], 65, &["no machine of the cluster is named \"nobody\"", "there are a"]);
    a.is_refused(&["leave"], 65, &["alone decides", "quintet down"]);
    a.is_refused(&["leave", "--forget"], 65, &["agent runs", "quintet down"]);
    a.does(&["init", "other", "--machine", "a"]);
    for command in ["up", "status", "down"] {
        a.is_refused(&[command], 65, &["several clusters", "lab", "other"]);
    }
    assert!(a.does(&["status", "lab"]).contains("up (this machine)"));
    a.does(&["down", "lab"]);
}

#[test]
fn a_token_that_does_not_let_in_says_why_and_leaves_nothing() {
    let (a, b, other) = (Machine::founded(), Machine::new("b"), Machine::founded());
    let at = format!("lab@{}", a.place);
    let join = |token: &str, name: &str, status, with: &[&str]| {
        b.is_refused(&["join", &at, token, "--name", name, "--listen", &b.place], status, with);
        assert!(!b.home.join("quintet").exists(), "no folder is left");
    };
    let good = a.token();
    let last = if good.ends_with('a') { "b" } else { "a" };
    join(
        &format!("{}{last}", &good[..good.len() - 1]),
        "b",
        65,
        &["this is no token", "quintet token create"],
    );
    join("hello", "b", 65, &["this is no token"]);
    join(&good, "a", 76, &["another machine is named \"a\"", "choose another name"]);
    join(&good, "a b", 65, &["is no name"]);
    join(&other.token(), "b", 77, &["cluster"]);
    let revoked = object(&a.does(&["token", "create", "--json"]));
    a.does(&["token", "revoke", revoked["id"].as_str().unwrap()]);
    join(revoked["token"].as_str().unwrap(), "b", 77, &["revoked", "quintet token create"]);
    let expired = object(&a.does(&["token", "create", "--valid", "1s", "--json"]));
    wait_until(|| {
        let list = a.does(&["token", "list", "--json"]);
        let list: Value = serde_json::from_str(&list).unwrap();
        list.as_array().unwrap().iter().any(|token| token["state"] == "expired")
    });
    join(expired["token"].as_str().unwrap(), "b", 77, &["expired", "quintet token create"]);

    let said = b.does(&["join", &at, &good, "--name", "b", "--listen", &b.place, "--json"]);
    b.keep_process(&said);
    let c = Machine::new("c");
    c.is_refused(
        &["join", &at, &good, "--name", "c", "--listen", &c.place],
        77,
        &["used", "quintet token create"],
    );
    b.is_refused(&["join", &at, &a.token(), "--name", "c"], 65, &["is there already", "as b; quintet up"]);
    let words = ["agent does not run", "quintet up"];
    a.does(&["down"]);
    let said = a.does(&["token", "create"]);
    assert!(words.iter().all(|word| said.contains(word)) && said.contains("quintet join lab@"), "{said}");
}

#[test]
fn whoever_does_not_answer_is_named() {
    let (a, b) = (Machine::founded(), Machine::new("b"));
    let token = a.token();
    a.does(&["down"]);
    let at = format!("lab@{}", a.place);
    b.is_refused(&["join", &at, &token], 69, &[&a.place, "nobody listens"]);
    let mute = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = format!("lab@{}", mute.local_addr().unwrap());
    b.is_refused(&["join", &at, &token], 69, &["no answer within 5s"]);
    b.is_refused(
        &["join", "lab@no.such.host.invalid", &token],
        65,
        &["no.such.host.invalid is not known", "write its address"],
    );
    assert!(!b.home.join("quintet").exists(), "no folder is left");
}

#[test]
fn an_agent_whose_port_is_taken_says_so_and_comes_up_at_another() {
    let (a, b) = (Machine::founded(), Machine::new("b"));
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let at = format!("lab@{}", a.place);
    let words = ["another process listens there", "use another address"];
    let token = a.token();
    let join = |listen: &str, more: &[&str]| {
        let words = [&["join", &at, &token, "--name", "b", "--listen", listen, "--json"], more].concat();
        b.ask(&words)
    };
    let (code, said) = join(&taken, &[]);
    assert!(code == 71 && words.iter().all(|word| said.contains(word)), "{code}: {said}");
    assert!(said.contains("The token was not used") && said.contains("--listen HOST:PORT"), "{said}");
    assert!(!b.home.join("quintet").exists(), "no folder is left");
    // Who does not start its agent now may have the port later; the token is as good as before.
    let (code, said) = join(&taken, &["--no-up"]);
    assert_eq!(code, 0, "{said}");
    b.is_refused(&["up"], 71, &words);
    b.up();
    wait_until(|| a.does(&["status"]).contains(&b.place));
    // One that listens at every address, as by default, is looked at in the same way.
    let c = Machine::new("c");
    let everywhere =
        format!("0.0.0.0:{}", TcpListener::bind("0.0.0.0:0").unwrap().local_addr().unwrap().port());
    let keeper = TcpListener::bind(&everywhere).unwrap();
    let join =
        ["join", &at, &a.token(), "--name", "c", "--listen", &everywhere, "--address", &c.place, "--json"];
    c.is_refused(&join, 71, &words);
    drop(keeper);
    c.keep_process(&c.does(&join));
    c.does(&["leave"]);
    a.wait_until_shown(&[("a", "up (this machine)"), ("b", "up")]);
}

#[test]
fn a_machine_that_others_removed_learns_it_and_can_join_anew() {
    let a = Machine::founded();
    let b = Machine::joined("b", &a);
    a.does(&["leave", "b"]);
    wait_until_gone(&[b.process.get().unwrap()]);
    let log = fs::read_to_string(b.lab().join("agent.log")).unwrap();
    assert!(log.contains("was removed from the cluster"), "{log}");
    b.is_refused(&["up"], 77, &["this machine, b, was removed", "quintet leave --forget"]);
    let at = format!("lab@{}", a.place);
    b.is_refused(&["join", &at, &a.token()], 65, &["was removed", "quintet leave --forget"]);
    assert!(b.does(&["leave", "--forget"]).contains("is removed"));
    assert!(!b.lab().exists());
    b.join(&a);
    a.wait_until_shown(&[("a", "up (this machine)"), ("b", "up")]);

    // One that was off finds out by being turned away.
    b.does(&["down"]);
    a.does(&["leave", "b"]);
    b.up();
    let log = || fs::read_to_string(b.lab().join("agent.log")).unwrap();
    wait_until(|| log().contains("node 0 does not let this machine in: it was removed"));
    wait_until(|| b.does(&["status"]).contains("quintet leave --forget"));
    b.is_refused(&["rotate"], 69, &["was removed from the cluster", "quintet leave --forget"]);
    b.does(&["down"]);
}

#[test]
fn certificates_are_made_anew_by_the_machine_with_the_authority() {
    let a = Machine::founded();
    let b = Machine::joined("b", &a);
    let identity = |machine: &Machine| fs::read(machine.lab().join("machine.identity")).unwrap();
    let before = [identity(&a), identity(&b)];
    assert_eq!(a.does(&["rotate"]), "this machine's certificate was made anew, for 90 days");
    let said = object(&b.does(&["rotate", "--json"]));
    assert_eq!(said["signed_by"], Value::from(0));
    let valid = quintet_identity::validity(&identity(&b)).unwrap();
    let until = valid.until.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    assert_eq!(said["valid_until"], Value::from(until));
    assert!(identity(&a) != before[0] && identity(&b) != before[1]);
    a.does(&["down"]);
    b.is_refused(&["rotate"], 69, &["could not be made anew", "node 0", "nobody listens"]);
    assert_eq!(
        object(&b.does(&["status", "--json"]))["cluster"]["certificate_until"],
        Value::from(until),
        "what was there is there"
    );
}

#[test]
fn a_folder_that_is_another_users_is_refused() {
    let a = Machine::founded();
    a.does(&["down"]);
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(a.lab().join("machine.identity"), Some(65_534), None).unwrap();
        a.is_refused(&["up"], 77, &["is another user's"]);
        std::os::unix::fs::chown(a.lab().join("machine.identity"), Some(0), None).unwrap();
    }
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    fs::set_permissions(a.lab().join("machine.identity"), mode).unwrap();
    a.is_refused(&["up"], 77, &["open to other users", "chmod 600"]);
}

/// In a mount namespace of its own; `$1` is the folder that gets little room, `$2` what fills it.
const LITTLE_ROOM: &str = "mount -t tmpfs -o size=64k,mode=700 tmpfs \"$1\" || { echo cannot mount; exit 0; }
head -c \"$2\" /dev/zero >\"$1\"/full
shift 2
exec \"$0\" \"$@\"";

#[test]
fn a_machine_without_room_does_not_use_its_token_up() {
    let (a, b) = (Machine::founded(), Machine::new("b"));
    let (at, token) = (format!("lab@{}", a.place), a.token());
    let join = ["join", &at, &token, "--name", "b", "--listen", &b.place, "--json"];
    let program = ["-m", "sh", "-c", LITTLE_ROOM, env!("CARGO_BIN_EXE_quintet")];
    let program = program.iter().fold(Program::new("unshare"), Program::arg);
    let program = program.arg(b.home.path()).arg("65536");
    let program = join.iter().fold(program, Program::arg).env("XDG_CONFIG_HOME", b.home.path());
    let Ok(child) = program.spawn() else { return println!("skipped: there is no program unshare") };
    let (code, said) = result(child);
    if code == 0 || said.contains("unshare") {
        return println!("skipped: no mount namespace here: {said}");
    }
    assert!(code == 71 && said.contains("No space left on device"), "{said}");
    b.keep_process(&b.does(&join));
}

#[test]
fn a_log_that_cannot_be_written_is_named() {
    let a = Machine::new("a");
    a.does(&["init", "lab", "--machine", "a"]);
    symlink("/dev/full/nothing", a.lab().join("agent.log")).unwrap();
    a.is_refused(&["up", "--listen", &a.place], 71, &["agent.log"]);
    fs::remove_file(a.lab().join("agent.log")).unwrap();
    a.up();
}

#[test]
fn an_agent_in_the_foreground_ends_by_ctrl_c() {
    let a = Machine::new("a");
    a.does(&["init", "lab", "--machine", "a"]);
    let mut agent = a.program(&["up", "--foreground", "--listen", &a.place]).spawn().unwrap();
    // What it tells besides comes on its other output.
    let is_up =
        |said: &str| said.contains(&format!("a (node 0) at {}", a.place)) && said.contains("ctrl-C ends it");
    while !is_up(&agent.output().next_line(LONG).expect("it says that it is up")) {}
    agent.terminate().unwrap();
    assert!(agent.wait(LONG).unwrap().expect("it ends").success());
    a.is_refused(&["status"], 69, &["does not run"]);
}

#[test]
fn a_full_disk_under_the_agents_record_is_named() {
    let a = Machine::founded();
    a.does(&["down"]);
    // Where its new record would be written first there is something that takes nothing.
    symlink("/dev/full", a.lab().join(".agent.toml.new")).unwrap();
    a.is_refused(&["up"], 71, &["agent.toml", "No space left on device"]);
    fs::remove_file(a.lab().join(".agent.toml.new")).unwrap();
    a.up();
    let mut text = String::new();
    fs::File::open(a.lab().join("agent.toml")).unwrap().read_to_string(&mut text).unwrap();
    assert!(text.contains("name = \"a\""), "{text}");
}

//! Where newcomers stumble: what they are told, and when.

use super::machine::{Machine, object};
use crate::tool::{result, wait_until};
use quintet_testbed::{Program, TempDir};
use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

#[test]
fn join_says_what_the_cluster_is_called_here() {
    let a = Machine::founded();
    let b = Machine::new("b");
    let at = format!("labx@{}", a.place);
    let said = b.does(&["join", &at, &a.token(), "--name", "b", "--listen", &b.place]);
    assert!(said.contains("this machine calls it labx") && said.contains("quintet://labx"), "{said}");
    b.does(&["down"]);
}

#[test]
fn what_an_agent_would_refuse_is_said_before_the_token_is_used() {
    let (a, b) = (Machine::founded(), Machine::new("b"));
    let taken = TcpListener::bind("127.0.0.1:0").expect("some port is free");
    let taken_at = taken.local_addr().expect("it listens").to_string();
    let (at, token) = (format!("lab@{}", a.place), a.token());
    let join = ["join", &at, &token, "--name", "b", "--listen", &b.place];
    for (options, status, words) in [
        (["--metrics", &taken_at], 71, ["listen at", "--metrics"]),
        (["--metrics", "0.0.0.0:0"], 77, ["--metrics", "--metrics-open"]),
        (["--log", "loud"], 65, ["the filter of events", "loud"]),
    ] {
        b.is_refused(&[&join[..], &options].concat(), status, &words);
        assert!(!b.lab().exists(), "nothing is left of what was refused");
    }
    // Nothing of this has used it.
    b.does(&[&join[..], &["--metrics", "127.0.0.1:0"]].concat());
    b.does(&["down"]);
}

#[test]
fn to_end_an_agent_that_does_not_run_is_no_mistake_and_a_cluster_that_is_none_is() {
    let a = Machine::founded();
    assert_eq!(a.does(&["down"]), "this machine's agent has ended");
    assert_eq!(a.does(&["down"]), "no agent of this machine runs");
    let said = a.is_refused(&["down", "other"], 65, &["belongs to no such cluster"]);
    assert!(!said.contains("valid value"), "{said}");
}

#[test]
fn a_machine_that_was_removed_while_it_was_off_is_told_so_at_the_terminal() {
    let a = Machine::founded();
    let b = Machine::joined("b", &a);
    a.wait_until_shown(&[("a", "up (this machine)"), ("b", "up")]);
    b.does(&["down"]);
    a.does(&["leave", "b"]);
    // It is up all the same, as whoever turns it away may be behind; where the machines are busy that is heard too late.
    wait_until(|| {
        let said = b.does(&["up", "--listen", &b.place]);
        b.does(&["down"]);
        said.contains("WARNING") && said.contains("quintet leave --forget")
    });
    wait_until(|| {
        b.ask(&["down"]);
        let said = b.does(&["up", "--listen", &b.place, "--json"]);
        b.keep_process(&said);
        object(&said)["turned_away"].is_string()
    });
    wait_until(|| b.does(&["status"]).contains("no majority"));
    b.is_refused(&["leave"], 69, &["no majority", "removed this one", "quintet leave --forget"]);
    b.is_refused(&["leave", "a"], 69, &["no majority", "no machine can be taken out now"]);
    b.does(&["down"]);
    b.does(&["leave", "--forget"]);
    // A machine that is in is told nothing of the kind.
    b.join(&a);
    b.does(&["down"]);
    let said = b.does(&["up", "--listen", &b.place]);
    assert!(!said.contains("WARNING"), "{said}");
    b.does(&["down"]);
}

#[test]
fn what_is_no_filter_of_events_is_refused() {
    let a = Machine::new("a");
    for bad in ["nonsense=", "=info", "nonsense", "info,quintet::link=loud"] {
        let said = a.is_refused(
            &["serve", "--log", bad],
            65,
            &["the filter of events is", "info,quintet::link=debug"],
        );
        assert!(!said.contains("serving"), "{said}");
    }
}

#[test]
fn a_script_that_is_not_there_starts_nothing() {
    let a = Machine::new("a");
    for missing in ["nothere.py", "./nothere", "/", "no-such-program"] {
        let (code, said) = a.ask(&["run", "-n", "2", missing]);
        assert!(code == 65 && said.contains(missing) && !said.contains("worker"), "{code}: {said}");
    }
}

#[test]
fn who_looks_at_no_space_is_told_how_to_have_one() {
    let a = Machine::new("a");
    for command in ["top", "status", "peek"] {
        let (code, said) = a.ask(&[command]);
        assert_ne!(code, 0, "{said}");
        assert!(said.contains("quintet serve starts one") && said.contains("quintet init NAME"), "{said}");
    }
}

#[test]
fn a_command_in_an_environment_runs_that_ones_python_without_being_activated() {
    let a = Machine::new("a");
    let folder = TempDir::new().unwrap();
    let bin = folder.join("bin");
    fs::create_dir(&bin).unwrap();
    fs::write(folder.join("pyvenv.cfg"), "").unwrap();
    fs::copy(env!("CARGO_BIN_EXE_quintet"), bin.join("quintet")).unwrap();
    fs::write(bin.join("python"), "#!/bin/sh\necho the python beside it\n").unwrap();
    fs::set_permissions(bin.join("python"), Permissions::from_mode(0o755)).unwrap();
    fs::write(folder.join("x.py"), "").unwrap();
    let command = Program::new(bin.join("quintet")).arg("run").arg("-n").arg("0").arg(folder.join("x.py"));
    let command = command.without("VIRTUAL_ENV").env("XDG_RUNTIME_DIR", a.home.path());
    let (code, said) = result(command.spawn().unwrap());
    assert!(code == 0 && said.contains("the python beside it"), "{code}: {said}");
}

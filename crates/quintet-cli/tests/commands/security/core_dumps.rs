//! What holds keys leaves no core dump when it crashes.

use crate::hosts::lab::Machines;
use crate::tool::{LONG, text};
use quintet_testbed::{Child, Program};
use rustix::process::{Pid, Signal, kill_process};
use std::os::unix::process::ExitStatusExt;

/// Crashes a process that may leave a core dump as large as it likes. Whether the system says that it left one.
fn leaves_one(mut process: Child) -> bool {
    let id = Pid::from_raw(process.id().cast_signed()).expect("a process");
    kill_process(id, Signal::ABORT).expect("it lives");
    let status = process.wait(LONG).expect("it can be waited for").expect("it ends");
    assert_eq!(status.signal(), Some(Signal::ABORT.as_raw()), "{status}");
    status.core_dumped()
}

#[test]
fn an_agent_that_crashes_leaves_no_core_dump_unless_one_is_wanted() {
    let mut lab = Machines::up(&["a"]);
    lab.kill("a");
    let folder = lab.folder("a");
    let place = std::fs::read_to_string(folder.join("place")).expect("written");
    let dumps = lab.room.join("dumps");
    std::fs::create_dir(&dumps).expect("a folder");
    let unlimited = |command: &str| {
        let program = Program::new("sh").arg("-c").arg(format!("ulimit -c unlimited || exit 9; {command}"));
        program.in_folder(&dumps).env("QUINTET_IDENTITY", &folder)
    };
    let plain = unlimited("echo ready; exec sleep 1000").spawn().expect("it starts");
    assert!(plain.output().wait_for("ready", LONG).is_some(), "{}", plain.output().text());
    let system_writes_some = leaves_one(plain);
    let agent = |core_dumps: &str| {
        let words = format!(
            "exec {} up {} --foreground --json --listen {place}",
            env!("CARGO_BIN_EXE_quintet"),
            text(&folder)
        );
        let agent =
            unlimited(&words).env("QUINTET_CLUSTER_CORE_DUMPS", core_dumps).spawn().expect("it starts");
        assert!(agent.output().wait_for("{", LONG).is_some(), "{}", agent.output().text());
        agent
    };
    assert!(!leaves_one(agent("false")), "its keys stand in it");
    assert_eq!(
        leaves_one(agent("true")),
        system_writes_some,
        "where it was asked for, as of any other program"
    );
    if !system_writes_some {
        println!("the system writes no core dumps here: that it would write one was not seen");
    }
}

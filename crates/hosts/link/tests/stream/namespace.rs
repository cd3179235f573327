//! A peer in another pid namespace, whose process has no number on this side.

use quintet_link::{End, LinkAddress, LinkError, connect, listen};
use quintet_testbed::TempDir;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::process::{Command, Stdio};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);
const PATIENCE_OF_POLL: Timespec = Timespec { tv_sec: 20, tv_nsec: 0 };
/// In the child's environment: where it connects.
const ADDRESS: &str = "QUINTET_TEST_OUTSIDE";

fn end_of(mut end: End) -> LinkError {
    loop {
        match end.receiver.poll(9, &mut |_, _| {}) {
            Ok(_) => end.receiver.wait(None),
            Err(error) => break error,
        }
    }
}

/// Runs a program as the first process of a pid namespace.
fn enter() -> Command {
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--kill-child"]).stderr(Stdio::inherit());
    command
}

/// As a child: in the namespace.
#[test]
fn a_listener_that_has_no_number_here_is_connected_to_and_its_end_is_a_cut() {
    if let Ok(address) = std::env::var(ADDRESS) {
        assert_eq!(std::process::id(), 1, "it is the first of its namespace");
        let end = connect(&address.parse().expect("an address"), PATIENCE).expect("connected");
        assert_eq!(end_of(end), LinkError::PeerDied, "nothing tells that the process has ended");
        return;
    }
    if !enter().arg("true").status().is_ok_and(|status| status.success()) {
        println!("skipped: this user may not make a pid namespace, or there is no unshare");
        return;
    }
    let folder = TempDir::new().expect("a folder");
    let address = LinkAddress::Unix(folder.join("socket"));
    let mut listener = listen(&address).expect("bound");
    let name = "namespace::a_listener_that_has_no_number_here_is_connected_to_and_its_end_is_a_cut";
    let this = std::env::current_exe().expect("the executable is known");
    let mut child = enter()
        .arg(this)
        .args([name, "--exact", "--nocapture"])
        .env(ADDRESS, address.to_string())
        .spawn()
        .expect("it starts");
    let mut end = loop {
        let ready =
            poll(&mut [PollFd::from_borrowed_fd(listener.fd(), PollFlags::IN)], Some(&PATIENCE_OF_POLL));
        assert_eq!(ready, Ok(1), "it connects");
        if let Some(end) = listener.accept().expect("accepted") {
            break end;
        }
    };
    end.sender.abandon();
    drop(end);
    let status = child.wait().expect("it ends");
    assert!(status.success(), "{status}");
}

//! What is called with an answer may itself use the space, whichever thread brings the answer.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use quintet::{Error, Lab, Pending, ServeConfig, Server, Space, template, tuple};
use quintet_testbed::TempDir;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

const LEASE: Duration = Duration::from_secs(10);
const LONG: Duration = Duration::from_secs(30);

fn serving(test: impl Fn(&dyn Fn() -> Lab)) {
    let folder = TempDir::new().unwrap();
    let socket = folder.join("space");
    let _server = Server::start(&socket, &ServeConfig::default()).unwrap();
    test(&|| Lab::connect(Path::new(&socket), 0, LEASE).unwrap());
}

/// A take that waits for `"x"`, whose callback puts `"y"` and says how that went.
fn calling_back(space: &Space) -> (Pending, mpsc::Receiver<Result<(), Error>>) {
    let pending = space.begin().take(&template!["x"]).unwrap();
    let (sender, said) = mpsc::channel();
    let space = space.clone();
    pending.notify(Box::new(move || sender.send(space.out(tuple!["y"])).unwrap()));
    (pending, said)
}

#[test]
fn a_callback_of_a_waiting_thread_calls_the_space() {
    serving(|client| {
        let (space, other) = (client().space(), client().space());
        let (mut pending, said) = calling_back(&space);
        other.out(tuple!["x"]).unwrap();
        pending.wait(LONG).expect("it comes in time").unwrap();
        assert_eq!(said.try_recv(), Ok(Ok(())));
        assert_eq!(other.take_if(&template!["y"]).unwrap(), Some(tuple!["y"]));
    });
}

#[test]
fn a_callback_of_an_event_loop_calls_the_space() {
    serving(|client| {
        let (lab, other) = (client(), client().space());
        let watch = lab.watch().unwrap();
        let (pending, said) = calling_back(&lab.space());
        other.out(tuple!["x"]).unwrap();
        while !pending.is_done() {
            watch.progress();
        }
        assert_eq!(said.recv_timeout(LONG), Ok(Ok(())));
    });
}

#[test]
fn a_callback_gives_a_lease_back_whether_its_operation_is_answered_or_cancelled() {
    serving(|client| {
        let (space, other) = (client().space(), client().space());
        for is_answered in [true, false] {
            other.out(tuple!["task"]).unwrap();
            let lease = space.lease(&template!["task"], None).unwrap();
            let mut pending = space.begin().take(&template!["x"]).unwrap();
            pending.notify(Box::new(move || drop(lease)));
            if is_answered {
                other.out(tuple!["x"]).unwrap();
                pending.wait(LONG).expect("it comes in time").unwrap();
            }
            drop(pending);
            other.take_within(&template!["task"], LONG).unwrap();
        }
    });
}

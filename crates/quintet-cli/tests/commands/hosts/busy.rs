//! A machine that has no room for a worker at the moment.

use super::at;
use super::lab::Machines;
use crate::tool::{LONG, result, text};
use quintet_agent::Client;
use quintet_contract::Span;
use quintet_launch::limits::MAX_JOBS;
use quintet_launch::{Answer, Program, Request, Start};
use std::time::Duration;

/// Jobs that hold all the room of this machine, and end with the client.
fn fill(lab: &Machines, name: &str) -> Client {
    let client = Client::local(&lab.folder(name)).expect("its agent runs");
    for job in 0..MAX_JOBS as u128 {
        let arguments = vec![b"1000".to_vec()];
        let start = Start { arguments, ..Start::new("sleep", Program::Path(b"sleep".to_vec())) };
        let started = client.ask_launcher(&Request::Start { job, start: Box::new(start) }, LONG);
        assert!(matches!(started, Ok(Answer::Started { .. })), "{started:?}");
    }
    client
}

#[test]
fn a_worker_waits_for_room_and_goes_where_there_is_some() {
    let lab = Machines::up(&["a", "b", "c"]);
    let worker = at(&lab, "worker", "echo began; exec sleep 1000");
    let master = at(&lab, "master", "exec sleep 2");
    let full = fill(&lab, "b");
    // c has room.
    let words = ["run", "--hosts", "b,c", "-n", "1", "--python", text(&worker), text(&master)];
    let (code, said) = result(lab.command("a", &words));
    assert!(code == 0 && said.contains("worker 0 on c signal 15"), "{said}");
    // Here nobody else has.
    let words = ["run", "--hosts", "b", "-n", "1", "--python", text(&worker), text(&master)];
    let job = lab.command("a", &words);
    let waits = job.output().wait_for("quintet: worker 0 waits for room: b: ", LONG);
    assert!(waits.is_some(), "{}", job.output().text());
    // One job less.
    let ended = full.ask_launcher(&Request::End { job: 0 }, LONG);
    assert!(matches!(ended, Ok(Answer::Done)), "{ended:?}");
    let (code, said) = result(job);
    assert!(code == 0 && said.contains("worker 0 on b signal 15"), "{said}");
    assert!(!said.contains("no more workers are started there"), "{said}");
    let next = Request::Next { job: 1, wait: Span::ZERO };
    let others = full.ask_launcher(&next, Duration::from_secs(10));
    assert!(matches!(others, Ok(Answer::Happened(_))), "they have run all the time: {others:?}");
}

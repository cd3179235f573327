//! Ten thousand that connect to an agent and say nothing.

use super::all_are_up;
use super::ports::{descriptors, most_bytes};
use crate::hosts::lab::Machines;
use crate::tool::{LONG, wait_until};
use quintet_testbed::{Child, Program, argument};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::BufRead;
use std::net::TcpStream;

const SILENT: usize = 10_000;
/// Processes that connect: one may not have the descriptors for all.
const PROCESSES: usize = 4;
/// What they may take of the agent, beside what it had: 32 KiB and the state of a handshake for 256 of them, and no more for the others.
const MOST_BYTES: u64 = 48 << 20;
/// What the agent may have open, to a power of two.
const MOST_DESCRIPTORS: usize = 2048;

/// In a child: connects, and stays until it is told to go.
fn crowd(place: &str) -> ! {
    let before = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: before.maximum, ..before }).expect("up to the maximum");
    let connections: Vec<TcpStream> =
        (0..SILENT / PROCESSES).map(|_| TcpStream::connect(place).expect("it listens")).collect();
    println!("connected {}", connections.len());
    std::io::stdin().lock().lines().next();
    std::process::exit(0);
}

#[test]
fn an_agent_serves_while_ten_thousand_are_connected_that_say_nothing() {
    const NAME: &str = "security::crowd::an_agent_serves_while_ten_thousand_are_connected_that_say_nothing";
    if let Some(place) = argument() {
        crowd(&place);
    }
    let lab = Machines::up(&["a", "b"]);
    let agent = lab.agent("a").id();
    let place = std::fs::read_to_string(lab.folder("a").join("place")).expect("written");
    // It has served one before, so that what that takes is not counted.
    lab.does("b", &["rotate"]);
    let before = most_bytes(agent);
    let start = |_| Program::this_test(NAME, &place).unwrap().spawn().unwrap();
    let crowd: Vec<Child> = (0..PROCESSES).map(start).collect();
    let mut connected = 0;
    for child in &crowd {
        // While some are still coming.
        lab.does("b", &["rotate"]);
        let said = child.output().wait_for("connected ", LONG);
        connected += said.expect("all connect").trim().parse::<usize>().expect("a number");
    }
    assert_eq!(connected, SILENT);
    lab.does("b", &["rotate"]);
    wait_until(|| all_are_up(&lab, "b"));
    let more = most_bytes(agent) - before;
    assert!(more < MOST_BYTES, "they took {more} bytes");
    assert!(descriptors(agent) <= MOST_DESCRIPTORS, "room for {}", descriptors(agent));
}

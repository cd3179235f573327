//! Every behaviour of the text, played by the Rust front end on every placement that one process can make.

use quintet_conformance::driver::FrontEnd;
use quintet_conformance::placement::{Embedded, Link, Placement, Served};
use quintet_conformance::player::Player;
use quintet_conformance::{behaviours, table};
use std::path::PathBuf;

fn rust() -> FrontEnd {
    FrontEnd { name: "rust".to_owned(), command: vec![env!("CARGO_BIN_EXE_conformance-rust").into()] }
}

/// Plays everything; as many behaviours are left out as are said here.
fn play(placement: &mut dyn Placement, variables: &[(String, PathBuf)], left_out: usize) {
    let behaviours = behaviours().expect("the text can be read");
    let mut player = Player::new(&[rust()], variables);
    let cell = table::play("rust", &mut player, placement, &behaviours);
    assert!(cell.failures.is_empty(), "{}", cell.failures.join("\n"));
    assert_eq!(cell.left_out.values().sum::<usize>(), left_out, "{:?}", cell.left_out);
    assert_eq!(cell.held + left_out, behaviours.len());
}

fn play_served(link: Link, left_out: usize) {
    let mut served = Served::over(link).expect("a temporary folder");
    let variables = served.variables().expect("an identity can be made");
    play(&mut served, &variables, left_out);
}

#[test]
fn embedded() {
    play(&mut Embedded, &[], 0);
}

#[test]
fn over_shared_memory() {
    play_served(Link::SharedMemory, 0);
}

#[test]
fn over_a_unix_socket() {
    play_served(Link::Unix, 0);
}

#[test]
fn over_tcp() {
    play_served(Link::Tcp, 0);
}

#[test]
fn over_tls() {
    play_served(Link::Tls, 0);
}

#[test]
fn recorded_and_replayed() {
    play_served(Link::Recorded, 0);
}

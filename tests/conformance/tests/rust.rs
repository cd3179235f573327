//! Every behaviour of the text, played by the Rust front end on every placement that one process can make.

use quintet_conformance::driver::FrontEnd;
use quintet_conformance::placement::{Embedded, Link, Placement, Served};
use quintet_conformance::player::{Played, Player};
use quintet_conformance::{behaviours, table};
use quintet_tuple_space::{Defect, SpaceConfig};
use std::path::PathBuf;
use std::time::Duration;

/// Why behaviours are left out: what Rust cannot say, and what a cluster alone has.
const CANNOT: [&str; 5] = [
    "a formal in a tuple: the type has none",
    "a range in a tuple: the type has none",
    "a text that is not UTF-8: the type has none",
    "no machines of a cluster keep spaces there",
    "use a lease again that has ended: it is consumed",
];

fn rust() -> FrontEnd {
    FrontEnd { name: "rust".to_owned(), command: vec![env!("CARGO_BIN_EXE_conformance-rust").into()] }
}

/// Plays everything; beside what Rust cannot say only the placement's own reason leaves anything out.
fn play(placement: &mut dyn Placement, variables: &[(String, PathBuf)], reason: &[&str]) {
    let behaviours = behaviours().expect("the text can be read");
    let mut player = Player::new(&[rust()], variables);
    let cell = table::play("rust", &mut player, placement, &behaviours, &|_| ());
    assert!(cell.failures.is_empty(), "{}", cell.failures.join("\n"));
    let mut reasons: Vec<&str> = CANNOT.iter().chain(reason).copied().collect();
    reasons.sort_unstable();
    let left_out: Vec<&str> = cell.left_out.keys().map(String::as_str).collect();
    assert_eq!(left_out, reasons);
    assert!(cell.held > behaviours.len() * 3 / 4, "{} of {} were played", cell.held, behaviours.len());
}

fn play_served(link: Link, reason: &[&str]) {
    let mut served = Served::over(link).expect("a temporary folder");
    let variables = served.variables().expect("an identity can be made");
    play(&mut served, &variables, reason);
}

#[test]
fn embedded() {
    play(&mut Embedded, &[], &["its clients are one process with one connection"]);
}

#[test]
fn over_shared_memory() {
    play_served(Link::SharedMemory, &[]);
}

#[test]
fn over_a_unix_socket() {
    play_served(Link::Unix, &[]);
}

#[test]
fn over_tcp() {
    play_served(Link::Tcp, &["over a network a killed client is noticed after the resume window"]);
}

#[test]
fn over_tls() {
    play_served(Link::Tls, &["over a network a killed client is noticed after the resume window"]);
}

#[test]
fn through_a_kernel() {
    play_served(Link::Kernel, &[]);
}

#[test]
fn through_a_kernel_before_several_managers() {
    let reasons = [
        "a select whose templates are of several managers gets the oldest of one of them",
        "a space with several managers is not watched as a whole",
    ];
    play_served(Link::ManagersBehindKernel, &reasons);
}

#[test]
fn recorded_and_replayed() {
    play_served(Link::Recorded, &[]);
}

/// Mistakes that are built into the manager, and a behaviour that each of them breaks.
const BROKEN: [(Defect, &str); 4] = [
    (Defect::LostWakeUp, "Who waits gets what comes back"),
    (Defect::LeaseNeverReturned, "Who was killed gives back what he leased"),
    (Defect::FailedLeaseGoesToTheEnd, "What comes back comes back to its place"),
    (Defect::PutPassesAcknowledgement, "Results that find no room go before puts"),
];

#[test]
fn a_manager_with_a_defect_breaks_a_behaviour() {
    let behaviours = behaviours().expect("the text can be read");
    for (defect, name) in BROKEN {
        let behaviour = behaviours.iter().find(|behaviour| behaviour.name == name).expect(name);
        for defect in [None, Some(defect)] {
            let space = SpaceConfig { defect, ..SpaceConfig::default() };
            let mut served = Served::over(Link::SharedMemory).expect("a temporary folder").with_space(space);
            // A tuple that never comes is not waited for as long as one that does.
            let patience = Duration::from_secs(if defect.is_some() { 1 } else { 20 });
            let mut player = Player::new(&[rust()], &[]).with_patience(patience);
            let played = player.play(behaviour, &mut served);
            match defect {
                None => assert_eq!(played, Ok(Played::Held)),
                Some(defect) => assert!(played.is_err(), "{defect:?} is not noticed: {name}"),
            }
        }
    }
}

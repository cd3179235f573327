//! A space that three machines keep, of which each loses its cable in turn, and then two at once.

use super::lab::Machines;
use crate::tool::{LONG, text, wait_until};
use quintet::{Lab, LinkConfig, SpaceAddress, template, tuple};
use quintet_testbed::{Child, Lines};
use std::env;
use std::fs;
use std::time::Duration;

/// Says to this file's program where the space is.
const SPACE: &str = "QUINTET_TEST_KEPT_SPACE";
const LEASE: Duration = Duration::from_secs(10);

/// Puts and takes for as long as it is let, and says of each that it was done.
#[test]
fn client_of_a_kept_space() {
    let Ok(address) = env::var(SPACE) else { return };
    let address: SpaceAddress = address.parse().unwrap();
    let silence_limit = Duration::from_secs(2);
    let link = LinkConfig { silence_limit, resume_window: LONG, ..LinkConfig::default() };
    let space = Lab::connect_with(address, 0, LEASE, link).expect("it is there").space();
    for number in 0i64.. {
        space.out(tuple!["item", number]).expect("it goes on");
        let taken = space.take_if(&template!["item", ?i64]).expect("it goes on");
        assert_eq!(taken, Some(tuple!["item", number]), "none is lost, and none comes twice");
        println!("done {number}");
    }
}

/// Returns when it has got on.
fn gets_on(client: &Child) {
    // What it said before may wait to be read.
    let said = client.output().text().matches("done ").count();
    while client.output().text().matches("done ").count() < said + 20 {
        client.output().next_line(LONG).unwrap_or_else(|| panic!("{}", client.output().text()));
    }
}

fn cut_and_healed(rounds: usize) {
    let Some(lab) = Machines::on_a_network(&["a", "b", "c"]) else { return };
    wait_until(|| lab.does("a", &["status"]).matches("voter").count() == 3);
    lab.does("a", &["space", "create", "orders", "--policy", "replicated=3"]);
    let known = lab.folder("c").join("agent.toml");
    wait_until(|| fs::read_to_string(&known).unwrap().contains("orders"));
    let this = env::current_exe().unwrap();
    let words = ["hosts::kept_space::client_of_a_kept_space", "--exact", "--nocapture"];
    let program = lab.program_of(text(&this), "c", &words);
    let client =
        program.env(SPACE, format!("quintet://{}/orders", lab.folder("c").display())).spawn().unwrap();
    gets_on(&client);
    let bed = lab.bed.as_ref().expect("a network");
    for _ in 0..rounds {
        for machine in ["a", "b"] {
            bed.cut(&Lines::of(machine)).expect("cut");
            gets_on(&client);
            bed.heal(&Lines::of(machine)).expect("mended");
            gets_on(&client);
        }
    }
    // What is said of the agent is on its standard error: it stays in the foreground.
    let before = lab.agent("c").output().text().matches("no machine leads the space orders").count();
    bed.cut(&Lines::of("c")).expect("cut");
    wait_until(|| {
        lab.agent("c").output().text().matches("no machine leads the space orders").count() > before
    });
    bed.heal(&Lines::of("c")).expect("mended");
    gets_on(&client);
}

#[test]
fn a_space_on_three_machines_goes_on_without_each_of_them() {
    cut_and_healed(1);
}

#[test]
#[ignore = "takes minutes: make kill"]
fn a_space_on_three_machines_goes_on_however_often_each_of_them_is_cut_off() {
    cut_and_healed(25);
}

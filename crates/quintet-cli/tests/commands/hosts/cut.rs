//! Jobs on machines that lose their cable, their power, or stand still for a while.

use super::ending::{SOON, family, processes_of, send, wait_until_no_folder_is_left};
use super::lab::Machines;
use super::numbers;
use crate::tool::{LONG, is_alive, result, wait_until_gone};
use quintet_testbed::Lines;
use rustix::process::Signal;
use std::thread::sleep;
use std::time::Duration;

/// Shorter than any link between machines may be silent by itself.
const PAUSE: Duration = Duration::from_secs(5);

/// How machine b is lost.
type Loss = fn(&mut Machines);

/// A job of which machine b is lost, which it says as `missed`, goes on with c, and nothing is left on b.
fn is_lost(missed: &str, lose: Loss, mend: Loss) {
    let Some(mut lab) = Machines::on_a_network(&["a", "b", "c"]) else { return };
    let (job, processes) = family(&lab, &SOON);
    let of_b = processes_of(&job, "on b]");
    lose(&mut lab);
    let missed = format!("quintet: b {missed}: unless it is heard again within 4 s, it is lost to this job");
    assert!(job.output().wait_for(&missed, LONG).is_some(), "{}", job.output().text());
    assert!(
        job.output().wait_for("quintet: b is lost to this job: ", LONG).is_some(),
        "{}",
        job.output().text()
    );
    let again = numbers(&job, "[worker 0 on c] idle ", 3);
    // What b ran ends by itself: its agent hears nothing of the command any more.
    wait_until_gone(&of_b);
    assert!(again.iter().all(|process| is_alive(*process)));
    send(&job, Signal::TERM);
    let (code, said) = result(job);
    let lost = "quintet: b is lost to this job: ";
    assert!(code == 130 && said.matches(lost).count() == 1, "{said}");
    assert!(said.find(&missed) < said.find(lost) && said.matches(&missed).count() == 1, "{said}");
    wait_until_gone(&processes);
    wait_until_gone(&again);
    mend(&mut lab);
    wait_until_no_folder_is_left(&lab);
}

#[test]
fn a_machine_without_its_cable_is_lost_and_ends_what_it_runs() {
    is_lost(
        "is silent",
        |lab| lab.bed.as_ref().expect("a network").cut(&Lines::of("b")).expect("cut"),
        |lab| lab.bed.as_ref().expect("a network").heal(&Lines::of("b")).expect("mended"),
    );
}

#[test]
fn a_machine_without_its_power_is_lost_and_tidies_up_when_it_is_back() {
    // Its system is left here, and refuses connections.
    is_lost(
        "has lost its link",
        |lab| lab.bed.as_ref().expect("a network").kill("b").expect("killed"),
        |lab| lab.start("b"),
    );
}

#[test]
fn the_others_end_what_they_run_where_the_commands_machine_has_lost_its_cable() {
    let Some(lab) = Machines::on_a_network(&["a", "b", "c"]) else { return };
    let (job, processes) = family(&lab, &SOON);
    lab.bed.as_ref().expect("a network").cut(&Lines::of("a")).expect("cut");
    let (code, said) = result(job);
    assert!(code == 69 && said.contains("no machine of --hosts starts workers any more: b: "), "{said}");
    wait_until_gone(&processes);
    wait_until_no_folder_is_left(&lab);
}

#[test]
fn a_machine_that_stands_still_for_a_while_is_not_lost() {
    let Some(lab) = Machines::on_a_network(&["a", "b", "c"]) else { return };
    let (job, processes) = family(&lab, &[]);
    let bed = lab.bed.as_ref().expect("a network");
    bed.freeze("b").expect("frozen");
    sleep(PAUSE);
    bed.thaw("b").expect("thawed");
    assert!(job.output().wait_for("quintet: b is heard again", LONG).is_some(), "{}", job.output().text());
    assert!(processes.iter().all(|process| is_alive(*process)));
    send(&job, Signal::INT);
    let (code, said) = result(job);
    assert!(code == 130 && !said.contains("b is lost"), "{said}");
    wait_until_gone(&processes);
    wait_until_no_folder_is_left(&lab);
}

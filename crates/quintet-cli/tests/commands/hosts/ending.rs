//! Nothing is left of a job, whoever ends: the command, an agent, a machine's part.

use super::lab::Machines;
use super::{at, numbers};
use crate::tool::{is_alive, result, text, wait_until, wait_until_gone};
use quintet_testbed::Child;
use rustix::process::{Pid, Signal, kill_process};
use std::thread::sleep;
use std::time::Duration;

/// Longer than several keep-alives of every link, and shorter than any of them may be silent.
const PAUSE: Duration = Duration::from_secs(5);
/// Settings under which a machine that is lost is given up soon.
pub(super) const SOON: [&str; 4] =
    ["--set", "link.silence_limit_ms=3000", "--set", "link.resume_window_ms=1000"];

/// A job with a worker on b, another on c, and a master here. Each of them has a child in its group and one that left it.
pub(super) fn family(lab: &Machines, options: &[&str]) -> (Child, Vec<u32>) {
    let children = "sleep 1000 & echo idle $!\nsetsid sh -c 'echo idle $$; exec sleep 1000' &";
    let parent = |name| at(lab, name, &format!("{children}\necho idle $$\nwait"));
    let (worker, master) = (parent("worker"), parent("master"));
    let mut words = vec!["run", "--hosts", "b,c", "-n", "2", "--python", text(&worker)];
    words.extend(options);
    words.push(text(&master));
    let job = lab.command("a", &words);
    let processes = numbers(&job, "idle ", 9);
    assert!(processes.iter().all(|process| is_alive(*process)));
    (job, processes)
}

pub(super) fn send(process: &Child, signal: Signal) {
    let id = Pid::from_raw(i32::try_from(process.id()).unwrap()).unwrap();
    kill_process(id, signal).expect("sent");
}

pub(super) fn wait_until_no_folder_is_left(lab: &Machines) {
    wait_until(|| ["a", "b", "c"].iter().all(|name| lab.jobs(name).is_empty()));
}

#[test]
fn nothing_is_left_where_the_command_ends() {
    let lab = Machines::up(&["a", "b", "c"]);
    for signal in [Signal::INT, Signal::TERM] {
        let (job, processes) = family(&lab, &[]);
        assert!(!lab.jobs("b").is_empty() && !lab.jobs("c").is_empty());
        send(&job, signal);
        let (code, said) = result(job);
        assert!(code == 130 && said.contains("interrupted; everything was ended"), "{said}");
        assert!(!said.contains("cannot be reached"), "{said}");
        wait_until_gone(&processes);
        wait_until_no_folder_is_left(&lab);
    }
    let (mut job, processes) = family(&lab, &[]);
    job.kill().expect("killed");
    wait_until_gone(&processes);
    wait_until_no_folder_is_left(&lab);
}

#[test]
fn a_machine_whose_agent_ends_is_lost_to_the_job_and_nothing_is_left_there() {
    let mut lab = Machines::up(&["a", "b", "c"]);
    for is_killed in [true, false] {
        let (job, processes) = family(&lab, &SOON);
        let of_b = processes_of(&job, "on b]");
        assert_eq!(of_b.len(), 3, "{}", job.output().text());
        match is_killed {
            true => lab.kill("b"),
            false => drop(lab.does("b", &["down"])),
        }
        wait_until_gone(&of_b);
        let line = job.output().wait_for("quintet: b is lost to this job: ", crate::tool::LONG);
        assert!(line.is_some(), "{}", job.output().text());
        // The worker is started again on the next machine.
        let again = numbers(&job, "[worker 0 on c] idle ", 3);
        assert!(again.iter().all(|process| is_alive(*process)));
        send(&job, Signal::TERM);
        let (code, said) = result(job);
        assert!(code == 130 && said.contains("quintet: b is lost to this job: "), "{said}");
        wait_until_gone(&processes);
        wait_until_gone(&again);
        lab.start("b");
        wait_until_no_folder_is_left(&lab);
    }
}

pub(super) fn processes_of(job: &Child, words: &str) -> Vec<u32> {
    let text = job.output().text();
    let lines = text.lines().filter(|line| line.contains(words) && line.contains(" idle "));
    lines.filter_map(|line| line.rsplit(' ').next()?.parse().ok()).collect()
}

#[test]
fn a_command_ends_although_an_agent_stands_still_and_that_ends_its_part_later() {
    let lab = Machines::up(&["a", "b", "c"]);
    let (job, processes) = family(&lab, &[]);
    send(lab.agent("b"), Signal::STOP);
    send(&job, Signal::TERM);
    let (code, said) = result(job);
    assert_eq!(code, 130, "{said}");
    for told in [
        "quintet: waiting for b to end what it runs, 5 s at most",
        "quintet: b cannot be reached: what it runs of this job ends there by itself, 13 s after",
        "interrupted; everything else was ended",
    ] {
        assert_eq!(said.matches(told).count(), 1, "{told}: {said}");
    }
    let of_b: Vec<u32> = processes.iter().copied().filter(|process| is_alive(*process)).collect();
    assert!(of_b.len() <= 3, "the others have ended: {said}");
    send(lab.agent("b"), Signal::CONT);
    wait_until_gone(&of_b);
    wait_until_no_folder_is_left(&lab);
}

#[test]
fn a_command_that_stands_still_for_a_while_goes_on() {
    let lab = Machines::up(&["a", "b", "c"]);
    let (job, processes) = family(&lab, &[]);
    send(&job, Signal::STOP);
    sleep(PAUSE);
    send(&job, Signal::CONT);
    assert!(processes.iter().all(|process| is_alive(*process)));
    send(&job, Signal::TERM);
    let (code, said) = result(job);
    assert!(code == 130 && !said.contains("lost") && !said.contains("started again"), "{said}");
    wait_until_gone(&processes);
    wait_until_no_folder_is_left(&lab);
}

//! `run --managers N --hosts`: the managers of a job's space are on its machines, and one of them is killed.

use super::lab::Machines;
use super::{at, numbers};
use crate::tool::{LONG, text};
use quintet::{Code, Lab, LinkAddress, LinkConfig, template, tuple};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::time::Duration;

/// The processes that serve this manager of a space, at one of these places.
fn manager(number: &str, place: &str) -> Vec<Pid> {
    let of = |entry: fs::DirEntry| {
        let words = fs::read(entry.path().join("cmdline")).ok()?;
        let words: Vec<String> =
            words.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
        let serves = words.windows(2).any(|pair| pair[0] == "--manager" && pair[1] == number)
            && words.iter().any(|word| word.contains(place));
        serves.then(|| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)).flatten()
    };
    fs::read_dir("/proc").unwrap().filter_map(|entry| of(entry.unwrap())).collect()
}

#[test]
fn the_managers_of_a_job_are_on_its_machines_and_one_that_is_killed_is_named() {
    let lab = Machines::up(&["a", "b", "c"]);
    let worker = "quintet status --json >/dev/null && echo reached by $QUINTET_SPACE of $QUINTET_CLUSTER with $QUINTET_IDENTITY idle $$; exec sleep 1000";
    let tool = env!("CARGO_BIN_EXE_quintet");
    let master =
        format!("{tool} status --json >/dev/null && echo reached from here idle $$; exec sleep 1000");
    let (worker, master) = (at(&lab, "worker", worker), at(&lab, "master", &master));
    let words = [
        "run",
        "--set",
        "link.resume_window_ms=300",
        "--managers",
        "3",
        "--hosts",
        "b,c",
        "-n",
        "2",
        "--python",
        text(&worker),
        text(&master),
    ];
    let job = lab.command("a", &words);
    // Two elsewhere, and the master.
    numbers(&job, " idle ", 3);
    let said = job.output().text();
    assert!(said.contains("managers of the space: here, b, c"), "{said}");
    let there = said.lines().find(|line| line.contains("[worker 0 on b] reached by ")).unwrap();
    let words: Vec<&str> = there.split(' ').collect();
    let after = |word: &str| words[words.iter().position(|found| *found == word).unwrap() + 1];
    let (space, cluster) = (after("by").parse::<LinkAddress>().unwrap(), after("of").parse().unwrap());
    let space = quintet::identified(space, after("with"), &|_| None).unwrap();
    let link = LinkConfig { resume_window: Duration::from_millis(300), ..LinkConfig::default() };
    let own = Lab::connect_with(space.clone(), cluster, Duration::from_secs(10), link).unwrap().space();
    for key in 0..80i64 {
        own.out(tuple!["task", key, key]).unwrap();
        assert!(own.read_if(&template!["task", key, ?i64]).unwrap().is_some());
    }
    assert_eq!(own.count(&template!["task", ?i64, ?i64]).unwrap(), 80);
    let (second, third) = (manager("2", &space.to_string()), manager("3", &space.to_string()));
    assert!(!second.is_empty() && !third.is_empty());
    let waits = own.begin().take(&template!["wanted"]).unwrap();
    second.iter().for_each(|process| kill_process(*process, Signal::KILL).unwrap());
    let error = waits.finish().unwrap_err();
    assert!(
        error.code() == Code::PeerDied && error.text().contains("manager 2 of the 3 of this space, at tls:"),
        "{error}"
    );
    let gone = "quintet: manager 2 of the 3 of this space";
    job.output().wait_for(gone, LONG).unwrap_or_else(|| panic!("{}", job.output().text()));
    let (code, said) = crate::tool::result(job);
    assert_ne!(code, 0, "a job ends with its space: {said}");
    crate::tool::wait_until(|| manager("3", &space.to_string()).is_empty());
    assert!(said.contains("manager 3 on c"), "what it says is passed on: {said}");
}

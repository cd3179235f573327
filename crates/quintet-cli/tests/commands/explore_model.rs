//! `explore model`: what it finds is run again by the command that it prints.

use crate::simulate_run::wait_until_handled;
use crate::tool::{quintet, result, text};
use quintet_testbed::TempDir;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;

/// Every 10 ms a job of at most 14 ms; some seeds have two long ones behind each other early, and the end hides none.
const MODEL: &str = r#"
[model]
name = "jobs"
end = "50 ms"
[processor.cpu.instructions]
work = { uniform = { low = "1 ms", high = "14 ms" } }
[module.job]
on = "cpu"
every = "10 ms"
do = [{ execute = "work" }]
[check]
soon = "module.job.waiting.longest <= 5 ms"
"#;

#[test]
fn a_seed_is_found_and_runs_again_to_the_same_end() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("jobs.toml");
    fs::write(&file, MODEL).unwrap();
    let model = text(&file);
    let (status, said) = result(quintet(["explore", "model", model, "--seeds", "1000"]));
    assert_eq!(status, 1, "{said}");
    assert!(said.contains("soon: module.job.waiting.longest <= 5 ms: found "), "{said}");
    let again = said.lines().last().expect("the command").trim();
    let (_, rest) = again.split_once("--first-seed ").expect(again);
    let (seed, end) = rest.split_once(" --end ").expect(again);
    let end = end.trim_matches('\'');
    let run = ["simulate", "run", model, "--seeds", "1", "--first-seed", seed, "--end", end];
    let (status, again) = result(quintet(run));
    assert_eq!(status, 1, "{again}");
    assert!(again.contains("BROKEN: soon: module.job.waiting.longest <= 5 ms: found "), "{again}");
    let (status, said) = result(quintet(["explore", "model", model, "--seed", seed, "--json"]));
    assert_eq!(status, 1, "{said}");
    let object: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((object["runs"].as_u64(), object["failure"]["seed"].to_string().as_str()), (Some(1), seed));
    let shortest = object["failure"]["shortest_end_s"].as_f64().expect("it is shorter");
    assert_eq!(format!("{shortest} s"), end);
}

#[test]
fn what_nothing_breaks_exits_with_success_and_what_states_nothing_is_refused() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("jobs.toml");
    let model = text(&file);
    fs::write(&file, MODEL.replace("5 ms\"\n", "5 min\"\n")).unwrap();
    let (status, said) = result(quintet(["explore", "model", model, "--seeds", "70"]));
    assert_eq!((status, said.trim()), (0, "70 runs, no statement broken"));
    let (status, said) = result(quintet(["explore", "model", model, "--seed", "3"]));
    assert_eq!((status, said.trim()), (0, "1 run, no statement broken"));
    fs::write(&file, MODEL.split("[check]").next().unwrap_or_default()).unwrap();
    let (status, said) = result(quintet(["explore", "model", model]));
    assert!(status != 0 && said.contains("[check]"), "{status} {said}");
    assert_eq!(result(quintet(["explore", "model"])).0, 64);
    assert_eq!(result(quintet(["explore", "tuple-space", model])).0, 65);
}

#[test]
fn a_parameter_has_another_value_and_keeps_it_in_the_command_that_runs_it_again() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("jobs.toml");
    let least = MODEL.replace("low = \"1 ms\"", "low = \"least_ms * 1 ms\"");
    fs::write(&file, least.replace("[processor", "[parameters]\nleast_ms = 1\n[processor")).unwrap();
    let model = text(&file);
    let explore = |set: &str| result(quintet(["explore", "model", model, "--seed", "7", "--set", set]));
    // A second job that takes 13 ms at least has the third wait for 6 ms.
    let (status, said) = explore("least_ms=13");
    assert_eq!(status, 1, "{said}");
    let again = said.lines().last().expect("the command").trim();
    assert!(again.contains(" --set least_ms=13 --seeds 1 --first-seed 7"), "{again}");
    let words: Vec<&str> = again.split_whitespace().map(|word| word.trim_matches('\'')).skip(1).collect();
    let (end, words) = words.split_last_chunk::<2>().map(|(words, end)| (end.join(" "), words)).unwrap();
    let (status, said) = result(quintet(words.iter().copied().chain([end.as_str()])));
    assert!(status == 1 && said.contains("BROKEN: soon: "), "{status} {said}");
    let (status, said) = explore("most_ms=13");
    assert!(status == 65 && said.contains("no parameter most_ms"), "{status} {said}");
    assert_eq!(result(quintet(["explore", "--seeds", "1", "--set", "least_ms=1"])).0, 64);
}

#[test]
fn an_interrupted_search_says_how_far_it_came() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("jobs.toml");
    fs::write(&file, MODEL.replace("5 ms\"\n", "5 min\"\n")).unwrap();
    for (search, said_of) in [
        (&["explore", "model", text(&file), "--seeds", "1000000000"][..], "of 1000000000 runs were made"),
        (&["explore", "--seeds", "1000000000"][..], "of 1000000000 schedules were run"),
    ] {
        let child = quintet(search.iter().copied());
        wait_until_handled(child.id());
        kill_process(Pid::from_raw(child.id() as i32).unwrap(), Signal::INT).unwrap();
        let (status, said) = result(child);
        assert!(status == 130 && said.contains(said_of), "{status} {said}");
    }
}

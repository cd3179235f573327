//! `explore model`: what it finds is run again by the command that it prints.

use crate::tool::{quintet, result, text};
use quintet_testbed::TempDir;
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
    assert_eq!(status, 0, "{again}");
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

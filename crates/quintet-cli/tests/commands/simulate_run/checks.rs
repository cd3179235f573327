//! Statements of `[check]` that runs break: told in every form, and by the exit status.

use crate::tool::{quintet, result, text};
use quintet_testbed::TempDir;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

/// Every 10 ms a job of so many milliseconds: the second waits for what the first takes longer than that.
const MODEL: &str = r#"
[model]
name = "jobs"
end = "15 ms"
[parameters]
job_ms = 12
[processor.cpu.instructions]
work = "job_ms * 1 ms"
[module.job]
on = "cpu"
every = "10 ms"
do = [{ execute = "work" }]
[check]
short = "module.job.response.longest <= job_ms * 1 ms"
soon = "module.job.waiting.longest <= 1 ms"
"#;

fn model(folder: &TempDir) -> PathBuf {
    let file = folder.join("jobs.toml");
    fs::write(&file, MODEL).unwrap();
    file
}

fn run(file: &str, more: &[&str]) -> (i32, String) {
    result(quintet(["simulate", "run", file, "--seeds", "2"].iter().chain(more).copied()))
}

#[test]
fn a_table_names_what_is_broken_for_each_value_that_is_swept() {
    let folder = TempDir::new().unwrap();
    let file = model(&folder);
    let (status, said) = run(text(&file), &[]);
    assert!(status == 1 && said.contains("BROKEN: soon: "), "{status} {said}");
    let (status, said) = run(text(&file), &["--sweep", "job_ms=11,12,14"]);
    let broken: Vec<&str> = said.lines().filter(|line| line.starts_with("BROKEN: ")).collect();
    let expected = [(12, "0.002 s"), (14, "0.004 s")].map(|(job_ms, found)| {
        format!(
            "BROKEN: job_ms = {job_ms}: soon: module.job.waiting.longest <= 1 ms: found {found} and 0.001 s with seed 0; in 2 of 2 runs"
        )
    });
    assert_eq!((status, broken), (1, expected.iter().map(String::as_str).collect()), "{said}");
    let (status, said) = run(text(&file), &["--sweep", "job_ms=10,11"]);
    assert!(status == 0 && !said.contains("BROKEN"), "{status} {said}");
}

#[test]
fn an_object_names_what_is_broken() {
    let folder = TempDir::new().unwrap();
    let file = model(&folder);
    let (status, said) = run(text(&file), &["--json", "--sweep", "job_ms=11,12"]);
    let objects: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let broken: Vec<&Value> = objects.iter().filter(|object| object["check"].is_string()).collect();
    let [broken] = broken[..] else { panic!("{said}") };
    assert_eq!(status, 1);
    for (key, value) in [
        ("check", Value::from("soon")),
        ("statement", "module.job.waiting.longest <= 1 ms".into()),
        ("found", "0.002 s and 0.001 s".into()),
        ("seed", 0.into()),
        ("broken_runs", 2.into()),
        ("runs", 2.into()),
    ] {
        assert_eq!(broken[key], value, "{key}: {broken}");
    }
    assert_eq!(broken["parameters"]["job_ms"], 12.0);
    assert_eq!(run(text(&file), &["--json", "--set", "job_ms=9"]).0, 0);
}

//! `simulate run`: what it says of a model that can be computed by hand, and of what goes wrong.

mod checks;
mod files;
mod trace;

use crate::tool::{LONG, quintet, result, text};
use quintet_testbed::{Program, TempDir};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

/// Every 10 ms a job of 3 ms, which sends 1000 bytes twice over a bus of 1 MB/s, for 100 ms.
const MODEL: &str = r#"
[model]
name = "jobs & <messages>"
end = "99 ms"

[parameters]
job_ms = 3
bytes = 1000

[processor.cpu.instructions]
work = "job_ms * 1 ms"

[processor.sink]

[device.bus]
kind = "bus"
stations = ["cpu", "sink"]
rate = "1 MB/s"

[module.job]
on = "cpu"
every = "10 ms"
do = [{ execute = "work" }, { send = "data", to = "take", bytes = "bytes * 1 B", through = "bus", times = 2 }]

[module.take]
on = "sink"
waits_for = { data = 1 }

[measure.taken]
throughput = { of = "take", bytes = "bytes * 1 B" }
"#;

/// Nothing takes time once the drawn times are rounded, which is seen only when it runs.
const STANDS_STILL: &str = r#"
[model]
name = "still"
[processor.cpu.instructions]
step = { uniform = { low = "0 ps", high = "0.4 ps" } }
[module.first]
on = "cpu"
start = "1 ms"
[module.again]
on = "cpu"
after_any = ["first", "again"]
do = [{ execute = "step" }]
"#;

const KEYS: [&str; 11] = [
    "confidence",
    "cut_short",
    "element",
    "half_width",
    "kind",
    "mean",
    "parameters",
    "quantity",
    "runs",
    "unit",
    "what",
];

fn written(folder: &TempDir, lines: &str) -> PathBuf {
    let path = folder.join("model.toml");
    fs::write(&path, lines).unwrap();
    path
}

fn model(folder: &TempDir) -> PathBuf {
    written(folder, MODEL)
}

/// `quintet simulate run` with these arguments: its exit status and all that it said.
fn simulate(arguments: &[&str]) -> (i32, String) {
    let program = Program::new(env!("CARGO_BIN_EXE_quintet")).arg("simulate").arg("run");
    let program = arguments.iter().fold(program, |program, argument| program.arg(argument));
    result(program.spawn().expect("the program starts"))
}

fn example(name: &str) -> String {
    format!("{}/../../models/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn objects(said: &str) -> Vec<Value> {
    let parse = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    said.lines().map(parse).collect()
}

#[test]
fn an_example_is_shown_by_kind_with_intervals() {
    let (status, said) = simulate(&[&example("mm1.toml"), "--seeds", "3", "--end", "25 s"]);
    assert_eq!(status, 0, "{said}");
    let at = |what: &str| said.find(what).unwrap_or_else(|| panic!("{what} is not in {said}"));
    let order = ["M/M/1: 3 runs of seeds 0 to 2", "processors\n", "modules\n", "measures\n"].map(at);
    assert!(order.is_sorted(), "{said}");
    let served: Vec<&str> = said[order[3]..].lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!((served[0], served[1], served[4], served[5]), ("served", "rate", "1/s", "3"), "{said}");
    let [mean, half_width] = [served[2], served[3]].map(|number| number.parse::<f64>().unwrap());
    assert!((40.0..120.0).contains(&mean) && half_width > 0.0, "{said}");
}

#[test]
fn an_object_a_quantity_has_the_promised_keys() {
    let folder = TempDir::new().unwrap();
    let model = model(&folder);
    let (status, said) = simulate(&[text(&model), "--seeds", "2", "--set", "job_ms=5", "--json"]);
    assert_eq!(status, 0, "{said}");
    let objects = objects(&said);
    for object in &objects {
        assert_eq!(object.as_object().unwrap().keys().collect::<Vec<_>>(), KEYS);
    }
    let cpu = objects.iter().find(|object| object["quantity"] == "processor.cpu.utilisation").unwrap();
    let facts = ["kind", "element", "what", "unit"].map(|key| cpu[key].as_str().unwrap());
    assert_eq!(facts, ["processor", "cpu", "utilisation", "share"]);
    assert_eq!(cpu["runs"], 2);
    assert!((cpu["mean"].as_f64().unwrap() - 50.0 / 99.0).abs() < 1e-9, "{cpu}");
    let taken = objects.last().unwrap();
    assert_eq!((&taken["quantity"], &taken["unit"]), (&"measure.taken".into(), &"B/s".into()));
    let (_, one) = simulate(&[text(&model), "--seeds", "1", "--sweep", "bytes=4", "--json"]);
    let first = &self::objects(&one)[0];
    assert_eq!((&first["half_width"], &first["parameters"]["bytes"]), (&Value::Null, &4.0.into()));
}

#[test]
fn what_is_wrong_is_told_before_anything_runs() {
    let folder = TempDir::new().unwrap();
    let model = model(&folder);
    let model = text(&model);
    let wrong: [(&[&str], i32, &str); 8] = [
        (&[model, "--set", "job_m=3"], 65, "there is no parameter job_m; did you mean job_ms?"),
        (&[model, "--sweep", "job_m=3,4"], 65, "there is no parameter job_m; did you mean job_ms?"),
        (&[model, "--set", "bytes=3", "--sweep", "bytes=4,5"], 65, "the parameter bytes is given twice"),
        (&["/nonexistent/model.toml"], 65, "cannot be read"),
        (&[model, "--end", "3 B"], 64, "expected a time"),
        (&[model, "--confidence", "95"], 64, "between 0 and 1"),
        (&[model, "--plot", "x.svg"], 64, "--sweep"),
        (&[model, "--set", "job_ms=-1"], 65, "model.toml, line"),
    ];
    for (arguments, expected, part) in wrong {
        let (status, said) = simulate(arguments);
        assert_eq!(status, expected, "{said}");
        assert!(said.contains(part) && !said.contains("utilisation"), "{part:?} is not what it said: {said}");
    }
}

#[test]
fn a_model_that_stands_still_says_where() {
    let folder = TempDir::new().unwrap();
    let model = written(&folder, STANDS_STILL);
    let (status, said) = simulate(&[text(&model), "--seeds", "1"]);
    assert_eq!(status, 65, "{said}");
    for part in ["NOT TO THE END: 1 run", "time stands still at 1.000 ms", "module again"] {
        assert!(said.contains(part), "{part:?} is not in {said}");
    }
}

#[test]
fn a_run_that_its_limit_ended_says_so() {
    let folder = TempDir::new().unwrap();
    let model = model(&folder);
    let (status, said) = simulate(&[text(&model), "--seeds", "2", "--limit", "20", "--json"]);
    assert_eq!(status, 4, "{said}");
    let objects: Vec<Value> = said.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let (last, results) = objects.split_last().unwrap();
    assert!(last["text"].as_str().unwrap().contains("2 of 2 runs ended at the limit of events"), "{said}");
    assert!(!results.is_empty() && results.iter().all(|object| object["cut_short"] == 2), "{said}");
}

#[test]
fn a_model_without_an_end_stops_at_its_limit_and_says_so() {
    let folder = TempDir::new().unwrap();
    let endless = "[model]\nname = \"endless\"\nevent_limit = 500\n[processor.cpu]\n\
                   [module.tick]\non = \"cpu\"\nevery = \"1 ms\"\n";
    let model = written(&folder, endless);
    let (status, said) = simulate(&[text(&model), "--seeds", "1"]);
    assert_eq!(status, 4, "{said}");
    for part in [
        "NOT TO THE END: 1 run",
        "a run stopped at its limit before its end",
        "1 of 1 runs ended at the limit of events",
        "the model has no end: --end and end give it one",
    ] {
        assert!(said.contains(part), "{part:?} is not in {said}");
    }
    let (status, said) = simulate(&[text(&model), "--seeds", "1", "--end", "100 ms"]);
    assert_eq!(status, 0, "{said}");
}

#[test]
fn the_size_of_a_group_can_be_swept() {
    let ring = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/fddi.toml");
    let sweep = [ring, "--seeds", "1", "--end", "0.6 s", "--sweep", "stations=2,11"];
    let (status, said) = simulate(&sweep);
    assert_eq!(status, 0, "{said}");
    assert!(said.contains("  station ") && !said.contains("station-1"), "a group is one: {said}");
    let (status, said) = simulate(&[&sweep[..], &["--elements"]].concat());
    assert_eq!(status, 0, "{said}");
    let place = |name: &str| said.lines().position(|line| line.trim_start().starts_with(name));
    let places = ["station ", "station-1 ", "station-2 ", "station-10 ", "station-11 "].map(place);
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?} in {said}");
}

/// Waits until a process handles signals. A handler is in place a moment before it tells anybody; a signal in between is lost.
pub(crate) fn wait_until_handled(process: u32) {
    let limit = std::time::Instant::now() + LONG;
    let is_told = |task: fs::DirEntry| {
        fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name == "signals\n")
    };
    while !fs::read_dir(format!("/proc/{process}/task")).unwrap().flatten().any(is_told) {
        assert!(std::time::Instant::now() < limit, "signals are never handled");
        std::thread::yield_now();
    }
}

#[test]
fn an_interrupted_run_shows_what_it_has() {
    let folder = TempDir::new().unwrap();
    let (model, csv) = (model(&folder), folder.join("part.csv"));
    let arguments =
        ["simulate", "run", text(&model), "--seeds", "10000", "--end", "1000 s", "--csv", text(&csv)];
    let child = quintet(arguments);
    wait_until_handled(child.id());
    kill_process(Pid::from_raw(child.id() as i32).unwrap(), Signal::INT).unwrap();
    let (status, said) = result(child);
    assert_eq!(status, 130, "{said}");
    assert!(said.contains("of 10000 runs were made"), "{said}");
    assert!(fs::read_to_string(&csv).unwrap().starts_with("quantity,unit,mean"));
}

#[test]
fn messages_that_waited_for_a_devices_window_are_told() {
    let folder = TempDir::new().unwrap();
    let file = folder.join("m.toml");
    let with = |window: &str| {
        let rate = format!("rate = \"1 MB/s\"\nwindow = {window}");
        fs::write(&file, MODEL.replace("rate = \"1 MB/s\"", &rate)).unwrap();
        result(quintet(["simulate", "run", text(&file)]))
    };
    let (status, said) = with("1");
    assert!(
        status == 0 && said.contains("BLOCKED: 100 messages waited at their senders until device bus"),
        "{said}"
    );
    let (status, said) = with("2");
    assert!(status == 0 && !said.contains("BLOCKED"), "{said}");
    let (status, said) = with("0");
    assert!(
        status == 65 && said.contains("device.bus.window: found \"0\", expected a whole number, at least 1"),
        "{said}"
    );
}

//! `[check]`: which statements a run breaks, and the search for a seed and the shortest run that does.

use quintet_model::{Model, ModelError, RunResult, Search, Violation};
use std::sync::atomic::AtomicBool;

/// Every 10 ms a job of 15 ms: it is due at 0, 10, 20 and 30 ms and starts at 0, 15, 30 and 45 ms.
const SLOW: &str = r#"
[model]
name = "slow"
[parameters]
jobs = 4
[processor.cpu.instructions]
tick = "15 ms"
[module.one]
on = "cpu"
every = "10 ms"
limit = "jobs"
do = [{ execute = "tick" }]
[measure.way]
time = { from = "one.start", to = "one.end" }
"#;

fn slow(statement: &str) -> Result<Model, ModelError> {
    Model::from_str(&format!("{SLOW}[check]\nstated = \"{statement}\"\n"), "slow.toml")
}

/// What the one run of it has instead of what is stated; none if it keeps it.
fn broken(statement: &str) -> Option<String> {
    let model = slow(statement).unwrap_or_else(|error| panic!("{error}"));
    let run = model.run(0).unwrap_or_else(|error| panic!("{error}"));
    let mut violations = violations(&model, run);
    assert!(violations.len() < 2);
    violations.pop().map(|violation| violation.found)
}

fn violations(model: &Model, run: RunResult) -> Vec<Violation> {
    let found = model.violations(&[run]).unwrap_or_else(|error| panic!("{error}"));
    found.into_iter().map(|(_, violation)| violation).collect()
}

fn search(model: &Model, seeds: u64) -> Search {
    let never = AtomicBool::new(false);
    model.search(0..seeds, &never, &mut |_| {}).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn statements_hold_or_are_broken_as_computed_by_hand() {
    for kept in [
        "module.one.waiting.longest <= 15 ms",
        "module.one.waiting.longest == 15 ms",
        "module.one.waiting < module.one.response",
        "module.one.activations == jobs",
        "jobs * 15 ms > module.one.response.longest",
        "processor.cpu.lost == 0",
        "processor.cpu.utilisation >= 0.99",
        "measure.way.longest <= 15 ms",
        "1 / module.one.interval < 67 Hz",
        "min(module.one.queue, 1) != 1",
        " ended  by itself ",
    ] {
        assert_eq!(broken(kept), None, "{kept}");
    }
    for (statement, found) in [
        ("module.one.waiting.longest < 15 ms", "0.015 s and 0.015 s"),
        ("module.one.activations - 1 == jobs", "3 and 4"),
        ("module.one.activations >= jobs + 1", "4 and 5"),
        ("module.one.activations > jobs", "4 and 4"),
        ("module.one.activations != jobs", "4 and 4"),
        ("module.one.waiting.longest <= 14 ms", "0.015 s and 0.014 s"),
    ] {
        assert_eq!(broken(statement).as_deref(), Some(found), "{statement}");
    }
}

#[test]
fn what_never_happened_breaks_nothing() {
    let model = slow("module.one.waiting.longest < 0 s").unwrap_or_else(|error| panic!("{error}"));
    let model = model.with("warm_up", "1 s").with("end", "2 s");
    let run = model.run(0).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(violations(&model, run), []);
}

#[test]
fn a_run_at_its_limit_of_events_did_not_end_by_itself() {
    let model = slow("ended by itself").unwrap_or_else(|error| panic!("{error}")).with("event_limit", "5");
    let found = search(&model, 1).finding.expect("it is cut short");
    assert_eq!(found.violations[0].found, "the limit of events was reached");
    assert_eq!(found.shortest, None);
}

#[test]
fn what_is_wrong_with_a_statement_is_said_with_its_line() {
    let line = SLOW.lines().count() + 2;
    for (statement, part) in [
        ("module.one.waiting.longst <= 1 s", "did you mean module.one.waiting.longest?"),
        ("module.two.waiting <= 1 s", "module.two.waiting"),
        ("module.one.activations.longest < 1", "module.one.activations.longest"),
        ("module.one.waiting", "one of < <="),
        ("0 s < module.one.waiting < 1 s", "one of < <="),
        ("module.one.waiting = 1 s", "one of < <="),
        ("module.one.waiting <= 1", "a time"),
        ("module.one.waiting <= 1 B", "a time"),
        ("module.one.activations == job", "did you mean jobs?"),
        ("module.one.activations ==", "the text ends"),
        ("", "one of < <="),
    ] {
        let error = slow(statement).expect_err(statement).to_string();
        assert!(error.contains(part), "{statement}: {error}");
        assert!(error.contains(&format!("slow.toml, line {line}, check.stated")), "{statement}: {error}");
    }
}

#[test]
fn the_first_seed_is_found_and_its_shortest_run_breaks_the_same_and_a_shorter_one_does_not() {
    let text = include_str!("../../../../models/clinic.toml");
    let model = Model::from_str(text, "clinic.toml").unwrap_or_else(|error| panic!("{error}"));
    let found = search(&model, 1_000);
    let finding = found.finding.expect("some day is long");
    assert_eq!(finding.violations.len(), 1);
    assert_eq!(found.runs, finding.seed + 1);
    // It is the first.
    assert_eq!(search(&model, finding.seed), Search { runs: finding.seed, finding: None });
    let (end, violation) = finding.shortest.expect("half a day is enough");
    assert!(end < finding.simulated);
    assert_eq!(violation.check, "nobody_waits_long");
    let ending = |seconds: f64| {
        let model = model.clone().with("end", format!("{seconds} s"));
        let run = model.run(finding.seed).unwrap_or_else(|error| panic!("{error}"));
        violations(&model, run)
    };
    let broken_at = |seconds| ending(seconds).iter().any(|broken| broken.check == "nobody_waits_long");
    assert!(broken_at(end.as_seconds()));
    assert!(!broken_at(0.999 * end.as_seconds()));
}

#[test]
fn groups_and_their_elements_are_named_as_in_results() {
    let text = r#"
[model]
name = "three"
[processor.cpu]
count = 3
[processor.cpu.instructions]
tick = "1 ms"
[module.one]
on = "cpu"
every = "2 ms"
limit = 5
do = [{ execute = "tick" }]
[check]
together = "module.one.activations == 15"
each = "module.one-3.activations - 5 == 0"
none = "module.one.waiting.longest == 0 s"
"#;
    let model = Model::from_str(text, "three.toml").unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(search(&model, 3), Search { runs: 3, finding: None });
    let wrong = text.replace("one-3.", "one-4.");
    assert!(Model::from_str(&wrong, "three.toml").is_err());
}

/// Two packets a message, over two links, and each message uses a pool and is a request.
const SHARED: &str = r#"
[model]
name = "shared"
[processor.client]
count = 2
[processor.server]
[network.lan]
packet = "1 kB"
rate = "8 Mb/s"
[network.lan.switch.hub]
[network.lan.link.desk]
between = ["client", "hub"]
[network.lan.link.up]
between = ["hub", "server"]
[device.wire]
kind = "link"
stations = ["client", "server"]
[pool.disks]
servers = 2
[module.load]
on = "client"
start = "0 s"
do = [{ ask = "question", to = "answer", bytes = "2 kB", through = "lan", timeout = "1 s" }]
[module.answer]
on = "server"
waits_for = { question = 1 }
do = [{ use = "disks", time = "10 ms" }, { reply = "page", through = "wire" }]
[measure.pages]
request = { of = "load" }
[measure.loads]
throughput = { of = "load" }
"#;

fn shared(statement: &str) -> Result<Model, ModelError> {
    Model::from_str(&format!("{SHARED}[check]\nstated = \"{statement}\"\n"), "shared.toml")
}

#[test]
fn statements_name_ports_pools_and_requests() {
    let broken = |statement: &str| {
        let model = shared(statement).unwrap_or_else(|error| panic!("{error}"));
        let run = model.run(0).unwrap_or_else(|error| panic!("{error}"));
        violations(&model, run).len()
    };
    for (kept, otherwise) in [
        ("port.lan.hub.up.packets == 4", "port.lan.hub.up.packets == 3"),
        ("port.lan.client.desk.bytes == 4 kB", "port.lan.client.desk.bytes == 2 kB"),
        ("port.lan.client-2.desk-2.packets == 2", "port.lan.client-2.desk-2.packets == 4"),
        ("pool.disks.uses == 2", "pool.disks.uses != 2"),
        ("pool.disks.waiting == 0 s", "pool.disks.waiting > 0 s"),
        ("pool.disks.longest_queue < 2", "pool.disks.longest_queue > 1"),
        ("measure.pages.count == 2", "measure.pages.count == 1"),
        ("measure.pages.late == 0", "measure.pages.late == 1"),
        ("measure.pages.longest > measure.pages", "measure.pages.longest <= measure.pages"),
        ("measure.pages.p90 <= measure.pages.longest", "measure.pages.p90 < 10 ms"),
    ] {
        assert_eq!((broken(kept), broken(otherwise)), (0, 1), "{kept}");
    }
    // What no run can have would hold whatever happens.
    for (none, nearest) in [
        ("device.disks.dropped == 0", ""),
        ("device.wire.dropped == 0", ""),
        ("measure.loads.median < 1 s", ""),
        ("pool.disk.uses == 2", "pool.disks.uses"),
    ] {
        let error =
            shared(none).and_then(|model| model.run(0)).expect_err("there is no such quantity").to_string();
        assert!(error.contains(nearest), "{error}");
    }
}

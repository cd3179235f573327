use crate::{Cluster, Copying, Job};
use proptest::prelude::*;

const MACHINES: &str = "[machine.a]\ncores = 2\n[network]\nrate = \"1 Gb/s\"\n";
const JOB: &str = "[job]\ntasks = 3\ncompute = \"1 ms\"\n[place]\nspace = \"a\"\n";

/// What is said of machines, or of a job, with `old` replaced.
fn said(text: &str, old: &str, new: &str) -> String {
    assert!(text.contains(old), "{old} is not in: {text}");
    let text = text.replace(old, new);
    let error = if text.contains("[machine") {
        Cluster::from_str(&text, "f").map(|_| ()).err()
    } else {
        Job::from_str(&text, "f").map(|_| ()).err()
    };
    error.map_or_else(|| "nothing".to_owned(), |error| error.to_string())
}

#[test]
fn the_shortest_files_are_good() {
    assert_eq!(said(MACHINES, "2", "2"), "nothing");
    assert_eq!(said(JOB, "3", "3"), "nothing");
}

#[test]
fn empty_tables_say_what_missing_ones_say() {
    let (without, with) = (MACHINES.to_owned(), format!("{MACHINES}[memory]\n[costs]\n"));
    let [without, with] = [without, with].map(|text| Cluster::from_str(&text, "f").unwrap());
    assert_eq!(without.link_latency, with.link_latency);
    let numbers = |of: &Cluster| {
        let it = &of.costs;
        let copying = it.copying.each_byte(1 << 10);
        let work = [it.call, it.matching, it.storing, it.sending, it.receiving, copying];
        let waiting = [it.patience, it.waking, it.deep_waking];
        work.into_iter().chain(waiting).map(|seconds| format!("{seconds:.9e}")).collect::<Vec<_>>()
    };
    assert_eq!(numbers(&without), numbers(&with));
}

#[test]
fn copying_has_one_rate_or_one_for_each_size() {
    let of = |copy: &str| {
        let cluster = Cluster::from_str(&format!("{MACHINES}[costs]\ncopy = {copy}\n"), "f").unwrap();
        cluster.costs.copying
    };
    assert_eq!(of("\"8 GB/s\""), Copying::at_rate(8e9));
    let sizes = of("[[\"1 KiB\", \"2 GB/s\"], [\"1000 KiB\", \"8 GB/s\"]]");
    assert_eq!(sizes, Copying::by_size([(1 << 10, 1024.0 / 2e9), (1000 << 10, 1_024_000.0 / 8e9)]));
}

#[test]
fn every_mistake_is_told_with_its_line_and_what_was_expected() {
    let cases = [
        (MACHINES, "cores", "coers", "f, line 2, machine.a.coers: there is no such key; did you mean cores?"),
        (
            MACHINES,
            "[network]",
            "[netwrok]",
            "f, line 3, netwrok: there is no such key; did you mean network?",
        ),
        (MACHINES, "1 Gb/s", "1", "line 4, network.rate: \"1\" has no unit, expected a data rate"),
        (MACHINES, "1 Gb/s", "1 ms", "line 4, network.rate: \"1 ms\" is a time, expected a data rate"),
        (MACHINES, "1 Gb/s", "0 b/s", "line 4, network.rate: found \"0 b/s\", expected a data rate, from 1"),
        (
            MACHINES,
            "cores = 2",
            "cores = 2.5",
            "line 2, machine.a.cores: found \"2.5\", expected a whole number",
        ),
        (MACHINES, "cores = 2", "", "line 1, machine.a.cores: is missing, expected a whole number"),
        (
            MACHINES,
            "cores = 2",
            "cores = true",
            "line 2, machine.a.cores: found true or false, expected a whole",
        ),
        (
            MACHINES,
            "rate =",
            "kind = \"ring\"\nrate =",
            "network.kind: found \"ring\", expected \"switch\" or \"bus\"",
        ),
        (MACHINES, "cores = 2", "cores =", "f, line 2, not TOML"),
        (MACHINES, "[network]", "[costs]\ncopy = true\n[network]", "line 4, costs.copy: found true or false"),
        (
            MACHINES,
            "[network]",
            "[costs]\ncopy = \"1 B/s\"\n[network]",
            "costs.copy: found \"1 B/s\", expected",
        ),
        (
            MACHINES,
            "[network]",
            "[costs]\ncopy = []\n[network]",
            "costs.copy: found no sizes, expected at least one",
        ),
        (
            MACHINES,
            "[network]",
            "[costs]\ncopy = [\"1 GB/s\"]\n[network]",
            "costs.copy: found text, expected a size and a data rate",
        ),
        (
            MACHINES,
            "[network]",
            "[costs]\ncopy = [[\"1 KiB\"]]\n[network]",
            "costs.copy: found a list of 1, expected a size and",
        ),
        (
            MACHINES,
            "[network]",
            "[costs]\ncopy = [[\"1 GB/s\", \"1 KiB\"]]\n[network]",
            "costs.copy: \"1 GB/s\" is a data rate, expected an amount of data",
        ),
        (
            MACHINES,
            "[network]",
            "[costs]\ncopy = [[\"2 KiB\", \"1 GB/s\"], [\"1 KiB\", \"1 GB/s\"]]\n[network]",
            "costs.copy: found sizes in another order",
        ),
        (
            MACHINES,
            "[network]",
            "[costs]\ncopy = [[\"1 KiB\", \"1 GB/s\"], [\"2 KiB\", \"9 GB/s\"]]\n[network]",
            "costs.copy: found a larger size that takes less time",
        ),
        (JOB, "tasks = 3", "", "f, line 1, job.tasks: is missing"),
        (
            JOB,
            "\"1 ms\"",
            "{ exponentail = { mean = \"1 s\" } }",
            "there is no distribution exponentail; did you mean exponential?",
        ),
        (
            JOB,
            "\"1 ms\"",
            "{ exponential = { maen = \"1 s\" } }",
            "job.compute.exponential.maen: there is no such key; did you mean mean?",
        ),
        (
            JOB,
            "\"1 ms\"",
            "{ gamma = { shape = \"1 s\", scale = \"1 s\" } }",
            "job.compute.gamma.shape: \"1 s\" is a time",
        ),
        (
            JOB,
            "\"1 ms\"",
            "{ uniform = { low = \"2 s\", high = \"1 s\" } }",
            "job.compute: an impossible distribution",
        ),
        (JOB, "[place]", "[plaice]", "f, line 1, place: is missing"),
        (JOB, "\"a\"", "\"a\"\nworkers = \"a\"", "place.workers: found text, expected a list of names"),
        (JOB, "[place]", "[kill]\n[place]", "line 4, kill.at: is missing, expected a time"),
    ];
    for (text, old, new, expected) in cases {
        let said = said(text, old, new);
        assert!(said.contains(expected), "{old} -> {new}\nexpected: {expected}\nsaid: {said}");
    }
}

#[test]
fn all_mistakes_come_at_once_in_the_order_of_the_lines() {
    let error = Cluster::from_str("[machine.a]\ncores = 0\nspeed = \"1 s\"\n[cost]\n", "f").unwrap_err();
    let lines: Vec<_> = error.problems.iter().map(|problem| problem.line).collect();
    assert_eq!(lines, [Some(2), Some(3), Some(4)]);
}

proptest! {
    #[test]
    fn no_text_panics(text in "\\PC{0,80}", key in "[a-z_]{1,8}", value in "\\PC{0,20}") {
        let _ = Cluster::from_str(&text, "f");
        let _ = Job::from_str(&format!("[job]\n{key} = \"{value}\"\ncompute = {value}"), "f");
        let _ = Cluster::from_str(&format!("[machine.a]\n{key} = \"{value}\"\ncores = \"{value}\""), "f");
    }
}

//! `quintet run --hosts`: three agents on loopback, as three machines with homes of their own.

mod bad_network;
mod busy;
mod cut;
mod ending;
mod files;
mod kept_space;
mod kernels;
pub(crate) mod lab;
mod listening;
mod managers;
mod output;
mod philosophers;
mod redone;
mod traced;
mod where_allowed;

use crate::tool::{LONG, result, script, text, wait_until};
use lab::Machines;
use quintet_testbed::Child;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// A shell script at this path.
fn at(lab: &Machines, name: &str, lines: &str) -> PathBuf {
    script(&lab.room, name, lines)
}

/// What a job says in the end, with `--json`.
fn summary(said: &str) -> Value {
    let line = said.lines().rev().find(|line| line.starts_with('{')).unwrap_or_else(|| panic!("{said}"));
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {said}"))
}

/// The numbers at the ends of so many lines that contain this.
fn numbers(job: &Child, words: &str, count: usize) -> Vec<u32> {
    let mut numbers = Vec::new();
    while numbers.len() < count {
        let line =
            job.output().next_line(LONG).unwrap_or_else(|| panic!("more of them: {}", job.output().text()));
        let number: Option<u32> =
            line.contains(words).then(|| line.rsplit(' ').next()?.parse().ok()).flatten();
        numbers.extend(number);
    }
    numbers
}

#[test]
fn workers_run_where_they_are_planned_and_the_summary_says_where() {
    let lab = Machines::up(&["a", "b", "c"]);
    let worker = at(&lab, "worker", "echo rank $QUINTET_RANK; exit 0");
    let master = at(&lab, "master", "sleep 0.3");
    let words = ["run", "--json", "--hosts", "b,a,b,c", "-n", "5", "--python", text(&worker), text(&master)];
    let (code, said) = result(lab.command("a", &words));
    // Workers that are done before their master end the job, or it ends first.
    assert!([0, 69].contains(&code), "{said}");
    for line in
        ["[worker 0 on b] rank 0", "[worker 1] rank 1", "[worker 2 on c] rank 2", "[worker 3 on b] rank 3"]
    {
        assert!(said.lines().any(|said| said == line), "{line}: {said}");
    }
    let master = at(&lab, "master", "exit 7");
    let idle = at(&lab, "idle", "exec sleep 1000");
    let words = ["run", "--json", "--hosts", "b,a", "-n", "3", "--python", text(&idle), text(&master)];
    let (code, said) = result(lab.command("a", &words));
    let object = summary(&said);
    assert_eq!((code, &object["machines"]), (7, &serde_json::json!(["b", "a", "b"])), "{said}");
    assert_eq!(object["workers"][0], "signal 15", "{said}");
    let words = ["run", "--place", "cores", "--hosts", "b,c", "-n", "4", "--python", "./idle", text(&master)];
    let (code, said) = result(lab.program("a", &words).in_folder(lab.room.path()).spawn().unwrap());
    assert_eq!(code, 7, "{said}");
    for (rank, machine) in ["b", "c", "b", "c"].into_iter().enumerate() {
        assert!(said.contains(&format!("worker {rank} on {machine} signal 15")), "{said}");
    }
}

#[test]
fn names_are_those_of_the_cluster() {
    let lab = Machines::up(&["a", "b"]);
    let master = at(&lab, "master", "exit 3");
    let (code, said) = result(lab.command("a", &["run", "--hosts", "b,d", "-n", "1", text(&master)]));
    assert!(
        code == 65 && said.contains("no machine of the cluster is named \"d\": there are a, b"),
        "{said}"
    );
    let idle = at(&lab, "idle", "echo here in $PWD; exec sleep 1000");
    let words = ["run", "--hosts", "a", "-n", "1", "--python", text(&idle), text(&master)];
    assert_eq!(result(lab.command("a", &words)).0, 3);
    let (code, said) = result(lab.command("a", &["run", "--hosts", "b", "-n", "0", text(&master)]));
    assert!(code == 3 && said.contains("no workers"), "{said}");
}

#[test]
fn a_process_elsewhere_is_given_what_is_documented_and_nothing_else() {
    let lab = Machines::up(&["a", "b"]);
    let worker = at(
        &lab,
        "worker",
        "env | sed 's/^/given /'; ls -la | sed 's/^/lies here: /'; echo idle $$; read line && echo input; exec sleep 1000",
    );
    let master = at(&lab, "master", "echo \"master in $PWD with $OF_THE_COMMAND\"; exec sleep 1000");
    let words = ["run", "--hosts", "b,a", "-n", "2", "--python", text(&worker), text(&master)];
    let program = lab.program("a", &words).env("OF_THE_COMMAND", "a variable").in_folder(lab.room.path());
    let job = program.spawn().expect("it starts");
    numbers(&job, " idle ", 2);
    wait_until(|| job.output().text().contains("master in "));
    let said = job.output().text();
    let given = |prefix: &str| -> BTreeMap<String, String> {
        let lines = said
            .lines()
            .filter_map(|line| line.strip_prefix(prefix)?.strip_prefix(" given ")?.split_once('='));
        lines.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    };
    let there = given("[worker 0 on b]");
    // What the shell adds by itself is none of ours.
    let names: BTreeSet<&str> = there.keys().map(String::as_str).collect();
    let names = &names - &BTreeSet::from(["PWD", "OLDPWD", "SHLVL", "_"]);
    let documented = [
        "QUINTET_CLUSTER",
        "QUINTET_EVENTS",
        "QUINTET_IDENTITY",
        "QUINTET_JOB",
        "QUINTET_JOBS",
        "QUINTET_LEASE_MS",
        "QUINTET_LINK_KEEP_ALIVE_MS",
        "QUINTET_LINK_PACK",
        "QUINTET_LINK_RESUME_WINDOW_MS",
        "QUINTET_LINK_SILENCE_LIMIT_MS",
        "QUINTET_LINK_SPIN_US",
        "QUINTET_LINK_TWO_PACKETS",
        "QUINTET_LINK_WINDOW_BYTES",
        "QUINTET_LINK_WINDOW_FRAMES",
        "QUINTET_LISTEN",
        "QUINTET_RANK",
        "QUINTET_SPACE",
        "QUINTET_VERSION",
        "QUINTET_WORKERS",
        "PYTHONUNBUFFERED",
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
    ];
    let of_the_agent = BTreeSet::from(["PATH", "HOME", "LANG", "USER", "TMPDIR"]);
    assert_eq!(&names - &of_the_agent, BTreeSet::from(documented), "{said}");
    assert_eq!(there["QUINTET_IDENTITY"], text(&lab.folder("b")));
    assert!(there["PWD"].starts_with(text(&lab.folder("b").join("processes/jobs"))), "{said}");
    // Nothing but the folder itself and the one around it.
    assert_eq!(said.matches("[worker 0 on b] lies here: d").count(), 2, "{said}");
    let here = given("[worker 1]");
    assert_eq!(
        (here["OF_THE_COMMAND"].as_str(), &here["PWD"]),
        ("a variable", &text(lab.room.path()).to_owned())
    );
    assert!(said.contains(&format!("master in {} with a variable", text(lab.room.path()))), "{said}");
    assert!(!said.contains("] input"), "{said}");
}

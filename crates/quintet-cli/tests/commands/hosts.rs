//! `quintet run --hosts`: three agents on loopback, as three machines with homes of their own.

mod busy;
mod cut;
mod ending;
mod files;
pub(crate) mod lab;
mod output;
mod redone;
mod where_allowed;

use crate::tool::{LONG, result, script, text};
use lab::Machines;
use quintet_testbed::Child;
use serde_json::Value;
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

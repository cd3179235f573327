//! `run --hosts`: where a job's processes are reached by those on other machines.

use super::lab::Machines;
use super::{at, numbers};
use crate::tool::text;

#[test]
fn each_process_of_a_job_is_told_where_those_on_other_machines_reach_it() {
    let lab = Machines::up(&["a", "b"]);
    let says = "echo listens at $QUINTET_LISTEN as $QUINTET_IDENTITY idle $$; exec sleep 1000";
    let (worker, master) = (at(&lab, "worker", says), at(&lab, "master", says));
    let words = ["run", "--hosts", "a,b", "-n", "2", "--python", text(&worker), text(&master)];
    let job = lab.command("a", &words);
    numbers(&job, " idle ", 3);
    let said = job.output().text();
    for who in ["[worker 0] ", "[worker 1 on b] ", ""] {
        let is_told =
            |line: &str| line.starts_with(&format!("{who}listens at tls:")) && line.contains(":0 as /");
        assert!(said.lines().any(is_told), "{who:?}: {said}");
    }
    // Alone on its machine nobody else is to reach it.
    let words = ["run", "-n", "1", "--python", text(&worker), text(&master)];
    let job = lab.command("a", &words);
    numbers(&job, " idle ", 2);
    let said = job.output().text();
    assert!(said.contains("[worker 0] listens at as"), "{said}");
}

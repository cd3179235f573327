//! Who may start what on other machines, and what goes along.

use super::lab::Machines;
use super::{at, numbers};
use crate::tool::{result, text, wait_until, wait_until_gone};
use std::fs;

#[test]
fn a_machine_without_the_grant_is_told_what_to_do() {
    let lab = Machines::with_grants(&[("a", ""), ("b", "join"), ("c", "join,run")]);
    let idle = at(&lab, "idle", "ls; exec sleep 1000");
    let master = at(&lab, "master", "exit 4");
    let words = ["run", "--hosts", "a", "-n", "1", "--python", text(&idle), text(&master)];
    let (code, said) = result(lab.command("b", &words));
    assert!(
        code == 77 && said.contains("b, was let in without `run`") && said.contains("--allow join,run,code"),
        "{said}"
    );

    // With `run` alone no file travels, and workers that need none run.
    let script = lab.room.join("job.py");
    fs::write(&script, "").unwrap();
    let python = at(
        &lab,
        "python",
        "[ \"$1\" = -m ] || exec sleep 1000; echo files: $(ls); echo idle $$; exec sleep 1000",
    );
    let words = ["run", "--hosts", "a,b", "-n", "2", "--python", text(&python), text(&script)];
    let job = lab.command("c", &words);
    numbers(&job, "idle ", 2);
    let said = job.output().text();
    assert_eq!(said.matches("c, was let in without `code`, so no files are sent").count(), 1, "{said}");
    assert!(said.contains("[worker 0 on a] files:\n") && said.contains("[worker 1 on b] files:\n"), "{said}");
    drop(job);
    let words = ["run", "--hosts", "a", "-n", "1", "--worker", "program", text(&master)];
    let (code, said) = result(lab.command("c", &words));
    assert!(code == 77 && said.contains("without `code`, so the program cannot be sent"), "{said}");
}

#[test]
fn a_machine_that_is_removed_in_the_middle_loses_the_jobs_space() {
    let lab = Machines::up(&["a", "b", "c"]);
    let worker = at(
        &lab,
        "worker",
        "echo space $QUINTET_SPACE; echo cluster $QUINTET_CLUSTER; echo idle $$; exec sleep 1000",
    );
    let master = at(&lab, "master", "exec sleep 1000");
    let words = ["run", "--hosts", "b,c", "-n", "1", "--python", text(&worker), text(&master)];
    let job = lab.command("a", &words);
    let of_b = numbers(&job, "on b] idle ", 1);
    let said = job.output().text();
    let word = |name: &str| {
        let line = said.lines().find_map(|line| line.split_once(&format!("on b] {name} ")));
        line.expect("it is said").1.to_owned()
    };
    let (space, cluster) = (word("space"), word("cluster"));
    let status = ["status", "--json", "--space", &space, "--cluster-id", &cluster];
    // A member of the cluster reaches it.
    lab.does("b", &status);
    lab.does("a", &["leave", "b"]);
    wait_until_gone(&of_b);
    numbers(&job, "on c] idle ", 1);
    wait_until(|| {
        let (code, said) = result(lab.command("b", &status));
        code == 77 && said.contains("does not admit this one")
    });
    lab.does("c", &status);
}

#[test]
fn who_is_a_member_is_known_by_the_others_where_the_own_agent_has_ended() {
    // Three of them vote, so that two can remove the fourth.
    let mut lab = Machines::up(&["a", "b", "c", "d"]);
    let worker = at(
        &lab,
        "worker",
        "echo space $QUINTET_SPACE; echo cluster $QUINTET_CLUSTER; echo idle $$; exec sleep 1000",
    );
    let master = at(&lab, "master", "exec sleep 1000");
    let words = ["run", "--hosts", "b", "-n", "1", "--python", text(&worker), text(&master)];
    let job = lab.command("a", &words);
    numbers(&job, "on b] idle ", 1);
    let said = job.output().text();
    let word =
        |name: &str| said.lines().find_map(|line| line.split_once(&format!("on b] {name} "))).unwrap().1;
    let status = ["status", "--json", "--space", word("space"), "--cluster-id", word("cluster")];
    lab.does("d", &status);
    lab.kill("a");
    // Those who are left elect another leader first.
    wait_until(|| result(lab.command("b", &["leave", "d"])).0 == 0);
    wait_until(|| {
        let (code, said) = result(lab.command("d", &status));
        code == 77 && said.contains("does not admit this one")
    });
    lab.does("b", &status);
}

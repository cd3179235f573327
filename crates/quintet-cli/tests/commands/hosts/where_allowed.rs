//! Who may start what on other machines, and what goes along.

use super::lab::Machines;
use super::{at, numbers};
use crate::tool::{result, text};
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

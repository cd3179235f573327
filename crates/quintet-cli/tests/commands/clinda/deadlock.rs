//! A program whose processes all wait says so, and one for which something may still come says nothing.

use super::program;
use crate::tool::{LONG, result, start, text, wait_until};
use quintet::{Lab, ServeConfig, Server, Tuple, template, tuple};
use quintet_testbed::{Child, Program, TempDir};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Two evals wait for what nobody puts, and `real_main` for them.
const STUCK: &str = "int worker(int x);
int worker(int x)
{
    double d; if (x == 0) out(\"never\", 0, 0.5);
    in(\"never\", x, ?d);
    return x;
}
void real_main(void)
{
    eval(\"ended\", worker(1));
    eval(\"ended\", worker(2));
    in(\"ended\", 1);
    in(\"ended\", 2);
}
";
/// What it says: words of three lines.
const LINES: [[&str; 2]; 3] = [
    ["stuck.cl:12: in: real_main waits for (\"ended\", 1)", ", and nobody is left who could put it"],
    ["stuck.cl:5: in: the eval of ", "stuck.cl:10:5 waits for (\"never\", 1, ?f64), and nobody is left"],
    ["stuck.cl:5: in: the eval of ", "stuck.cl:11:5 waits for (\"never\", 2, ?f64), and nobody is left"],
];
/// A wait is looked at after so long, and again.
const PATIENCE: (&str, &str) = ("CLINDA_DEADLOCK_MS", "50");
/// Longer than many looks take.
const MANY_LOOKS: Duration = Duration::from_secs(1);

fn stuck(folder: &TempDir) -> PathBuf {
    program(folder, "stuck", STUCK)
}

/// Waits until it has said all, in any order.
fn wait_for_lines(child: &Child) {
    let is_said =
        |said: &str, words: &[&str]| said.lines().any(|line| words.iter().all(|one| line.contains(one)));
    wait_until(|| {
        let said = child.output().text();
        LINES.iter().all(|words| is_said(&said, words))
    });
}

/// A served space, and the program in it.
fn served(folder: &TempDir, stuck: &Path) -> (Server, PathBuf, Child) {
    let socket = folder.join("space");
    let server = Server::start(&socket, &ServeConfig::default()).unwrap();
    let program = Program::new(stuck).env("QUINTET_SPACE", &socket).env(PATIENCE.0, PATIENCE.1);
    (server, socket, program.spawn().unwrap())
}

fn put_what_is_missing(lab: &Lab) {
    for number in [1, 2] {
        lab.space().out(tuple!["never", number, 0.5]).unwrap();
    }
}

#[test]
fn a_program_of_which_all_processes_wait_says_who_waits_for_what_and_goes_on_waiting() {
    let folder = TempDir::new().unwrap();
    let (server, socket, child) = served(&folder, &stuck(&folder));
    wait_for_lines(&child);
    // Somebody else may come, and has what is missing.
    let lab = Lab::connect(&socket, 0, LONG).unwrap();
    put_what_is_missing(&lab);
    let (code, said) = result(child);
    assert!(code == 0 && said.matches("nobody is left").count() == 3, "{code}: {said}");
    server.stop().unwrap();
}

#[test]
fn a_job_and_a_program_alone_say_it_as_well() {
    let folder = TempDir::new().unwrap();
    let stuck = stuck(&folder);
    wait_for_lines(&start(["run", "-n", "2", text(&stuck)], &[PATIENCE]));
    // It has a space in its own process, where nobody else can come.
    let source = "void real_main(void)\n{\n    int n;\n    rd(\"n\", ?n);\n    out(\"n\", 1);\n}\n";
    let lonely = program(&folder, "lonely", source);
    let child = Program::new(lonely).env(PATIENCE.0, PATIENCE.1).spawn().unwrap();
    let words = "lonely.cl:4: rd: real_main waits for (\"n\", ?i32), and nobody is left";
    wait_until(|| child.output().text().contains(words));
}

/// Waits until both evals and `real_main` have waited for long, each for a tuple of its own.
fn wait_for_waits(lab: &Lab) {
    let is_long = |wanted: &str| {
        lab.space().waiting().flatten().any(|row| {
            let shown = format!("{:?}", row.template);
            shown.contains(wanted) && Duration::from(row.waited) >= MANY_LOOKS
        })
    };
    // Of the wait of real_main a part is over when it is first looked at.
    wait_until(|| is_long("never") && is_long("ended"));
}

#[test]
fn it_is_not_said_while_another_client_is_there_that_computes_or_waits_itself() {
    let folder = TempDir::new().unwrap();
    let stuck = stuck(&folder);
    let socket = folder.join("space");
    let server = Server::start(&socket, &ServeConfig::default()).unwrap();
    let lab = Lab::connect(&socket, 0, LONG).unwrap();
    let waiter = {
        let other = Lab::connect(&socket, 0, LONG).unwrap();
        std::thread::spawn(move || -> Tuple { other.space().take_within(&template!["other"], LONG).unwrap() })
    };
    let child = Program::new(&stuck).env("QUINTET_SPACE", &socket).env(PATIENCE.0, PATIENCE.1);
    let child = child.spawn().unwrap();
    wait_for_waits(&lab);
    put_what_is_missing(&lab);
    let said = result(child);
    assert_eq!(said, (0, String::new()));
    lab.space().out(tuple!["other"]).unwrap();
    waiter.join().unwrap();
    server.stop().unwrap();
}

#[test]
fn it_is_not_said_of_a_program_of_which_a_process_computes() {
    let folder = TempDir::new().unwrap();
    let source = "#include <unistd.h>\nint work(int x);\nint work(int x) { sleep(1); return x; }\nvoid real_main(void)\n{\n    eval(\"done\", work(1));\n    in(\"done\", ?int);\n}\n";
    let working = program(&folder, "working", source);
    for switch in [PATIENCE.1, "0"] {
        let child = Program::new(&working).env(PATIENCE.0, switch).spawn().unwrap();
        assert_eq!(result(child), (0, String::new()));
    }
    let child = Program::new(&working).env(PATIENCE.0, "soon").spawn().unwrap();
    let (code, said) = result(child);
    assert!(code != 0 && said.contains("CLINDA_DEADLOCK_MS is soon"), "{code}: {said}");
}

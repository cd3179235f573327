//! `status --watch`, `ps`, `top` and `peek`.

use crate::terminal::Terminal;
use crate::tool::{LONG, quintet, result, start, text, wait_until};
use quintet::{Lab, Lease, ServeConfig, Server, Space, template, tuple};
use quintet_testbed::{Child, Program, TempDir};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

const LEASE: Duration = Duration::from_secs(60);

fn object(said: &str) -> Value {
    let line = said.lines().find(|line| line.starts_with('{')).unwrap_or(said);
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {said}"))
}

/// A served space, and a program that is connected to it.
fn served(folder: &TempDir) -> (Server, Lab, String) {
    let socket = folder.join("space");
    let server = Server::start(&socket, &ServeConfig::default()).unwrap();
    (server, connected(&socket), text(&socket).to_owned())
}

fn connected(socket: &Path) -> Lab {
    Lab::connect(socket, 0, LEASE).expect("the space is there")
}

/// A process of a job, as workers are started.
fn process_of_job(job: &str) -> Child {
    let program = Program::new("sleep").arg("1000").env("QUINTET_JOBS", "x").env("QUINTET_JOB", job);
    program.env("QUINTET_RANK", "5").spawn().unwrap()
}

#[test]
fn a_terminal_is_drawn_over_in_place_until_q_or_ctrl_c() {
    let folder = TempDir::new().unwrap();
    let (server, lab, socket) = served(&folder);
    for key in ["q", "\x03"] {
        let terminal = Terminal::start(50, &format!("status --watch --interval 0.1 --space {socket}"));
        terminal.wait_for("tuples");
        let before = lab.space().status().unwrap().tuples;
        lab.space().out(tuple!["one more"]).unwrap();
        terminal.wait_for(&format!("tuples{:>20}", before + 1));
        let screen = terminal.screen();
        let lines: Vec<&str> = screen.lines().map(|line| line.trim_end_matches("\x1b[K")).collect();
        assert!(lines.len() <= 12 && lines.iter().all(|line| line.chars().count() <= 50), "{lines:?}");
        let (code, all) = terminal.end_by(key);
        assert_eq!(code, Some(0), "{all}");
        assert!(all.contains("\x1b[?1049h") && all.ends_with("\x1b[?25h\x1b[?1049l"), "as it was: {all:?}");
    }
    server.stop().unwrap();
}

#[test]
fn a_space_that_was_lost_is_found_again() {
    let folder = TempDir::new().unwrap();
    let (server, lab, socket) = served(&folder);
    lab.space().out(tuple!["seen before"]).unwrap();
    let terminal = Terminal::start(50, &format!("peek --watch --interval 0.1 --space {socket}"));
    terminal.wait_for("seen before");
    drop(lab);
    server.stop().unwrap();
    terminal.wait_for("was lost, trying again");
    assert!(terminal.screen().contains("seen before"), "what was last seen stays");
    let server = Server::start(Path::new(&socket), &ServeConfig::default()).unwrap();
    connected(Path::new(&socket)).space().out(tuple!["seen after"]).unwrap();
    terminal.wait_for("seen after");
    assert!(!terminal.screen().contains("was lost"));
    assert_eq!(terminal.end_by("q").0, Some(0));
    server.stop().unwrap();
}

#[test]
fn where_there_is_no_terminal_objects_follow_each_other_until_a_signal() {
    let folder = TempDir::new().unwrap();
    let (server, lab, socket) = served(&folder);
    let mut child = quintet(["status", "--watch", "--interval", "0.1", "--json", "--space", &socket]);
    let first = object(&child.output().next_line(LONG).unwrap());
    lab.space().out(tuple!["x"]).unwrap();
    assert_eq!(first["tuples"], 0);
    wait_until(|| object(&child.output().next_line(LONG).unwrap())["tuples"] == 1);
    kill_process(Pid::from_raw(child.id().cast_signed()).unwrap(), Signal::INT).unwrap();
    assert_eq!(child.wait(LONG).unwrap().and_then(|status| status.code()), Some(0));
    for wrong in ["0", "-1", "soon"] {
        assert_eq!(result(quintet(["status", "--watch", "--interval", wrong])).0, 64, "{wrong}");
    }
    assert_eq!(result(quintet(["status", "--watch", "--once"])).0, 64);
    server.stop().unwrap();
}

/// A worker is present, as those of the Python package are.
fn present(space: &Space, rank: i64, pid: i64) -> Lease {
    space.out(tuple!["quintet.presence", rank, pid, "token"]).unwrap();
    space.lease(&template!["quintet.presence", rank, pid, ?str], None).unwrap()
}

fn task(space: &Space) -> Lease {
    space.lease(&template!["quintet.task", ?str, ?i64, ?quintet::Bytes], None).unwrap()
}

#[test]
fn who_has_which_task_and_who_waits_for_whom_is_shown() {
    let folder = TempDir::new().unwrap();
    let (server, lab, socket) = served(&folder);
    let space = lab.space();
    (1..=4i64).for_each(|n| space.out(tuple!["quintet.task", "pool", n, vec![0u8; 9]]).unwrap());
    let alone = object(&result(quintet(["status", "--json", "--space", &socket])).1);
    assert!(alone["stalls"][0].as_str().unwrap().contains("no worker has announced itself"), "{alone}");

    let process = process_of_job("tune.py@a:77");
    let worker = connected(Path::new(&socket));
    let presence = present(&worker.space(), 5, process.id().into());
    task(&worker.space()).acknowledge(&[]).unwrap();
    let held = task(&worker.space());
    let waiting = space.begin().take(&template!["never", ?i64]).unwrap();
    let (code, said) = result(quintet(["status", "--json", "--space", &socket]));
    let shown = object(&said);
    assert_eq!(
        (code, &shown["tasks"]["waiting"], &shown["tasks"]["taken"][0]["task"]),
        (0, &2.into(), &2.into()),
        "{said}"
    );
    let by = format!("worker 5 (process {})", process.id());
    assert_eq!(shown["tasks"]["taken"][0]["by"], by, "{said}");
    assert_eq!((&shown["waiting"][0]["for"], &shown["clients"]), (&"(\"never\", ?i64)".into(), &3.into()));
    let hope = &shown["waiting"][0]["hope"];
    assert_eq!(hope, "1 clients do not wait, and may put one", "the worker may: {said}");
    let (_, said) = result(quintet(["status", "--space", &socket]));
    assert!(said.contains(&by) && said.contains("(\"never\", ?i64)"), "{said}");

    let top = ["top", "--looks", "2", "--interval", "0.2", "--json", "--space", &socket];
    let (code, said) = result(quintet(top));
    let last = object(said.lines().filter(|line| line.starts_with('{')).nth(1).expect("two looks"));
    let worker_row = &last["workers"][0];
    assert_eq!(
        (code, &worker_row["rank"], &worker_row["tasks"], &worker_row["task"]),
        (0, &5.into(), &1.into(), &2.into()),
        "{said}"
    );
    assert!(
        worker_row["busy"].as_f64() > Some(0.5) && worker_row["memory_bytes"].as_u64() > Some(0),
        "{said}"
    );
    assert_eq!((&worker_row["tasks_per_s"], &last["tasks_waiting"]), (&0.0.into(), &2.into()), "{said}");

    held.release().unwrap();
    presence.acknowledge(&[]).unwrap();
    drop(worker);
    wait_until(|| object(&result(quintet(["status", "--json", "--space", &socket])).1)["clients"] == 2);
    let shown = object(&result(quintet(["status", "--json", "--space", &socket])).1);
    assert_eq!(shown["waiting"][0]["hope"], Value::Null, "nobody is left: {shown}");
    assert!(shown["stalls"].to_string().contains("every client of the space waits"), "{shown}");
    drop(waiting);
    server.stop().unwrap();
}

#[test]
fn tuples_are_listed_by_a_template_and_stay() {
    let folder = TempDir::new().unwrap();
    let (server, lab, socket) = served(&folder);
    let space = lab.space();
    (0..30i64).for_each(|n| space.out(tuple!["row", n, "x".repeat(500).as_str()]).unwrap());
    space.out(tuple!["other", 0.5]).unwrap();
    let lease = space.lease(&template!["row", 7i64, ?str], None).unwrap();
    let peek = |words: &[&str]| {
        let program =
            words.iter().fold(Program::new(env!("CARGO_BIN_EXE_quintet")).arg("peek"), Program::arg);
        result(program.arg("--space").arg(&socket).spawn().unwrap())
    };
    let (code, said) = peek(&["\"row\", ?int, ?str", "--limit", "3"]);
    assert!(code == 0 && said.lines().filter(|line| line.contains("(\"row\"")).count() == 3, "{said}");
    assert!(said.contains("(500 bytes)") && said.contains("there are more"), "{said}");
    let (_, said) = peek(&["('row', ?int, ...)", "--limit", "100", "--json"]);
    let rows = object(&said);
    let rows = rows["tuples"].as_array().unwrap();
    let taken: Vec<&Value> = rows.iter().filter(|row| row["taken"].is_object()).collect();
    assert_eq!((rows.len(), taken.len(), &taken[0]["fields"][1]), (30, 1, &"7".into()), "{said}");
    assert!(taken[0]["taken"]["by"].as_str().unwrap().starts_with("client "), "{said}");
    assert!(rows.is_sorted_by_key(|row| row["age"].as_u64()), "oldest first");
    for (words, expected) in [
        (&["--count"][..], "30 tuples, and 1 taken"),
        (&["\"row\", ...", "--count"], "29 tuples, and 1 taken"),
        (&["?str, 0.5", "--count"], "1 tuples, and 0 taken"),
        (&["?str, ?i32"], "0 tuples"),
    ] {
        let (code, said) = peek(words);
        assert!(code == 0 && said.contains(expected), "{words:?}: {said}");
    }
    let (code, said) = peek(&["\"row\", ?number"]);
    assert!(code == 64 && said.contains("column 9") && said.contains("^"), "{said}");
    let (code, said) =
        peek(&["?i64, ?f64[?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?]"]);
    assert!(code == 65 && said.contains("dimensions"), "{said}");
    lease.release().unwrap();
    assert_eq!(space.status().unwrap().tuples, 31, "nothing was taken");
    server.stop().unwrap();
}

#[test]
fn processes_of_jobs_are_listed_with_whose_they_are() {
    let home = TempDir::new().unwrap();
    let process = process_of_job("word_count.py@here:4711");
    let variables = ["HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"].map(|name| (name, text(home.path())));
    let (code, said) = result(start(["ps", "--json"], &variables));
    let shown = object(&said);
    let rows = shown["machines"][0]["processes"].as_array().unwrap();
    let row = rows.iter().find(|row| row["process"] == process.id()).unwrap_or_else(|| panic!("{said}"));
    let about = (&row["job"], &row["who"], &row["rank"], &row["command"], &row["by_agent"]);
    let expected =
        ("word_count.py@here:4711".into(), "worker 5".into(), 5.into(), "sleep 1000".into(), false.into());
    assert_eq!((code, about), (0, (&expected.0, &expected.1, &expected.2, &expected.3, &expected.4)));
    let (code, said) = result(start(["ps"], &variables));
    assert!(code == 0 && said.contains("word_count.py@here:4711") && said.contains("worker 5"), "{said}");
    let (code, said) = result(start(["ps", "nowhere"], &variables));
    assert!(code != 0 && said.contains("nowhere"), "{said}");
}

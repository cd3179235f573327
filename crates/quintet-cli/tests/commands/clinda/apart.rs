//! Files that are compiled one by one: the link looks at them as one command does.

use super::{alone, clc};
use crate::tool::{result, text};
use quintet::{ServeConfig, Server};
use quintet_testbed::{Program, TempDir};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// Puts what the other file takes, and asks for what nobody puts.
const MAIN: &str = "#include <stdio.h>
int taken(void);
void real_main(void)
{
    int n;
    for (int i = 0; i < 8; i++)
        out(\"row\", i, 0.5 * i);
    if (inp(\"rows\\?\", ?n))
        printf(\"odd\\n\");
    printf(\"%d rows\\n\", taken());
}
";
const ROWS: &str = "int taken(void);
int taken(void)
{
    int count = 0;
    double x;
    for (int i = 7; i >= 0; i--) {
        in(\"row\", i, ?x);
        count += x == 0.5 * i;
    }
    return count;
}
";
const WARNING: &str = "main.cl:8:9: warning: no out or eval of the program makes a tuple for this `inp`";

struct Sources {
    folder: TempDir,
}

impl Sources {
    fn new() -> Sources {
        let folder = TempDir::new().unwrap();
        for (name, source) in [("main.cl", MAIN), ("rows.cl", ROWS)] {
            fs::write(folder.join(name), source).unwrap();
        }
        Sources { folder }
    }

    fn path(&self, name: &str) -> String {
        text(&self.folder.join(name)).to_owned()
    }

    /// Compiles a file by itself, and gives its object.
    fn object(&self, name: &str, options: &[&str]) -> String {
        let (source, object) = (self.path(&format!("{name}.cl")), self.path(&format!("{name}.o")));
        let words = ["clc", "-Wall", "-Wextra", "-Wpedantic", "-std=c99", "-c", &source, "-o", &object];
        assert_eq!(clc([&words[..], options].concat()), (0, String::new()));
        object
    }

    fn link(&self, inputs: &[&str], name: &str) -> (i32, String) {
        let output = self.path(name);
        clc([&["clc"], inputs, &["-o", &output]].concat())
    }

    fn program(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

/// The lines of both outputs, which come in any order.
fn lines(said: &str) -> BTreeSet<&str> {
    said.lines().collect()
}

fn make(program: &str, arguments: &[&str]) {
    let program = arguments.iter().fold(Program::new(program), Program::arg);
    assert_eq!(result(program.spawn().unwrap()), (0, String::new()));
}

/// How many kinds of tuples of a space with three managers move while a program runs: each key that it declares moves one.
fn declared(sources: &Sources, program: &str) -> u64 {
    let socket = sources.folder.join("space");
    let server = Server::start(&socket, &ServeConfig { managers: 3, ..ServeConfig::default() }).unwrap();
    let running = Program::new(sources.program(program)).env("QUINTET_SPACE", &socket);
    assert_eq!(result(running.spawn().unwrap()), (0, "8 rows".to_owned()));
    let told = server.meter().measure(Duration::from_secs(60)).unwrap();
    server.stop().unwrap();
    told.iter()
        .filter(|found| found.metric.name == "quintet_manager_migrations")
        .map(|found| found.value)
        .sum()
}

#[test]
fn files_compiled_apart_are_looked_at_as_those_of_one_command() {
    let sources = Sources::new();
    let together = sources.link(&[&sources.path("main.cl"), &sources.path("rows.cl"), "--analysis"], "one");
    assert!(together.0 == 0 && together.1.contains(WARNING), "{together:?}");
    assert!(together.1.contains("hint: no operation puts 2 fields"), "{together:?}");
    let (main, rows) = (sources.object("main", &[]), sources.object("rows", &[]));
    let apart = sources.link(&[&main, &rows, "--analysis"], "apart");
    assert_eq!((apart.0, lines(&apart.1)), (together.0, lines(&together.1)));
    // A source and an object, as well, in any order of files.
    let (code, said) = sources.link(&[&rows, &sources.path("main.cl")], "mixed");
    assert!(code == 0 && said.contains(WARNING) && said.matches("warning").count() == 1, "{said}");
    assert_eq!(sources.link(&[&main, &rows, "-w"], "quiet"), (0, String::new()));
    assert_eq!(sources.link(&[&main, &rows, "-w", "--no-keys"], "keyless"), (0, String::new()));
    assert_eq!(["one", "apart", "mixed", "keyless"].map(|name| declared(&sources, name)), [1, 1, 1, 0]);
    // A program has nothing of it.
    let program = fs::read(sources.program("apart")).unwrap();
    assert!(!program.windows(14).any(|bytes| bytes == b"quintet-clinda"));
}

#[test]
fn libraries_and_joined_objects_have_the_notes_of_all_their_files() {
    let sources = Sources::new();
    let (main, rows) = (sources.object("main", &[]), sources.object("rows", &[]));
    let (library, joined) = (sources.path("librows.a"), sources.path("joined.o"));
    fs::write(sources.folder.join("plain.c"), "int plain(void);\nint plain(void) { return 3; }\n").unwrap();
    let plain = sources.path("plain.o");
    make("cc", &["-c", &sources.path("plain.c"), "-o", &plain]);
    make("ar", &["rcs", &library, &plain, &rows, &main]);
    make("ld", &["-r", &main, &rows, "-o", &joined]);
    for (inputs, name) in [(vec![&main, &plain, &library], "library"), (vec![&joined, &plain], "joined")] {
        let inputs: Vec<&str> = inputs.into_iter().map(String::as_str).collect();
        let (code, said) = sources.link(&inputs, name);
        assert!(code == 0 && said.contains(WARNING), "{said}");
        assert!(!said.contains("error"), "{said}");
        assert_eq!(alone(&sources.program(name), &[]), (0, "8 rows".to_owned()));
    }
    let (code, said) = sources.link(&[&rows], "headless");
    assert!(code == 1 && said.contains("error: the program has no real_main"), "{said}");
    let (code, said) = sources.link(&[&main, &joined], "twice");
    assert!(code == 1 && said.contains("main.cl:11:1: error: this is a second real_main"), "{said}");
}

#[test]
fn what_is_compiled_when_it_is_linked_is_not_looked_at() {
    let sources = Sources::new();
    let (main, rows) = (sources.object("main", &[]), sources.object("rows", &["-flto"]));
    assert_eq!(sources.link(&[&main, &rows, "-flto"], "later"), (0, String::new()));
    assert_eq!(alone(&sources.program("later"), &[]), (0, "8 rows".to_owned()));
}

#[test]
fn a_note_of_another_version_or_a_damaged_one_is_an_error_that_names_the_object() {
    let sources = Sources::new();
    let (main, rows) = (sources.object("main", &[]), sources.object("rows", &[]));
    let good = fs::read(&rows).unwrap();
    let replaced = |from: &str, to: &str| {
        let at = good.windows(from.len()).position(|bytes| bytes == from.as_bytes()).unwrap();
        let mut bytes = good.clone();
        bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
        bytes
    };
    let bad = [
        (replaced("quintet-clinda 1", "quintet-clinda 9"), "is of version 9, and this quintet reads 1"),
        (replaced("operation\t", "Operation\t"), "its note for the link is damaged, at line 3"),
        (good[..good.len() - 100].to_vec(), "the object is damaged, or cut short"),
    ];
    for (bytes, words) in bad {
        fs::write(&rows, bytes).unwrap();
        let (code, said) = sources.link(&[&main, &rows], "bad");
        assert!(code != 0 && said.contains(&format!("{rows}: ")) && said.contains(words), "{said}");
        assert!(!sources.program("bad").exists());
    }
}

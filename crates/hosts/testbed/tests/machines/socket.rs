//! Who asks the switch of a testbed over its socket, and what cannot be asked.

use crate::{LONG, testbed};
use quintet_testbed::{Lines, Mode, Plan, Testbed, namespaces_refused};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

fn socket(testbed: &Testbed) -> PathBuf {
    testbed.machines()[0].folder().ancestors().nth(2).expect("it is in the testbed's").join("switch")
}

fn client(testbed: &Testbed) -> UnixStream {
    let stream = UnixStream::connect(socket(testbed)).expect("it listens");
    stream.set_read_timeout(Some(LONG)).expect("a time");
    stream
}

/// What the switch answers.
fn ask(testbed: &Testbed, what: &[u8]) -> String {
    let mut stream = client(testbed);
    stream.write_all(what).expect("it reads");
    stream.write_all(b"\n").expect("it reads");
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).expect("it answers");
    line
}

#[test]
fn only_this_user_may_ask() {
    let Some(testbed) = testbed() else { return };
    let (path, mode) =
        (socket(&testbed), |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777);
    let folder = path.parent().expect("it is in one");
    assert_eq!(
        (mode(&path), mode(folder), mode(folder.parent().expect("in another"))),
        (0o600, 0o700, 0o700)
    );
}

#[test]
fn nonsense_is_answered_and_changes_nothing() {
    let Some(testbed) = testbed() else { return };
    for nonsense in [
        "nonsense",
        "{}",
        "[]",
        "{\"do\":7}",
        "{\"do\":\"change\",\"lines\":[[0,1]],\"to\":{\"delay_ns\":-1,\"drop_per_million\":9000000}}",
    ] {
        let said = ask(&testbed, nonsense.as_bytes());
        assert!(said.starts_with("{\"error\":"), "{nonsense}: {said}");
    }
    for (request, why) in [
        ("{\"do\":\"heal\",\"lines\":[[0,3]]}", "no line from machine 0 to machine 3"),
        ("{\"do\":\"plug\",\"machine\":3}", "no machine 3"),
        ("{\"do\":\"unplug\",\"machine\":99999999999}", "no such machine"),
    ] {
        let said = ask(&testbed, request.as_bytes());
        assert!(said.contains(why), "{said}");
    }
    assert!(ask(&testbed, b"\xff\xfe").starts_with("{\"error\":"));
    testbed.cut(&Lines::All).expect("it goes on");
}

#[test]
fn whoever_asks_slowly_or_too_much_holds_nobody_up() {
    let Some(testbed) = testbed() else { return };
    let slow: Vec<UnixStream> = (0..8).map(|_| client(&testbed)).collect();
    for mut stream in &slow {
        stream.write_all(b"{\"do\":").expect("it reads");
    }
    testbed.cut(&Lines::of("a")).expect("others are served");
    let mut endless = client(&testbed);
    endless.set_write_timeout(Some(LONG)).expect("a time");
    let refused =
        (0..25_000).find_map(|_| endless.write_all(&[b' '; 4096]).err()).expect("100 MB are too much");
    assert!(matches!(refused.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset), "{refused}");
    for mut stream in &slow {
        stream.write_all(b"\"show\"}\n{\"do\":\"show\"}\n").expect("it reads");
        let mut lines = BufReader::new(stream).lines();
        for _ in 0..2 {
            assert!(lines.next().expect("a line").expect("it answers").contains("\"cut\":true"));
        }
    }
    let mut hurried = client(&testbed);
    hurried.write_all(b"{\"do\":\"show\"}\n").expect("it reads");
    drop(hurried);
    let mut last = client(&testbed);
    last.shutdown(std::net::Shutdown::Write).expect("it is open");
    assert_eq!(last.read(&mut [0]).expect("it ends"), 0);
    testbed.heal(&Lines::All).expect("it goes on");
}

#[test]
fn all_lines_of_a_large_testbed_are_told() {
    if let Some(why) = namespaces_refused() {
        println!("skipped: no network namespaces here: {why}");
        return;
    }
    let machines = (0..16).map(|number| format!("a-machine-with-the-number-{number}"));
    let testbed =
        Testbed::up(&Plan { mode: Some(Mode::Namespaces), ..Plan::unnamed(machines) }).expect("it is made");
    testbed.cut(&Lines::of("a-machine-with-the-number-7")).expect("cut");
    let report = testbed.report().expect("it answers");
    assert_eq!((report.lines.len(), report.lines.iter().filter(|line| line.is_cut).count()), (240, 30));
    assert!(report.machines.iter().all(|machine| machine.is_there && machine.is_plugged));
}

//! A standard output that takes nothing: of a full disk, and of a reader that has gone.

use crate::tool::text;
use quintet::Recorder;
use quintet_testbed::TempDir;
use std::fs::{File, read_to_string};
use std::process::{Command, Stdio};

/// The exit status, and what was said on standard error.
fn said_to(stdout: impl Into<Stdio>, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quintet"));
    let done = command.args(arguments).stdin(Stdio::null()).stdout(stdout).output().expect("it starts");
    (done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned())
}

fn full_disk() -> File {
    File::options().write(true).open("/dev/full").expect("every Linux has it")
}

/// The end of a pipe whose other end is closed.
fn nobody() -> std::io::PipeWriter {
    std::io::pipe().expect("there is a pipe").1
}

/// Commands that print a result.
fn commands<'a>(recording: &'a str, socket: &'a str) -> Vec<Vec<&'a str>> {
    vec![
        vec!["doctor"],
        vec!["doctor", "--json"],
        vec!["completions", "bash"],
        vec!["exit-status"],
        vec!["explore", "--seeds", "2", "--json"],
        vec!["explore", "--seed", "3"],
        vec!["replay", recording],
        vec!["replay", "--json", recording],
        vec!["reproduce", "thomas-1991", "--simulated", "--seeds", "1", "--json"],
        vec!["run", "-n", "0", "--json", "true"],
        vec!["status", "--space", socket],
        vec!["status", "--space", socket, "--json"],
        vec!["status", "--space", socket, "--watch"],
        vec!["peek", "--space", socket],
        vec!["top", "--space", socket, "--json"],
        vec!["ps", "--watch", "--json"],
        vec!["bench", "--list"],
    ]
}

#[test]
fn results_that_cannot_be_shown_are_an_error_and_a_reader_that_has_gone_is_none() {
    let folder = TempDir::new().unwrap();
    let (recording, socket) = (folder.join("space.rec"), folder.join("space"));
    let recorder = Recorder::create(&recording).unwrap();
    let config = quintet::ServeConfig { recorder: Some(recorder.clone()), ..Default::default() };
    quintet::Server::start(&folder.join("recorded"), &config).unwrap().stop().unwrap();
    recorder.finish().unwrap();
    let server = quintet::Server::start(&socket, &quintet::ServeConfig::default()).unwrap();
    for arguments in commands(text(&recording), text(&socket)) {
        let (code, said) = said_to(full_disk(), &arguments);
        assert!(code == Some(71) && said.contains("the results cannot be shown"), "{arguments:?}: {said}");
        let (code, said) = said_to(nobody(), &arguments);
        assert!(code == Some(0) && !said.contains("cannot be shown"), "{arguments:?}: {said}");
    }
    server.stop().unwrap();
}

#[test]
fn an_error_keeps_its_status_when_its_object_cannot_be_shown() {
    let folder = TempDir::new().unwrap();
    let socket = folder.join("nobody");
    for stdout in [Stdio::from(full_disk()), Stdio::from(nobody())] {
        let (code, said) = said_to(stdout, &["status", "--json", "--space", text(&socket)]);
        assert!(code == Some(69) && !said.contains("panicked"), "{said}");
    }
}

#[test]
fn a_standard_error_that_takes_nothing_changes_no_status() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quintet"));
    let status = command.args(["replay", "/nonexistent/file"]).stderr(full_disk()).status().unwrap();
    assert_eq!(status.code(), Some(65));
}

#[test]
fn results_are_shown_although_their_page_cannot_be_written() {
    let folder = TempDir::new().unwrap();
    let shown = folder.join("shown");
    let study = ["reproduce", "thomas-1991", "--simulated", "--seeds", "1", "--html", "/dev/full"];
    let (code, said) = said_to(File::create(&shown).unwrap(), &study);
    assert!(code == Some(71) && said.contains("/dev/full cannot be written"), "{said}");
    assert!(read_to_string(&shown).unwrap().lines().count() > 10);
}

//! Processes of a host that starts them through `supervise-child`: what they say and are told is their own, and they end with its thread.

use bytes::Bytes;
use quintet_process::{Config, Processes};
use quintet_testbed::TempDir;
use quintet_wire::encode_to_vec;
use quintet_wire::services::process::{End, ProcessAnswer, ProcessRequest, Program, Start, Stream};
use rustix::event::{EventfdFlags, eventfd};
use std::ffi::OsString;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(60);

fn processes(folder: &Path) -> Processes<u64> {
    let this = OsString::from(env!("CARGO_BIN_EXE_quintet"));
    let parent = std::process::id().to_string();
    let through = vec![this, "supervise-child".into(), parent.into(), "--".into()];
    Processes::open(Config { through, ..Config::new(folder.join("agent")) }).unwrap()
}

/// Asks, and waits for the answer. Something happens to a process until then.
fn ask(processes: &mut Processes<u64>, request: ProcessRequest, bulk: Vec<u8>) -> ProcessAnswer {
    let silent = eventfd(0, EventfdFlags::empty()).unwrap();
    processes.take(1, request, &Bytes::from(bulk));
    loop {
        if let Some((_, answer)) = processes.answers().pop() {
            return answer;
        }
        processes.wait(silent.as_fd()).unwrap();
    }
}

fn start(processes: &mut Processes<u64>, start: &Start) {
    let answer = ask(processes, ProcessRequest::Start { process: 1, job: 1 }, encode_to_vec(start));
    assert!(matches!(answer, ProcessAnswer::Started { .. }), "{answer:?}");
}

fn read(processes: &mut Processes<u64>, stream: Stream) -> String {
    let mut said = Vec::new();
    loop {
        match ask(processes, ProcessRequest::Read { process: 1, stream, at_most: 1000 }, Vec::new()) {
            ProcessAnswer::Output { bytes, is_last: false } => said.extend(bytes),
            ProcessAnswer::Output { .. } => return String::from_utf8(said).unwrap(),
            other => panic!("{other:?}"),
        }
    }
}

fn shell(script: &str) -> Start {
    let arguments = vec![b"-c".to_vec(), script.as_bytes().to_vec()];
    Start { arguments, ..Start::new("shell", Program::Path(b"/bin/sh".to_vec())) }
}

#[test]
fn what_is_started_through_it_is_the_program_itself() {
    let folder = TempDir::new().unwrap();
    let mut processes = processes(folder.path());
    start(&mut processes, &shell("echo $0; echo err >&2; exit 6"));
    assert_eq!(read(&mut processes, Stream::Output), "/bin/sh\n");
    assert_eq!(read(&mut processes, Stream::Error), "err\n");
    let end = ask(&mut processes, ProcessRequest::Wait { process: 1 }, Vec::new());
    assert_eq!(end, ProcessAnswer::Ended(End::Exited(6)));
}

#[test]
fn a_program_that_the_kernel_does_not_take_says_so_by_its_end() {
    let folder = TempDir::new().unwrap();
    let program = folder.join("nonsense");
    // The shell is tried then, as execvp does.
    std::fs::write(&program, "\x7fELF of another machine\n").unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o700)).unwrap();
    let mut processes = processes(folder.path());
    let path = program.display().to_string();
    start(&mut processes, &Start::new("x", Program::Path(path.clone().into_bytes())));
    let said = read(&mut processes, Stream::Error);
    assert!(said.contains(&path), "{said}");
    let end = ask(&mut processes, ProcessRequest::Wait { process: 1 }, Vec::new());
    assert!(matches!(end, ProcessAnswer::Ended(End::Exited(1..))), "{end:?}");
}

#[test]
fn with_the_thread_that_started_it_a_process_ends() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().to_owned();
    let starter = std::thread::spawn(move || {
        let mut processes = processes(&path);
        start(&mut processes, &shell("echo $$; exec sleep 1000"));
        let read = ProcessRequest::Read { process: 1, stream: Stream::Output, at_most: 1000 };
        let ProcessAnswer::Output { bytes, .. } = ask(&mut processes, read, Vec::new()) else {
            panic!("it speaks")
        };
        // As one that is killed, it ends nothing itself.
        std::mem::forget(processes);
        String::from_utf8(bytes).unwrap().trim().to_owned()
    });
    let process = starter.join().unwrap();
    let limit = Instant::now() + LIMIT;
    let state = || std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    while !state().is_empty() && !state().contains(") Z") {
        assert!(Instant::now() < limit, "{process} goes on: {}", state());
        std::thread::sleep(Duration::from_millis(1));
    }
}

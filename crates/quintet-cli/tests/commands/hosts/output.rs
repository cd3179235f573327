//! What workers on other machines say.

use super::at;
use super::lab::Machines;
use crate::tool::{LONG, result, state, text, wait_until};
use quintet_testbed::Child;
use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// What the worker of the long output says, in bytes.
const LONG_OUTPUT: u64 = 100 << 20;
/// Far more than pipes, pieces and sockets hold, and far less than is said.
const HELD: u64 = 8 << 20;

fn run(lab: &Machines, worker: &str) -> Child {
    let worker = at(lab, "worker", worker);
    let master = at(lab, "master", "exec sleep 1000");
    lab.command("a", &["run", "--json", "--hosts", "b", "-n", "1", "--python", text(&worker), text(&master)])
}

#[test]
fn lines_arrive_whole_and_the_status_in_the_summary() {
    let lab = Machines::up(&["a", "b"]);
    let traceback = "Traceback (most recent call last):\\n  File \"job.py\", line 3, in task\\n    1 / 0\\nZeroDivisionError: division by zero";
    // A status of 0 is not tried again.
    let worker = format!(
        "printf 'bytes \\377\\000\\376 end\\n'; printf '{traceback}\\n' >&2; head -c 100000 /dev/zero | tr '\\0' '~'; printf 'no end' >&2"
    );
    let (code, said) = result(run(&lab, &worker));
    assert_eq!(code, 69, "{said}");
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines.contains(&"[worker 0 on b] bytes \u{fffd}\0\u{fffd} end"), "{said}");
    let whole = traceback.replace("\\n", "\n");
    for line in whole.lines().chain(["no end"]) {
        assert!(lines.contains(&&*format!("[worker 0 on b] {line}")), "{line}: {said}");
    }
    assert_eq!(said.matches('~').count(), 100_000);
    // A status is told as it is.
    let (code, said) = result(run(&lab, "exit 3"));
    assert!(code == 69 && said.contains("worker 0 ended with status 3; none is left"), "{said}");
}

/// Between two looks at a process that is to wait.
const AWHILE: Duration = Duration::from_secs(1);

/// Whether a process sleeps in the kernel because its pipe is full. Where the kernel does not say in what it sleeps, that it sleeps is enough.
fn waits_for_its_pipe(process: &str) -> bool {
    let place = fs::read_to_string(format!("/proc/{}/wchan", process.trim())).unwrap_or_default();
    let says_nothing = place.is_empty() || place == "0";
    state(process.trim().parse().expect("a number")) == Some('S') && (says_nothing || place.contains("pipe"))
}

/// Bytes that a process has written so far, if it is there.
fn written(process: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{}/io", process.trim())).ok()?;
    text.lines().find_map(|line| line.strip_prefix("wchar: ")?.parse().ok())
}

#[test]
fn a_worker_waits_for_who_reads_what_it_says() {
    let lab = Machines::up(&["a", "b"]);
    let process = lab.room.join("process");
    let blocks = LONG_OUTPUT >> 16;
    let says = format!(
        "echo $$ > {0}.new; mv {0}.new {0}; exec dd if=/dev/zero bs=65536 count={blocks} 2>/dev/null",
        text(&process)
    );
    let (worker, master) = (at(&lab, "worker", &says), at(&lab, "master", "exec sleep 1000"));
    let line = format!(
        "QUINTET_IDENTITY={} exec {} run --hosts b -n 1 --python {} {}",
        text(&lab.folder("a")),
        env!("CARGO_BIN_EXE_quintet"),
        text(&worker),
        text(&master)
    );
    let shell = at(&lab, "job", &line);
    let mut job = Command::new(shell);
    let mut job =
        job.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("started");
    wait_until(|| process.exists());
    let process = fs::read_to_string(&process).expect("a number");
    // Nobody reads, so that soon no more is written: it waits within a write, and still does so a while later.
    let limit = Instant::now() + LONG;
    let mut held = (0, false);
    loop {
        let now = (written(&process).expect("it is there"), waits_for_its_pipe(&process));
        assert!(now.0 < HELD, "{} bytes were taken although nobody reads", now.0);
        if held == now && now.0 > 0 && now.1 {
            break;
        }
        assert!(Instant::now() < limit, "it writes and writes: {now:?}");
        held = now;
        sleep(AWHILE);
    }
    let mut said = Vec::new();
    job.stdout.take().expect("captured").read_to_end(&mut said).expect("it is read");
    assert_eq!(said.iter().filter(|byte| **byte == 0).count() as u64, LONG_OUTPUT);
    assert_eq!(job.wait().expect("it ends").code(), Some(69));
}

//! Starting the program, and small jobs for it.

use quintet_testbed::{Child, Program, TempDir};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Longer than anything here takes, also on a busy machine.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// The program with these arguments, and none of the settings of whoever runs the tests.
pub(crate) fn quintet<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Child {
    start(arguments, &[])
}

/// The same with variables of its environment.
pub(crate) fn start<'a>(arguments: impl IntoIterator<Item = &'a str>, variables: &[(&str, &str)]) -> Child {
    let program = arguments.into_iter().fold(Program::new(env!("CARGO_BIN_EXE_quintet")), Program::arg);
    let program = variables.iter().fold(program, |program, (name, value)| program.env(name, value));
    program.spawn().expect("the program starts")
}

/// An address of the loopback that no other machine of the tests has, nor any of another run of them: agents and spaces listen at the same ports of it
/// again and again.
pub(crate) fn host() -> String {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let (machine, run) = (MADE.fetch_add(1, Ordering::Relaxed), std::process::id() % 62_000);
    format!("127.{}.{}.{}", 100 + machine % 150, run / 250, 1 + run % 250)
}

/// Its exit status and everything it said.
pub(crate) fn result(mut child: Child) -> (i32, String) {
    // A measurement that takes 20 s by itself took more than a minute beside other tests.
    let status = child.wait(3 * LONG).expect("it can be waited for").expect("it ends");
    // Its outputs end with it.
    while child.output().next_line(LONG).is_some() {}
    (status.code().unwrap_or(-1), child.output().text())
}

/// An executable script in `folder`. One of that name from before may still be begun by somebody, for whose sake it is not written into.
pub(crate) fn script(folder: &TempDir, name: &str, lines: &str) -> PathBuf {
    let (path, written) = (folder.join(name), folder.join(format!("{name}.written")));
    fs::write(&written, format!("#!/bin/sh\n{lines}\n")).expect("written");
    fs::set_permissions(&written, fs::Permissions::from_mode(0o755)).expect("made executable");
    fs::rename(&written, &path).expect("put in its place");
    path
}

/// Text of a path.
pub(crate) fn text(path: &std::path::Path) -> &str {
    path.to_str().expect("temporary paths are text")
}

/// A script that stands for Python and becomes a worker that only says its process id.
pub(crate) fn idle_worker(folder: &TempDir) -> PathBuf {
    script(folder, "idle", "echo idle $QUINTET_RANK $$\nexec sleep 1000")
}

/// The letter that `ps` has for the state of this process, if it is there.
pub(crate) fn state(process: u32) -> Option<char> {
    let status = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    status.rsplit(") ").next().and_then(|rest| rest.chars().next())
}

/// Whether this process is there and has not ended. One that ended and was not reaped yet counts as ended.
pub(crate) fn is_alive(process: u32) -> bool {
    state(process).is_some_and(|state| state != 'Z' && state != 'X')
}

/// Returns when it is so.
pub(crate) fn wait_until(mut it_is_so: impl FnMut() -> bool) {
    let limit = std::time::Instant::now() + LONG;
    while !it_is_so() {
        assert!(std::time::Instant::now() < limit, "it is still not so");
        std::thread::yield_now();
    }
}

/// Returns when none of these processes is alive.
pub(crate) fn wait_until_gone(processes: &[u32]) {
    wait_until(|| !processes.iter().any(|process| is_alive(*process)));
}

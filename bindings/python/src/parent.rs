//! What a worker does when the program that started it dies: it ends at once, whatever its interpreter is about.

use crate::error::raise;
use pyo3::prelude::*;
use quintet::{Code, Error};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, getpid, getppid, kill_process, pidfd_open};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::thread;

/// Has this process be killed as soon as its parent, which is this process number, has ended; first it removes the parent's `folder`.
/// Without a parent of that number it is killed now.
///
/// Raises Resource if the system refuses to watch the parent.
#[pyfunction]
pub(crate) fn end_with_parent(parent: i32, folder: PathBuf) -> PyResult<()> {
    let refused = |what: &str| raise(Error::new(Code::Resource, format!("watch the parent: {what}")));
    let Some(number) = Pid::from_raw(parent) else { return Err(refused("its number is none")) };
    let watched = match pidfd_open(number, PidfdFlags::empty()) {
        Ok(watched) => Some(watched),
        Err(Errno::SRCH) => None,
        Err(errno) => return Err(refused(&errno.to_string())),
    };
    // Asked after the descriptor was opened: another process may have got the number of a parent that had died before.
    let watched = watched.filter(|_| getppid() == Some(number));
    let Some(watched) = watched else {
        end(&folder);
        return Ok(());
    };
    let wait = move || {
        until_ended(&watched);
        end(&folder);
    };
    let started = thread::Builder::new().name("quintet-parent".to_owned()).spawn(wait);
    started.map(|_| ()).map_err(|error| refused(&error.to_string()))
}

/// A descriptor of a process can be read once that has ended.
fn until_ended(process: &OwnedFd) {
    let ended = |fd| poll(&mut [PollFd::new(fd, PollFlags::IN)], None);
    while matches!(ended(process), Err(Errno::INTR) | Ok(0)) {}
}

fn end(folder: &Path) {
    // All workers do so at once: what one finds gone, another one has removed.
    let _ = std::fs::remove_dir_all(folder);
    // Nothing is left to tell, and nobody to tell it.
    let _ = kill_process(getpid(), Signal::KILL);
}

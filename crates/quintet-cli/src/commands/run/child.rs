//! One child of a job: a process of this machine, or one that an agent has started on another.
//!
//! One of this machine is not reaped before it is dropped, when the job is over or another takes its place, so that its process id and its
//! group's stay its own until then and a signal never meets a stranger.

use super::machine::There;
use crate::connection::refused;
use quintet::Error;
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process_group, pidfd_open,
    pidfd_send_signal, waitid,
};
use std::fmt;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{ChildStderr, ChildStdout, Command, ExitStatus};
use std::sync::Arc;

/// Which child.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Who {
    Master,
    Worker(u64),
}

/// A child that was started.
pub(super) struct Child {
    pub(super) who: Who,
    pub(super) ended: bool,
    /// Ended with status 0.
    pub(super) is_content: bool,
    process: Process,
}

/// Where it runs.
enum Process {
    Here(Here),
    There(There),
}

impl Child {
    pub(super) fn start(command: Command, who: Who, own_group: bool) -> Result<Child, Error> {
        let process = Process::Here(Here::start(command, own_group)?);
        Ok(Child { who, ended: false, is_content: false, process })
    }

    /// One that runs on another machine.
    pub(super) fn there(who: Who, process: There) -> Child {
        Child { who, ended: false, is_content: false, process: Process::There(process) }
    }

    /// The process, if it is one of this machine.
    pub(super) fn here(&mut self) -> Option<&mut Here> {
        match &mut self.process {
            Process::Here(here) => Some(here),
            Process::There(_) => None,
        }
    }

    /// Whether it runs on this machine.
    pub(super) fn is_here(&self) -> bool {
        matches!(self.process, Process::Here(_))
    }

    /// It has ended in this way.
    pub(super) fn end(&mut self, how: ExitStatus) {
        (self.ended, self.is_content) = (true, how.success());
        if let Process::There(there) = &mut self.process {
            there.end(how);
        }
    }

    /// Sends it alone a signal. Nothing happens if it has ended.
    pub(super) fn signal(&self, signal: Signal) {
        match &self.process {
            Process::Here(here) => here.signal(signal),
            Process::There(there) => there.signal(signal, false),
        }
    }

    /// Sends it, and what it started, a signal.
    pub(super) fn signal_group(&self, signal: Signal) {
        match &self.process {
            Process::Here(here) => here.signal_group(signal),
            Process::There(there) => there.signal(signal, true),
        }
    }

    /// Whether signals to the group of this process do not reach it.
    pub(super) fn has_own_group(&self) -> bool {
        match &self.process {
            Process::Here(here) => here.own_group,
            Process::There(_) => true,
        }
    }

    /// Stops it where it is, and returns when it has stopped, or ended; on another machine, when it has been sent the signal.
    pub(super) fn freeze(&self) {
        match &self.process {
            Process::Here(here) => {
                here.signal(Signal::STOP);
                wait_until(&here.handle, WaitIdOptions::STOPPED | WaitIdOptions::EXITED);
            }
            Process::There(there) => there.signal_and_wait(Signal::STOP),
        }
    }

    /// Which worker it is, as events name it.
    pub(super) fn rank(&self) -> Option<i64> {
        match self.who {
            Who::Master => None,
            Who::Worker(rank) => i64::try_from(rank).ok(),
        }
    }

    /// The other machine where it runs.
    pub(super) fn machine(&self) -> Option<&str> {
        match &self.process {
            Process::Here(_) => None,
            Process::There(there) => Some(there.machine()),
        }
    }

    /// Its exit status, after its end.
    pub(super) fn reap(&mut self) -> Result<ExitStatus, Error> {
        match &mut self.process {
            Process::Here(here) => here.process.wait().map_err(refused("learn how a process ended")),
            Process::There(there) => Ok(there.status()),
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if let Process::Here(here) = &mut self.process {
            if here.own_group || !self.ended {
                here.signal_group(Signal::KILL);
            }
            // Reaped before, or ended just now: in both cases this returns at once.
            let _ = here.process.wait();
        }
    }
}

/// A process of this machine.
pub(super) struct Here {
    process: std::process::Child,
    handle: Arc<OwnedFd>,
    own_group: bool,
}

impl Here {
    fn start(mut command: Command, own_group: bool) -> Result<Here, Error> {
        let process = command.spawn().map_err(refused("start a process"))?;
        let handle = pidfd_open(Pid::from_child(&process), PidfdFlags::empty())
            .map_err(|errno| refused("watch a process")(errno.into()))?;
        Ok(Here { process, handle: Arc::new(handle), own_group })
    }

    /// What it says, if that is captured. Given once.
    pub(super) fn output(&mut self) -> (Option<ChildStdout>, Option<ChildStderr>) {
        (self.process.stdout.take(), self.process.stderr.take())
    }

    /// To wait for its end with, from another thread.
    pub(super) fn handle(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.handle)
    }

    fn signal(&self, signal: Signal) {
        // The only error that remains is that it has ended.
        let _ = pidfd_send_signal(&*self.handle, signal);
    }

    fn signal_group(&self, signal: Signal) {
        if self.own_group {
            // The only error that remains is that nobody is left in it.
            let _ = kill_process_group(Pid::from_child(&self.process), signal);
        } else {
            self.signal(signal);
        }
    }
}

/// How the child ended, when it has; it stays to be reaped.
pub(super) fn wait_for_end(handle: &OwnedFd) -> ExitStatus {
    let status = wait_until(handle, WaitIdOptions::EXITED);
    let signal = status.as_ref().and_then(|status| status.terminating_signal());
    let number = status.and_then(|status| status.exit_status()).unwrap_or_default();
    // The layout of wait(2).
    ExitStatus::from_raw(signal.unwrap_or(number << 8))
}

fn wait_until(handle: &OwnedFd, what: WaitIdOptions) -> Option<WaitIdStatus> {
    loop {
        match waitid(WaitId::PidFd(handle.as_fd()), what | WaitIdOptions::NOWAIT) {
            Err(Errno::INTR) => {}
            other => return other.ok().flatten(),
        }
    }
}

/// The exit status as a shell has it.
pub(super) fn shell_status(status: ExitStatus) -> u8 {
    let number = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    u8::try_from(number).unwrap_or(u8::MAX)
}

/// `status 1` or `signal 9`.
pub(super) fn in_words(status: ExitStatus) -> String {
    match status.signal() {
        Some(signal) => format!("signal {signal}"),
        None => format!("status {}", status.code().unwrap_or_default()),
    }
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Who::Master => f.write_str("master"),
            Who::Worker(rank) => write!(f, "worker {rank}"),
        }
    }
}

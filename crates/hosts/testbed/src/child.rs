//! Starting, stopping and ending processes.

use crate::Output;
use crate::role::{ARGUMENT, PARENT};
use crate::testbed::{Machine, TestbedError};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process, pidfd_open, waitid};
use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

/// A program to be started.
#[derive(Debug)]
pub struct Program(Command);

impl Program {
    /// The executable `path`, or one found by that name.
    #[must_use]
    pub fn new(path: impl AsRef<OsStr>) -> Program {
        Program(Command::new(path))
    }

    /// This test's own executable, running the test called `name` (with its modules: `tests::name`) and nothing else. There
    /// [`argument`](crate::argument) gives `argument`; in the ordinary run of the test it gives `None`.
    ///
    /// # Errors
    /// The system does not tell where the executable is.
    pub fn this_test(name: &str, argument: impl AsRef<OsStr>) -> io::Result<Program> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args([name, "--exact", "--nocapture", "--include-ignored", "--test-threads=1", "--quiet"]);
        command.env(ARGUMENT, argument);
        Ok(Program(command))
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Program {
        self.0.arg(argument);
        self
    }

    /// Sets a variable of its environment.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Program {
        self.0.env(name, value);
        self
    }

    /// Leaves a variable out of its environment.
    #[must_use]
    pub fn without(mut self, name: impl AsRef<OsStr>) -> Program {
        self.0.env_remove(name);
        self
    }

    /// Starts it in this folder.
    #[must_use]
    pub fn in_folder(mut self, folder: impl AsRef<Path>) -> Program {
        self.0.current_dir(folder);
        self
    }

    /// Starts it on a machine of a testbed.
    ///
    /// # Errors
    /// The machine is gone.
    pub fn on(self, machine: &Machine) -> Result<Program, TestbedError> {
        machine.on(&self.0).map(Program)
    }

    /// Starts it, with output and errors captured and input open.
    ///
    /// # Errors
    /// What the system said.
    pub fn spawn(mut self) -> io::Result<Child> {
        self.0.env(PARENT, std::process::id().to_string());
        self.0.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = self.0.spawn()?;
        let output = Output::default();
        if let Some(stdout) = process.stdout.take() {
            output.capture(stdout);
        }
        if let Some(stderr) = process.stderr.take() {
            output.capture(stderr);
        }
        Ok(Child { process, output })
    }
}

/// A process that was started, killed when dropped.
#[derive(Debug)]
pub struct Child {
    process: std::process::Child,
    output: Output,
}

impl Child {
    /// Its process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// What it says.
    #[must_use]
    pub fn output(&self) -> &Output {
        &self.output
    }

    /// Writes a line to its input.
    ///
    /// # Errors
    /// It closed its input, or ended.
    pub fn say(&mut self, line: &str) -> io::Result<()> {
        let input = self.process.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        input.write_all(line.as_bytes())?;
        input.write_all(b"\n")?;
        input.flush()
    }

    /// Stops it where it is, until [`Child::thaw`], and waits until all its threads have stopped: after the signal alone they may go on for a while.
    ///
    /// # Errors
    /// It has ended.
    pub fn freeze(&self) -> io::Result<()> {
        self.signal(Signal::STOP)?;
        let stopped = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        loop {
            match waitid(WaitId::Pid(self.pid()), stopped) {
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
                Ok(status) if status.is_some_and(|status| status.stopped()) => return Ok(()),
                Ok(_) => return Err(Errno::SRCH.into()),
            }
        }
    }

    /// Lets it go on.
    ///
    /// # Errors
    /// It has ended.
    pub fn thaw(&self) -> io::Result<()> {
        self.signal(Signal::CONT)
    }

    /// Asks it to end.
    ///
    /// # Errors
    /// It has ended.
    pub fn terminate(&self) -> io::Result<()> {
        self.signal(Signal::TERM)
    }

    /// Ends it at once, wherever it is, and waits until it has ended. Nothing happens if it has ended before.
    ///
    /// # Errors
    /// What the system said.
    pub fn kill(&mut self) -> io::Result<ExitStatus> {
        self.process.kill()?;
        self.process.wait()
    }

    /// Waits until it ends, closing its input. `None` if it has not within `limit`.
    ///
    /// # Errors
    /// What the system said.
    pub fn wait(&mut self, limit: Duration) -> io::Result<Option<ExitStatus>> {
        drop(self.process.stdin.take());
        if let Some(status) = self.process.try_wait()? {
            return Ok(Some(status));
        }
        // The process is not reaped before `try_wait` says so, hence its id is still its own.
        let pidfd = pidfd_open(self.pid(), PidfdFlags::empty())?;
        let limit = Timespec::try_from(limit).ok();
        loop {
            match poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], limit.as_ref()) {
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
                Ok(_) => return self.process.try_wait(),
            }
        }
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.process)
    }

    fn signal(&self, signal: Signal) -> io::Result<()> {
        Ok(kill_process(self.pid(), signal)?)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // It fails only if the process has ended, and then there is nothing to do.
        let _ = self.kill();
    }
}

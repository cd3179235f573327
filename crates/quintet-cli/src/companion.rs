//! Another process of this program, for as long as it is needed.

use crate::commands::supervise_child::supervised;
use crate::connection::refused;
use quintet::Error;
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

/// A process of this program, ended when dropped.
pub(crate) struct Companion(Child);

impl Companion {
    /// Starts this program with these arguments.
    ///
    /// # Errors
    /// The system refused.
    pub(crate) fn start(arguments: impl IntoIterator<Item = OsString>) -> Result<Companion, Error> {
        Self::start_with(arguments, [], Stdio::null())
    }

    /// The same, with these variables besides its own.
    ///
    /// # Errors
    /// The system refused.
    pub(crate) fn start_in(
        arguments: impl IntoIterator<Item = OsString>,
        environment: impl IntoIterator<Item = (&'static str, OsString)>,
    ) -> Result<Companion, Error> {
        Self::start_with(arguments, environment, Stdio::null())
    }

    /// The same, and listens to it.
    ///
    /// # Errors
    /// The system refused.
    pub(crate) fn start_listening(arguments: impl IntoIterator<Item = OsString>) -> Result<Companion, Error> {
        Self::start_with(arguments, [], Stdio::piped())
    }

    fn start_with(
        arguments: impl IntoIterator<Item = OsString>,
        environment: impl IntoIterator<Item = (&'static str, OsString)>,
        input: Stdio,
    ) -> Result<Companion, Error> {
        let this = std::env::current_exe().map_err(refused("find this program"))?;
        let mut command = supervised(this)?;
        command.args(arguments).envs(environment).stdin(input).stdout(Stdio::piped());
        command.spawn().map(Companion).map_err(refused("start another process of this program"))
    }

    /// Its number.
    pub(crate) fn process(&self) -> u32 {
        self.0.id()
    }

    /// Sends it a signal.
    ///
    /// # Errors
    /// It has ended.
    pub(crate) fn signal(&self, signal: Signal) -> Result<(), Error> {
        kill_process(Pid::from_child(&self.0), signal)
            .map_err(|errno| refused("signal another process of this program")(errno.into()))
    }

    /// What it listens to, if it does. Given once.
    pub(crate) fn input(&mut self) -> Option<ChildStdin> {
        self.0.stdin.take()
    }

    /// What it says. Given once.
    pub(crate) fn output(&mut self) -> Option<ChildStdout> {
        self.0.stdout.take()
    }
}

impl Drop for Companion {
    fn drop(&mut self) {
        // It fails only if the process has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

//! Another process of this program, for as long as it is needed.

use crate::commands::supervise_child::supervised;
use crate::connection::refused;
use quintet::Error;
use std::ffi::OsString;
use std::process::{Child, ChildStdout, Stdio};

/// A process of this program, ended when dropped.
pub(crate) struct Companion(Child);

impl Companion {
    /// Starts this program with these arguments.
    ///
    /// # Errors
    /// The system refused.
    pub(crate) fn start(arguments: impl IntoIterator<Item = OsString>) -> Result<Companion, Error> {
        let this = std::env::current_exe().map_err(refused("find this program"))?;
        let mut command = supervised(this)?;
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped());
        command.spawn().map(Companion).map_err(refused("start another process of this program"))
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

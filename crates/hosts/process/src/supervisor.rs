//! Who sees to the end of a job whose process was killed and could tidy up nothing itself.

use crate::descendants::{JOBS, end_all, new_name, within_own};
use crate::removal::remove_all;
use std::ffi::OsString;
use std::io::{self, Read, Write, stdin};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// What a job says when nothing is left of it.
const NOTHING_LEFT: &[u8] = b"nothing left";

/// A companion process that sees to the end of this process' job: should this one end without a word, it kills every process that descends from
/// the job, and removes the job's folder. Dropped, it is told that nothing is left, unless [something is](Supervisor::leave_rest).
#[derive(Debug)]
pub struct Supervisor {
    process: Child,
    name: String,
    jobs: OsString,
    /// Whether something is left, which it is to end.
    is_needed: bool,
}

impl Supervisor {
    /// Starts it by this command, to which the job's name and its folder are added: a program that calls [`attend`] with them.
    ///
    /// # Errors
    /// The folder is not there, or the system refused.
    pub fn start(mut command: Command, folder: &Path) -> io::Result<Supervisor> {
        let folder = folder.canonicalize()?;
        let name = new_name()?;
        // In a group of its own, and no part of a job around this one: it outlives both and then ends by itself.
        command.arg(&name).arg(folder).env_remove(JOBS).process_group(0).current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let process = command.spawn()?;
        let jobs = within_own(&name);
        Ok(Supervisor { process, name, jobs, is_needed: false })
    }

    /// Something of the job is left: once this is dropped, which does not wait for that, the companion ends it.
    pub fn leave_rest(&mut self) {
        self.is_needed = true;
    }

    /// The job's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The variable of the environment by which children are found, and its value.
    #[must_use]
    pub fn variable(&self) -> (&'static str, OsString) {
        (JOBS, self.jobs.clone())
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        let input = self.process.stdin.take();
        if self.is_needed {
            // Closed without a word.
            return drop(input);
        }
        if let Some(mut input) = input {
            // It fails only if it was killed.
            let _ = input.write_all(NOTHING_LEFT);
        }
        let _ = self.process.wait();
    }
}

/// What the companion does: listens to the job's process on its standard input. That says in the end that nothing is left; if it ends
/// without a word, everything of the job is ended.
///
/// # Errors
/// The folder cannot be removed.
pub fn attend(job: &str, folder: &Path) -> io::Result<()> {
    let mut said = Vec::new();
    // If it cannot be heard, it is not there.
    let _ = stdin().take(NOTHING_LEFT.len() as u64).read_to_end(&mut said);
    if said == NOTHING_LEFT {
        return Ok(());
    }
    end_all(job);
    remove_all(folder)
}

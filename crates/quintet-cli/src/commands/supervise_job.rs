//! `quintet supervise-job`: ends what is left of a job that was killed and could tidy up nothing itself.
//!
//! It listens to the job's process. That says in the end that nothing is left; if it ends without a word, every process that
//! descends from it is killed, and the job's folder removed.
//!
//! The kernel ends the children of a process together with it, if they ask for that, but not their children, who may be in groups
//! and sessions of their own. All of them inherit a variable of the environment that names the job: by it they are found. Only
//! who starts a process without this variable takes it away from here.

use crate::connection::{random, refused};
use clap::Args;
use quintet::Error;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::ffi::OsString;
use std::fs::{File, read_dir, remove_dir_all};
use std::io::{ErrorKind, Read, Write, stdin};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// The variable: the jobs that a process descends from, the outermost first, with a colon between two.
const JOBS: &str = "QUINTET_JOBS";
/// What a job says when nothing is left of it.
const NOTHING_LEFT: &[u8] = b"nothing left";
/// Between two looks at all processes.
const PAUSE: Duration = Duration::from_millis(10);
/// Looks that find nobody, until nobody is there: a process that is becoming another program has no environment for a moment.
const LOOKS: u32 = 3;
/// Looks in all. A process that does not end when it is killed is the system's to end.
const MOST_LOOKS: u32 = 1000;
/// The longest environment that is read. The system allows less.
const LONGEST_ENVIRONMENT: u64 = 16 << 20;

#[derive(Args)]
pub(crate) struct Arguments {
    /// The job's name
    job: String,
    /// Its folder
    folder: PathBuf,
}

/// Who sees to the end of this process' job. Dropped, it is told that nothing is left.
pub(crate) struct Supervisor {
    process: Child,
    jobs: OsString,
}

impl Supervisor {
    /// # Errors
    /// The system refused.
    pub(crate) fn start(folder: &Path) -> Result<Supervisor, Error> {
        let this = std::env::current_exe().map_err(refused("find this program"))?;
        let folder = folder.canonicalize().map_err(refused("find the job's folder"))?;
        let job = format!("{:016x}{:016x}", random(), random());
        let mut command = Command::new(this);
        // In a group of its own, and no part of a job around this one: it outlives both and then ends by itself.
        command.arg("supervise-job").arg(&job).arg(folder).env_remove(JOBS).process_group(0).current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let process = command.spawn().map_err(refused("start another process of this program"))?;
        let mut jobs = std::env::var_os(JOBS).filter(|outer| !outer.is_empty()).unwrap_or_default();
        if !jobs.is_empty() {
            jobs.push(":");
        }
        jobs.push(job);
        Ok(Supervisor { process, jobs })
    }

    /// The variable of the environment by which children are found.
    pub(crate) fn variable(&self) -> (&'static str, OsString) {
        (JOBS, self.jobs.clone())
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        if let Some(mut input) = self.process.stdin.take() {
            // It fails only if it was killed.
            let _ = input.write_all(NOTHING_LEFT);
        }
        let _ = self.process.wait();
    }
}

/// # Errors
/// The system refused to handle signals.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // Whoever asks everybody to end asks the job, too.
        signal_hook::flag::register(signal, Arc::default()).map_err(refused("handle signals"))?;
    }
    let mut said = Vec::new();
    // If it cannot be heard, it is not there.
    let _ = stdin().take(NOTHING_LEFT.len() as u64).read_to_end(&mut said);
    if said != NOTHING_LEFT {
        end_all(&arguments.job);
        match remove_dir_all(&arguments.folder) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(refused("remove the job's folder")(error));
            }
            _ => {}
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Kills whoever is of this job, until nobody is.
fn end_all(job: &str) {
    let mut without = 0;
    for _ in 0..MOST_LOOKS {
        let found = members(job);
        without = if found.is_empty() { without + 1 } else { 0 };
        if without == LOOKS {
            return;
        }
        for member in found {
            // The only error that remains is that it has ended.
            let _ = pidfd_send_signal(&member, Signal::KILL);
        }
        std::thread::sleep(PAUSE);
    }
}

/// The processes of this job.
fn members(job: &str) -> Vec<OwnedFd> {
    let Ok(processes) = read_dir("/proc") else { return Vec::new() };
    let numbers = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    numbers.filter_map(|number| member(number, job)).collect()
}

fn member(number: i32, job: &str) -> Option<OwnedFd> {
    // Opened before its environment is read: should the number be another's meanwhile, this is still the one that ended.
    let process = pidfd_open(Pid::from_raw(number)?, PidfdFlags::empty()).ok()?;
    let mut environment = Vec::new();
    let file = File::open(format!("/proc/{number}/environ")).ok()?;
    file.take(LONGEST_ENVIRONMENT).read_to_end(&mut environment).ok()?;
    is_of(&environment, job).then_some(process)
}

/// Whether an environment, as the kernel shows it, names the job.
fn is_of(environment: &[u8], job: &str) -> bool {
    let mut variables = environment.split(|byte| *byte == 0);
    let jobs = variables.find_map(|variable| variable.strip_prefix(JOBS.as_bytes())?.strip_prefix(b"="));
    jobs.is_some_and(|jobs| jobs.split(|byte| *byte == b':').any(|one| one == job.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_of_the_jobs_that_its_environment_names() {
        assert!(is_of(b"A=b\0QUINTET_JOBS=x:y\0C=d\0", "x") && is_of(b"QUINTET_JOBS=x:y\0", "y"));
        let others: [&[u8]; 5] =
            [b"", b"QUINTET_JOBS=\0", b"QUINTET_JOBS=xy\0", b"QUINTET_JOBSX=x\0", b"A=QUINTET_JOBS=x\0"];
        assert!(others.iter().all(|other| !is_of(other, "x")));
    }
}

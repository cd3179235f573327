//! Who descends from a job.
//!
//! The kernel ends the children of a process together with it, if they ask for that, but not their children, who may be in groups
//! and sessions of their own. All of them inherit a variable of the environment that names the job: by it they are found. Only
//! who starts a process without this variable takes it away from here.

use ring::rand::{SecureRandom, SystemRandom};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::ffi::OsString;
use std::fs::{File, read_dir};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::time::Duration;

/// The variable: the jobs that a process descends from, the outermost first, with a colon between two.
pub const JOBS: &str = quintet_wire::services::process::JOBS_VARIABLE;
/// Between two looks at all processes.
pub(crate) const PAUSE: Duration = Duration::from_millis(10);
/// Looks that find nobody, until nobody is there: a process that is becoming another program has no environment for a moment.
pub(crate) const LOOKS: u32 = 3;
/// Looks in all. A process that does not end when it is killed is the system's to end.
const MOST_LOOKS: u32 = 1000;
/// The longest environment that is read. The system allows less.
const LONGEST_ENVIRONMENT: u64 = 16 << 20;

/// A name that no other job has.
pub(crate) fn new_name() -> io::Result<String> {
    let mut bytes = [0; 16];
    SystemRandom::new().fill(&mut bytes).map_err(|_| io::Error::other("the system gives no randomness"))?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}

/// The variable's value for a job within those of this process.
pub(crate) fn within_own(job: &str) -> OsString {
    let mut jobs = std::env::var_os(JOBS).filter(|outer| !outer.is_empty()).unwrap_or_default();
    if !jobs.is_empty() {
        jobs.push(":");
    }
    jobs.push(job);
    jobs
}

/// Kills whoever is of this job, until nobody is.
pub fn end_all(job: &str) {
    let mut without = 0;
    for _ in 0..MOST_LOOKS {
        without = if kill_all(job) == 0 { without + 1 } else { 0 };
        if without == LOOKS {
            return;
        }
        std::thread::sleep(PAUSE);
    }
}

/// Kills whoever is of this job now. How many that were.
pub(crate) fn kill_all(job: &str) -> usize {
    let found = members(job);
    for member in &found {
        // The only error that remains is that it has ended.
        let _ = pidfd_send_signal(member, Signal::KILL);
    }
    found.len()
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

    #[test]
    fn names_differ() {
        let names = [new_name().expect("randomness"), new_name().expect("randomness")];
        assert!(names[0] != names[1] && names.iter().all(|name| name.len() == 32), "{names:?}");
    }
}

//! Who descends from a job.
//!
//! The kernel ends the children of a process together with it, if they ask for that, but not their children, who may be in groups
//! and sessions of their own. All of them inherit a variable of the environment that names the job: by it they are found. Only
//! who starts a process without this variable takes it away from here.

use ring::rand::{SecureRandom, SystemRandom};
use rustix::io::Errno;
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
pub(crate) const LONGEST_ENVIRONMENT: u64 = 16 << 20;

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
        without = if kill_all(&[job]).is_ok_and(|found| found == [0]) { without + 1 } else { 0 };
        if without == LOOKS {
            return;
        }
        std::thread::sleep(PAUSE);
    }
}

/// Kills whoever is of one of these jobs now, by one look at all processes. How many that were of each job.
///
/// # Errors
/// Not all processes could be looked at, because this one has no descriptor left, say.
pub(crate) fn kill_all(jobs: &[&str]) -> io::Result<Vec<usize>> {
    let mut found = vec![0; jobs.len()];
    for entry in read_dir("/proc")? {
        let Some(number) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let (process, of_jobs) = match member(number, jobs) {
            Ok(member) => member,
            Err(error) if is_shortage(&error) => return Err(error),
            // It has ended, or belongs to another user.
            Err(_) => continue,
        };
        if of_jobs.is_empty() {
            continue;
        }
        // The only error that remains is that it has ended.
        let _ = pidfd_send_signal(&process, Signal::KILL);
        of_jobs.into_iter().for_each(|job| found[job] += 1);
    }
    Ok(found)
}

/// Whether something is lacking here, rather than there.
fn is_shortage(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(errno, Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM))
}

/// A process, and of which of these jobs it is.
fn member(number: i32, jobs: &[&str]) -> io::Result<(OwnedFd, Vec<usize>)> {
    // Opened before its environment is read: should the number be another's meanwhile, this is still the one that ended.
    let number = Pid::from_raw(number).ok_or(Errno::SRCH)?;
    let process = pidfd_open(number, PidfdFlags::empty())?;
    let mut environment = Vec::new();
    let file = File::open(format!("/proc/{}/environ", number.as_raw_nonzero()))?;
    file.take(LONGEST_ENVIRONMENT).read_to_end(&mut environment)?;
    Ok((process, named(&environment, jobs)))
}

/// Which of the jobs an environment, as the kernel shows it, names.
fn named(environment: &[u8], jobs: &[&str]) -> Vec<usize> {
    let mut variables = environment.split(|byte| *byte == 0);
    let value = variables.find_map(|variable| variable.strip_prefix(JOBS.as_bytes())?.strip_prefix(b"="));
    let names = value.into_iter().flat_map(|value| value.split(|byte| *byte == b':'));
    names.filter_map(|name| jobs.iter().position(|job| job.as_bytes() == name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_of_the_jobs_that_its_environment_names() {
        assert_eq!(named(b"A=b\0QUINTET_JOBS=x:y\0C=d\0", &["z", "x", "y"]), [1, 2]);
        assert_eq!(named(b"QUINTET_JOBS=x:y\0", &["y"]), [0]);
        let others: [&[u8]; 5] =
            [b"", b"QUINTET_JOBS=\0", b"QUINTET_JOBS=xy\0", b"QUINTET_JOBSX=x\0", b"A=QUINTET_JOBS=x\0"];
        assert!(others.iter().all(|other| named(other, &["x"]).is_empty()));
    }

    #[test]
    fn names_differ() {
        let names = [new_name().expect("randomness"), new_name().expect("randomness")];
        assert!(names[0] != names[1] && names.iter().all(|name| name.len() == 32), "{names:?}");
    }
}

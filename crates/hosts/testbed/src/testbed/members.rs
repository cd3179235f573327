//! The processes of a machine: found, stopped, ended.
//!
//! In a namespace all processes are the machine's, whoever started them and whatever they have become. On the loopback those are that
//! have the machine's variable in their environment, as all have that descend from a command on it, unless they take it away or become another user's.

use super::TestbedError;
use super::machine::MACHINE;
use super::process::{has_ended, is_stopped, open, state};
use rustix::process::{Signal, geteuid, pidfd_send_signal};
use std::fs::{File, read_dir};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

/// Between two looks at all processes.
const PAUSE: Duration = Duration::from_millis(2);
/// Looks that find nobody, until nobody is there: a process that is becoming another program has no environment for a moment.
const LOOKS: u32 = 3;
/// Looks in all, for ten seconds and more.
const MOST_LOOKS: u32 = 5_000;
/// The longest environment that is read. The system allows less.
const LONGEST_ENVIRONMENT: u64 = 16 << 20;

/// How the processes of a machine are known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Mark {
    /// By the number of their network namespace.
    Namespace(u64),
    /// By the value of their variable.
    Variable(String),
}

impl Mark {
    /// That of the namespace at this path. `None` if there is none.
    pub(super) fn of_namespace(path: &Path) -> Option<Mark> {
        path.metadata().ok().map(|found| Mark::Namespace(found.ino()))
    }

    /// The processes that have it and have not ended, without this one.
    pub(super) fn processes(&self) -> Vec<u32> {
        let entries = read_dir("/proc").into_iter().flatten().flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        numbers.filter(|number| *number != std::process::id() && self.is_on(*number)).collect()
    }

    /// How many of them stand still, and how many there are.
    pub(super) fn count(&self) -> (usize, usize) {
        let states: Vec<char> = self.processes().into_iter().filter_map(state).collect();
        (states.iter().filter(|state| is_stopped(**state)).count(), states.len())
    }

    /// Stops all of them, wherever they are, also those that they start meanwhile.
    ///
    /// # Errors
    /// Some do not stop: they wait for a disk or a device.
    pub(super) fn freeze(&self) -> Result<(), TestbedError> {
        self.until_none("stop", Signal::STOP, |number| state(number).is_some_and(is_stopped))
    }

    /// Lets all of them go on.
    pub(super) fn thaw(&self) {
        for number in self.processes() {
            self.send(number, Signal::CONT);
        }
    }

    /// Ends all of them, also those that they start meanwhile.
    ///
    /// # Errors
    /// Some do not end: they wait for a disk or a device.
    pub(super) fn kill(&self) -> Result<(), TestbedError> {
        self.until_none("end", Signal::KILL, |_| false)
    }

    /// Sends a signal to all that it has not reached, until it has reached all.
    fn until_none(
        &self,
        doing: &str,
        signal: Signal,
        is_done: impl Fn(u32) -> bool,
    ) -> Result<(), TestbedError> {
        let (mut left, mut without) = (Vec::new(), 0);
        for _ in 0..MOST_LOOKS {
            left = self.processes();
            left.retain(|number| !is_done(*number));
            without = if left.is_empty() { without + 1 } else { 0 };
            if without == LOOKS {
                return Ok(());
            }
            for number in &left {
                self.send(*number, signal);
            }
            std::thread::sleep(PAUSE);
        }
        let why = format!("processes {left:?} do not {doing}; they may wait for a disk or a device");
        Err(TestbedError::System { doing: format!("{doing} the processes of a machine"), why })
    }

    fn send(&self, number: u32, signal: Signal) {
        // Opened before it is looked at again: should the number be another's meanwhile, this is still the one that ended.
        if let Some(process) = open(number)
            && self.is_on(number)
        {
            // The only error that remains is that it has ended.
            let _ = pidfd_send_signal(&process, signal);
        }
    }

    fn is_on(&self, number: u32) -> bool {
        match self {
            Mark::Namespace(namespace) => {
                let found = Path::new("/proc").join(number.to_string()).join("ns/net").metadata();
                found.is_ok_and(|found| found.ino() == *namespace)
                    && state(number).is_some_and(|state| !has_ended(state))
            }
            // Whoever else may be on this machine can set any variable.
            Mark::Variable(value) => is_own(number) && has_variable(&environment(number), value),
        }
    }
}

/// Whether it is a process of this user.
fn is_own(number: u32) -> bool {
    let found = Path::new("/proc").join(number.to_string()).metadata();
    found.is_ok_and(|found| found.uid() == geteuid().as_raw())
}

/// What a process was started with; nothing if it has ended, or is another user's.
fn environment(number: u32) -> Vec<u8> {
    let mut environment = Vec::new();
    if let Ok(file) = File::open(format!("/proc/{number}/environ")) {
        // What cannot be read is not there.
        let _ = file.take(LONGEST_ENVIRONMENT).read_to_end(&mut environment);
    }
    environment
}

/// Whether an environment, as the kernel shows it, names the machine.
fn has_variable(environment: &[u8], value: &str) -> bool {
    let mut variables = environment.split(|byte| *byte == 0);
    let named = variables.find_map(|variable| variable.strip_prefix(MACHINE.as_bytes())?.strip_prefix(b"="));
    named == Some(value.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_names_one_machine() {
        let of = |environment: &[u8]| has_variable(environment, "lab/a");
        assert!(of(b"A=b\0QUINTET_MACHINE=lab/a\0C=d\0"));
        let others: [&[u8]; 5] = [
            b"",
            b"QUINTET_MACHINE=lab/ab\0",
            b"QUINTET_MACHINE=\0",
            b"QUINTET_MACHINES=lab/a\0",
            b"A=QUINTET_MACHINE=lab/a\0",
        ];
        assert!(!others.into_iter().any(of));
    }
}

//! Which process is meant, although numbers are given again.

use super::TestbedError;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::fs;
use std::os::fd::OwnedFd;

/// A process by its number and the time of its start: together they are never given again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ProcessName {
    pub(super) number: u32,
    /// In the kernel's ticks since it started itself.
    pub(super) started: u64,
}

impl ProcessName {
    /// Of the process that has this number now.
    pub(super) fn of(number: u32) -> Option<ProcessName> {
        let (state, started) = look(number)?;
        (!has_ended(state)).then_some(ProcessName { number, started })
    }

    /// Whether it is there still.
    pub(super) fn is_alive(self) -> bool {
        ProcessName::of(self.number) == Some(self)
    }

    /// Ends it, if it is there still, and waits until it has ended.
    ///
    /// # Errors
    /// The system refused: it is another user's.
    pub(super) fn kill(self) -> Result<(), TestbedError> {
        // Opened before it is looked at: should the number be another's meanwhile, this is still the one that ended.
        let Some(process) = open(self.number).filter(|_| self.is_alive()) else { return Ok(()) };
        let end = || {
            pidfd_send_signal(&process, Signal::KILL)?;
            while poll(&mut [PollFd::new(&process, PollFlags::IN)], None) == Err(Errno::INTR) {}
            Ok(())
        };
        match end() {
            Ok(()) | Err(Errno::SRCH) => Ok(()),
            Err(errno) => Err(TestbedError::system(format!("end process {}", self.number))(errno)),
        }
    }
}

/// The process of that number, for as long as the descriptor is open.
pub(super) fn open(number: u32) -> Option<OwnedFd> {
    pidfd_open(Pid::from_raw(i32::try_from(number).ok()?)?, PidfdFlags::empty()).ok()
}

/// What names this start of the kernel: nothing of an earlier one is there any more.
pub(super) fn boot() -> String {
    // Where it cannot be read, all starts have one name.
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// Its state as a letter (proc_pid_stat(5)), and its start.
fn look(number: u32) -> Option<(char, u64)> {
    let text = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    // The name of its program may have anything in it, so that fields count from behind it: the state is the third of all, the start the 22nd.
    let mut fields = text.get(text.rfind(')')? + 1..)?.split_whitespace();
    Some((fields.next()?.chars().next()?, fields.nth(18)?.parse().ok()?))
}

/// The letter of its state.
pub(super) fn state(number: u32) -> Option<char> {
    look(number).map(|(state, _)| state)
}

pub(super) fn has_ended(state: char) -> bool {
    matches!(state, 'Z' | 'X' | 'x')
}

/// Whether it stands still because a signal stopped it.
pub(super) fn is_stopped(state: char) -> bool {
    matches!(state, 'T' | 't')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_alive_and_one_that_started_at_another_time_is_another() {
        let this = ProcessName::of(std::process::id()).expect("it is there");
        assert!(this.is_alive());
        assert!(!ProcessName { started: this.started + 1, ..this }.is_alive());
        let mut child = std::process::Command::new("true").spawn().expect("it starts");
        while state(child.id()).is_some_and(|state| !has_ended(state)) {
            std::thread::yield_now();
        }
        assert_eq!(ProcessName::of(child.id()), None, "one that ended and was not reaped is none");
        child.wait().expect("it is reaped");
    }
}

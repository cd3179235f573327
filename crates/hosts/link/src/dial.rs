//! Listens and dials, whatever the kind of link.

use crate::shared_memory::{SharedMemoryDialer, SharedMemoryListener};
use crate::stream::{ListenLimits, StreamDialer, StreamListener};
use crate::{BootstrapError, Dialer, End, LinkAddress, Listener};
use core::time::Duration;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::time::Instant;

/// Listens at `address`.
///
/// # Errors
/// [`BootstrapError`].
pub fn listen(address: &LinkAddress) -> Result<Box<dyn Listener>, BootstrapError> {
    match address {
        LinkAddress::SharedMemory(path) => Ok(Box::new(SharedMemoryListener::bind(path)?)),
        LinkAddress::Unix(_) | LinkAddress::Tcp { .. } | LinkAddress::Tls { .. } => {
            Ok(Box::new(StreamListener::bind(address, ListenLimits::default())?))
        }
    }
}

/// Begins to connect to who listens at `address`, and does not wait.
///
/// # Errors
/// [`BootstrapError`].
pub fn dial(address: &LinkAddress) -> Result<Box<dyn Dialer>, BootstrapError> {
    match address {
        LinkAddress::SharedMemory(path) => Ok(Box::new(SharedMemoryDialer::begin(path)?)),
        LinkAddress::Unix(path) => Ok(Box::new(StreamDialer::unix(path)?)),
        LinkAddress::Tcp { host, port } | LinkAddress::Tls { host, port, .. } => {
            Ok(Box::new(StreamDialer::tcp(address, host, *port)?))
        }
    }
}

/// Connects to who listens at `address`. Waits for no longer than `limit`.
///
/// # Errors
/// [`BootstrapError`]; [`BootstrapError::Silent`] after `limit`.
pub fn connect(address: &LinkAddress, limit: Duration) -> Result<End, BootstrapError> {
    let mut dialer = dial(address)?;
    let left = Left { started: Instant::now(), limit };
    loop {
        if let Some(end) = dialer.finish()? {
            return Ok(end);
        }
        let waited = wait(
            |limit| poll(&mut [PollFd::from_borrowed_fd(dialer.fd(), PollFlags::IN)], Some(limit)),
            &left,
        );
        match waited {
            Ok(0) => return Err(BootstrapError::Silent { address: address.clone(), waited: limit }),
            Ok(_) => {}
            Err(errno) => return Err(BootstrapError::system(address, "wait for the answer", errno)),
        }
    }
}

/// How much of a limit is left.
struct Left {
    started: Instant,
    limit: Duration,
}

/// Calls again what a signal interrupts, for no longer than is left in all.
fn wait<T>(mut call: impl FnMut(&Timespec) -> Result<T, Errno>, left: &Left) -> Result<T, Errno> {
    loop {
        let left = left.limit.saturating_sub(left.started.elapsed());
        // A limit beyond what the system counts is as good as the longest.
        let left = Timespec::try_from(left).unwrap_or(Timespec { tv_sec: i64::MAX, tv_nsec: 0 });
        match call(&left) {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_do_not_prolong_a_wait() {
        let mut lefts = Vec::new();
        let whole = Left { started: Instant::now(), limit: Duration::from_secs(5) };
        let waited = wait(
            |left| {
                lefts.push(*left);
                let began = Instant::now();
                while Instant::now() == began {}
                if lefts.len() < 5 { Err(Errno::INTR) } else { Ok(()) }
            },
            &whole,
        );
        assert_eq!(waited, Ok(()));
        assert!(lefts.is_sorted_by(|before, after| before > after), "{lefts:?}");
    }
}

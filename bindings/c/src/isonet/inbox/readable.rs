//! A descriptor that is readable while the program has something to take.

use quintet::{Code, Error};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{read, write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// An eventfd, whose count is 1 while it is readable, and else 0.
pub(super) struct Readable {
    descriptor: OwnedFd,
    is_readable: bool,
}

impl Readable {
    /// # Errors
    /// `Resource`: the system refuses a descriptor.
    pub(super) fn new() -> Result<Readable, Error> {
        let made = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let refused = |error| Error::new(Code::Resource, format!("no descriptor for this isonet: {error}"));
        Ok(Readable { descriptor: made.map_err(refused)?, is_readable: false })
    }

    pub(super) fn number(&self) -> RawFd {
        self.descriptor.as_raw_fd()
    }

    pub(super) fn show(&mut self, is_readable: bool) {
        if core::mem::replace(&mut self.is_readable, is_readable) == is_readable {
            return;
        }
        // Neither waits nor fails: the count goes from 0 to 1, and back.
        let _ = match is_readable {
            true => write(&self.descriptor, &1u64.to_ne_bytes()),
            false => read(&self.descriptor, &mut [0; 8]),
        };
    }
}

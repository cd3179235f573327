//! Wakes the one thread that sleeps at an end of a link, or that runs a node.
//!
//! The sleeper arms the bell, looks once more for work, and sleeps; whoever made work looks at the bell after it. Between
//! each side's write and its look stands a store-load fence, so at least one of the two sees the other: without it wake-ups
//! are lost. Whoever strikes the bell takes the arming with it: one strike ends a sleep, and each costs a system call.

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{Errno, read, write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering, fence};

/// The bell of one end, or of one node.
#[derive(Debug)]
pub struct Doorbell {
    armed: AtomicBool,
    rung: AtomicBool,
    /// It was struck since the last [`Doorbell::drain_if_struck`].
    struck: AtomicBool,
    event: OwnedFd,
}

impl Doorbell {
    /// A bell nobody sleeps beside.
    ///
    /// # Errors
    /// The system refused the descriptor.
    pub fn new() -> Result<Self, Errno> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Doorbell {
            armed: AtomicBool::new(false),
            rung: AtomicBool::new(false),
            struck: AtomicBool::new(false),
            event,
        })
    }

    /// Ends the present wait, or the next one if there is none.
    pub fn ring(&self) {
        self.rung.store(true, Ordering::Release);
        self.wake();
    }

    /// Ends the present sleep, if there is one: for work that the sleeper sees by itself when it looks.
    pub(crate) fn wake(&self) {
        fence(Ordering::SeqCst);
        if self.armed.load(Ordering::Relaxed) && self.armed.swap(false, Ordering::Relaxed) {
            strike(self.event.as_fd());
            // After it, so that a strike is never left behind for good.
            self.struck.store(true, Ordering::Release);
        }
    }

    /// Whether it was rung since [`Doorbell::answer`].
    #[must_use]
    pub fn was_rung(&self) -> bool {
        self.rung.load(Ordering::Acquire)
    }

    /// Takes note of a ring: what its ringer did before is seen from here on.
    pub fn answer(&self) {
        if self.was_rung() {
            self.rung.swap(false, Ordering::AcqRel);
        }
    }

    /// Announces sleep. Look for work after it.
    pub fn arm(&self) {
        self.armed.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Ends what [`Doorbell::arm`] began, unless a strike has.
    pub fn disarm(&self) {
        self.armed.store(false, Ordering::Relaxed);
    }

    /// Makes the descriptor unreadable again.
    pub fn drain(&self) {
        let mut counter = [0; 8];
        // It fails only if nobody struck: then there is nothing to drain.
        let _ = read(&self.event, &mut counter);
    }

    /// As [`Doorbell::drain`], without a system call if nobody struck.
    #[cfg(not(loom))]
    pub(crate) fn drain_if_struck(&self) {
        if self.struck.load(Ordering::Relaxed) && self.struck.swap(false, Ordering::Acquire) {
            self.drain();
        }
    }

    /// Readable when the bell was struck while armed.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}

/// Makes an eventfd readable. It never blocks; when its counter is full it is readable already.
pub(crate) fn strike(event: BorrowedFd<'_>) {
    let _ = write(event, &1u64.to_ne_bytes());
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// How often it was struck since this was asked last.
    fn strikes(bell: &Doorbell) -> u64 {
        let mut counter = [0; 8];
        match read(&bell.event, &mut counter) {
            Ok(_) => u64::from_ne_bytes(counter),
            Err(_) => 0,
        }
    }

    #[test]
    fn many_rings_end_a_sleep_by_one_strike() {
        let bell = Doorbell::new().expect("a descriptor is there");
        bell.ring();
        assert_eq!(strikes(&bell), 0, "nobody sleeps");
        for _ in 0..2 {
            bell.arm();
            (0..3).for_each(|_| bell.ring());
            assert_eq!(strikes(&bell), 1);
            bell.disarm();
        }
        bell.ring();
        assert_eq!(strikes(&bell), 0, "the sleep is over");
    }
}

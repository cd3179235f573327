//! Calls of a program that waits in an event loop of its own.

use super::Calls;
use crate::watch::Watch;
use std::io;
use std::os::fd::BorrowedFd;

/// Bursts in one [`Calls::advance`], so that a busy peer does not keep an event loop from its other work.
const BURSTS: usize = 16;

impl Calls {
    /// A descriptor that is readable while [`Calls::advance`] has something to do. It costs the calls of all threads a
    /// little from then on.
    ///
    /// # Errors
    /// The system refuses a descriptor.
    pub fn watch(&self) -> io::Result<BorrowedFd<'_>> {
        if self.watch.get().is_none() {
            if self.is_inherited() {
                return Err(io::Error::other(
                    "another process made this connection: this one was forked from it",
                ));
            }
            if self.inlets.is_some() && self.arrivals.is_none() {
                return Err(io::Error::other("there was no descriptor left for this link when it was made"));
            }
            let made = Watch::new(self.arrivals.as_deref())?;
            // Another thread's may have been first.
            let watch = self.watch.get_or_init(|| made);
            // Sees to what came before.
            watch.ring();
        }
        Ok(self.watch.get().expect("it was set a line above").fd())
    }

    /// Does what is due and takes in what has come. Never waits. While others poll the links it leaves them to them.
    pub fn advance(&self) {
        if self.is_inherited() {
            return;
        }
        if let Some(watch) = self.watch.get() {
            watch.answer();
        }
        let Some(mut inlets) = self.inlets() else { return self.wake_protocol() };
        inlets.attend();
        let mut due = Vec::new();
        for _ in 0..BURSTS {
            due.extend(self.turn(&mut inlets));
            if !inlets.has_frames() {
                break;
            }
        }
        self.leave(inlets, due);
    }
}

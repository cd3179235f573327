//! For programs with an event loop of their own.

use crate::{Error, Lab};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

/// A descriptor for the program's own event loop: poll, epoll, or what a runtime builds on them. It is readable while
/// [`Watch::progress`] has something to do for the connection: an answer came, a deadline passed, the other side died.
///
/// Begin operations with [`Space::begin`](crate::Space::begin), wait until the descriptor is readable, call [`Watch::progress`], and see which of
/// them is done ([`Pending::is_done`](crate::Pending::is_done)). No thread is started and nothing is put into the space.
/// One loop may watch a connection at a time; other threads may go on making calls of every kind.
///
/// ```
/// use quintet::{Lab, Outcome, template, tuple};
/// use rustix::event::{PollFd, PollFlags, poll};
/// use std::time::Duration;
///
/// let lab = Lab::embedded();
/// let watch = lab.watch()?;
/// let mut row = lab.space().begin().take(&template!["row", ?i64])?;
/// let other = lab.space();
/// std::thread::spawn(move || other.out(tuple!["row", 3i64]));
/// while !row.is_done() {
///     poll(&mut [PollFd::new(&watch, PollFlags::IN)], None)?; // beside the program's own descriptors
///     watch.progress();
/// }
/// let taken = row.wait(Duration::ZERO).expect("it is done")?;
/// assert_eq!(taken, Outcome::Tuple(tuple!["row", 3i64], None));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Watch {
    lab: Lab,
}

impl Watch {
    pub(crate) fn new(lab: Lab) -> Result<Self, Error> {
        match lab.shared.calls.watch() {
            Ok(_) => Ok(Watch { lab }),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes in what has come and does what is due. Never waits. Afterwards the descriptor is readable only if there is
    /// something to do again.
    pub fn progress(&self) {
        self.lab.shared.calls.advance();
    }
}

impl AsFd for Watch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.lab
            .shared
            .calls
            .watch()
            .expect("it was made with this watch, and lives as long as the connection")
    }
}

impl AsRawFd for Watch {
    fn as_raw_fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}

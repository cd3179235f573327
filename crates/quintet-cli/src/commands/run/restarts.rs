//! Workers that are started again because they ended before their time.
//!
//! A worker is started again when everything that it said before was heard: otherwise what it said would seem to be said by
//! the one that takes its place.

use std::collections::BTreeSet;

/// How many there may be, and which are due.
pub(super) struct Restarts {
    left: u64,
    made: u64,
    due: BTreeSet<i64>,
}

impl Restarts {
    /// At most so many.
    pub(super) fn new(most: u64) -> Restarts {
        Restarts { left: most, made: 0, due: BTreeSet::new() }
    }

    /// Whether a worker that ended may be started again. If so, that is due.
    pub(super) fn ask(&mut self, rank: i64) -> bool {
        let Some(left) = self.left.checked_sub(1) else { return false };
        self.left = left;
        self.due.insert(rank)
    }

    /// Whether this worker was to be started again. It is now.
    pub(super) fn take(&mut self, rank: i64) -> bool {
        let was_due = self.due.remove(&rank);
        self.made += u64::from(was_due);
        was_due
    }

    /// How many are due.
    pub(super) fn due(&self) -> usize {
        self.due.len()
    }

    pub(super) fn made(&self) -> u64 {
        self.made
    }
}

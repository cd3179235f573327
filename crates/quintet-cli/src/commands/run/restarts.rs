//! Workers that are started again because they ended before their time.
//!
//! A worker is started again when everything that it said before was heard: otherwise what it said would seem to be said by
//! the one that takes its place.

use std::collections::BTreeSet;

/// How many there may be, and which are due.
pub(super) struct Restarts {
    most: u64,
    asked: u64,
    made: u64,
    due: BTreeSet<i64>,
    /// Workers that ended with their machine.
    lost: u64,
}

impl Restarts {
    /// At most so many, and one for each task that came back.
    pub(super) fn new(most: u64) -> Restarts {
        Restarts { most, asked: 0, made: 0, due: BTreeSet::new(), lost: 0 }
    }

    /// So many workers have ended with their machine. That is no end of restarts either: no worker comes back to that machine.
    pub(super) fn are_lost(&mut self, workers: u64) {
        self.lost = self.lost.saturating_add(workers);
    }

    /// Whether a worker that ended may be started again. If so, that is due. `returned`: tasks that came back so far because who
    /// held them ended. Each of them comes back a limited number of times, so a restart for each is no end of restarts: however
    /// many tasks end who takes them, all become dead letters.
    pub(super) fn ask(&mut self, rank: i64, returned: u64) -> bool {
        if self.asked >= self.most.saturating_add(returned).saturating_add(self.lost) {
            return false;
        }
        self.asked += 1;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_that_came_back_pays_for_a_restart() {
        let mut restarts = Restarts::new(2);
        let mut again = |returned| restarts.ask(0, returned) && restarts.take(0);
        assert!(again(0) && again(0) && !again(0));
        assert!(again(1) && !again(1) && again(3) && again(3) && !again(3));
        assert_eq!((restarts.made(), restarts.due()), (5, 0));
    }

    #[test]
    fn workers_that_ended_with_their_machine_cost_nothing() {
        let mut restarts = Restarts::new(1);
        restarts.are_lost(2);
        let again: Vec<bool> = (0..4).map(|rank| restarts.ask(rank, 0)).collect();
        assert_eq!(again, [true, true, true, false]);
    }
}

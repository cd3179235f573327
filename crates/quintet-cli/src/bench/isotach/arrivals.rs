//! What arrives at a member: how many messages of each other one, and when each part of what is expected was there.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Counted by the one thread that executes isochrons and handles plain messages.
pub(super) struct Arrivals {
    /// Of each member.
    of: Vec<AtomicUsize>,
    /// Of all since it was last said what is expected.
    count: AtomicUsize,
    /// Messages of a part; 0: nothing is expected, and no clock is read.
    part: AtomicUsize,
    parts: Mutex<Vec<Instant>>,
}

impl Arrivals {
    /// Of so many members.
    pub(super) fn new(members: u16) -> Arrivals {
        Arrivals {
            of: (0..members).map(|_| AtomicUsize::new(0)).collect(),
            count: AtomicUsize::new(0),
            part: AtomicUsize::new(0),
            parts: Mutex::default(),
        }
    }

    /// One of that member has come.
    pub(super) fn note(&self, sender: u16) {
        if let Some(of_sender) = self.of.get(usize::from(sender)) {
            count_one(of_sender);
        }
        let part = self.part.load(Relaxed);
        if part > 0 && count_one(&self.count).is_multiple_of(part) {
            self.parts.lock().unwrap_or_else(PoisonError::into_inner).push(Instant::now());
        }
    }

    /// Notes from now on when each so many messages were there. None are under way.
    pub(super) fn expect(&self, part: usize) {
        self.take_parts();
        self.count.store(0, Relaxed);
        self.part.store(part, Relaxed);
    }

    /// When each part was there, up to now.
    pub(super) fn take_parts(&self) -> Vec<Instant> {
        std::mem::take(&mut *self.parts.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// How many of each member have come.
    pub(super) fn of_each(&self) -> Vec<usize> {
        self.of.iter().map(|count| count.load(Relaxed)).collect()
    }
}

/// One more; how many there are. Nobody else counts, so that this takes no locked instruction.
fn count_one(counter: &AtomicUsize) -> usize {
    let count = counter.load(Relaxed) + 1;
    counter.store(count, Relaxed);
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_has_its_time_and_each_sender_its_count() {
        let arrivals = Arrivals::new(3);
        arrivals.note(1);
        assert!(arrivals.take_parts().is_empty(), "nothing was expected");
        arrivals.expect(2);
        [1, 2, 2, 2, 1].into_iter().for_each(|sender| arrivals.note(sender));
        assert_eq!(arrivals.of_each(), [0, 3, 3]);
        let parts = arrivals.take_parts();
        assert!(parts.len() == 2 && parts.is_sorted(), "{parts:?}");
        arrivals.expect(1);
        arrivals.note(0);
        assert_eq!((arrivals.take_parts().len(), arrivals.of_each()), (1, vec![1, 3, 3]));
    }
}

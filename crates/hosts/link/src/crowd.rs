//! Whether a thread that waits is one of many: then its spin keeps the others of its process from asking.
//!
//! A spin pays for who spins, also on a processor that others wait for: its answer comes from another processor, and it asks again at once. The
//! others do nothing meanwhile, and whom they would have asked finds one request at a time. So waiters of a process count together how
//! often they have waited. Who finds that the others waited as often as there are processors for each wait of his own does not spin.

use core::sync::atomic::{AtomicU64, Ordering};
use rustix::thread::{CpuSet, sched_getaffinity};

/// Waits of one waiter over which is judged.
const WAITS: u64 = 64;

/// Waits that have ended, of all waiters of this process.
static ENDED: AtomicU64 = AtomicU64::new(0);

/// What one waiter knows of the others.
#[derive(Debug, Default)]
pub(crate) struct Crowd {
    /// Its own waits since it last judged.
    own: u64,
    /// How many had ended then.
    before: u64,
    is_dense: bool,
}

impl Crowd {
    /// Whether the others want the processors as well.
    #[inline]
    pub(crate) fn is_dense(&self) -> bool {
        self.is_dense
    }

    /// A wait of this waiter has ended.
    #[inline]
    pub(crate) fn waited(&mut self) {
        self.count(ENDED.fetch_add(1, Ordering::Relaxed) + 1, processors);
    }

    /// One more has ended, and that is how many did.
    fn count(&mut self, ended: u64, processors: impl FnOnce() -> u64) {
        if self.before == 0 {
            self.before = ended - 1;
        }
        self.own += 1;
        if self.own == WAITS {
            let others = ended.wrapping_sub(self.before).saturating_sub(WAITS);
            *self = Crowd { own: 0, before: ended, is_dense: others >= WAITS * processors() };
        }
    }
}

/// On how many processors the calling thread may be. Where the system does not say, a spin is in nobody's way.
fn processors() -> u64 {
    sched_getaffinity(None).map_or(CpuSet::MAX_CPU as u64, |set| u64::from(set.count()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One of so many waiters that take turns on so many processors, after so many waits of each.
    fn one_of(waiters: u64, processors: u64, waits: u64) -> Crowd {
        let mut crowd = Crowd::default();
        (0..waits).for_each(|turn| crowd.count(7 + turn * waiters, || processors));
        crowd
    }

    #[test]
    fn a_waiter_is_in_a_crowd_where_there_are_others_for_every_processor() {
        let dense = |waiters, processors| one_of(waiters, processors, 2 * WAITS).is_dense();
        assert!(!dense(1, 1), "alone");
        assert!(dense(2, 1) && dense(16, 1));
        assert!(!dense(2, 2), "each has a processor");
        assert!(dense(3, 2) && dense(16, 2));
        assert!(!dense(16, 16));
    }

    #[test]
    fn what_others_did_before_the_first_wait_is_no_crowd() {
        assert!(!one_of(1, 1, WAITS).is_dense());
    }

    #[test]
    fn who_is_left_alone_spins_again() {
        let mut crowd = one_of(16, 1, 2 * WAITS);
        let before = crowd.before;
        (1..=WAITS).for_each(|turn| crowd.count(before + turn, || 1));
        assert!(!crowd.is_dense());
    }

    #[test]
    fn turns_of_uneven_length_are_taken_together() {
        // Each is interrupted once in 32 of its waits; then the other fifteen have as many.
        let mut crowd = Crowd::default();
        (0..2 * WAITS).for_each(|turn| crowd.count(1 + turn + turn / 32 * 32 * 15, || 1));
        assert!(crowd.is_dense());
    }

    #[test]
    fn a_thread_knows_its_processors() {
        assert!((1..=CpuSet::MAX_CPU as u64).contains(&processors()));
    }
}

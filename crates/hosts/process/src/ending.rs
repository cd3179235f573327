//! A job on its way out: everybody of it is killed, until nobody is found.

use crate::descendants::{LOOKS, PAUSE, kill_all};
use std::time::{Duration, Instant};

/// Looks after which they become rarer: a process that does not end when it is killed waits for a device.
const MANY_LOOKS: u32 = 100;
const LONG_PAUSE: Duration = Duration::from_millis(200);

/// A job on its way out.
#[derive(Debug)]
pub(crate) struct Ending<T> {
    /// Who asked for it.
    pub(crate) askers: Vec<T>,
    /// When to look next who is left.
    pub(crate) next: Instant,
    looks: u32,
    /// Looks that have found nobody, one after the other.
    without: u32,
}

impl<T> Ending<T> {
    pub(crate) fn new(asker: Option<T>) -> Ending<T> {
        Ending { askers: asker.into_iter().collect(), next: Instant::now(), looks: 0, without: 0 }
    }

    /// Kills those who are left, and tells whether nobody was found often enough. `has_children`: some of the job were not reaped.
    pub(crate) fn look(&mut self, name: &str, has_children: bool, now: Instant) -> bool {
        if now < self.next {
            return false;
        }
        self.looks = self.looks.saturating_add(1);
        let found = kill_all(name);
        self.without = if found == 0 && !has_children { self.without + 1 } else { 0 };
        self.next = now + if self.looks < MANY_LOOKS { PAUSE } else { LONG_PAUSE };
        self.without >= LOOKS
    }
}

//! Counts over time.

use crate::picos::Picos;

/// Throughput: what was counted, over the time in which it was.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rate {
    since: Picos,
    count: u64,
}

impl Rate {
    /// Nothing, from `now` on.
    #[must_use]
    pub fn new(now: Picos) -> Self {
        Rate { since: now, count: 0 }
    }

    /// So many more: messages, bytes, bits. Saturates.
    pub fn add(&mut self, count: u64) {
        self.count = self.count.saturating_add(count);
    }

    /// How many since the beginning or the last [`reset`](Rate::reset).
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// How many a second until `now`; 0 if no time has passed.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "results have fewer digits")]
    pub fn per_second(&self, now: Picos) -> f64 {
        let length = now - self.since;
        if length == Picos::ZERO { 0.0 } else { self.count as f64 / length.as_seconds() }
    }

    /// Forgets what was before `now`.
    pub fn reset(&mut self, now: Picos) {
        *self = Rate::new(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_before_a_reset_does_not_count() {
        let second = Picos::from_seconds(1.0);
        let mut rate = Rate::new(Picos::ZERO);
        assert_eq!(rate.per_second(Picos::ZERO), 0.0);
        rate.add(30);
        assert_eq!(rate.per_second(second.times(2)), 15.0);
        rate.reset(second.times(2));
        rate.add(5);
        assert_eq!((rate.count(), rate.per_second(second.times(4))), (5, 2.5));
    }
}

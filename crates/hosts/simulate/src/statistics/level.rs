//! Values that hold until they change.

use crate::picos::Picos;

/// The mean over time of a value that stays constant between changes: a queue's length; or utilisation, if the value is
/// 1 while an element is busy and 0 while it is idle. Any unit.
///
/// A change before the last one counts as at the time of the last one.
#[derive(Clone, PartialEq, Debug)]
pub struct Level {
    since: Picos,
    changed: Picos,
    current: f64,
    /// Value times picoseconds from `since` to `changed`.
    area: f64,
}

impl Level {
    /// `value` from `now` on.
    #[must_use]
    pub fn new(now: Picos, value: f64) -> Self {
        Level { since: now, changed: now, current: value, area: 0.0 }
    }

    /// `value` from `now` on.
    pub fn set(&mut self, now: Picos, value: f64) {
        self.area += self.area_until(now);
        self.changed = self.changed.max(now);
        self.current = value;
    }

    /// The value now.
    #[must_use]
    pub fn current(&self) -> f64 {
        self.current
    }

    /// The mean until `now`, since the beginning or the last [`reset`](Level::reset); the current value if no time has
    /// passed.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "results have fewer digits")]
    pub fn mean(&self, now: Picos) -> f64 {
        let length = now.max(self.changed) - self.since;
        if length == Picos::ZERO {
            self.current
        } else {
            (self.area + self.area_until(now)) / length.0 as f64
        }
    }

    /// Forgets what was before `now`; the value stays.
    pub fn reset(&mut self, now: Picos) {
        *self = Level::new(now, self.current);
    }

    #[expect(clippy::cast_precision_loss, reason = "results have fewer digits")]
    fn area_until(&self, now: Picos) -> f64 {
        self.current * (now - self.changed).0 as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_weighs_each_value_by_its_time() {
        let mut queue = Level::new(Picos(100), 0.0);
        queue.set(Picos(110), 1.0);
        queue.set(Picos(120), 3.0);
        queue.set(Picos(150), 0.0);
        assert_eq!(queue.mean(Picos(200)), 1.0, "(1 x 10 + 3 x 30) / 100");
        assert_eq!(queue.current(), 0.0);
        queue.set(Picos(200), 2.0);
        queue.reset(Picos(210));
        assert_eq!((queue.mean(Picos(210)), queue.mean(Picos(220))), (2.0, 2.0));
    }

    #[test]
    fn time_does_not_run_back() {
        let mut level = Level::new(Picos(10), 1.0);
        level.set(Picos(20), 5.0);
        level.set(Picos(15), 3.0);
        assert_eq!(level.mean(Picos(5)), 1.0, "until the last change");
        assert_eq!(level.mean(Picos(30)), 2.0);
    }
}

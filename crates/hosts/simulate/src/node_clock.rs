//! A node's own clock: it may be set wrong, run too fast or too slow, and be read now and then only.

use crate::picos::Picos;
use quintet_contract::{Span, Time};

/// What a node reads when the simulated time is something else.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NodeClock {
    /// Nanoseconds that it was ahead at the start.
    offset_nanos: i64,
    /// Nanoseconds that it gains in a second.
    drift_ppb: i64,
    /// It is read at the multiples of this by its own time; zero: at every input.
    tick: Span,
    /// The latest reading: a protocol's time never goes back.
    latest: Time,
}

impl NodeClock {
    /// Sets how wrong it is from now on.
    pub(crate) fn set(&mut self, offset_nanos: i64, drift_ppb: i64) {
        (self.offset_nanos, self.drift_ppb) = (offset_nanos, drift_ppb);
    }

    /// Has it read at the multiples of `tick` only.
    pub(crate) fn set_tick(&mut self, tick: Span) {
        self.tick = tick;
    }

    /// What is read at `now`.
    pub(crate) fn read(&mut self, now: Picos) -> Time {
        self.latest = self.reading(now);
        self.latest
    }

    fn reading(&self, now: Picos) -> Time {
        let shown = self.shows(now).0;
        let past_tick = shown.checked_rem(self.tick.0).unwrap_or(0);
        self.latest.max(Time(shown - past_tick))
    }

    /// When whoever wants to be woken at `time` is: when so late is read; at once, or when it is read next, if that has been read already.
    pub(crate) fn wakes_at(&self, time: Time, now: Picos) -> Picos {
        let is_due = self.reading(now) >= time;
        let tick = self.tick.0;
        let time = match (is_due, tick) {
            (true, 0) => return now,
            (false, 0) => time,
            (true, _) => Time((self.shows(now).0 / tick + 1).saturating_mul(tick)),
            (false, _) => Time(time.0.div_ceil(tick).saturating_mul(tick)),
        };
        self.reaching(time).max(now)
    }

    /// What it would show, were it not for what was read before.
    pub(crate) fn shows(&self, now: Picos) -> Time {
        if (self.offset_nanos, self.drift_ppb) == (0, 0) {
            return now.time();
        }
        let nanos = i128::from(now.time().0);
        let gained = nanos * i128::from(self.drift_ppb) / 1_000_000_000 + i128::from(self.offset_nanos);
        Time(u64::try_from((nanos + gained).max(0)).unwrap_or(u64::MAX))
    }

    /// The first simulated time, a few nanoseconds late at most, at which it shows `time`.
    fn reaching(&self, time: Time) -> Picos {
        if (self.offset_nanos, self.drift_ppb) == (0, 0) {
            return Picos::reaching(time);
        }
        let shown = i128::from(time.0) - i128::from(self.offset_nanos);
        let nanos = shown * 1_000_000_000 / i128::from(1_000_000_000 + self.drift_ppb.max(-999_999_999));
        let nanos = u64::try_from(nanos.max(0)).unwrap_or(u64::MAX);
        let late = (0..4).map(|late| Time(nanos.saturating_add(late)));
        Picos::reaching(
            late.clone()
                .find(|at| self.shows(Picos::reaching(*at)) >= time)
                .unwrap_or(Time(nanos.saturating_add(4))),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_right_clock_shows_the_simulated_time() {
        let mut clock = NodeClock::default();
        assert_eq!(clock.read(Picos(5_999)), Time(5));
        assert_eq!(clock.reaching(Time(5)), Picos(5_000));
    }

    #[test]
    fn a_wrong_clock_reaches_a_time_when_it_shows_it() {
        for (offset, drift) in [(1_000, 0), (-1_000, 0), (0, 100_000), (-50, -200_000_000), (7, 999_999_999)]
        {
            let mut clock = NodeClock::default();
            clock.set(offset, drift);
            for time in [Time(0), Time(1), Time(12_345), Time(3_000_000_000)] {
                let at = clock.reaching(time);
                assert!(clock.shows(at) >= time, "offset {offset}, drift {drift}, {time}");
            }
        }
    }

    #[test]
    fn a_clock_that_is_read_now_and_then_gives_several_inputs_one_time() {
        let mut clock = NodeClock::default();
        clock.set_tick(Span(100));
        assert_eq!((clock.read(Picos(150_000)), clock.read(Picos(199_999))), (Time(100), Time(100)));
        let now = Picos(150_000);
        assert_eq!(clock.wakes_at(Time(100), now), Picos(200_000), "due, when it is read next");
        assert_eq!(clock.wakes_at(Time(101), now), Picos(200_000));
        assert_eq!(clock.wakes_at(Time(201), now), Picos(300_000), "never early");
        assert_eq!(clock.wakes_at(Time(300), now), Picos(300_000));
    }

    #[test]
    fn what_is_due_by_a_clock_that_stands_still_is_due() {
        let mut clock = NodeClock::default();
        clock.set(-3_000_000, 0);
        let now = Picos(1_000_000);
        assert_eq!(clock.read(now), Time::ZERO, "it began before its own time");
        assert_eq!(clock.wakes_at(Time::ZERO, now), now);
    }

    #[test]
    fn time_never_goes_back() {
        let mut clock = NodeClock::default();
        assert_eq!(clock.read(Picos(9_000)), Time(9));
        clock.set(-5, 0);
        assert_eq!(clock.read(Picos(10_000)), Time(9));
    }
}

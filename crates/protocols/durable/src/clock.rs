//! Time that goes on where the log ended.

use quintet_contract::{Span, Time};

/// Tells the log's time from the host's. While nobody runs, no time passes in the log: nothing ends because its keeper was down.
#[derive(Clone, Copy, Debug)]
pub struct LogClock {
    /// The host's time at which this life began.
    origin: Time,
    /// The log's time then.
    base: Time,
}

impl LogClock {
    /// A life that begins now, where the log ends at `base`.
    #[must_use]
    pub fn new(origin: Time, base: Time) -> LogClock {
        LogClock { origin, base }
    }

    /// The log's time.
    #[must_use]
    pub fn of_log(&self, now: Time) -> Time {
        self.base + now.since(self.origin)
    }

    /// The host's time at which the log's is that.
    #[must_use]
    pub fn of_host(&self, time: Time) -> Time {
        match time {
            Time::NEVER => Time::NEVER,
            time => self.origin + Span(time.0.saturating_sub(self.base.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_on_where_it_ended_and_deadlines_come_when_it_is_there() {
        let clock = LogClock::new(Time(1_000), Time(50));
        assert_eq!([Time(1_000), Time(1_007)].map(|now| clock.of_log(now)), [Time(50), Time(57)]);
        assert_eq!(
            [Time(57), Time(3), Time::NEVER].map(|time| clock.of_host(time)),
            [Time(1_007), Time(1_000), Time::NEVER]
        );
    }
}

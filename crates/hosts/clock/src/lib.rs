//! Reads clocks for live hosts. Estimating another machine's clock is the business of the protocol `measure`, not of
//! this crate.
#![forbid(unsafe_code)]

use quintet_contract::Time;
use std::time::Instant;

/// The time of a live host: nanoseconds of the monotonic clock since the host's start. A read costs about 30 ns, so
/// hosts read once a burst, not once a frame.
#[derive(Clone, Copy, Debug)]
pub struct LiveClock {
    start: Instant,
}

impl LiveClock {
    /// A clock that stands at zero now.
    #[must_use]
    pub fn start() -> Self {
        LiveClock { start: Instant::now() }
    }

    /// The time now. Never decreases.
    #[must_use]
    pub fn now(&self) -> Time {
        Time(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}

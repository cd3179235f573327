//! Reads clocks for live hosts. Estimating another machine's clock is the business of the protocol `measure`, not of
//! this crate.
#![forbid(unsafe_code)]

use quintet_contract::Time;
use rustix::time::{ClockId, clock_gettime};

/// The time of a live host: nanoseconds of the monotonic clock since the host's start. A read costs about 25 ns, so
/// hosts read once a burst, not once a frame.
#[derive(Clone, Copy, Debug)]
pub struct LiveClock {
    start: u64,
}

impl LiveClock {
    /// A clock that stands at zero now.
    #[must_use]
    pub fn start() -> Self {
        LiveClock { start: monotonic() }
    }

    /// The time now. Never decreases.
    #[must_use]
    pub fn now(&self) -> Time {
        Time(monotonic().saturating_sub(self.start))
    }
}

/// Nanoseconds of the monotonic clock, which all processes of a machine share: since it was started. 64 bits of them last for 584 years. In one
/// number, which is subtracted at once where two `Instant`s are compared and carried.
#[must_use]
pub fn monotonic() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    // Neither is ever negative.
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

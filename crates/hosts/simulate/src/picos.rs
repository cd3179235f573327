//! The simulator's time.

use core::fmt;
use core::ops::{Add, AddAssign, Sub};
use quintet_contract::{Span, Time};

/// A point in simulated time, or a length of it, in whole picoseconds. 213 days fit.
///
/// Whole numbers, so that a run is the same on every machine: lengths that are computed are rounded to the nearest
/// picosecond once, when they enter. Sums saturate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Picos(pub u64);

impl Picos {
    /// The beginning, or no time.
    pub const ZERO: Picos = Picos(0);
    /// The end of time.
    pub const NEVER: Picos = Picos(u64::MAX);

    /// The nearest whole number of picoseconds; zero for what is negative or no number.
    #[must_use]
    pub fn from_seconds(seconds: f64) -> Picos {
        Picos(nearest(seconds * 1e12))
    }

    /// In seconds, for results.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "results have fewer digits")]
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// So many times this length.
    #[must_use]
    pub const fn times(self, count: u64) -> Picos {
        Picos(self.0.saturating_mul(count))
    }

    /// As protocols see it: rounded down to whole nanoseconds.
    #[must_use]
    pub const fn time(self) -> Time {
        Time(self.0 / 1_000)
    }

    /// The first picosecond at which `time` has been reached.
    #[must_use]
    pub const fn reaching(time: Time) -> Picos {
        Picos(time.0.saturating_mul(1_000))
    }

    pub(crate) fn after(self, span: Span) -> Picos {
        self + Picos(span.0.saturating_mul(1_000))
    }
}

/// From here on all numbers are whole.
const HALVES_END: f64 = (1_u64 << f64::MANTISSA_DIGITS) as f64;

/// The nearest whole number, halves up; zero for what is negative or no number.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "`as` saturates at both ends, and there are no halves where a conversion back is rounded"
)]
pub(crate) fn nearest(value: f64) -> u64 {
    if value < HALVES_END {
        // A processor converts signed numbers in one step.
        let below = value as i64;
        let half = value - below as f64 >= 0.5;
        return (below + i64::from(half)).max(0) as u64;
    }
    let below = value as u64;
    let half = value - below as f64 >= 0.5;
    below.saturating_add(u64::from(half))
}

impl Add for Picos {
    type Output = Picos;
    fn add(self, length: Picos) -> Picos {
        Picos(self.0.saturating_add(length.0))
    }
}

impl AddAssign for Picos {
    fn add_assign(&mut self, length: Picos) {
        *self = *self + length;
    }
}

impl Sub for Picos {
    type Output = Picos;
    /// The time between the two; zero if `earlier` is later.
    fn sub(self, earlier: Picos) -> Picos {
        Picos(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Display for Picos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0..1_000 => write!(f, "{} ps", self.0),
            nanos => Span(nanos / 1_000).fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_rounded_once_and_saturate() {
        assert_eq!(Picos::from_seconds(0.08e-6), Picos(80_000));
        assert_eq!(Picos::from_seconds(-1.0), Picos::ZERO);
        assert_eq!(Picos::from_seconds(f64::NAN), Picos::ZERO);
        assert_eq!(Picos::from_seconds(1e30), Picos::NEVER);
        assert_eq!(Picos::NEVER + Picos(1), Picos::NEVER);
        assert_eq!(Picos(1) - Picos(2), Picos::ZERO);
    }

    #[test]
    fn halves_are_rounded_up_and_what_is_just_below_is_not() {
        let below_half = 0.499_999_999_999_999_94;
        for value in [0.0, below_half, 0.5, 1.5, 2.5, 4_503_599_627_370_495.5, 9_007_199_254_740_993.0, 1e300]
        {
            assert_eq!(nearest(value), libm::round(value) as u64, "{value}");
        }
    }

    #[test]
    fn protocols_see_time_rounded_down() {
        assert_eq!(Picos(1_999).time(), Time(1));
        assert_eq!(Picos::reaching(Time(2)), Picos(2_000));
    }
}

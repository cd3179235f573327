//! What several runs say together.

use super::{Tally, student_t_quantile};
use core::fmt;

/// One value from each of several independent runs, and an interval that covers the true mean with a stated confidence.
///
/// Runs of different seeds are independent. Add the values in the order of the seeds, so that the sums are the same each
/// time.
///
/// ```
/// use quintet_simulate::statistics::Replications;
///
/// let mut runs = Replications::new();
/// [9.0, 11.0, 10.0, 8.0, 12.0].into_iter().for_each(|latency_us| runs.add(latency_us));
/// let interval = runs.interval(0.95)?;
/// assert_eq!(interval.mean, 10.0);
/// assert!((interval.half_width - 2.776 * 2.5_f64.sqrt() / 5.0_f64.sqrt()).abs() < 1e-3);
/// # Ok::<(), quintet_simulate::statistics::IntervalError>(())
/// ```
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Replications {
    values: Tally,
}

/// A mean and how far from it the true one may lie.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Interval {
    /// The mean of the runs.
    pub mean: f64,
    /// The true mean lies from `mean - half_width` to `mean + half_width`, with the confidence that was asked for.
    pub half_width: f64,
}

/// Why there is no interval: the caller's mistake.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum IntervalError {
    /// The confidence is not between 0 and 1.
    Confidence(f64),
    /// A spread takes two runs at least; these were given.
    TooFew(u64),
}

impl Replications {
    /// Without runs.
    #[must_use]
    pub fn new() -> Self {
        Replications::default()
    }

    /// Adds the value of the next run.
    pub fn add(&mut self, value: f64) {
        self.values.add(value);
    }

    /// Count, mean, deviation and extremes of the values.
    #[must_use]
    pub fn tally(&self) -> &Tally {
        &self.values
    }

    /// The interval in which the true mean lies with a confidence of `confidence`, 0.95 say: by Student's t, exact for
    /// normal values, and near for means of many.
    ///
    /// # Errors
    /// A confidence that is not between 0 and 1; fewer than two runs.
    pub fn interval(&self, confidence: f64) -> Result<Interval, IntervalError> {
        if !(confidence > 0.0 && confidence < 1.0) {
            return Err(IntervalError::Confidence(confidence));
        }
        let count = self.values.count();
        let (Some(mean), Some(variance)) = (self.values.mean(), self.values.variance()) else {
            return Err(IntervalError::TooFew(count));
        };
        #[expect(clippy::cast_precision_loss, reason = "exact up to 2^53 runs")]
        let count = count as f64;
        let t = student_t_quantile(0.5 + confidence / 2.0, count - 1.0);
        Ok(Interval { mean, half_width: t * libm::sqrt(variance / count) })
    }
}

impl Interval {
    /// The least mean that is likely.
    #[must_use]
    pub fn low(&self) -> f64 {
        self.mean - self.half_width
    }

    /// The largest mean that is likely.
    #[must_use]
    pub fn high(&self) -> f64 {
        self.mean + self.half_width
    }

    /// Whether `value` lies in it.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        (self.low()..=self.high()).contains(&value)
    }
}

impl fmt::Display for IntervalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IntervalError::Confidence(given) => {
                write!(f, "the confidence is {given}; it must be between 0 and 1")
            }
            IntervalError::TooFew(count) => {
                write!(f, "{count} runs; an interval takes two at least")
            }
        }
    }
}

impl core::error::Error for IntervalError {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::Distribution;
    use quintet_contract::Random;

    /// How many of 2,000 intervals of 95%, each from `count` values, cover the mean.
    fn covered(of: &Distribution, count: usize) -> usize {
        let experiment = |seed: &u64| {
            let mut random = Random::new(*seed, 95);
            let mut runs = Replications::new();
            (0..count).for_each(|_| runs.add(of.sample(&mut random)));
            runs.interval(0.95).is_ok_and(|interval| interval.contains(of.mean()))
        };
        (0..2_000_u64).filter(experiment).count()
    }

    #[test]
    fn intervals_cover_the_mean_as_often_as_they_say() {
        // 93% to 97%: four standard errors of the count of covered means on both sides.
        let normal = Distribution::Normal { mean: 100.0, deviation: 3.0 };
        for count in [2, 5, 30] {
            let covered = covered(&normal, count);
            assert!((1_860..=1_940).contains(&covered), "{covered} of 2,000 for {count} normal values");
        }
        let covered = covered(&Distribution::Exponential { mean: 2.0 }, 100);
        assert!((1_860..=1_940).contains(&covered), "{covered} of 2,000 for exponential values");
    }

    #[test]
    fn runs_whose_seeds_are_also_their_streams_are_independent() {
        // Ten tasks a run, each with a stream of its own; of each 20 numbers in a row ten are seeds and ten are streams, or
        // all ten are both.
        let normal = Distribution::Normal { mean: 100.0, deviation: 3.0 };
        let covered = |apart: u64| {
            let experiment = |first: &u64| {
                let task = |seed, stream| {
                    normal.sample(&mut Random::new(first * 20 + seed, first * 20 + apart + stream))
                };
                let mut runs = Replications::new();
                (0..10)
                    .for_each(|seed| runs.add((0..10).map(|stream| task(seed, stream)).sum::<f64>() / 10.0));
                runs.interval(0.95).is_ok_and(|interval| interval.contains(normal.mean()))
            };
            (0..2_000).filter(experiment).count()
        };
        for apart in [0, 10] {
            let covered = covered(apart);
            assert!((1_860..=1_940).contains(&covered), "{covered} of 2,000, {apart} apart");
        }
    }

    #[test]
    fn impossible_intervals_say_why() {
        let mut runs = Replications::new();
        runs.add(1.0);
        assert_eq!(runs.interval(0.95), Err(IntervalError::TooFew(1)));
        assert_eq!(runs.interval(1.0), Err(IntervalError::Confidence(1.0)));
        assert!(runs.interval(f64::NAN).is_err());
        runs.add(1.0);
        assert_eq!(runs.interval(0.95), Ok(Interval { mean: 1.0, half_width: 0.0 }));
    }
}

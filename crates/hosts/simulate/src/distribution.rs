//! Random times, sizes and counts.
//!
//! A draw takes random bits from the stream it is given and uses exact methods with published sources only; every
//! transcendental function comes from `libm`. So a stream gives the same values, bit for bit, on any machine.
//!
//! | file | holds |
//! | --- | --- |
//! | `check.rs` | which parameters are possible; [`DistributionError`] |
//! | `moments.rs` | exact mean and variance |
//! | `unit.rs`, `normal.rs`, `gamma.rs`, `poisson.rs` | the methods |
//! | `tails.rs` | those with long tails: Weibull, Pareto, log-normal |
//! | `empirical.rs` | [`Empirical`]: measured values |

mod check;
mod empirical;
mod gamma;
mod moments;
pub(crate) mod normal;
mod poisson;
mod tails;
#[cfg(test)]
mod tests;
pub(crate) mod unit;

pub use check::DistributionError;
pub use empirical::Empirical;

use quintet_contract::Random;

/// How many times a method that rejects candidates tries. Each accepts a candidate with a probability of at least one
/// half, so that the last resort is for impossible parameters only.
const ROUNDS: usize = 64;

/// A distribution of values that are never negative: times, sizes, counts.
///
/// Values have the unit of the parameters. Parameters are checked by [`check`](Distribution::check), once; the value
/// drawn from a distribution that it refuses means nothing, but drawing it ends and does not panic.
///
/// ```
/// use quintet_contract::Random;
/// use quintet_simulate::Distribution;
///
/// let service = Distribution::Gamma { shape: 2.0, scale: 0.5e-3 };
/// service.check()?;
/// assert_eq!(service.mean(), 1e-3);
/// let mut random = Random::new(7, 0);
/// assert!(service.sample(&mut random) > 0.0);
/// # Ok::<(), quintet_simulate::DistributionError>(())
/// ```
#[derive(Clone, PartialEq, Debug)]
pub enum Distribution {
    /// Always this value, from 0 to 1e100.
    Constant(f64),
    /// Any value of an interval alike; 0 <= `low` <= `high` <= 1e100.
    Uniform {
        /// The least value.
        low: f64,
        /// The limit above.
        high: f64,
    },
    /// The normal distribution without its negative values: those are drawn again. So its mean is larger, and its
    /// variance smaller, than the parameters say; by less than one part in 100,000 if `mean` is at least five times
    /// `deviation`. [`mean`](Distribution::mean) and [`variance`](Distribution::variance) tell the real ones.
    ///
    /// By inversion: Wichura, algorithm AS 241, Applied Statistics 37 (1988).
    Normal {
        /// Of the whole distribution, negative values included; from 0 to 1e100.
        mean: f64,
        /// Standard deviation of the whole distribution, from 0 to 1e100.
        deviation: f64,
    },
    /// Times between independent events. By inversion.
    Exponential {
        /// From 0 to 1e100.
        mean: f64,
    },
    /// Counts of independent events.
    ///
    /// By inversion below a mean of ten; above, Hörmann's PTRS, "The transformed rejection method for generating Poisson
    /// random variables", Insurance: Mathematics and Economics 12 (1993).
    Poisson {
        /// From 0 to 1e9.
        mean: f64,
    },
    /// Times made up of exponential steps, and what lies between; mean `shape` x `scale`.
    ///
    /// Marsaglia and Tsang, "A simple method for generating gamma variables", ACM TOMS 26 (2000).
    Gamma {
        /// From 1e-6 to 1e9; 1 is the exponential distribution.
        shape: f64,
        /// From 0 to 1e100.
        scale: f64,
    },
    /// Values of an interval, on a curve with two parameters. From two gamma variables: Devroye, "Non-uniform random
    /// variate generation" (1986), chapter IX.3.
    Beta {
        /// From 1e-6 to 1e9; draws towards `high`.
        a: f64,
        /// From 1e-6 to 1e9; draws towards `low`.
        b: f64,
        /// The least value; 0 <= `low` <= `high` <= 1e100.
        low: f64,
        /// The largest value.
        high: f64,
    },
    /// Times until something fails: more and more likely with age for a shape above 1, less and less below. By inversion.
    Weibull {
        /// From 0.05 to 1000; 1 is the exponential distribution.
        shape: f64,
        /// From 0 to 1e100: what is below it with probability 1 - 1/e.
        scale: f64,
    },
    /// Sizes and times with a heavy tail: twice the value is 2^`shape` times as rare. By inversion.
    ///
    /// Without a maximum the mean is infinite for a shape of 1 and below, and the variance for one of 2 and below: means over a run
    /// then settle on nothing, or slowly.
    Pareto {
        /// From 0.01 to 1000.
        shape: f64,
        /// The least value, from 1e-100 to 1e100.
        minimum: f64,
        /// The largest value: what would be above does not occur, and what is below is as much more likely. Infinity: without one.
        maximum: f64,
    },
    /// Products of many factors: its logarithm is normal. [`log_normal`](Distribution::log_normal) makes it from its mean and deviation.
    /// By inversion of the normal distribution.
    LogNormal {
        /// Half of all values are below, from 0 to 1e100.
        median: f64,
        /// Standard deviation of the natural logarithm, from 0 to 10.
        sigma: f64,
    },
    /// Measured values.
    Empirical(Empirical),
}

impl Distribution {
    /// The log-normal distribution with this mean and standard deviation of its values.
    #[must_use]
    pub fn log_normal(mean: f64, deviation: f64) -> Distribution {
        let (median, sigma) = tails::log_normal_of(mean, deviation);
        Distribution::LogNormal { median, sigma }
    }

    /// Whether such a distribution is possible.
    ///
    /// # Errors
    /// The first parameter that is no number or out of its range, or a lower limit above the upper one.
    pub fn check(&self) -> Result<(), DistributionError> {
        check::check(self)
    }

    /// The exact mean; infinite for some Pareto distributions.
    #[must_use]
    pub fn mean(&self) -> f64 {
        moments::mean(self)
    }

    /// The exact variance; infinite for some Pareto distributions.
    #[must_use]
    pub fn variance(&self) -> f64 {
        moments::variance(self)
    }

    /// Draws a value.
    #[inline]
    pub fn sample(&self, random: &mut Random) -> f64 {
        if let Distribution::Constant(value) = self { *value } else { self.draw(random) }
    }

    fn draw(&self, random: &mut Random) -> f64 {
        match self {
            Distribution::Constant(value) => *value,
            Distribution::Uniform { low, high } => unit::between(*low, *high, unit::open(random)),
            Distribution::Normal { mean, deviation } => normal::positive(*mean, *deviation, random),
            Distribution::Exponential { mean } => -mean * libm::log(unit::open(random)),
            Distribution::Poisson { mean } => poisson::poisson(*mean, random),
            Distribution::Gamma { shape, scale } => scale * gamma::gamma(*shape, random),
            Distribution::Beta { a, b, low, high } => unit::between(*low, *high, gamma::beta(*a, *b, random)),
            Distribution::Weibull { shape, scale } => tails::weibull(*shape, *scale, random),
            Distribution::Pareto { shape, minimum, maximum } => {
                tails::pareto(*shape, *minimum, *maximum, random)
            }
            Distribution::LogNormal { median, sigma } => tails::log_normal(*median, *sigma, random),
            Distribution::Empirical(values) => values.sample(random),
        }
    }
}

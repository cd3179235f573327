//! Which parameters are possible.

use super::Distribution;
use core::fmt;
use core::ops::RangeInclusive;

/// Times, sizes and scales: so large that the square of any is still a number.
const VALUES: RangeInclusive<f64> = 0.0..=1e100;
/// Shapes: beyond these, draws lose their digits.
const SHAPES: RangeInclusive<f64> = 1e-6..=1e9;
/// Means of counts: above, neighbouring counts cannot be told apart by their logarithms.
const COUNTS: RangeInclusive<f64> = 0.0..=1e9;

/// Shapes of the Weibull distribution: below, the variance is no number; above, it loses its digits.
const WEIBULL_SHAPES: RangeInclusive<f64> = 0.05..=1e3;
/// Shapes of the Pareto distribution: below, draws are no numbers.
const PARETO_SHAPES: RangeInclusive<f64> = 0.01..=1e3;
/// The least value of a Pareto distribution: nothing is a multiple of 0.
const PARETO_MINIMA: RangeInclusive<f64> = 1e-100..=1e100;
/// Deviations of a logarithm: above, the mean lies where no draw does.
const SIGMAS: RangeInclusive<f64> = 0.0..=10.0;

/// Why a distribution is impossible: the caller's mistake.
#[derive(Clone, PartialEq, Debug)]
pub enum DistributionError {
    /// A parameter is no number, or out of its range.
    OutOfRange {
        /// Of which distribution.
        distribution: &'static str,
        /// Which one.
        parameter: &'static str,
        /// What was given.
        value: f64,
        /// The least value it may have.
        least: f64,
        /// The largest value it may have.
        largest: f64,
    },
    /// The lower limit is above the upper one.
    Reversed {
        /// Of which distribution.
        distribution: &'static str,
        /// The lower limit.
        low: f64,
        /// The upper limit.
        high: f64,
    },
    /// A table without lines.
    NoValues,
    /// All weights are zero.
    NoWeight,
    /// A line of a cumulative table has a smaller value or probability than the line before it.
    Descending {
        /// The line, from 0.
        line: usize,
    },
    /// The last line of a cumulative table has another probability than 1.
    Incomplete {
        /// What it has.
        probability: f64,
    },
}

pub(super) fn check(distribution: &Distribution) -> Result<(), DistributionError> {
    match distribution {
        Distribution::Constant(value) => within("constant", "value", *value, &VALUES),
        Distribution::Uniform { low, high } => interval("uniform", *low, *high),
        Distribution::Normal { mean, deviation } => {
            within("normal", "mean", *mean, &VALUES)?;
            within("normal", "deviation", *deviation, &VALUES)
        }
        Distribution::Exponential { mean } => within("exponential", "mean", *mean, &VALUES),
        Distribution::Poisson { mean } => within("poisson", "mean", *mean, &COUNTS),
        Distribution::Gamma { shape, scale } => {
            within("gamma", "shape", *shape, &SHAPES)?;
            within("gamma", "scale", *scale, &VALUES)
        }
        Distribution::Beta { a, b, low, high } => {
            within("beta", "a", *a, &SHAPES)?;
            within("beta", "b", *b, &SHAPES)?;
            interval("beta", *low, *high)
        }
        Distribution::Weibull { shape, scale } => {
            within("weibull", "shape", *shape, &WEIBULL_SHAPES)?;
            within("weibull", "scale", *scale, &VALUES)
        }
        Distribution::Pareto { shape, minimum, maximum } => {
            within("pareto", "shape", *shape, &PARETO_SHAPES)?;
            within("pareto", "minimum", *minimum, &PARETO_MINIMA)?;
            if *maximum != f64::INFINITY {
                within("pareto", "maximum", *maximum, &PARETO_MINIMA)?;
            }
            ordered("pareto", *minimum, *maximum)
        }
        Distribution::LogNormal { median, sigma } => {
            within("log_normal", "median", *median, &VALUES)?;
            within("log_normal", "sigma", *sigma, &SIGMAS)
        }
        Distribution::Empirical(_) => Ok(()),
    }
}

/// A value or weight of a table.
pub(super) fn table_value(parameter: &'static str, value: f64) -> Result<(), DistributionError> {
    within("empirical", parameter, value, &VALUES)
}

/// A probability of a table.
pub(super) fn table_probability(value: f64) -> Result<(), DistributionError> {
    within("empirical", "probability", value, &(0.0..=1.0))
}

fn interval(distribution: &'static str, low: f64, high: f64) -> Result<(), DistributionError> {
    within(distribution, "low", low, &VALUES)?;
    within(distribution, "high", high, &VALUES)?;
    ordered(distribution, low, high)
}

fn ordered(distribution: &'static str, low: f64, high: f64) -> Result<(), DistributionError> {
    if low > high {
        return Err(DistributionError::Reversed { distribution, low, high });
    }
    Ok(())
}

fn within(
    distribution: &'static str,
    parameter: &'static str,
    value: f64,
    range: &RangeInclusive<f64>,
) -> Result<(), DistributionError> {
    if range.contains(&value) {
        return Ok(());
    }
    let (least, largest) = (*range.start(), *range.end());
    Err(DistributionError::OutOfRange { distribution, parameter, value, least, largest })
}

impl fmt::Display for DistributionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DistributionError::OutOfRange { distribution, parameter, value, least, largest } => {
                write!(f, "{distribution}: {parameter} is {value}; it must be from {least:e} to {largest:e}")
            }
            DistributionError::Reversed { distribution, low, high } => {
                let (lower, upper) =
                    if *distribution == "pareto" { ("minimum", "maximum") } else { ("low", "high") };
                write!(f, "{distribution}: {lower} is {low}, above {upper}, which is {high}")
            }
            DistributionError::NoValues => f.write_str("empirical: the table has no lines"),
            DistributionError::NoWeight => f.write_str("empirical: all weights are zero"),
            DistributionError::Descending { line } => {
                write!(f, "empirical: line {line} is below the line before it")
            }
            DistributionError::Incomplete { probability } => {
                write!(f, "empirical: the last probability is {probability}; it must be 1")
            }
        }
    }
}

impl core::error::Error for DistributionError {}

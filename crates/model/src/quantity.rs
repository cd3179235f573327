//! Values as a model has them: expressions, and distributions of them.

use core::fmt;
use std::sync::Arc;

/// A value with its unit, as text: `"1.5 ms"`, `"buffer_bytes * 8 B"`, `"4"`. Read when the model is checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Quantity(String);

impl Quantity {
    /// As it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Quantity {
    fn from(text: &str) -> Quantity {
        Quantity(text.to_owned())
    }
}

impl From<String> for Quantity {
    fn from(text: String) -> Quantity {
        Quantity(text)
    }
}

impl From<f64> for Quantity {
    fn from(number: f64) -> Quantity {
        Quantity(number.to_string())
    }
}

impl From<u32> for Quantity {
    fn from(number: u32) -> Quantity {
        Quantity(number.to_string())
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A value that is drawn anew each time it is needed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Draw {
    /// Always the same.
    Constant(Quantity),
    /// Evenly between the two.
    Uniform {
        /// The least value.
        low: Quantity,
        /// The limit above.
        high: Quantity,
    },
    /// The normal distribution without its negative values.
    Normal {
        /// Of the whole distribution, negative values included.
        mean: Quantity,
        /// Standard deviation of the whole distribution.
        deviation: Quantity,
    },
    /// Times between independent events.
    Exponential {
        /// The mean.
        mean: Quantity,
    },
    /// Counts of independent events.
    Poisson {
        /// The mean.
        mean: Quantity,
    },
    /// Mean `shape` times `scale`.
    Gamma {
        /// A number.
        shape: Quantity,
        /// In the unit of the value.
        scale: Quantity,
    },
    /// Values of an interval.
    Beta {
        /// Draws towards `high`; a number.
        a: Quantity,
        /// Draws towards `low`; a number.
        b: Quantity,
        /// The least value.
        low: Quantity,
        /// The largest value.
        high: Quantity,
    },
    /// Times until something fails.
    Weibull {
        /// A number: above 1, what is old fails sooner.
        shape: Quantity,
        /// In the unit of the value.
        scale: Quantity,
    },
    /// A heavy tail.
    Pareto {
        /// A number: the smaller, the heavier the tail.
        shape: Quantity,
        /// The least value.
        minimum: Quantity,
        /// The largest value; none: without one.
        maximum: Option<Quantity>,
    },
    /// Values whose logarithm is normal, by what they are in the mean.
    LogNormal {
        /// Of the values themselves.
        mean: Quantity,
        /// Standard deviation of the values themselves.
        deviation: Quantity,
    },
    /// The same, by its logarithm.
    LogNormalMedian {
        /// Half of all values are below.
        median: Quantity,
        /// Standard deviation of the natural logarithm; a number.
        sigma: Quantity,
    },
    /// What was measured, from a file.
    Sample(Arc<Sample>),
    /// These values alone, each with its weight.
    Weighted(Vec<(Quantity, Quantity)>),
    /// Values, each with the probability of that value or a smaller one; straight between them.
    Cumulative(Vec<(Quantity, Quantity)>),
}

impl Draw {
    /// What was written for the parameter of this name; nothing for the lines of a table.
    pub(crate) fn parameter(&self, name: &str) -> Option<&Quantity> {
        match (self, name) {
            (Draw::Constant(value), "value") => Some(value),
            (Draw::Uniform { low, .. } | Draw::Beta { low, .. }, "low") => Some(low),
            (Draw::Uniform { high, .. } | Draw::Beta { high, .. }, "high") => Some(high),
            (
                Draw::Normal { mean, .. }
                | Draw::Exponential { mean }
                | Draw::Poisson { mean }
                | Draw::LogNormal { mean, .. },
                "mean",
            ) => Some(mean),
            (Draw::Normal { deviation, .. } | Draw::LogNormal { deviation, .. }, "deviation") => {
                Some(deviation)
            }
            (
                Draw::Gamma { shape, .. } | Draw::Weibull { shape, .. } | Draw::Pareto { shape, .. },
                "shape",
            ) => Some(shape),
            (Draw::Gamma { scale, .. } | Draw::Weibull { scale, .. }, "scale") => Some(scale),
            (Draw::Pareto { minimum, .. }, "minimum") => Some(minimum),
            (Draw::Pareto { maximum, .. }, "maximum") => maximum.as_ref(),
            (Draw::LogNormalMedian { median, .. }, "median") => Some(median),
            (Draw::LogNormalMedian { sigma, .. }, "sigma") => Some(sigma),
            (Draw::Beta { a, .. }, "a") => Some(a),
            (Draw::Beta { b, .. }, "b") => Some(b),
            _ => None,
        }
    }

    /// How many lines of a file it has.
    pub(crate) fn lines(&self) -> usize {
        if let Draw::Sample(sample) = self { sample.values.len() } else { 0 }
    }

    /// Exponential with this mean.
    pub fn exponential(mean: impl Into<Quantity>) -> Draw {
        Draw::Exponential { mean: mean.into() }
    }

    /// Evenly from `low` to `high`.
    pub fn uniform(low: impl Into<Quantity>, high: impl Into<Quantity>) -> Draw {
        Draw::Uniform { low: low.into(), high: high.into() }
    }
}

impl<T: Into<Quantity>> From<T> for Draw {
    fn from(value: T) -> Draw {
        Draw::Constant(value.into())
    }
}

/// Measured values with their weights.
#[derive(Clone, PartialEq, Debug)]
pub struct Sample {
    /// What the numbers count: `"ms"`; empty for numbers without a unit.
    unit: Quantity,
    values: Vec<(f64, f64)>,
}

/// None of its numbers is [`f64::NAN`]: they were read as values from 0 to 1e100.
impl Eq for Sample {}

impl Sample {
    /// So many values of this unit, each with its weight; every number from 0 to 1e100.
    pub(crate) fn new(unit: Quantity, values: Vec<(f64, f64)>) -> Sample {
        Sample { unit, values }
    }

    /// What one of it is: `"1 ms"`.
    pub(crate) fn unit(&self) -> Quantity {
        format!("1 {}", self.unit).into()
    }

    /// In units, each with its weight.
    pub(crate) fn values(&self) -> &[(f64, f64)] {
        &self.values
    }
}

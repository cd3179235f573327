//! Measured values.

use super::check::{DistributionError, table_probability, table_value};
use super::unit;
use quintet_contract::Random;

/// A distribution given by a table: values with weights, or a cumulative curve. Drawn by inversion, in time
/// logarithmic in the table's length.
#[derive(Clone, PartialEq, Debug)]
pub struct Empirical {
    /// Ascending in probability; the last one's is 1.
    lines: Vec<Line>,
    /// Whether values between those of two lines occur.
    continuous: bool,
    mean: f64,
    variance: f64,
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Line {
    value: f64,
    /// Of this line's value and those of the lines before it.
    cumulative: f64,
}

/// What lies between two lines, or on one.
struct Part {
    probability: f64,
    mean: f64,
    variance: f64,
}

impl Empirical {
    /// Values, each with its weight: only these values occur, each in proportion to its weight. Values in any order, from
    /// 0 to 1e100; weights from 0 to 1e100, not all zero.
    ///
    /// # Errors
    /// No lines, a value or weight that is no number or out of range, only weights of zero.
    pub fn weighted(table: &[(f64, f64)]) -> Result<Empirical, DistributionError> {
        if table.is_empty() {
            return Err(DistributionError::NoValues);
        }
        for (value, weight) in table {
            table_value("value", *value)?;
            table_value("weight", *weight)?;
        }
        let total: f64 = table.iter().map(|(_, weight)| weight).sum();
        let mut lines = Vec::new();
        let mut sum = 0.0;
        for (value, weight) in table.iter().copied().filter(|(_, weight)| *weight > 0.0) {
            sum += weight;
            lines.push(Line { value, cumulative: sum / total });
        }
        lines.last_mut().ok_or(DistributionError::NoWeight)?.cumulative = 1.0;
        Ok(Empirical::new(lines, false))
    }

    /// A cumulative curve: lines of a value and the probability of that value or a smaller one, straight between
    /// lines. Both ascend, or stay; the last probability is 1. If the first probability is not 0, the first value itself
    /// occurs with it; two lines of one value make a step.
    ///
    /// # Errors
    /// No lines, a value or probability that is no number or out of range, a line below the one before it, a last
    /// probability other than 1.
    pub fn cumulative(table: &[(f64, f64)]) -> Result<Empirical, DistributionError> {
        for (value, probability) in table {
            table_value("value", *value)?;
            table_probability(*probability)?;
        }
        for (line, pair) in table.windows(2).enumerate() {
            if pair[1].0 < pair[0].0 || pair[1].1 < pair[0].1 {
                return Err(DistributionError::Descending { line: line + 1 });
            }
        }
        match table.last() {
            None => Err(DistributionError::NoValues),
            Some((_, probability)) if *probability < 1.0 => {
                Err(DistributionError::Incomplete { probability: *probability })
            }
            Some(_) => {
                let line = |(value, cumulative)| Line { value, cumulative };
                Ok(Empirical::new(table.iter().copied().map(line).collect(), true))
            }
        }
    }

    /// The exact mean.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The exact variance.
    #[must_use]
    pub fn variance(&self) -> f64 {
        self.variance
    }

    fn new(lines: Vec<Line>, continuous: bool) -> Empirical {
        let mut new = Empirical { lines, continuous, mean: 0.0, variance: 0.0 };
        new.mean = new.parts().map(|part| part.probability * part.mean).sum();
        let spread = |part: &Part| (part.mean - new.mean) * (part.mean - new.mean);
        new.variance = new.parts().map(|part| part.probability * (part.variance + spread(&part))).sum();
        new
    }

    fn parts(&self) -> impl Iterator<Item = Part> {
        (0..self.lines.len()).map(|index| {
            let (before, line) = self.around(index);
            let width = line.value - before.value;
            Part {
                probability: line.cumulative - before.cumulative,
                mean: before.value / 2.0 + line.value / 2.0,
                variance: width * width / 12.0,
            }
        })
    }

    /// Where the part that ends with a line begins, and the line.
    fn around(&self, index: usize) -> (Line, Line) {
        let line = self.lines[index];
        match index.checked_sub(1).map(|before| self.lines[before]) {
            None => (Line { cumulative: 0.0, ..line }, line),
            Some(before) if self.continuous => (before, line),
            Some(before) => (Line { value: line.value, ..before }, line),
        }
    }

    pub(super) fn sample(&self, random: &mut Random) -> f64 {
        let part = unit::open(random);
        // The last line's probability is 1, and `part` is below it; so there is such a line, and the probability grows
        // from the line before it.
        let index = self.lines.partition_point(|line| line.cumulative <= part);
        let (before, line) = self.around(index);
        let way = (part - before.cumulative) / (line.cumulative - before.cumulative);
        unit::between(before.value, line.value, way)
    }
}

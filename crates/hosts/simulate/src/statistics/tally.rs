//! Values one by one.

/// Count, mean, variance and extremes of values, which are not kept. Values have any unit; the results have the same.
///
/// Welford's method, "Note on a method for calculating corrected sums of squares and products", Technometrics 4 (1962):
/// no digits are lost to a large mean. A value that is no number makes mean and variance no numbers.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Tally {
    count: u64,
    mean: f64,
    /// The sum of squared distances from the mean.
    squares: f64,
    /// The least value; nothing without values.
    least: f64,
    /// The largest value; nothing without values.
    largest: f64,
}

impl Tally {
    /// Without values.
    #[must_use]
    pub fn new() -> Self {
        Tally::default()
    }

    /// Adds a value.
    pub fn add(&mut self, value: f64) {
        self.count += 1;
        let before = value - self.mean;
        self.mean += before / self.count_as_float();
        self.squares += before * (value - self.mean);
        let first = self.count == 1;
        if first || value < self.least {
            self.least = value;
        }
        if first || value > self.largest {
            self.largest = value;
        }
    }

    /// Adds all values of another (Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing
    /// sample variances", 1979).
    pub fn merge(&mut self, other: &Tally) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = other.clone();
            return;
        }
        let (ours, theirs) = (self.count_as_float(), other.count_as_float());
        let apart = other.mean - self.mean;
        self.count += other.count;
        self.mean += apart * theirs / (ours + theirs);
        self.squares += other.squares + apart * apart * ours * theirs / (ours + theirs);
        self.least = self.least.min(other.least);
        self.largest = self.largest.max(other.largest);
    }

    /// How many values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their mean; none without values.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then_some(self.mean)
    }

    /// Their sample variance (n - 1 below the line); none with fewer than two values.
    #[must_use]
    pub fn variance(&self) -> Option<f64> {
        (self.count > 1).then(|| self.squares / (self.count_as_float() - 1.0))
    }

    /// Their sample standard deviation; none with fewer than two values.
    #[must_use]
    pub fn deviation(&self) -> Option<f64> {
        self.variance().map(libm::sqrt)
    }

    /// The least; none without values.
    #[must_use]
    pub fn least(&self) -> Option<f64> {
        (self.count > 0).then_some(self.least)
    }

    /// The largest; none without values.
    #[must_use]
    pub fn largest(&self) -> Option<f64> {
        (self.count > 0).then_some(self.largest)
    }

    /// Forgets all values.
    pub fn reset(&mut self) {
        *self = Tally::new();
    }

    #[expect(clippy::cast_precision_loss, reason = "exact up to 2^53 values")]
    fn count_as_float(&self) -> f64 {
        // A processor converts signed numbers in one step.
        self.count.cast_signed() as f64
    }
}

impl Extend<f64> for Tally {
    fn extend<T: IntoIterator<Item = f64>>(&mut self, values: T) {
        values.into_iter().for_each(|value| self.add(value));
    }
}

impl FromIterator<f64> for Tally {
    fn from_iter<T: IntoIterator<Item = f64>>(values: T) -> Self {
        let mut tally = Tally::new();
        tally.extend(values);
        tally
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_far_from_zero_keep_their_variance() {
        let tally: Tally = [4.0, 7.0, 13.0, 16.0].iter().map(|value| 1e9 + value).collect();
        assert_eq!(tally.count(), 4);
        assert_eq!(tally.mean(), Some(1e9 + 10.0));
        assert_eq!(tally.variance(), Some(30.0));
        assert_eq!(tally.least(), Some(1e9 + 4.0));
        assert_eq!(tally.largest(), Some(1e9 + 16.0));
    }

    #[test]
    fn what_is_not_known_is_none() {
        let mut tally = Tally::new();
        assert_eq!((tally.mean(), tally.least(), tally.largest()), (None, None, None));
        tally.add(3.0);
        assert_eq!((tally.mean(), tally.variance()), (Some(3.0), None));
        tally.reset();
        assert_eq!(tally, Tally::new());
    }
}

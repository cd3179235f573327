//! How times are spread.

use crate::picos::Picos;
use hdrhistogram::Histogram;

/// Quantiles of lengths of time, to three significant digits, whatever their range: a high dynamic range histogram.
///
/// Counts are whole numbers, so the order in which values come does not matter. Takes memory for the largest value met:
/// 8 KiB for each doubling of it above a nanosecond; 250 KiB up to a second.
#[derive(Clone, Debug)]
pub struct Quantiles {
    counts: Histogram<u64>,
    /// The least value that was added, and the largest: the counts know them to three digits only.
    least: Picos,
    largest: Picos,
}

impl Quantiles {
    /// Without values.
    #[must_use]
    pub fn new() -> Self {
        let counts = Histogram::new(3).expect("three significant digits are possible");
        Quantiles { counts, least: Picos::NEVER, largest: Picos::ZERO }
    }

    /// Adds a value. Times above 2^63 ps, 106 days, count as that.
    pub fn add(&mut self, length: Picos) {
        let value = Picos(length.0.min(1 << 63));
        self.counts.record(value.0).expect("the histogram grows by itself");
        (self.least, self.largest) = (self.least.min(value), self.largest.max(value));
    }

    /// Adds all values of another.
    pub fn merge(&mut self, other: &Quantiles) {
        self.counts.add(&other.counts).expect("the histogram grows by itself");
        (self.least, self.largest) = (self.least.min(other.least), self.largest.max(other.largest));
    }

    /// The least value that a part `part`, 0 to 1, of all values does not exceed, rounded up by less than 0.1%, but never
    /// below the least value that was added or above the largest; none without values. `part` is brought into its range;
    /// no number counts as 0.
    #[must_use]
    pub fn at(&self, part: f64) -> Option<Picos> {
        let part = if part.is_nan() { 0.0 } else { part };
        let rounded = || Picos(self.counts.value_at_quantile(part.clamp(0.0, 1.0)));
        (!self.counts.is_empty()).then(|| rounded().clamp(self.least, self.largest))
    }

    /// How many values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.len()
    }

    /// Forgets all values.
    pub fn reset(&mut self) {
        self.counts.reset();
        (self.least, self.largest) = (Picos::NEVER, Picos::ZERO);
    }
}

impl Default for Quantiles {
    fn default() -> Self {
        Quantiles::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_a_thousandth_over_all_ranges() {
        for unit in [1, 1_000_000, 1_000_000_000_000] {
            let mut quantiles = Quantiles::new();
            (1..=1_000).for_each(|value| quantiles.add(Picos(value * unit)));
            for (part, value) in [(0.5, 500), (0.99, 990), (1.0, 1_000)] {
                let at = quantiles.at(part).expect("there are values").0;
                assert!((value * unit..=value * unit * 1_001 / 1_000).contains(&at), "{part}: {at}");
            }
        }
    }

    #[test]
    fn no_quantile_lies_beyond_the_values() {
        // Between 2^20 and 2^21 the histogram counts in steps of 1,024: what is one off their ends is rounded over them.
        let mut quantiles = Quantiles::new();
        quantiles.add(Picos((1 << 20) + 1));
        assert_eq!(quantiles.at(0.0), Some(Picos((1 << 20) + 1)));
        assert_eq!(quantiles.at(0.99), Some(Picos((1 << 20) + 1)));
        let mut others = Quantiles::new();
        others.add(Picos((1 << 22) + 1));
        others.add(Picos((1 << 21) - 1));
        quantiles.merge(&others);
        assert_eq!(quantiles.at(0.0), Some(Picos((1 << 20) + 1)));
        assert_eq!(quantiles.at(1.0), Some(Picos((1 << 22) + 1)));
        quantiles.reset();
        quantiles.add(Picos(1));
        assert_eq!(quantiles.at(1.0), Some(Picos(1)), "what was forgotten does not count");
    }

    #[test]
    fn merged_quantiles_are_those_of_all_values() {
        let (mut all, mut one, mut other) = (Quantiles::new(), Quantiles::new(), Quantiles::new());
        for value in (1..=900).map(|value| Picos(value * 1_000)) {
            all.add(value);
            if value.0 % 3_000 == 0 { one.add(value) } else { other.add(value) }
        }
        one.merge(&other);
        assert_eq!((one.count(), one.at(0.5), one.at(0.99)), (900, all.at(0.5), all.at(0.99)));
    }

    #[test]
    fn the_ends_of_the_ranges_are_accepted() {
        let mut quantiles = Quantiles::new();
        assert_eq!(quantiles.at(0.5), None);
        quantiles.add(Picos::ZERO);
        quantiles.add(Picos::NEVER);
        assert_eq!(quantiles.at(f64::NAN), Some(Picos::ZERO));
        assert!(quantiles.at(2.0) >= Some(Picos(1 << 63)));
        quantiles.reset();
        assert_eq!(quantiles.count(), 0);
    }
}

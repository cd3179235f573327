//! The middle of several values, and how far they spread.

/// Median and quartiles.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Quartiles {
    /// A quarter of the values is at most this.
    pub low: f64,
    /// Half of them is at most this.
    pub median: f64,
    /// Three quarters of them are at most this.
    pub high: f64,
}

impl Quartiles {
    /// Of these values; between two, by their distance. Zeros of none.
    #[must_use]
    pub fn of(values: impl IntoIterator<Item = f64>) -> Quartiles {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        Quartiles { low: at(&values, 0.25), median: at(&values, 0.5), high: at(&values, 0.75) }
    }

    /// Half the distance between the quartiles.
    #[must_use]
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }
}

fn at(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let place = share * last as f64;
    let (before, part) = (place.floor() as usize, place.fract());
    let after = (before + 1).min(last);
    sorted[before] + (sorted[after] - sorted[before]) * part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_lie_between_values_by_their_distance() {
        let all = Quartiles::of([4.0, 1.0, 3.0, 2.0]);
        assert_eq!((all.low, all.median, all.high, all.half_width()), (1.75, 2.5, 3.25, 0.75));
        let one = Quartiles::of([7.0]);
        assert_eq!((one.low, one.median, one.high), (7.0, 7.0, 7.0));
        assert_eq!(Quartiles::of([]), Quartiles::default());
    }
}

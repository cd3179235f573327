//! The line that comes closest to points.

/// A line by least squares: `intercept + slope * x`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Regression {
    /// At 0.
    pub intercept: f64,
    /// For each unit across.
    pub slope: f64,
    /// The share of the variance that the line explains.
    pub determination: f64,
}

impl Regression {
    /// Through these points; none if they do not lie at two places or more.
    #[must_use]
    pub fn of(points: &[(f64, f64)]) -> Option<Regression> {
        let count = points.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
        let (x_mean, y_mean) = (mean(|point| point.0), mean(|point| point.1));
        let sum = |of: &dyn Fn(f64, f64) -> f64| {
            points.iter().map(|(x, y)| of(x - x_mean, y - y_mean)).sum::<f64>()
        };
        let (square, product, total) = (sum(&|x, _| x * x), sum(&|x, y| x * y), sum(&|_, y| y * y));
        if points.is_empty() || square == 0.0 {
            return None;
        }
        let slope = product / square;
        let determination = if total == 0.0 { 1.0 } else { product * product / (square * total) };
        Some(Regression { intercept: y_mean - slope * x_mean, slope, determination })
    }

    /// The line at a place.
    #[must_use]
    pub fn at(&self, x: f64) -> f64 {
        self.intercept + self.slope * x
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_again() {
        let points: Vec<(f64, f64)> = (0..10).map(|x| (f64::from(x), 3.0 + 2.0 * f64::from(x))).collect();
        let line = Regression::of(&points).expect("they are apart");
        assert!((line.intercept - 3.0).abs() < 1e-9 && (line.slope - 2.0).abs() < 1e-9);
        assert!((line.determination - 1.0).abs() < 1e-9 && (line.at(20.0) - 43.0).abs() < 1e-9);
    }

    #[test]
    fn one_place_has_no_line() {
        assert_eq!(Regression::of(&[(1.0, 2.0), (1.0, 3.0)]), None);
        assert_eq!(Regression::of(&[]), None);
    }
}

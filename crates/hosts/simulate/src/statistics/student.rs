//! Student's t.

use crate::distribution::normal;

/// From so many degrees of freedom on, the expansion about the normal distribution is exact to the last digits.
const EXPANSION_FREEDOM: f64 = 1_000.0;

/// Below which value a part `p` of Student's t distribution with `freedom` degrees of freedom lies: `p` from 1e-12 to
/// 1 - 1e-12, `freedom` from 1 on. To about ten significant digits; no number if `p` is not between 0 and 1 or `freedom`
/// is below 1.
///
/// By bisection of the distribution function (incomplete beta function); from 1,000 degrees on by the expansion in
/// Abramowitz and Stegun, "Handbook of mathematical functions" (1964), 26.7.5.
///
/// ```
/// let t = quintet_simulate::statistics::student_t_quantile(0.975, 9.0);
/// assert!((t - 2.262).abs() < 5e-4, "as tables print it");
/// ```
#[must_use]
pub fn student_t_quantile(p: f64, freedom: f64) -> f64 {
    let possible = p > 0.0 && p < 1.0 && freedom >= 1.0;
    if !possible {
        return f64::NAN;
    }
    if freedom >= EXPANSION_FREEDOM {
        return expansion(normal::quantile(p), freedom);
    }
    let tail = p.min(1.0 - p);
    let size = bisect(|t| above(t, freedom) > tail);
    if p < 0.5 { -size } else { size }
}

/// Where `is_below`, true at first, becomes false.
fn bisect(is_below: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while is_below(high) {
        (low, high) = (high, 2.0 * high);
    }
    loop {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            return middle;
        }
        if is_below(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
}

/// The probability above `t`, which is not negative.
fn above(t: f64, freedom: f64) -> f64 {
    let square = t * t;
    incomplete_beta(freedom / 2.0, 0.5, freedom / (freedom + square), square / (freedom + square)) / 2.0
}

/// The regularised incomplete beta function I_x(a, b), for x between 0 and 1. Takes `rest`, 1 - x, beside `x`, since
/// either may be too small for the other to tell.
pub(crate) fn incomplete_beta(a: f64, b: f64, x: f64, rest: f64) -> f64 {
    if x <= 0.0 || rest <= 0.0 {
        return if x <= 0.0 { 0.0 } else { 1.0 };
    }
    let scale = libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b);
    let front = libm::exp(scale + a * libm::log(x) + b * libm::log(rest));
    if x < (a + 1.0) / (a + b + 2.0) {
        front * continued_fraction(a, b, x) / a
    } else {
        1.0 - front * continued_fraction(b, a, rest) / b
    }
}

/// The continued fraction of the incomplete beta function (NIST Digital Library of Mathematical Functions, 8.17.22) by
/// Lentz's method. Takes a number of steps of the order of the root of the larger parameter.
fn continued_fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    const STEPS: u32 = 10_000;
    let away_from_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for step in 1..=STEPS {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut factor = 1.0;
        for coefficient in [even, odd] {
            d = 1.0 / away_from_zero(1.0 + coefficient * d);
            c = away_from_zero(1.0 + coefficient / c);
            factor = c * d;
            fraction *= factor;
        }
        if (factor - 1.0).abs() < 1e-16 {
            break;
        }
    }
    fraction
}

/// Abramowitz and Stegun 26.7.5: t from the normal quantile `z`, in powers of 1 / `freedom`.
fn expansion(z: f64, freedom: f64) -> f64 {
    let s = z * z;
    let terms = [
        z,
        z * (s + 1.0) / 4.0,
        z * ((5.0 * s + 16.0) * s + 3.0) / 96.0,
        z * (((3.0 * s + 19.0) * s + 17.0) * s - 15.0) / 384.0,
        z * ((((79.0 * s + 776.0) * s + 1482.0) * s - 1920.0) * s - 945.0) / 92_160.0,
    ];
    terms.iter().rev().fold(0.0, |sum, term| sum / freedom + term)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_agree_with_the_published_table() {
        // NIST/SEMATECH e-Handbook of statistical methods, 1.3.6.7.2: probabilities 0.90, 0.95, 0.975, 0.99, 0.995, 0.999.
        let table = [
            (1.0, [3.078, 6.314, 12.706, 31.821, 63.657, 318.309]),
            (2.0, [1.886, 2.920, 4.303, 6.965, 9.925, 22.327]),
            (3.0, [1.638, 2.353, 3.182, 4.541, 5.841, 10.215]),
            (5.0, [1.476, 2.015, 2.571, 3.365, 4.032, 5.893]),
            (9.0, [1.383, 1.833, 2.262, 2.821, 3.250, 4.297]),
            (10.0, [1.372, 1.812, 2.228, 2.764, 3.169, 4.144]),
            (20.0, [1.325, 1.725, 2.086, 2.528, 2.845, 3.552]),
            (30.0, [1.310, 1.697, 2.042, 2.457, 2.750, 3.385]),
            (100.0, [1.290, 1.660, 1.984, 2.364, 2.626, 3.174]),
        ];
        for (freedom, row) in table {
            for (p, printed) in [0.90, 0.95, 0.975, 0.99, 0.995, 0.999].into_iter().zip(row) {
                let t = student_t_quantile(p, freedom);
                assert!((t - printed).abs() <= 5.1e-4, "{p}, {freedom}: {t}, printed {printed}");
                assert!((student_t_quantile(1.0 - p, freedom) + t).abs() < 1e-9 * t);
            }
        }
    }

    #[test]
    fn one_and_two_degrees_of_freedom_have_closed_forms() {
        for p in [0.500_001, 0.6, 0.9, 0.999, 1.0 - 1e-9] {
            let one = 1.0 / libm::tan(core::f64::consts::PI * (1.0 - p));
            let two = (2.0 * p - 1.0) / libm::sqrt(2.0 * p * (1.0 - p));
            assert!((student_t_quantile(p, 1.0) / one - 1.0).abs() < 1e-9, "{p}");
            assert!((student_t_quantile(p, 2.0) / two - 1.0).abs() < 1e-9, "{p}");
        }
    }

    #[test]
    fn the_expansion_meets_the_exact_values() {
        for p in [0.6, 0.95, 0.975, 0.999, 1.0 - 1e-9] {
            let exact = bisect(|t| above(t, EXPANSION_FREEDOM) > 1.0 - p);
            assert!((student_t_quantile(p, EXPANSION_FREEDOM) / exact - 1.0).abs() < 1e-10, "{p}");
        }
        assert!((student_t_quantile(0.975, 1e12) - 1.959_963_984_540_054).abs() < 1e-11);
    }

    #[test]
    fn impossible_arguments_give_no_number() {
        for (p, freedom) in [(0.0, 5.0), (1.0, 5.0), (f64::NAN, 5.0), (0.5, 0.5), (0.5, f64::NAN)] {
            assert!(student_t_quantile(p, freedom).is_nan());
        }
        assert!(student_t_quantile(0.5, 7.0).abs() < 1e-9);
    }
}

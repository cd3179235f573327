//! The Weibull, Pareto and log-normal distributions: times between failures, sizes of files, times of services with long tails.

use super::{normal, unit};
use quintet_contract::Random;

/// By inversion.
#[inline(never)]
pub(super) fn weibull(shape: f64, scale: f64, random: &mut Random) -> f64 {
    scale * libm::pow(-libm::log(unit::open(random)), 1.0 / shape)
}

/// Johnson, Kotz and Balakrishnan, "Continuous univariate distributions" 1, section 21.3.
pub(super) fn weibull_mean(shape: f64, scale: f64) -> f64 {
    scale * libm::tgamma(1.0 + 1.0 / shape)
}

/// The same.
pub(super) fn weibull_variance(shape: f64, scale: f64) -> f64 {
    let first = libm::tgamma(1.0 + 1.0 / shape);
    scale * scale * (libm::tgamma(1.0 + 2.0 / shape) - first * first)
}

/// By inversion, of the part below `maximum` only.
#[inline(never)]
pub(super) fn pareto(shape: f64, minimum: f64, maximum: f64, random: &mut Random) -> f64 {
    let above = 1.0 - unit::open(random) * covered(shape, minimum, maximum);
    (minimum * libm::pow(above, -1.0 / shape)).max(minimum).min(maximum)
}

/// Infinite for a shape up to 1 without a maximum.
pub(super) fn pareto_mean(shape: f64, minimum: f64, maximum: f64) -> f64 {
    minimum * pareto_moment(1.0, shape, minimum, maximum)
}

/// Infinite for a shape up to 2 without a maximum.
pub(super) fn pareto_variance(shape: f64, minimum: f64, maximum: f64) -> f64 {
    if maximum <= minimum {
        return 0.0;
    }
    let second = pareto_moment(2.0, shape, minimum, maximum);
    if second.is_infinite() {
        return second;
    }
    let first = pareto_moment(1.0, shape, minimum, maximum);
    // Without a maximum in closed form: the difference of two moments would lose the digits of large shapes.
    let relative = match maximum.is_finite() {
        true => second - first * first,
        false => second / ((shape - 1.0) * (shape - 1.0)),
    };
    minimum * minimum * relative.max(0.0)
}

/// The part of the whole distribution that lies below `maximum`.
fn covered(shape: f64, minimum: f64, maximum: f64) -> f64 {
    -libm::expm1(-shape * libm::log(maximum / minimum))
}

/// The mean of the `power`-th power, for a minimum of 1 (Johnson, Kotz and Balakrishnan 1, sections 20.3 and 20.12).
fn pareto_moment(power: f64, shape: f64, minimum: f64, maximum: f64) -> f64 {
    if maximum <= minimum {
        return 1.0;
    }
    let over = power - shape;
    if maximum.is_infinite() {
        return if over < 0.0 { -shape / over } else { f64::INFINITY };
    }
    let width = libm::log(maximum / minimum);
    // The integral of x^(over - 1) from 1 on: where `over` is next to nothing, its logarithm.
    let integral = if (over * width).abs() < 1e-12 { width } else { libm::expm1(over * width) / over };
    shape * integral / covered(shape, minimum, maximum)
}

/// By inversion of the normal distribution.
#[inline(never)]
pub(super) fn log_normal(median: f64, sigma: f64, random: &mut Random) -> f64 {
    median * libm::exp(sigma * normal::standard(random))
}

/// Johnson, Kotz and Balakrishnan 1, section 14.3.
pub(super) fn log_normal_mean(median: f64, sigma: f64) -> f64 {
    median * libm::exp(sigma * sigma / 2.0)
}

/// The same.
pub(super) fn log_normal_variance(median: f64, sigma: f64) -> f64 {
    let mean = log_normal_mean(median, sigma);
    mean * mean * libm::expm1(sigma * sigma)
}

/// The `median` and `sigma` of the log-normal distribution with this mean and deviation.
pub(super) fn log_normal_of(mean: f64, deviation: f64) -> (f64, f64) {
    // Of a mean of 0 there is one distribution only; a deviation that it does not have makes `sigma` infinite, which is refused.
    let ratio = if deviation == 0.0 { 0.0 } else { deviation / mean };
    let squared = libm::log1p(ratio * ratio);
    (mean / libm::exp(squared / 2.0), libm::sqrt(squared))
}

/// The part of the log-normal distribution below `value`, for tests of draws.
#[cfg(test)]
pub(super) fn log_normal_below(median: f64, sigma: f64, value: f64) -> f64 {
    libm::erfc(-libm::log(value / median) / (sigma * core::f64::consts::SQRT_2)) / 2.0
}

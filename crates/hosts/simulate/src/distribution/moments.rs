//! Exact means and variances.

use super::{Distribution, normal, tails};

pub(super) fn mean(distribution: &Distribution) -> f64 {
    match distribution {
        Distribution::Constant(value) => *value,
        Distribution::Uniform { low, high } => low / 2.0 + high / 2.0,
        Distribution::Normal { mean, deviation } => mean + deviation * hazard(*mean, *deviation),
        Distribution::Exponential { mean } | Distribution::Poisson { mean } => *mean,
        Distribution::Gamma { shape, scale } => shape * scale,
        Distribution::Beta { a, b, low, high } => low + (high - low) * (a / (a + b)),
        Distribution::Weibull { shape, scale } => tails::weibull_mean(*shape, *scale),
        Distribution::Pareto { shape, minimum, maximum } => tails::pareto_mean(*shape, *minimum, *maximum),
        Distribution::LogNormal { median, sigma } => tails::log_normal_mean(*median, *sigma),
        Distribution::Empirical(values) => values.mean(),
    }
}

pub(super) fn variance(distribution: &Distribution) -> f64 {
    match distribution {
        Distribution::Constant(_) => 0.0,
        Distribution::Uniform { low, high } => (high - low) * (high - low) / 12.0,
        Distribution::Normal { mean, deviation } => {
            let hazard = hazard(*mean, *deviation);
            // Mean times hazard stands for (mean / deviation) * hazard * deviation^2: no division by a deviation of zero.
            deviation * deviation * (1.0 - hazard * hazard) - mean * deviation * hazard
        }
        Distribution::Exponential { mean } => mean * mean,
        Distribution::Poisson { mean } => *mean,
        Distribution::Gamma { shape, scale } => shape * scale * scale,
        Distribution::Beta { a, b, low, high } => {
            let (width, sum) = (high - low, a + b);
            width * width * (a / sum) * (b / sum) / (sum + 1.0)
        }
        Distribution::Weibull { shape, scale } => tails::weibull_variance(*shape, *scale),
        Distribution::Pareto { shape, minimum, maximum } => {
            tails::pareto_variance(*shape, *minimum, *maximum)
        }
        Distribution::LogNormal { median, sigma } => tails::log_normal_variance(*median, *sigma),
        Distribution::Empirical(values) => values.variance(),
    }
}

/// By how many deviations cutting off the negative values raises the mean: the density at the cut over what is left
/// (Johnson, Kotz and Balakrishnan, "Continuous univariate distributions" 1, section 13.10.1).
fn hazard(mean: f64, deviation: f64) -> f64 {
    if deviation > 0.0 { normal::density(-mean / deviation) / normal::above(-mean / deviation) } else { 0.0 }
}

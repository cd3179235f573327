//! The Poisson distribution.

use super::{ROUNDS, unit};
use quintet_contract::Random;

/// From this mean on, rejection takes fewer steps than counting up. PTRS needs ten at least.
const REJECTION_MEAN: f64 = 10.0;

/// A draw: a whole number.
#[inline(never)]
pub(super) fn poisson(mean: f64, random: &mut Random) -> f64 {
    if mean < REJECTION_MEAN { by_inversion(mean, random) } else { by_rejection(mean, random) }
}

/// Counts up the probabilities until they pass a uniform draw, or add nothing any more.
fn by_inversion(mean: f64, random: &mut Random) -> f64 {
    let part = unit::open(random);
    let mut probability = libm::exp(-mean);
    let mut sum = probability;
    let mut count = 0.0;
    while sum < part {
        count += 1.0;
        probability *= mean / count;
        if sum + probability <= sum && count > mean {
            break;
        }
        sum += probability;
    }
    count
}

/// Hörmann 1993, algorithm PTRS, with its names. At least 70% are accepted.
fn by_rejection(mean: f64, random: &mut Random) -> f64 {
    let b = 0.931 + 2.53 * libm::sqrt(mean);
    let a = -0.059 + 0.024_83 * b;
    let inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
    let v_r = 0.9277 - 3.6224 / (b - 2.0);
    for _ in 0..ROUNDS {
        let u = unit::open(random) - 0.5;
        let v = unit::open(random);
        let us = 0.5 - u.abs();
        let k = libm::floor((2.0 * a / us + b) * u + mean + 0.43);
        if us >= 0.07 && v <= v_r {
            return k;
        }
        if k < 0.0 || (us < 0.013 && v > us) {
            continue;
        }
        let left = libm::log(v * inverse_alpha / (a / (us * us) + b));
        if left <= k * libm::log(mean) - mean - libm::lgamma(k + 1.0) {
            return k;
        }
    }
    mean
}

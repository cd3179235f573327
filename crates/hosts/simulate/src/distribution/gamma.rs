//! The gamma distribution, and the beta distribution that is made from it.

use super::{ROUNDS, normal, unit};
use quintet_contract::Random;

/// A draw of scale 1.
#[inline(never)]
pub(super) fn gamma(shape: f64, random: &mut Random) -> f64 {
    if shape >= 1.0 { from_one(shape, random) } else { libm::exp(log_below_one(shape, random)) }
}

/// A draw between 0 and 1: X / (X + Y) for gamma variables of shapes `a` and `b`, from their logarithms, since both may
/// be too small for a number when the shapes are.
#[inline(never)]
pub(super) fn beta(a: f64, b: f64, random: &mut Random) -> f64 {
    let mut log = |shape| {
        if shape >= 1.0 { libm::log(from_one(shape, random)) } else { log_below_one(shape, random) }
    };
    let (x, y) = (log(a), log(b));
    1.0 / (1.0 + libm::exp(y - x))
}

/// Marsaglia and Tsang 2000, section 3, for shapes from 1 on, without their squeeze. At least 95% are accepted.
fn from_one(shape: f64, random: &mut Random) -> f64 {
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / libm::sqrt(9.0 * d);
    for _ in 0..ROUNDS {
        let x = normal::standard(random);
        let root = 1.0 + c * x;
        let v = root * root * root;
        let u = unit::open(random);
        if v > 0.0 && libm::log(u) < x * x / 2.0 + d - d * v + d * libm::log(v) {
            return d * v;
        }
    }
    shape
}

/// The logarithm of a draw for shapes below 1: one of the next shape up, times a power of a uniform one (Marsaglia and
/// Tsang 2000, section 6).
fn log_below_one(shape: f64, random: &mut Random) -> f64 {
    let larger = from_one(shape + 1.0, random);
    libm::log(larger) + libm::log(unit::open(random)) / shape
}

//! A fraction between nothing and one, from which everything else is made.

use quintet_contract::Random;

/// One of 2^52 values alike, symmetrical about one half; never 0 and never 1, so that its logarithm exists.
#[expect(clippy::cast_precision_loss, reason = "52 bits and a half fit")]
pub(crate) fn open(random: &mut Random) -> f64 {
    ((random.bits() >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
}

/// The value that lies at `part` of the way; never outside, although the sum is rounded.
pub(super) fn between(low: f64, high: f64, part: f64) -> f64 {
    (low + (high - low) * part).min(high)
}

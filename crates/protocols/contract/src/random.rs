//! Randomness keyed from a seed.

/// A small, fast, well-distributed generator: SplitMix64 (Steele, Lea, Flood 2014). One stream for each instance or
/// element, derived from the run's seed, so that adding one does not disturb the others. Not for secrets.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The stream named `stream` of the run `seed`.
    #[must_use]
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut key = Random(seed);
        let seed = key.bits();
        Random(seed ^ Random(stream).bits())
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A whole number in `0..bound`; 0 if `bound` is 0. Lemire's multiplication without the rejection step: the bias is
    /// below `bound` / 2^64.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// True `per_million` times in a million.
    pub fn chance(&mut self, per_million: u32) -> bool {
        self.below(1_000_000) < u64::from(per_million)
    }
}

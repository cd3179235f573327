//! Randomness keyed from a seed.

/// A small, fast, well-distributed generator: SplitMix64 (Steele, Lea, Flood 2014). One stream for each instance or
/// element, derived from the run's seed, so that adding one does not disturb the others. Not for secrets.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The stream named `stream` of the run `seed`. The two are mixed one after the other: no pair of small numbers names
    /// the stream of another pair.
    #[must_use]
    pub fn new(seed: u64, stream: u64) -> Self {
        let stream = Random(stream).bits();
        Random(Random(seed ^ stream).bits())
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_pair_of_small_numbers_names_a_stream_of_its_own() {
        let first = |seed, stream| Random::new(seed, stream).bits();
        let pairs = (0..100).flat_map(|seed| (0..100).map(move |stream| (seed, stream)));
        let draws: BTreeSet<u64> = pairs.map(|(seed, stream)| first(seed, stream)).collect();
        assert_eq!(draws.len(), 100 * 100);
        assert_ne!(first(3, 7), first(7, 3));
        assert_ne!(first(5, 5), first(9, 9));
    }

    /// Those of the authors' program for this state.
    #[test]
    fn a_stream_is_that_of_splitmix64() {
        let mut random = Random(1_234_567);
        let draws = [random.bits(), random.bits(), random.bits()];
        assert_eq!(draws, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn draws_keep_within_their_bound_and_reach_all_of_it() {
        let mut random = Random::new(1, 2);
        let drawn: BTreeSet<u64> = (0..1_000).map(|_| random.below(7)).collect();
        assert!(drawn.into_iter().eq(0..7));
        assert_eq!(random.below(0), 0);
        assert!((0..1_000).all(|_| !random.chance(0) && random.chance(1_000_000)));
        let quarter = (0..10_000).filter(|_| random.chance(250_000)).count();
        assert!((2_300..2_700).contains(&quarter), "{quarter} of 10,000");
    }
}

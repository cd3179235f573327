//! The hash of what others choose.
//!
//! Whoever may choose fields, addresses or types may choose them so that they collide in a hash whose constants are public, and then
//! each look-up compares all of them. `SipHash` with one round a word and three at the end (Aumasson, Bernstein, "`SipHash`: a fast
//! short-input PRF", 2012) is keyed throughout: without the key nobody can tell which inputs collide.

use core::hash::{BuildHasher, Hasher};
use quintet_contract::Random;
use siphasher::sip::SipHasher13;

/// Makes hashers that are all keyed from one seed: the same seed, the same hashes, on every machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HashKey(u64, u64);

/// The stream of randomness that makes the key of a seed.
const STREAM: u64 = u64::from_be_bytes(*b"hash key");

impl HashKey {
    pub(crate) fn from_seed(seed: u64) -> HashKey {
        let mut random = Random::new(seed, STREAM);
        HashKey(random.bits(), random.bits())
    }

    /// The hash of one word.
    pub(crate) fn hash_word(self, word: u64) -> u64 {
        let mut hasher = self.build_hasher();
        hasher.write_u64(word);
        hasher.finish()
    }
}

impl BuildHasher for HashKey {
    type Hasher = SipHasher13;

    #[inline]
    fn build_hasher(&self) -> SipHasher13 {
        SipHasher13::new_with_keys(self.0, self.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_seed_on_every_machine() {
        let hash = |seed| HashKey::from_seed(seed).hash_word(1);
        assert_eq!([hash(0), hash(1)], [9_785_197_246_339_444_560, 8_740_768_851_003_706_990]);
    }
}

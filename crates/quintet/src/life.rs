//! What is particular to this life of a process: its incarnation, and a key that nobody can know before.

use quintet_contract::Incarnation;
use quintet_resume::ClientId;
use quintet_tuple_space::SpaceConfig;
use std::hash::{BuildHasher, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};

/// Larger than that of every earlier life, as far as the machine's clock goes forward: nanoseconds since 1970.
pub(crate) fn incarnation() -> Incarnation {
    let passed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Incarnation(u64::try_from(passed.as_nanos()).unwrap_or(u64::MAX))
}

/// A number from the system's randomness.
pub(crate) fn random() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

/// Who a client is to a space that outlives its server. Nobody guesses it, for it is by this that the answers are the client's.
pub(crate) fn client() -> ClientId {
    ClientId(u128::from(random()) << 64 | u128::from(random().max(1)))
}

/// The same limits, with a key of this life where none was given: with a known one, a client could choose values that collide.
pub(crate) fn keyed(space: SpaceConfig) -> SpaceConfig {
    let seed = if space.seed == 0 { random() } else { space.seed };
    SpaceConfig { seed, ..space }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_life_has_a_key_of_its_own_unless_one_is_given() {
        let given = SpaceConfig { seed: 7, ..SpaceConfig::default() };
        assert_eq!(keyed(given).seed, 7);
        let keys = [keyed(SpaceConfig::default()).seed, keyed(SpaceConfig::default()).seed];
        assert!(keys[0] != keys[1] && !keys.contains(&0));
    }

    #[test]
    fn a_later_life_has_a_larger_incarnation() {
        let first = incarnation();
        assert!(first > Incarnation(1) && incarnation() >= first);
    }
}

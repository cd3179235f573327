//! A default here is the default where the setting is used.

use quintet_settings::{SPACE_MAX_ATTEMPTS, SPACE_MAX_BYTES, SPACE_MAX_TUPLES, SPACE_MAX_WAITING};
use quintet_tuple_space::SpaceConfig;

#[test]
fn the_space() {
    let space = SpaceConfig::default();
    assert_eq!(SPACE_MAX_BYTES.default, space.max_bytes);
    assert_eq!(SPACE_MAX_TUPLES.default, space.max_tuples);
    assert_eq!(SPACE_MAX_ATTEMPTS.default, space.max_attempts.into());
    assert_eq!(SPACE_MAX_WAITING.default, space.max_waiting as u64);
}

//! A default here is the default where the setting is used.

use quintet_messaging::Window;
use quintet_settings::{
    LINK_SPIN_US, LINK_WINDOW_BYTES, LINK_WINDOW_FRAMES, SPACE_MAX_ATTEMPTS, SPACE_MAX_BYTES,
    SPACE_MAX_TUPLES, SPACE_MAX_WAITING,
};
use quintet_tuple_space::SpaceConfig;

#[test]
fn the_space() {
    let space = SpaceConfig::default();
    assert_eq!(SPACE_MAX_BYTES.default, space.max_bytes);
    assert_eq!(SPACE_MAX_TUPLES.default, space.max_tuples);
    assert_eq!(SPACE_MAX_ATTEMPTS.default, space.max_attempts.into());
    assert_eq!(SPACE_MAX_WAITING.default, space.max_waiting as u64);
}

#[test]
fn the_links() {
    let window = Window::default();
    assert_eq!(LINK_WINDOW_FRAMES.default, window.slots.into());
    assert_eq!(LINK_WINDOW_BYTES.default, window.bytes.into());
    assert_eq!(u128::from(LINK_SPIN_US.default), quintet_link::SPIN.as_micros());
}

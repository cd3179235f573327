//! A default here is the default where the setting is used.

use quintet_contract::Address;
use quintet_contract::limits::MAX_BODY_BYTES;
use quintet_messaging::{Class, MessagingConfig};
use quintet_settings::{
    MESSAGING_BULK_BUDGET_BYTES, MESSAGING_MAX_REQUESTS, MESSAGING_WINDOW_BYTES, MESSAGING_WINDOW_FRAGMENTS,
    MESSAGING_WINDOW_FRAMES, SPACE_MAX_ATTEMPTS, SPACE_MAX_BYTES, SPACE_MAX_TUPLES, SPACE_MAX_WAITING,
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
fn messaging() {
    let messaging = MessagingConfig::new(Address::new(0, 0), |_| Class::OneWay);
    assert_eq!(MESSAGING_WINDOW_FRAMES.default, messaging.window_slots.into());
    assert_eq!(MESSAGING_WINDOW_BYTES.default, messaging.window_bytes.into());
    assert_eq!(MESSAGING_MAX_REQUESTS.default, messaging.requests.into());
    assert_eq!(MESSAGING_BULK_BUDGET_BYTES.default, messaging.bulk_budget_bytes as u64);
    assert_eq!(MESSAGING_WINDOW_FRAGMENTS.default, messaging.window_fragments.into());
}

#[test]
fn the_longest_frame_passes_the_smallest_window() {
    assert!(*MESSAGING_WINDOW_BYTES.range.start() >= 2 * MAX_BODY_BYTES as u64);
}

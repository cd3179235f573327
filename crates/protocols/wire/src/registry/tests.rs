use super::*;

#[test]
fn a_range_holds_its_first_and_last_kind_and_none_beside() {
    for range in KINDS {
        assert!(range.contains(Kind(range.first)) && range.contains(Kind(range.last)), "{}", range.owner);
        assert!(!range.contains(Kind(range.first - 1)), "{}", range.owner);
        assert!(range.last == u8::MAX || !range.contains(Kind(range.last + 1)), "{}", range.owner);
        assert_eq!(range.kind(range.last - range.first), Kind(range.last), "{}", range.owner);
    }
}

#[test]
#[should_panic(expected = "the range is shorter")]
fn a_range_gives_no_kind_beyond_its_last() {
    let _ = SESSION.kind(SESSION.last - SESSION.first + 1);
}

#[test]
fn the_ports_of_services_are_those_of_the_host() {
    assert!(HOST_SERVICE_PORTS.into_iter().all(is_service));
    assert!(![PORT_CALLERS, PORT_SPACE, PORT_USER].into_iter().any(is_service));
}

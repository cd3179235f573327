use super::*;
use proptest::prelude::*;
use quintet_tuple_space::{SpaceConfig, SpacesConfig};

fn reliabilities() -> impl Strategy<Value = Reliability> {
    let retransmit = |(timeout, window_frames, window_bytes)| Reliability::Retransmit {
        initial_timeout: Span(timeout),
        window_frames,
        window_bytes,
    };
    let retain = |(window_frames, window_bytes)| Reliability::Retain { window_frames, window_bytes };
    prop_oneof![
        Just(Reliability::Link),
        Just(Reliability::ByLink),
        any::<(u32, usize)>().prop_map(retain),
        any::<(u64, u32, usize)>().prop_map(retransmit),
    ]
}

prop_compose! {
    fn spaces()(
        (max_bytes, max_tuples, max_attempts) in any::<(u64, u64, u32)>(),
        (max_waiting, max_waiting_bytes, max_unsettled) in any::<(usize, u64, usize)>(),
        (index_step, seed) in any::<(usize, u64)>(),
    ) -> SpaceConfig {
        SpaceConfig {
            max_bytes, max_tuples, max_attempts, max_waiting, max_waiting_bytes, max_unsettled, index_step, seed,
            ..SpaceConfig::default()
        }
    }
}

prop_compose! {
    fn configs()(
        (cluster, incarnation, seed) in any::<(u128, u64, u64)>(),
        (slots, bytes, requests, fragments) in any::<(u32, u32, u32, u32)>(),
        spans in any::<[u64; 3]>(),
        links in prop::collection::btree_map(any::<u16>().prop_map(NodeId), reliabilities(), 0..5),
        space in spaces(),
        (max_spaces, max_bytes) in any::<(u32, u64)>(),
    ) -> StackConfig {
        let [keep_alive, silence_limit, resume_window] = spans.map(Span);
        StackConfig {
            window: Window { slots, bytes },
            requests,
            fragments,
            liveness: Liveness { keep_alive, silence_limit, resume_window },
            links,
            space,
            spaces: SpacesConfig { max_spaces, max_bytes },
            ..StackConfig::of_server(cluster, Incarnation(incarnation), seed)
        }
    }
}

proptest! {
    #[test]
    fn a_configuration_comes_back_from_a_recording(config in configs()) {
        prop_assert_eq!(StackConfig::from_bytes(&config.to_bytes()), Ok(config));
    }

    #[test]
    fn a_configuration_that_is_cut_short_or_goes_on_is_damaged(config in configs(), cut in any::<prop::sample::Index>()) {
        let bytes = config.to_bytes();
        let cut = StackConfig::from_bytes(&bytes[..cut.index(bytes.len())]);
        prop_assert!(matches!(cut, Err(StackError::Damaged(DecodeError::Truncated { .. }))), "{cut:?}");
        let more = StackConfig::from_bytes(&[&bytes[..], &[0]].concat());
        prop_assert!(matches!(more, Err(StackError::Damaged(DecodeError::Trailing { .. }))), "{more:?}");
    }
}

fn config() -> StackConfig {
    StackConfig::of_server(0, Incarnation(1), 2)
}

#[test]
fn another_version_is_refused_with_words() {
    for version in [0, CONFIG_VERSION + 1, u16::MAX] {
        let mut bytes = config().to_bytes();
        bytes[..2].copy_from_slice(&version.to_le_bytes());
        let error = StackConfig::from_bytes(&bytes).expect_err("it is another version's");
        assert_eq!(error, StackError::Version(version));
        let said = format!("of version {version}, and this program reads version {CONFIG_VERSION}");
        assert!(error.to_string().contains(&said), "{error}");
    }
}

/// The layout of the recordings that had no version: the cluster, the incarnation, the seed and so on.
#[test]
fn a_configuration_without_a_version_is_refused_as_an_older_one() {
    assert_eq!(StackConfig::from_bytes(&[0; 100]), Err(StackError::Version(0)));
}

/// Where the links begin, in a configuration without any: after their number.
const LINKS: usize = 2 + 16 + 8 + 8 + 8 + 4 + 4 + 24;

#[test]
fn a_service_that_is_not_there_has_its_defaults_and_an_unknown_one_is_named() {
    let mut bytes = config().to_bytes();
    bytes.truncate(LINKS + 2);
    bytes.extend([0, 0]);
    assert_eq!(StackConfig::from_bytes(&bytes), Ok(config()));
    bytes.truncate(LINKS + 2);
    bytes.extend([1, 0, 77, 0, 0, 0, 0, 0]);
    let error = StackConfig::from_bytes(&bytes).expect_err("nothing is at port 77");
    assert_eq!(error, StackError::UnknownService(Port(77)));
    assert!(error.to_string().contains("port 77"), "{error}");
}

#[test]
fn links_and_services_stand_in_order_and_once() {
    let mut two_links = config();
    for node in [3, 4] {
        two_links.links.insert(NodeId(node), Reliability::Link);
    }
    let mut bytes = two_links.to_bytes();
    bytes[LINKS + 2] = 5;
    let error = StackConfig::from_bytes(&bytes).expect_err("node 5 stands before node 4");
    assert!(matches!(error, StackError::Damaged(DecodeError::Invalid { field: "node of a link", .. })));
    let mut bytes = config().to_bytes();
    let parts = bytes.split_off(LINKS + 4);
    bytes[LINKS + 2] *= 2;
    let error = StackConfig::from_bytes(&[&bytes[..], &parts, &parts].concat()).expect_err("they come twice");
    assert!(matches!(error, StackError::Damaged(DecodeError::Invalid { field: "port of a service", .. })));
}

#[test]
fn a_part_that_is_too_long_is_refused_before_it_is_read() {
    let mut bytes = config().to_bytes();
    bytes.truncate(LINKS + 4);
    bytes.extend([16, 0, 0xff, 0xff, 0xff, 0xff]);
    let error = StackConfig::from_bytes(&bytes).expect_err("no part is as long");
    assert!(matches!(error, StackError::Damaged(DecodeError::TooLarge { .. })), "{error}");
}

//! Names, and the bytes of what is asked of named spaces.

use super::{Policy, SpaceName, SpaceRights, SpaceSettings, SpacesRequest};
use proptest::prelude::*;
use quintet_contract::Identity;
use quintet_wire::{Decode, encode_to_vec};

fn name(text: &str) -> SpaceName {
    text.parse().expect("it is a name")
}

#[test]
fn names_have_a_stated_alphabet_and_length() {
    let longest = "x".repeat(SpaceName::MAX_BYTES);
    for good in ["a", "Orders-2.x_y", "9", longest.as_str()] {
        assert_eq!(good.parse::<SpaceName>().map(|name| name.to_string()), Ok(good.to_owned()));
    }
    let long = "x".repeat(SpaceName::MAX_BYTES + 1);
    for bad in ["", "-a", ".", "a b", "ä", "a/b", "a\n", long.as_str()] {
        let error = bad.parse::<SpaceName>().expect_err(bad);
        assert!(error.to_string().contains("letters, digits"), "{error}");
    }
}

fn settings() -> impl Strategy<Value = SpaceSettings> {
    let policy =
        prop_oneof![Just(Policy::Volatile), Just(Policy::Logged), (1u8..).prop_map(Policy::Replicated),];
    (policy, any::<u64>(), any::<u64>(), prop::option::of(rights())).prop_map(
        |(policy, max_bytes, max_tuples, allow)| SpaceSettings { policy, max_bytes, max_tuples, allow },
    )
}

fn rights() -> impl Strategy<Value = SpaceRights> {
    let identities = prop::collection::btree_set(any::<[u8; 32]>().prop_map(Identity), 0..5);
    (any::<bool>(), identities).prop_map(|(own_machine, identities)| SpaceRights { own_machine, identities })
}

fn requests() -> impl Strategy<Value = SpacesRequest> {
    let named = "[A-Za-z0-9][A-Za-z0-9._-]{0,62}".prop_map(|text| name(&text));
    prop_oneof![
        (named.clone(), settings()).prop_map(|(name, settings)| SpacesRequest::Create(name, settings)),
        named.clone().prop_map(SpacesRequest::Open),
        named.clone().prop_map(SpacesRequest::Remove),
        prop::option::of(named).prop_map(|after| SpacesRequest::List { after }),
        rights().prop_map(SpacesRequest::Allow),
    ]
}

proptest! {
    #[test]
    fn requests_come_back_from_their_bytes(asked in requests()) {
        let bytes = encode_to_vec(&asked);
        prop_assert_eq!(SpacesRequest::decode_all(&bytes), Ok(asked));
        for len in 0..bytes.len() {
            // A prefix of it is no other request.
            prop_assert!(SpacesRequest::decode_all(&bytes[..len]).is_err());
        }
    }
}

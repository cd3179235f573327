use super::*;
use proptest::prelude::*;
use quintet_wire::encode_to_vec;

fn attempts() -> impl Strategy<Value = Attempt> {
    any::<(u32, u64)>().prop_map(|(number, nonce)| Attempt { number, nonce })
}

fn windows() -> impl Strategy<Value = WindowLimits> {
    any::<(u32, u64)>().prop_map(|(frames, bytes)| WindowLimits { frames, bytes })
}

proptest! {
    #[test]
    fn a_hello_comes_back(
        versions: (u16, u16), attempt in attempts(), cluster: u128, node: u16, role: u8, reliability in 0u8..=2,
        incarnation: u64, features: u64, resume: u64, received: u32, window in windows(),
    ) {
        let hello = Hello {
            versions: Versions { oldest: versions.0, newest: versions.1 }, attempt, cluster, node: NodeId(node),
            role: Role(role), reliability, incarnation: Incarnation(incarnation), features: Features(features),
            resume, received: Sequence(received), window,
        };
        let bytes = encode_to_vec(&hello);
        prop_assert_eq!(bytes.len(), hello.max_len());
        prop_assert_eq!(Hello::decode_all(&bytes), Ok(hello));
        prop_assert!(Hello::decode_all(&bytes[..bytes.len() - 1]).is_err());
    }

    #[test]
    fn a_welcome_comes_back(
        version: u16, role: u8, resumed: bool, attempt in attempts(), session: u64, incarnation: u64, features: u64,
        received: u32, window in windows(),
    ) {
        let welcome = Welcome {
            version, role: Role(role), resumed, attempt, session, incarnation: Incarnation(incarnation),
            features: Features(features), received: Sequence(received), window,
        };
        prop_assert_eq!(encode_to_vec(&welcome).len(), welcome.max_len());
        prop_assert_eq!(Welcome::decode_all(&encode_to_vec(&welcome)), Ok(welcome));
    }

    #[test]
    fn a_refusal_comes_back_shortened_to_its_limit(number in 1u8..=5, attempt in attempts(), text in ".{0,400}") {
        let code = RefusalCode::from_number(number).expect("numbered from 1 to 5");
        let refused = Refused { code, attempt, text: &text };
        let bytes = encode_to_vec(&refused);
        prop_assert!(bytes.len() <= refused.max_len());
        let back = Refused::decode_all(&bytes).expect("a refusal");
        prop_assert_eq!((back.code, back.attempt), (code, attempt));
        prop_assert!(text.starts_with(back.text) && back.text.len() <= MAX_TEXT_BYTES);
    }

    #[test]
    fn a_prefix_comes_back(sequence: u32, acknowledged: u32, fence: Option<(u64, u32, u32)>) {
        let fence = fence.map(|(session, departed, echo)| Fence { session, departed: Stamp(departed), echo: Stamp(echo) });
        let prefix = Prefix { sequence: Sequence(sequence), acknowledged: Sequence(acknowledged), fence };
        let mut room = [0; FENCED_PREFIX_BYTES];
        prefix.write(&mut room);
        prop_assert_eq!(Prefix::read(&room, fence.is_some()), Ok(prefix));
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
        // Only that nothing panics: what decodes is checked by what it means.
        let _ = (Hello::decode_all(&bytes), Welcome::decode_all(&bytes), Refused::decode_all(&bytes));
        let _ = (Acknowledge::decode_all(&bytes), Named::decode_all(&bytes), Prefix::read(&bytes, true));
    }
}

#[test]
fn the_short_frames_are_as_long_as_they_say() {
    let (session, echo) = (u64::MAX, Stamp(u32::MAX));
    let acknowledge = Acknowledge { session, acknowledged: Sequence(u32::MAX), echo };
    assert_eq!(acknowledge.encoded_len(), acknowledge.max_len());
    assert_eq!(Named(session).encoded_len(), Named(session).max_len());
}

use super::*;
use crate::fuzzing;
use crate::limits::MAX_INLINE_BYTES;
use proptest::prelude::*;
use quintet_contract::Effects;
use quintet_wire::refusal::MAX_TEXT_BYTES;

fn sent(request: &Request) -> (Kind, Bytes, Bytes) {
    let mut out = Effects::default();
    request.send(&mut out, Address::new(1, 1), Token(1)).expect("there is room");
    let (_, frame) = out.frames().remove(0);
    (frame.kind, frame.body, frame.bulk)
}

#[test]
fn what_is_long_goes_as_bulk_and_comes_back() {
    for len in [0, 1, MAX_INLINE_BYTES, MAX_INLINE_BYTES + 1, 1 << 20] {
        let place = Place::new("store", None).expect("it is a name");
        let call = Request::Call { place, wait: None, is_one_way: true, payload: vec![7; len].into() };
        let (kind, body, bulk) = sent(&call);
        assert_eq!(!bulk.is_empty(), len > MAX_INLINE_BYTES);
        assert_eq!(Request::decode(kind, &body, &bulk), Ok(call));
    }
}

#[test]
fn names_are_short_text_without_control_characters() {
    let long = "é".repeat(MAX_NAME_BYTES);
    for name in ["", "a\nb", "\0", &long] {
        assert_eq!(Place::new(name, None), None, "{name:?}");
        let bytes =
            [&u32::try_from(name.len()).unwrap().to_le_bytes()[..], name.as_bytes(), &[0; 4]].concat();
        assert!(Place::decode_all(&bytes).is_err(), "{name:?}");
    }
    assert!(Place::new(&"a".repeat(MAX_NAME_BYTES), Some(0)).is_some());
    assert_eq!(Place::new("a", Some(u32::MAX)), None, "that means any");
}

#[test]
fn a_payload_is_either_in_the_body_or_in_the_bulk() {
    let reply = Request::Reply { call: 1, handled: Handled::Replied(Bytes::from_static(b"so")) };
    let (kind, body, _) = sent(&reply);
    let more = Bytes::from_static(b"more");
    assert!(Request::decode(kind, &body, &more).is_err(), "both");
    let (kind, body, _) = sent(&Request::Leave { handler: 1 });
    assert!(Request::decode(kind, &body, &more).is_err(), "none");
    assert!(Answer::decode(ANSWER, &[0], &more).is_err());
}

#[test]
fn a_failure_is_cut_where_a_character_ends() {
    let failed = Request::Reply { call: 1, handled: Handled::Failed("é".repeat(MAX_TEXT_BYTES)) };
    let (kind, body, bulk) = sent(&failed);
    let Ok(Request::Reply { handled: Handled::Failed(text), .. }) = Request::decode(kind, &body, &bulk)
    else {
        panic!("it can be read");
    };
    assert_eq!(text.len(), MAX_TEXT_BYTES);
}

#[test]
fn the_kept_bodies_can_be_read_and_no_part_of_them() {
    for (name, bytes) in fuzzing::bodies() {
        fuzzing::decode(&bytes);
        let body = &bytes[1..];
        let kinds = || (REGISTER.0..=LEAVE.0).map(Kind);
        assert!(kinds().any(|kind| Request::decode(kind, body, &Bytes::new()).is_ok()), "{name}");
    }
    let (kind, body, bulk) = sent(&Request::Next { handler: 7, wait: None });
    for end in 0..body.len() {
        assert!(Request::decode(kind, &body[..end], &bulk).is_err());
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_as_the_same_again_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        fuzzing::decode(&bytes);
    }
}

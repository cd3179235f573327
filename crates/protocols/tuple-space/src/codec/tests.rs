use super::*;
use crate::{
    Array, Element, ElementType, Field, Request, Template, Tuple, Type, Value, ValueRange, template, tuple,
};
use bytes::Bytes;
use core::ops::Bound;
use proptest::prelude::*;
use quintet_contract::{Address, Effects, OwnedFrame};
use quintet_wire::{DecodeError, Encode, encode_to_vec};

fn an_array<T: Element + core::fmt::Debug>(
    element: impl Strategy<Value = T> + Clone,
) -> impl Strategy<Value = Array> {
    proptest::collection::vec(0..4u64, 0..3).prop_flat_map(move |shape| {
        let elements = usize::try_from(shape.iter().product::<u64>()).unwrap();
        let elements = proptest::collection::vec(element.clone(), elements);
        elements.prop_map(move |elements| Array::from_elements(&shape, &elements).unwrap())
    })
}

fn a_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i8>().prop_map(Value::from),
        any::<i16>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u8>().prop_map(Value::from),
        any::<u16>().prop_map(Value::from),
        any::<u32>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<u32>().prop_map(|bits| f32::from_bits(bits).into()),
        any::<u64>().prop_map(|bits| f64::from_bits(bits).into()),
        ".{0,20}".prop_map(Value::from),
        (0..3000usize).prop_map(|length| "x".repeat(length).into()),
        (0..3000usize).prop_map(|length| vec![7u8; length].into()),
        an_array(any::<u16>()).prop_map(Value::from),
        an_array(any::<bool>()).prop_map(Value::from),
    ]
}

fn a_tuple() -> impl Strategy<Value = Tuple> {
    proptest::collection::vec(a_value(), 1..10).prop_map(|values| Tuple::new(values).unwrap())
}

/// Some fields of a tuple become formals, some of its dimensions free.
fn a_template_for(tuple: &Tuple) -> impl Strategy<Value = Template> + use<> {
    let values = tuple.values().to_vec();
    let other = (0..2u8, 0..3u8, a_value());
    let choice = (any::<bool>(), any::<bool>(), proptest::option::of(other));
    proptest::collection::vec(choice, values.len()).prop_map(move |choices| {
        let field = |(value, (is_actual, is_free, other)): (&Value, (bool, bool, Option<_>))| match (
            is_actual,
            value.value_type(),
        ) {
            _ if let Some(range) = other.and_then(|other| a_range_near(value, other)) => range,
            (true, _) => Field::Actual(value.clone()),
            (false, Type::Array { element, dimensions }) if is_free => {
                Field::Formal(Type::Array { element, dimensions: vec![None; dimensions.len()] })
            }
            (false, formal) => Field::Formal(formal),
        };
        Template::new(values.iter().zip(choices).map(field).collect()).unwrap()
    })
}

/// A range with that value, or one of its type if the other is one, at one end or at both; none where there is no such range.
fn a_range_near(value: &Value, (from, to, other): (u8, u8, Value)) -> Option<Field> {
    let is_of_type = other.value_type() == value.value_type();
    let bound = |how, value: &Value| match how {
        0 => Bound::Included(value.clone()),
        1 => Bound::Excluded(value.clone()),
        _ => Bound::Unbounded,
    };
    let range = match (value, to) {
        (Value::Text(text), 2) => ValueRange::Prefix(text.chars().take(5).collect::<String>().into()),
        (Value::Binary(bytes), 2) => ValueRange::Prefix(bytes.slice(..bytes.len().min(9)).into()),
        _ => ValueRange::Between(bound(from, value), bound(to, if is_of_type { &other } else { value })),
    };
    range.check().is_ok().then_some(Field::Range(range))
}

proptest! {
    #[test]
    fn a_tuple_comes_back_as_it_was(tuple in a_tuple()) {
        let (head, bulk) = tuple.encode().unwrap();
        prop_assert!(head.len() <= MAX_HEAD_BYTES);
        prop_assert_eq!(head.len(), Encoded::tuple(&tuple).unwrap().encoded_len());
        prop_assert_eq!(Tuple::decode(&head, &bulk), Ok(tuple));
    }

    #[test]
    fn a_template_comes_back_as_it_was_and_matches_encoded_as_decoded(
        (tuple, template) in a_tuple().prop_flat_map(|tuple| { let t = a_template_for(&tuple); (Just(tuple), t) }),
        other in a_tuple(),
    ) {
        let (head, bulk) = template.encode().unwrap();
        prop_assert_eq!(Template::decode(&head, &bulk), Ok(template.clone()));
        prop_assert_eq!(head.len(), Encoded::template(&template).unwrap().encoded_len());
        let wanted = View::template(&head, &bulk).unwrap();
        for candidate in [&tuple, &other] {
            let (head, bulk) = candidate.encode().unwrap();
            let view = View::tuple(&head, &bulk).unwrap();
            let matches = view.signature() == wanted.signature() && wanted.matches(&view);
            prop_assert_eq!(matches, template.matches(candidate));
            if matches {
                let key = crate::keyed::HashKey::from_seed(1);
                prop_assert_eq!(view.hash(wanted.actuals(), &key), wanted.hash(wanted.actuals(), &key));
            }
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(data: Vec<u8>) {
        crate::fuzzing::tuple(&data);
        crate::fuzzing::requests(&data);
    }

    #[test]
    fn a_tuple_with_one_byte_changed_is_read_or_refused(
        tuple in a_tuple(), at: proptest::sample::Index, byte: u8, keep: proptest::sample::Index,
    ) {
        let (mut head, bulk) = tuple.encode().unwrap();
        let (at, keep) = (at.index(head.len()), keep.index(head.len() + 1));
        head[at] = byte;
        let mut data = u16::try_from(keep).unwrap().to_le_bytes().to_vec();
        data.extend_from_slice(&head[..keep]);
        data.extend_from_slice(&bulk);
        crate::fuzzing::tuple(&data);
    }

    #[test]
    fn almost_right_requests_are_answered(
        steps in proptest::collection::vec((a_small_request(), any::<[u8; 2]>(), any::<Option<(u8, u8)>>()), 1..20),
    ) {
        let mut data = vec![];
        for ((kind, mut body), sender_and_token, change) in steps {
            if let Some((at, byte)) = change {
                let at = usize::from(at) % body.len();
                body[at] = byte;
            }
            data.push(kind);
            data.extend_from_slice(&sender_and_token);
            data.push(u8::try_from(body.len()).unwrap());
            data.extend(body);
        }
        crate::fuzzing::requests(&data);
    }
}

/// Some request: its kind, counted from the first, and its body of at most 255 bytes.
fn a_small_request() -> impl Strategy<Value = (u8, Vec<u8>)> {
    use crate::Request;
    let body = |request: Request<'_>| {
        let mut effects = quintet_contract::Effects::default();
        let to = quintet_contract::Address::new(0, 16);
        request.send(&mut effects, to, quintet_contract::Token(0), quintet_contract::Token(0)).unwrap();
        let frame = effects.frames().pop().unwrap().1;
        (frame.kind.0 - OUT.0, frame.body.to_vec())
    };
    let wanted = || template![?str, ?i64];
    prop_oneof![
        (0..3i64).prop_map(move |n| body(Request::Out {
            deadline: None,
            tuples: &[tuple!["a", n]],
            expiries: &[]
        })),
        Just(body(Request::Take { wait: Wait::Forever, lease: None, template: &wanted() })),
        Just(body(Request::Take {
            wait: Wait::AtOnce,
            lease: Some(quintet_contract::Span(9)),
            template: &wanted()
        })),
        Just(body(Request::Count { template: &wanted() })),
        (any::<bool>(), 0..3u64).prop_map(move |(takes, ttl)| {
            let lease = (takes && ttl > 0).then_some(quintet_contract::Span(ttl));
            let templates = [wanted(), template!["a", 1i64]];
            body(Request::Select { takes, wait: Wait::Forever, lease, templates: &templates })
        }),
        (0..3i64).prop_map(move |n| {
            let tuples = [tuple!["a", n], tuple!["b", n]];
            body(Request::Replace {
                wait: Wait::Forever,
                template: &wanted(),
                tuples: &tuples,
                expiries: &[],
            })
        }),
        (1..20u64).prop_map(move |n| body(Request::Release { lease: LeaseId(n) })),
        (1..20u64).prop_map(move |n| {
            body(Request::Ack {
                lease: LeaseId(n),
                deadline: None,
                tuples: &[tuple!["a", 1i64]],
                expiries: &[],
            })
        }),
        Just(body(Request::Status)),
        Just(body(Request::Hold {
            wait: Wait::AtOnce,
            lease: quintet_contract::Span(9),
            limit: Some(quintet_contract::Span(20)),
            template: &wanted()
        })),
        Just(body(Request::Witness { wait: Wait::Forever, template: &wanted() })),
        (1..20u64, any::<bool>(), 0..3u64).prop_map(move |(n, is_abort, age)| {
            let (leases, witnesses) = ([LeaseId(n), LeaseId(n + 1)], [Witness { age, place: 0 }]);
            if is_abort {
                return body(Request::Abort { leases: &leases });
            }
            let tuples = [tuple!["a", 1i64]];
            let witnesses = &witnesses[usize::from(age == 0)..];
            body(Request::Commit {
                leases: &leases[..1],
                witnesses,
                deadline: None,
                tuples: &tuples,
                expiries: &[],
            })
        }),
    ]
}

#[test]
fn every_beginning_of_a_tuple_is_refused() {
    let tuple = tuple!["a", vec![0u8; 2000], Array::from_elements(&[1, 2], &[1u8, 2]).unwrap(), true];
    let (head, bulk) = tuple.encode().unwrap();
    for length in 0..head.len() {
        assert!(Tuple::decode(&head[..length], &bulk).is_err(), "{length} bytes");
    }
    for length in 0..bulk.len() {
        assert!(Tuple::decode(&head, &bulk.slice(..length)).is_err(), "{length} bytes of bulk");
    }
    let longer = Bytes::from([&bulk[..], &[0]].concat());
    assert_eq!(Tuple::decode(&head, &longer), Err(DecodeError::Trailing { at: 2000, left: 1 }));
}

#[test]
fn the_layout_is_as_documented() {
    let tuple = tuple!["row", 3i64, Array::from_elements(&[2], &[1u16, 2]).unwrap()];
    let (head, bulk) = tuple.encode().unwrap();
    let mut expected = vec![3, 13, 5, 0x20 | 7, 1];
    expected.extend_from_slice(b"\0\x03\0\0\0row");
    expected.extend_from_slice(&3i64.to_le_bytes());
    expected.extend_from_slice(&2u64.to_le_bytes());
    expected.extend_from_slice(b"\0\x04\0\0\0\x01\0\x02\0");
    assert_eq!(head, expected);
    assert_eq!(bulk.len(), 0);
    let (head, _) = template!["row", ?i64].encode().unwrap();
    assert_eq!(head, b"\x02\x0d\x05\x01\0\0\0\0\0\0\0\0\x03\0\0\0row");
}

#[test]
fn a_tuple_that_expires_says_so_between_its_lengths_and_its_head() {
    let tuples = [tuple![1u8], tuple![2u8]];
    let expiries = [None, Some(quintet_contract::Span(7))];
    let out = Request::Out { deadline: None, tuples: &tuples, expiries: &expiries };
    let mut link = Effects::default();
    out.send(&mut link, Address::new(0, 1), Token(1), Token(0)).unwrap();
    let (_, frame) = link.frames().pop().unwrap();
    let front = [&[0; 8][..], &[255; 8], &2u32.to_le_bytes()].concat();
    let plain = [&3u32.to_le_bytes()[..], &[0; 4], &[1, 6, 1]].concat();
    let expiring = [&(3u32 | 1 << 31).to_le_bytes()[..], &[0; 4], &7u64.to_le_bytes(), &[1, 6, 2]].concat();
    assert_eq!(&frame.body[..], [front, plain, expiring].concat());
    assert!(RequestView::decode(&frame.borrow()).is_ok());
    let mut at_once = frame.body.to_vec();
    let at = at_once.len() - 3 - 8;
    at_once[at] = 0;
    let body = Bytes::from(at_once);
    let refused = OwnedFrame { body, ..frame };
    let error = RequestView::decode(&refused.borrow()).unwrap_err();
    assert!(matches!(error, DecodeError::Invalid { field: "expiry of a tuple", .. }), "{error:?}");
}

#[test]
fn one_long_field_is_shared_and_several_are_aligned() {
    let long = Bytes::from(vec![1u8; 5000]);
    let (_, bulk) = tuple![long.clone(), 1u8].encode().unwrap();
    assert_eq!(bulk.as_ptr(), long.as_ptr());
    let tuple = tuple![long.clone(), vec![2u8; 1025], "x".repeat(3000)];
    let (head, bulk) = tuple.encode().unwrap();
    assert_eq!(bulk.len(), 5056 + 1088 + 3000);
    let decoded = Tuple::decode(&head, &bulk).unwrap();
    let Value::Binary(second) = &decoded[1] else { panic!("not binary") };
    assert_eq!(second.as_ptr(), bulk[5056..].as_ptr(), "decoding copies no long data");
    assert_eq!(decoded, tuple);
}

#[test]
fn malformed_places_are_refused() {
    let (head, bulk) = tuple![vec![1u8; 2000], vec![2u8; 2000]].encode().unwrap();
    let with_offset = |field: usize, offset: u32| {
        let mut head = head.clone();
        let at = 3 + field * 9 + 5;
        head[at..at + 4].copy_from_slice(&offset.to_le_bytes());
        Tuple::decode(&head, &bulk)
    };
    assert!(with_offset(1, 2048).is_ok());
    for offset in [0, 64, 1999, 2000, 2049, 4000, u32::MAX] {
        assert!(with_offset(1, offset).is_err(), "{offset}");
    }
    assert!(with_offset(0, 64).is_err());
}

#[test]
fn many_short_fields_spill_into_the_bulk() {
    let values: Vec<Value> = (0..61u8)
        .map(|n| {
            let array = Array::from_elements(
                &[1u64; 31].iter().copied().chain([1024]).collect::<Vec<_>>(),
                &[n; 1024],
            );
            Value::from(array.unwrap())
        })
        .collect();
    let tuple = Tuple::new(values).unwrap();
    let (head, bulk) = tuple.encode().unwrap();
    assert!(head.len() <= MAX_HEAD_BYTES && !bulk.is_empty());
    assert_eq!(Tuple::decode(&head, &bulk), Ok(tuple));
}

#[test]
fn tuples_and_types_are_shown_as_one_writes_them() {
    let array = Array::from_elements(&[4, 4], &[0.0f64; 16]).unwrap();
    assert_eq!(tuple!["row", 3i64, array].to_string(), r#"("row", 3, f64[4,4])"#);
    assert_eq!(tuple![vec![1u8, 2], true, 1.0f32].to_string(), "(binary[2], true, 1.0)");
    let some = Type::Array { element: ElementType::F32, dimensions: vec![Some(2), None] };
    assert_eq!(template!["row", ?i64, some, ?[u8]].to_string(), r#"("row", ?i64, ?f32[2,?], ?binary)"#);
    let (head, bulk) = tuple!["row", 3i64, Array::from_elements(&[0], &[0u8; 0]).unwrap()].encode().unwrap();
    let signature = crate::Signature(View::tuple(&head, &bulk).unwrap().signature().into());
    assert_eq!(signature.to_string(), "(text, i64, u8[?])");
}

#[test]
fn every_answer_comes_back_as_it_was() {
    let read = |kind, body: Vec<u8>| Answer::decode(kind, &body, &Bytes::new());
    let state = State {
        tuples: 1,
        bytes: 2,
        hidden: 3,
        waiters: 4,
        leases: 5,
        parked: 6,
        redone: 7,
        dead_letters: 8,
        signatures: 1,
        index_bytes: 10,
        rows: vec![SignatureState {
            signature: crate::Signature([2, 13, 0x25, 2].into()),
            tuples: 1,
            hidden: 2,
            waiters: 3,
        }],
        moved_keys: 0,
    };
    for moved_keys in [0, 2] {
        let state = State { moved_keys, ..state.clone() };
        assert_eq!(read(STATE, encode_to_vec(&state)), Ok(Answer::State(Box::new(state))));
    }
    let refusal = Refusal::new(quintet_errors::Code::TooLarge, "ä".repeat(2000));
    assert_eq!(refusal.text.len(), MAX_ERROR_TEXT_BYTES);
    assert_eq!(read(ERROR, encode_to_vec(&refusal)), Ok(Answer::Error(refusal)));
    assert_eq!(read(COUNTED, 7u64.to_le_bytes().to_vec()), Ok(Answer::Count(7)));
    let selected = |which: u8, lease: u64, attempt: u32| {
        let head = tuple!["row", 7i64].encode().expect("it is short").0;
        let front = [&[which][..], &lease.to_le_bytes(), &attempt.to_le_bytes()].concat();
        read(SELECTED, [front, head].concat())
    };
    let tuple = || tuple!["row", 7i64];
    assert_eq!(selected(31, 0, 0), Ok(Answer::Selected(31, tuple(), None)));
    let attempt = Attempt { lease: LeaseId(5), attempt: 2 };
    assert_eq!(selected(0, 5, 2), Ok(Answer::Selected(0, tuple(), Some(attempt))));
    assert!(selected(32, 0, 0).is_err(), "no select has so many templates");
    assert!(selected(0, 5, 0).is_err(), "a group has no select");
    assert_eq!(read(DONE, vec![]), Ok(Answer::Done));
    assert!(read(DONE, vec![0]).is_err());
    assert!(read(OUT, vec![]).is_err(), "a request is no answer");
}

#[test]
fn where_everything_is_comes_back_with_how_the_others_are_reached() {
    let routes = |are_beside| Routes {
        epoch: 3,
        seed: 7,
        addresses: ["tls:a:7400", "tls:b:7400"].map(str::to_owned).to_vec(),
        are_beside,
        relocations: Vec::new(),
    };
    for routes in [routes(false), routes(true)] {
        let body = encode_to_vec(&routes);
        assert_eq!(Answer::decode(ROUTES, &body, &Bytes::new()), Ok(Answer::Routes(Box::new(routes))));
    }
    let mut none = encode_to_vec(&routes(true));
    none[16] = 128;
    assert!(Answer::decode(ROUTES, &none, &Bytes::new()).is_err(), "beside no first one is none");
}

#[test]
fn a_template_keeps_its_head_once_made() {
    let sent = template!["job", ?i64];
    let head = sent.encode().unwrap().0;
    assert_eq!(sent.head(), Ok(Some(&head[..])));
    assert_eq!(sent.head(), Ok(Some(&head[..])));
    assert_eq!(sent, template!["job", ?i64], "what is kept makes no difference");
    assert_eq!(sent.clone().head(), Ok(Some(&head[..])));
    let long = template!["x".repeat(MAX_IN_PLACE_BYTES + 1), ?i64];
    assert_eq!(long.head(), Ok(None), "its head alone is not the whole of it");
}

#[test]
fn a_head_has_a_longest_length() {
    let refused = |len: usize| View::decode_tuple(&vec![0xff; len], &Bytes::new()).expect_err("no types");
    let longest = MAX_HEAD_BYTES + DEAD_LETTER_BYTES;
    assert!(!matches!(refused(longest), DecodeError::TooLarge { field: "head", .. }));
    assert!(matches!(refused(longest + 1), DecodeError::TooLarge { field: "head", .. }));
}

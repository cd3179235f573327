//! Packing.

use super::{MIN_PACKABLE_BYTES, PackedFront, packed_tuple};
use crate::codec::{BULK_ALIGNMENT, Encoded, View};
use crate::keyed::HashKey;
use crate::{Array, Template, Tuple, Value, template, tuple};
use bytes::Bytes;
use proptest::prelude::*;

/// Numbers that a real program might have: they differ little from their neighbours.
fn smooth(count: usize) -> Array {
    let numbers: Vec<f64> = (0..count).map(|n| (n / 7) as f64).collect();
    Array::from_elements(&[count as u64], &numbers).unwrap()
}

fn packed(tuple: &Tuple) -> (Vec<u8>, Bytes) {
    packed_tuple(&Encoded::tuple(tuple).unwrap()).expect("it can be packed")
}

/// A field with data of some length that packs well, ill or not at all.
fn field() -> impl Strategy<Value = Value> {
    let bytes = (0usize..3 * MIN_PACKABLE_BYTES, 1u8..=255);
    prop_oneof![
        any::<i64>().prop_map(Value::from),
        "[a-z]{0,6}".prop_map(Value::from),
        (0usize..5000).prop_map(|length| Value::from("t".repeat(length))),
        bytes.clone().prop_map(|(length, period)| {
            Value::Binary((0..length).map(|n| (n % usize::from(period)) as u8).collect())
        }),
        bytes.prop_map(|(length, seed)| {
            let mut state = u64::from(seed);
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 56) as u8
            };
            Value::Binary((0..length).map(|_| next()).collect())
        }),
        (0usize..3000).prop_map(|count| Value::Array(smooth(count))),
    ]
}

proptest! {
    /// What is packed is the same tuple: it decodes to it, and is matched and hashed as it is.
    #[test]
    fn a_packed_tuple_is_the_tuple(fields in proptest::collection::vec(field(), 1..5)) {
        let tuple = Tuple::new(fields).unwrap();
        let Some((head, bulk)) = packed_tuple(&Encoded::tuple(&tuple).unwrap()) else { return Ok(()) };
        let (plain_head, plain_bulk) = tuple.encode().unwrap();
        prop_assert!(bulk.len() < plain_bulk.len());
        prop_assert_eq!(Tuple::decode(&head, &bulk), Ok(tuple.clone()));
        let (view, plain) = (View::tuple(&head, &bulk).unwrap(), View::tuple(&plain_head, &plain_bulk).unwrap());
        let key = HashKey::from_seed(7);
        let all = (1u64 << tuple.values().len()) - 1;
        prop_assert_eq!(view.hash(all, &key), plain.hash(all, &key));
        let actuals = Template::new(tuple.values().iter().cloned().map(crate::Field::Actual).collect()).unwrap();
        let (wanted, wanted_bulk) = actuals.encode().unwrap();
        prop_assert!(View::template(&wanted, &wanted_bulk).unwrap().matches(&view));
        for (field, value) in tuple.values().iter().enumerate() {
            let Value::Binary(bytes) = value else { continue };
            for most in [0, 1, 31, 1025, bytes.len()] {
                let field = view.fields().nth(field).unwrap();
                prop_assert_eq!(&*field.beginning(&bulk, most), &bytes[..most.min(bytes.len())]);
            }
        }
    }

    /// Bytes that were changed are an error, or the same value: never another one, and never a panic.
    #[test]
    fn packed_bytes_that_were_changed_are_no_other_tuple(at in 0usize..4000, bit in 0u8..8) {
        let tuple = tuple!["row", smooth(2000)];
        let (mut head, bulk) = packed(&tuple);
        let mut bulk = bulk.to_vec();
        let length = head.len();
        match head.get_mut(at) {
            Some(byte) => *byte ^= 1 << bit,
            None => {
                let last = bulk.len() - 1;
                bulk[(at - length).min(last)] ^= 1 << bit;
            }
        }
        if at >= 5 + "row".len() && let Ok(read) = Tuple::decode(&head, &bulk.into()) {
            let same_data = |tuple: &Tuple| match &tuple.values()[1] {
                Value::Array(array) => array.data().clone(),
                other => panic!("{other:?}"),
            };
            prop_assert_eq!(same_data(&read), same_data(&tuple));
        }
    }
}

#[test]
fn neighbours_that_differ_little_become_much_shorter() {
    let (head, bulk) = packed(&tuple!["row", smooth(10_000)]);
    assert!(bulk.len() * 20 < 80_000, "{} bytes", bulk.len());
    assert!(head.len() < 64);
}

#[test]
fn of_several_fields_each_is_packed_by_itself_and_begins_at_a_line() {
    let text = "t".repeat(5000);
    let tuple = tuple!["rows", smooth(1000), text.as_str(), smooth(2000)];
    let (head, bulk) = packed(&tuple);
    assert_eq!(Tuple::decode(&head, &bulk), Ok(tuple));
    assert!(bulk.len() < 5000 + 2000 + 2 * BULK_ALIGNMENT);
}

#[test]
fn a_packed_field_matches_its_own_data_alone() {
    let (head, bulk) = packed(&tuple!["row", smooth(2000)]);
    let view = View::tuple(&head, &bulk).unwrap();
    let matches = |template: &Template| {
        let (wanted, wanted_bulk) = template.encode().unwrap();
        View::template(&wanted, &wanted_bulk).unwrap().matches(&view)
    };
    assert!(matches(&template!["row", smooth(2000)]));
    assert!(!matches(&template!["row", smooth(1999)]));
    let mut other: Vec<f64> = smooth(2000).elements().unwrap();
    other[1999] += 1.0;
    assert!(!matches(&template!["row", Array::from_elements(&[2000], &other).unwrap()]));
    let reshaped = Array::from_elements(&[2, 1000], &smooth(2000).elements::<f64>().unwrap()).unwrap();
    assert!(!matches(&template!["row", reshaped]));
}

#[test]
fn a_length_that_no_packed_bytes_can_have_is_refused_before_room_is_made_for_it() {
    let (head, bulk) = packed(&tuple![Bytes::from(vec![1; MIN_PACKABLE_BYTES])]);
    let front_at = head.len() - PackedFront::BYTES;
    let refused = |length: u32| {
        let mut changed = head.clone();
        changed[front_at..front_at + 4].copy_from_slice(&length.to_le_bytes());
        Tuple::decode(&changed, &bulk).unwrap_err().to_string()
    };
    assert!(refused(u32::MAX).contains("packed length"));
    assert!(refused(bulk.len() as u32 * 255 + 1).contains("packed length"));
    assert!(refused(MIN_PACKABLE_BYTES as u32 - 1).contains("length of a packed field"));
    assert!(refused(MIN_PACKABLE_BYTES as u32 + 1).contains("digest"));
}

#[test]
fn a_template_is_never_packed() {
    let (head, bulk) = packed(&tuple!["row", smooth(2000)]);
    let signature = View::tuple(&head, &bulk).unwrap().signature().len();
    let mut template = head[..signature].to_vec();
    template.extend_from_slice(&3u64.to_le_bytes());
    template.extend_from_slice(&head[signature..]);
    assert!(Template::decode(&template, &bulk).unwrap_err().to_string().contains("template's field"));
}

#[test]
fn what_does_not_become_shorter_stays_as_it_is() {
    let mut state = 1u64;
    let noise: Bytes = (0..300_000)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        })
        .collect();
    assert!(packed_tuple(&Encoded::tuple(&tuple!["noise", noise]).unwrap()).is_none());
    assert!(packed_tuple(&Encoded::tuple(&tuple!["short", smooth(100)]).unwrap()).is_none());
}

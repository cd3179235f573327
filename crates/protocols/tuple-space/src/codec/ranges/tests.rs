use crate::codec::packing::beginning;
use crate::codec::{MAX_HEAD_BYTES, View};
use crate::{Field, MAX_BOUND_BYTES, MAX_RANGES, Template, Tuple, Type, Value, template, tuple};
use bytes::Bytes;
use core::ops::Bound;
use proptest::prelude::*;

/// The head of `(?i64, 3<..=7, "ab"...)`, and where its ranges begin.
fn a_head() -> (Vec<u8>, usize) {
    let between = Field::range((Bound::Excluded(3i64), Bound::Included(7)));
    let (head, bulk) = template![?i64, between, Field::prefix("ab")].encode().unwrap();
    assert!(bulk.is_empty());
    (head, 1 + 3 + 8)
}

#[test]
fn ranges_lie_behind_the_fields_as_documented() {
    let (head, at) = a_head();
    let mut expected = b"\x03\x05\x05\x0d\0\0\0\0\0\0\0\0".to_vec();
    assert_eq!(expected.len(), at);
    expected.extend_from_slice(&6u64.to_le_bytes());
    expected.push(0x12);
    expected.extend_from_slice(&3i64.to_le_bytes());
    expected.extend_from_slice(&7i64.to_le_bytes());
    expected.extend_from_slice(b"\x03\x02\0ab");
    assert_eq!(head, expected);
}

#[test]
fn every_beginning_of_ranges_is_refused_and_so_is_more() {
    let (head, at) = a_head();
    for length in at + 1..head.len() {
        assert!(View::template(&head[..length], &[]).is_err(), "{length} bytes");
    }
    assert!(View::template(&head[..at], &[]).is_ok(), "without ranges they are formals");
    assert!(View::template(&[&head[..], &[0]].concat(), &[]).is_err());
    assert!(View::tuple(&[&tuple![1i64].encode().unwrap().0[..], &head[at..]].concat(), &[]).is_err());
}

#[test]
fn malformed_ranges_are_refused() {
    let (head, at) = a_head();
    let changed = |offset: usize, bytes: &[u8]| {
        let mut head = head.clone();
        head[at + offset..at + offset + bytes.len()].copy_from_slice(bytes);
        View::template(&head, &[]).map(|_| ())
    };
    assert_eq!(changed(0, &[6]), Ok(()));
    for (offset, bytes, why) in [
        (0, &[0][..], "no range"),
        (0, &[14], "a range of a field that is not there"),
        (8, &[0x00], "a range without bounds"),
        (8, &[0x32], "a manner of being bounded that there is not"),
        (8, &[0x03], "a prefix of a number"),
        (25, &[0x13], "a prefix with a last bound"),
        (26, &[3, 0], "more bytes than there are"),
        (26, &1025u16.to_le_bytes(), "too long a bound"),
        (28, &[0xff], "a bound that is no text"),
    ] {
        assert!(changed(offset, bytes).is_err(), "{why}");
    }
    let mut actual = head.clone();
    actual[4] = 2;
    assert!(View::template(&actual, &[]).is_err(), "a field that is an actual as well");
    let (mut floats, _) = template![Field::range(0.5..)].encode().unwrap();
    let at = floats.len() - 8;
    floats[at..].copy_from_slice(&f64::NAN.to_le_bytes());
    assert!(View::template(&floats, &[]).is_err(), "a bound that is no number");
    let (mut truths, _) = template![Field::range(1u8..)].encode().unwrap();
    truths[1] = crate::ElementType::Bool.tag();
    assert!(View::template(&truths, &[]).is_err(), "truth values have no order");
}

#[test]
fn as_many_and_as_long_ranges_as_there_may_be_fit_beside_long_fields() {
    let bound = || Value::from("x".repeat(MAX_BOUND_BYTES));
    let range =
        || Field::Range(crate::ValueRange::Between(Bound::Included(bound()), Bound::Excluded(bound())));
    let mut fields = vec![range(); MAX_RANGES];
    fields.resize(64, Field::Actual("y".repeat(1024).into()));
    let wanted = Template::new(fields).unwrap();
    let (head, bulk) = wanted.encode().unwrap();
    assert!(head.len() <= MAX_HEAD_BYTES && !bulk.is_empty());
    assert_eq!(Template::decode(&head, &bulk), Ok(wanted));
}

#[test]
fn ranges_are_compared_where_the_types_are_others_too() {
    let (head, bulk) = template![?i64, Field::range(3..=7i64), Field::prefix("ab")].encode().unwrap();
    let wanted = View::template(&head, &bulk).unwrap();
    let missed = |tuple: Tuple| {
        let (head, bulk) = tuple.encode().unwrap();
        wanted.missed_ranges(&View::tuple(&head, &bulk).unwrap())
    };
    assert_eq!(missed(tuple![1i64, 5i64, "abc"]), 0);
    assert_eq!(missed(tuple![1i64, 8i64, "abc"]), 2);
    assert_eq!(missed(tuple![1i64, 5i32, "b"]), 6);
    assert_eq!(missed(tuple![1i64]), 6);
}

#[test]
fn a_template_without_ranges_is_as_it_was() {
    let (head, _) = template!["row", Field::Formal(Type::Text)].encode().unwrap();
    assert_eq!(head, b"\x02\x0d\x0d\x01\0\0\0\0\0\0\0\0\x03\0\0\0row");
}

proptest! {
    /// What is no block is read as far as one can, and never further than was asked for.
    #[test]
    fn the_beginning_of_any_bytes_is_read(packed: Vec<u8>, most in 0..2000usize) {
        prop_assert!(beginning(&packed, most).len() <= most);
    }

    #[test]
    fn bytes_are_in_a_range_packed_or_not(byte: u8, length in 4096..9000usize, bound: Vec<u8>) {
        let tuple = tuple![vec![byte; length]];
        let packed = crate::codec::packing::packed_tuple(&crate::codec::Encoded::tuple(&tuple).unwrap()).unwrap();
        for range in [Field::range(Bytes::from(bound.clone())..), Field::prefix(vec![byte; bound.len()])] {
            let wanted = Template::new(vec![range]).unwrap();
            let (head, bulk) = wanted.encode().unwrap();
            let is_found = View::template(&head, &bulk).unwrap().matches(&View::tuple(&packed.0, &packed.1).unwrap());
            prop_assert_eq!(is_found, wanted.matches(&tuple));
        }
    }
}

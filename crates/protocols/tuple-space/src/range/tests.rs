use crate::{Field, Template, Type, Value, ValueError, ValueRange, template, tuple};
use core::ops::Bound;

#[test]
fn bounds_are_in_or_not_as_they_say() {
    let within = |range: Field| (0..10i64).filter(|n| range.matches(&Value::from(*n))).collect::<Vec<_>>();
    assert_eq!(within(Field::range(3..=5i64)), [3, 4, 5]);
    assert_eq!(within(Field::range(3..5i64)), [3, 4]);
    assert_eq!(within(Field::range(..2i64)), [0, 1]);
    assert_eq!(within(Field::range(8i64..)), [8, 9]);
    assert_eq!(within(Field::range((Bound::Excluded(3i64), Bound::Excluded(6)))), [4, 5]);
    assert_eq!(
        within(Field::range((Bound::Included(5i64), Bound::Excluded(3)))),
        [] as [i64; 0],
        "a range may have nothing in it"
    );
    assert_eq!(Field::range::<i64>(..), Field::formal::<i64>());
    assert_eq!(Field::range::<&str>(..), Field::Formal(Type::Text));
}

#[test]
fn no_other_type_lies_in_a_range() {
    let range = Field::range(0..=9i64);
    for other in [Value::from(3i32), 3u64.into(), 3.0f64.into(), "3".into(), true.into()] {
        assert!(!range.matches(&other), "{other}");
    }
}

#[test]
fn floats_are_ordered_as_numbers() {
    let range = Field::range(0.0..=1.0);
    assert!(range.matches(&Value::from(-0.0)), "-0.0 lies where 0.0 does");
    assert!(!Field::range((Bound::Excluded(0.0), Bound::Unbounded)).matches(&Value::from(-0.0)));
    for not_a_number in [f64::NAN, -f64::NAN] {
        assert!(!Field::range(f64::NEG_INFINITY..).matches(&Value::from(not_a_number)));
        assert!(!Field::range(..=f64::INFINITY).matches(&Value::from(not_a_number)));
    }
    assert!(Field::range(f64::NEG_INFINITY..).matches(&Value::from(f64::NEG_INFINITY)));
}

#[test]
fn text_and_bytes_are_ordered_by_their_bytes_and_have_prefixes() {
    let range = Field::range("b".."d");
    let within: Vec<_> =
        ["a", "b", "bz", "c", "d", "é"].into_iter().filter(|t| range.matches(&Value::from(*t))).collect();
    assert_eq!(within, ["b", "bz", "c"]);
    assert!(Field::prefix("se").matches(&Value::from("sea")));
    assert!(!Field::prefix("se").matches(&Value::from("s")));
    assert!(!Field::prefix("se").matches(&Value::from(&b"sea"[..])), "bytes are no text");
    assert!(Field::prefix(b"\xff\xff").matches(&Value::from(b"\xff\xff\x01")));
    assert!(Field::range(&b"a"[..]..).matches(&Value::from(b"b")));
}

#[test]
fn what_is_no_range_is_refused() {
    let refused = |range: Field| Template::new(vec![range]).unwrap_err();
    let between = |from: Value, to: Value| {
        Field::Range(ValueRange::Between(Bound::Included(from), Bound::Included(to)))
    };
    assert_eq!(
        refused(Field::Range(ValueRange::Between(Bound::Unbounded, Bound::Unbounded))),
        ValueError::NoBound
    );
    assert_eq!(refused(between(1i32.into(), 2i64.into())), ValueError::BoundTypes);
    assert_eq!(refused(Field::range(false..)), ValueError::NoOrder);
    assert_eq!(refused(Field::range(0.0..f64::NAN)), ValueError::NotANumber);
    assert_eq!(
        refused(Field::prefix("x".repeat(1025))),
        ValueError::BoundTooLong { found: 1025, limit: 1024 }
    );
    assert_eq!(refused(Field::prefix(3i64)), ValueError::OtherType { wanted: "text or binary" });
    let many = vec![Field::range(0i64..); 17];
    assert_eq!(Template::new(many).unwrap_err(), ValueError::TooManyRanges { found: 17, limit: 16 });
}

#[test]
fn a_range_reads_as_it_is_written() {
    let wanted = template![
        "a",
        Field::range(3..=7),
        Field::range(..2.5),
        Field::range::<&str>((Bound::Excluded("a"), Bound::Unbounded)),
        Field::prefix("x")
    ];
    assert_eq!(wanted.to_string(), r#"("a", 3..=7, ..2.5, "a"<.., "x"...)"#);
    assert!(wanted.matches(&tuple!["a", 5, 1.0, "b", "xy"]));
}

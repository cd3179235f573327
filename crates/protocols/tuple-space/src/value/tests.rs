use super::*;
use crate::codec::View;
use crate::{ArrayOf, Element, Field, MAX_TUPLE_FIELDS, Signature, Template, Tuple, Typed, template, tuple};

/// One of each type; of arrays, two whose elements and two whose dimensions differ.
fn one_of_each() -> Vec<Value> {
    let array = |shape: &[u64], elements: &[u16]| Array::from_elements(shape, elements).unwrap();
    vec![
        true.into(),
        1i8.into(),
        1i16.into(),
        1i32.into(),
        1i64.into(),
        1u8.into(),
        1u16.into(),
        1u32.into(),
        1u64.into(),
        1f32.into(),
        1f64.into(),
        "1".into(),
        b"1".into(),
        array(&[2], &[1, 1]).into(),
        array(&[1, 2], &[1, 1]).into(),
        array(&[1], &[1]).into(),
        Array::from_elements(&[2], &[1i16, 1]).unwrap().into(),
    ]
}

#[test]
fn values_of_different_types_are_never_equal_and_of_no_type_but_their_own() {
    let values = one_of_each();
    for (i, one) in values.iter().enumerate() {
        for (j, other) in values.iter().enumerate() {
            assert_eq!(one == other, i == j, "{one} and {other}");
            assert_eq!(one.value_type().accepts(other), i == j, "{} and {other}", one.value_type());
            assert_eq!(one.value_type() == other.value_type(), i == j, "{one} and {other}");
        }
    }
}

#[test]
fn values_of_one_type_are_equal_if_their_bits_are() {
    fn differ<T: Into<Value>>(one: T, other: T) {
        assert_ne!(one.into(), other.into());
    }
    differ(true, false);
    differ(1i8, 2);
    differ(1i16, 2);
    differ(1i32, 2);
    differ(1i64, 2);
    differ(1u8, 2);
    differ(1u16, 2);
    differ(1u32, 2);
    differ(1u64, 2);
    differ(0f32, -0.0);
    differ(0f64, -0.0);
    differ("1", "2");
    differ(b"1", b"2");
    differ(Array::from_elements(&[1], &[1u8]).unwrap(), Array::from_elements(&[1], &[2u8]).unwrap());
    assert_eq!([Value::from(f32::NAN), f64::NAN.into()], [Value::from(f32::NAN), f64::NAN.into()]);
}

#[test]
fn a_free_dimension_takes_any_length_and_their_number_has_to_agree() {
    let array = |shape: &[u64], elements: &[u16]| Value::from(Array::from_elements(shape, elements).unwrap());
    let wanted = ArrayOf::<u16, 2>::tuple_type();
    assert!(wanted.accepts(&array(&[1, 2], &[1, 1])) && wanted.accepts(&array(&[0, 9], &[])));
    assert!(!wanted.accepts(&array(&[2], &[1, 1])));
    let half = Type::Array { element: ElementType::U16, dimensions: vec![Some(1), None] };
    assert!(half.accepts(&array(&[1, 2], &[1, 1])) && !half.accepts(&array(&[2, 1], &[1, 1])));
}

#[test]
fn native_values_come_back_from_their_own_type_only() {
    fn check<T>(native: T, wanted: &'static str)
    where
        T: Clone + PartialEq + core::fmt::Debug + Typed + Into<Value> + TryFrom<Value, Error = ValueError>,
    {
        let value: Value = native.clone().into();
        assert_eq!(T::tuple_type(), value.value_type());
        assert_eq!(T::try_from(value.clone()), Ok(native));
        for other in one_of_each().into_iter().filter(|other| other.value_type() != value.value_type()) {
            assert_eq!(T::try_from(other), Err(ValueError::OtherType { wanted }));
        }
    }
    check(true, "bool");
    check(-2i8, "i8");
    check(-2i16, "i16");
    check(-2i32, "i32");
    check(-2i64, "i64");
    check(2u8, "u8");
    check(2u16, "u16");
    check(2u32, "u32");
    check(2u64, "u64");
    check(0.5f32, "f32");
    check(0.5f64, "f64");
    check(ByteString::from_static("text"), "text");
    check("text".to_owned(), "text");
    check(Bytes::from_static(b"bytes"), "binary");
    assert_eq!((str::tuple_type(), <[u8]>::tuple_type()), (Type::Text, Type::Binary));
    assert_eq!(Value::from(vec![1u8]), Value::from(&[1u8][..]));
    let array = Array::from_elements(&[2], &[1u8, 2]).unwrap();
    assert_eq!(Array::try_from(Value::from(array.clone())), Ok(array));
    assert_eq!(Array::try_from(Value::from(1u8)), Err(ValueError::OtherType { wanted: "array" }));
}

#[test]
fn elements_come_back_as_their_own_type_only() {
    fn check<T: Element + PartialEq + core::fmt::Debug>(elements: &[T]) {
        let array = Array::from_elements(&[elements.len() as u64], elements).unwrap();
        assert_eq!(array.elements::<T>().as_deref(), Some(elements));
        assert_eq!((array.element(), array.shape()), (T::TYPE, &[elements.len() as u64][..]));
        assert_eq!(array.data().len(), elements.len() * T::TYPE.width());
        assert!(T::TYPE == ElementType::I8 || array.elements::<i8>().is_none());
        assert!(T::TYPE == ElementType::U64 || array.elements::<u64>().is_none());
    }
    check(&[true, false]);
    check(&[1i8, -2]);
    check(&[1i16, -2]);
    check(&[1i32, -2]);
    check(&[1i64, -2]);
    check(&[1u8, 2]);
    check(&[1u16, 2]);
    check(&[1u32, 2]);
    check(&[1u64, 2]);
    check(&[0.5f32, -2.0]);
    check(&[0.5f64, -2.0]);
}

#[test]
fn tags_and_widths_are_those_of_the_layout() {
    let tags: Vec<_> = ElementType::ALL.iter().map(|element| (element.tag(), element.width())).collect();
    let expected = [1, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8];
    assert!(tags.into_iter().eq((1..=11).zip(expected)));
    assert!(ElementType::ALL.iter().all(|element| ElementType::from_tag(element.tag()) == Some(*element)));
    assert_eq!((ElementType::from_tag(0), ElementType::from_tag(12)), (None, None));
}

const LONGEST: u64 = MAX_BULK_BYTES as u64;

#[test]
fn the_data_of_an_array_is_as_long_as_its_shape_says() {
    let array = |shape: &[u64], bytes| Array::new(ElementType::U16, shape, vec![0; bytes].into());
    let missing = |needed, found| Err(ValueError::DataLength { needed, found });
    assert!(array(&[], 2).is_ok() && array(&[2, 3], 12).is_ok() && array(&[3, 0], 0).is_ok());
    assert_eq!(array(&[2, 3], 11), missing(12, 11));
    assert_eq!(array(&[2, 3], 13), missing(12, 13));
    assert_eq!(array(&[3, 0], 2), missing(0, 2));
    assert_eq!(array(&[LONGEST; 8], 0), missing(u64::MAX, 0));
}

#[test]
fn dimensions_are_bounded_in_number_and_length() {
    let array = |shape: Vec<u64>| Array::new(ElementType::U8, shape, Bytes::new());
    let formal = |shape: &[u64]| {
        let dimensions = shape.iter().copied().map(Some).collect();
        Template::new(vec![Type::Array { element: ElementType::U8, dimensions }.into()])
    };
    for (shape, error) in [
        (vec![LONGEST, 0], None),
        (vec![0, LONGEST + 1], Some(ValueError::Dimension { index: 1, size: LONGEST + 1 })),
        (vec![0; MAX_DIMENSIONS], None),
        (vec![0; MAX_DIMENSIONS + 1], Some(ValueError::TooManyDimensions)),
    ] {
        assert_eq!(array(shape.clone()).err(), error, "{shape:?}");
        assert_eq!(formal(&shape).err(), error, "{shape:?}");
    }
}

#[test]
fn fields_are_bounded_in_number() {
    let tuple = |fields| Tuple::new(vec![1u8.into(); fields]).map(|tuple| tuple.values().len());
    let template = |fields| Template::new(vec![Field::from(1u8); fields]).map(|all| all.fields().len());
    let too_many = |found, limit| Err(ValueError::TooManyFields { found, limit });
    assert_eq!((tuple(0), template(0)), (Err(ValueError::NoFields), Err(ValueError::NoFields)));
    assert_eq!((tuple(61), tuple(62)), (Ok(MAX_TUPLE_FIELDS), too_many(62, 61)));
    assert_eq!((template(64), template(65)), (Ok(MAX_FIELDS), too_many(65, 64)));
    assert_eq!(ValueError::NoFields.code(), Code::BadValue);
}

#[test]
fn a_tuple_gives_its_values_in_order() {
    let row = tuple!["row", 3i64];
    let values = vec![Value::from("row"), 3i64.into()];
    assert_eq!((&row[0], &row[1]), (&values[0], &values[1]));
    assert_eq!(row.clone().into_iter().collect::<Vec<_>>(), values);
    assert_eq!(row.into_values(), values);
}

#[test]
fn a_template_matches_field_by_field() {
    let row = tuple!["row", 3i64];
    assert!(template!["row", ?i64].matches(&row) && template![?str, 3i64].matches(&row));
    for other in
        [template!["row"], template!["row", ?i64, ?i64], template!["row", ?i32], template!["col", ?i64]]
    {
        assert!(!other.matches(&row), "{other}");
    }
    assert_ne!(template!["row", ?i64], template!["row", 3i64]);
    assert_eq!(template!["row", ?i64], template!["row", ?i64]);
}

#[test]
fn a_signature_tells_the_types_with_free_dimensions() {
    let values = one_of_each();
    let (head, bulk) = Tuple::new(values.clone()).unwrap().encode().unwrap();
    let signature = Signature(View::tuple(&head, &bulk).unwrap().signature().into());
    let types = values.iter().map(|value| match value.value_type() {
        Type::Array { element, dimensions } => {
            Type::Array { element, dimensions: vec![None; dimensions.len()] }
        }
        other => other,
    });
    assert!(signature.types().eq(types), "{signature}");
}

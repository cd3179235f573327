//! Fields of the text as values of the Rust interface, and back.

use crate::field::{Field, Fields};
use core::ops::Bound;
use quintet::{Array, ElementType, Field as Wanted, Glimpse, Type, Value, ValueError, ValueRange};

/// Rust has no such value.
pub struct CannotSay(pub String);

/// The values of a tuple; of each why it is none.
///
/// # Errors
/// [`CannotSay`].
pub fn values(fields: &Fields) -> Result<Vec<Result<Value, ValueError>>, CannotSay> {
    fields.0.iter().map(value).collect()
}

/// The fields of a template; of each why it is none.
///
/// # Errors
/// [`CannotSay`].
pub fn template(fields: &Fields) -> Result<Vec<Result<Wanted, ValueError>>, CannotSay> {
    let wanted = |field: &Field| match field {
        Field::Formal(name) => Ok(Ok(Wanted::Formal(match &**name {
            "text" => Type::Text,
            "binary" => Type::Binary,
            scalar => Type::Scalar(element(scalar)),
        }))),
        Field::FormalArray(name, dimensions) => {
            Ok(Ok(Wanted::Formal(Type::Array { element: element(name), dimensions: dimensions.clone() })))
        }
        Field::Range(ends) => range(ends).map(|range| range.map(Wanted::Range)),
        actual => value(actual).map(|value| value.map(Wanted::Actual)),
    };
    fields.0.iter().map(wanted).collect()
}

fn range(ends: &[(&str, Field)]) -> Result<Result<ValueRange, ValueError>, CannotSay> {
    let (mut low, mut high) = (Bound::Unbounded, Bound::Unbounded);
    for (end, field) in ends {
        let value = match value(field)? {
            Ok(value) => value,
            Err(error) => return Ok(Err(error)),
        };
        match *end {
            "prefix" => return Ok(Ok(ValueRange::Prefix(value))),
            "from" => low = Bound::Included(value),
            "above" => low = Bound::Excluded(value),
            "to" => high = Bound::Included(value),
            _ => high = Bound::Excluded(value),
        }
    }
    Ok(Ok(ValueRange::Between(low, high)))
}

fn value(field: &Field) -> Result<Result<Value, ValueError>, CannotSay> {
    macro_rules! number {
        ($bytes:expr, $variant:ident, $native:ty) => {
            Value::$variant(<$native>::from_le_bytes($bytes[..].try_into().expect("its length was checked")))
        };
    }
    Ok(Ok(match field {
        Field::Scalar(name, bytes) => match *name {
            "bool" => Value::Bool(bytes[0] != 0),
            "i8" => number!(bytes, I8, i8),
            "i16" => number!(bytes, I16, i16),
            "i32" => number!(bytes, I32, i32),
            "i64" => number!(bytes, I64, i64),
            "u8" => number!(bytes, U8, u8),
            "u16" => number!(bytes, U16, u16),
            "u32" => number!(bytes, U32, u32),
            "u64" => number!(bytes, U64, u64),
            "f32" => number!(bytes, F32, f32),
            _ => number!(bytes, F64, f64),
        },
        Field::Text(bytes) => match String::from_utf8(bytes.clone()) {
            Ok(text) => Value::from(text),
            Err(_) => return Err(CannotSay("a text that is not UTF-8: the type has none".to_owned())),
        },
        Field::Binary(bytes) => Value::from(bytes.clone()),
        Field::Array(name, shape, data) => {
            return Ok(Array::new(element(name), shape, data.clone().into()).map(Value::Array));
        }
        Field::Formal(_) | Field::FormalArray(..) => {
            return Err(CannotSay("a formal in a tuple: the type has none".to_owned()));
        }
        Field::Range(_) => return Err(CannotSay("a range in a tuple: the type has none".to_owned())),
        Field::Cut => return Err(CannotSay("a field that was cut off".to_owned())),
    }))
}

/// Values as fields of the text.
#[must_use]
pub fn fields(values: &[Value]) -> Fields {
    Fields(values.iter().map(field).collect())
}

/// What a listing shows, as fields of the text.
#[must_use]
pub fn shown(glimpses: &[Glimpse]) -> Fields {
    Fields(glimpses.iter().map(|glimpse| glimpse.value().map_or(Field::Cut, field)).collect())
}

fn field(value: &Value) -> Field {
    match value {
        Value::Bool(bit) => Field::Scalar("bool", vec![u8::from(*bit)]),
        Value::I8(number) => Field::Scalar("i8", number.to_le_bytes().to_vec()),
        Value::I16(number) => Field::Scalar("i16", number.to_le_bytes().to_vec()),
        Value::I32(number) => Field::Scalar("i32", number.to_le_bytes().to_vec()),
        Value::I64(number) => Field::Scalar("i64", number.to_le_bytes().to_vec()),
        Value::U8(number) => Field::Scalar("u8", number.to_le_bytes().to_vec()),
        Value::U16(number) => Field::Scalar("u16", number.to_le_bytes().to_vec()),
        Value::U32(number) => Field::Scalar("u32", number.to_le_bytes().to_vec()),
        Value::U64(number) => Field::Scalar("u64", number.to_le_bytes().to_vec()),
        Value::F32(number) => Field::Scalar("f32", number.to_le_bytes().to_vec()),
        Value::F64(number) => Field::Scalar("f64", number.to_le_bytes().to_vec()),
        Value::Text(text) => Field::Text(text.as_bytes().to_vec()),
        Value::Binary(bytes) => Field::Binary(bytes.to_vec()),
        Value::Array(array) => {
            Field::Array(array.element().name(), array.shape().to_vec(), array.data().to_vec())
        }
    }
}

fn element(name: &str) -> ElementType {
    let known = ElementType::ALL.iter().find(|element| element.name() == name);
    *known.expect("the text knows the same types")
}

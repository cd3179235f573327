//! From native types to values and back.

use crate::{Array, ElementType, Type, Value, ValueError};
use bytes::Bytes;
use bytestring::ByteString;
use core::marker::PhantomData;

/// A native type whose tuple type is known from it: what `?T` in [`template!`](macro@crate::template) names.
pub trait Typed {
    /// Its type in a tuple.
    fn tuple_type() -> Type;
}

/// Names the type of an array of `T` with `DIMENSIONS` free dimensions: `?ArrayOf<f64, 2>` in a template.
pub struct ArrayOf<T, const DIMENSIONS: usize>(PhantomData<T>);

impl<T: crate::Element, const DIMENSIONS: usize> Typed for ArrayOf<T, DIMENSIONS> {
    fn tuple_type() -> Type {
        Type::Array { element: T::TYPE, dimensions: vec![None; DIMENSIONS] }
    }
}

macro_rules! native {
    ($($native:ty => $variant:ident, $tuple_type:expr, $name:literal;)*) => {$(
        impl From<$native> for Value {
            fn from(value: $native) -> Value {
                Value::$variant(value)
            }
        }

        impl TryFrom<Value> for $native {
            type Error = ValueError;

            /// The value of exactly this type.
            fn try_from(value: Value) -> Result<$native, ValueError> {
                match value {
                    Value::$variant(value) => Ok(value),
                    _ => Err(ValueError::OtherType { wanted: $name }),
                }
            }
        }

        impl Typed for $native {
            fn tuple_type() -> Type {
                $tuple_type
            }
        }
    )*};
}

native! {
    bool => Bool, Type::Scalar(ElementType::Bool), "bool";
    i8 => I8, Type::Scalar(ElementType::I8), "i8";
    i16 => I16, Type::Scalar(ElementType::I16), "i16";
    i32 => I32, Type::Scalar(ElementType::I32), "i32";
    i64 => I64, Type::Scalar(ElementType::I64), "i64";
    u8 => U8, Type::Scalar(ElementType::U8), "u8";
    u16 => U16, Type::Scalar(ElementType::U16), "u16";
    u32 => U32, Type::Scalar(ElementType::U32), "u32";
    u64 => U64, Type::Scalar(ElementType::U64), "u64";
    f32 => F32, Type::Scalar(ElementType::F32), "f32";
    f64 => F64, Type::Scalar(ElementType::F64), "f64";
    ByteString => Text, Type::Text, "text";
    Bytes => Binary, Type::Binary, "binary";
}

impl From<Array> for Value {
    fn from(array: Array) -> Value {
        Value::Array(array)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text.into())
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.into())
    }
}

impl From<Vec<u8>> for Value {
    fn from(bytes: Vec<u8>) -> Value {
        Value::Binary(bytes.into())
    }
}

impl From<&[u8]> for Value {
    fn from(bytes: &[u8]) -> Value {
        Value::Binary(Bytes::copy_from_slice(bytes))
    }
}

impl<const N: usize> From<&[u8; N]> for Value {
    fn from(bytes: &[u8; N]) -> Value {
        Value::from(bytes.as_slice())
    }
}

impl TryFrom<Value> for String {
    type Error = ValueError;

    /// A copy of the text.
    fn try_from(value: Value) -> Result<String, ValueError> {
        ByteString::try_from(value).map(|text| text.to_string())
    }
}

impl TryFrom<Value> for Array {
    type Error = ValueError;

    fn try_from(value: Value) -> Result<Array, ValueError> {
        match value {
            Value::Array(array) => Ok(array),
            _ => Err(ValueError::OtherType { wanted: "array" }),
        }
    }
}

impl Typed for String {
    fn tuple_type() -> Type {
        Type::Text
    }
}

impl Typed for str {
    fn tuple_type() -> Type {
        Type::Text
    }
}

impl Typed for [u8] {
    fn tuple_type() -> Type {
        Type::Binary
    }
}

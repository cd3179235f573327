//! Values: what the fields of a tuple hold.

use crate::{Array, ElementType, Type};
use bytes::Bytes;
use bytestring::ByteString;
use core::fmt;
use quintet_contract::limits::{MAX_BULK_BYTES, MAX_DIMENSIONS, MAX_FIELDS};
use quintet_errors::Code;

/// The value of one field.
///
/// Two values are equal if they have the same type and the same bits: no promotion (`1i32` is not `1i64`), a float
/// equals itself also when it is not a number, and `-0.0` is not `0.0`.
#[derive(Clone, Debug)]
pub enum Value {
    /// A truth value.
    Bool(bool),
    /// A signed integer of 8 bits.
    I8(i8),
    /// A signed integer of 16 bits.
    I16(i16),
    /// A signed integer of 32 bits.
    I32(i32),
    /// A signed integer of 64 bits.
    I64(i64),
    /// An unsigned integer of 8 bits.
    U8(u8),
    /// An unsigned integer of 16 bits.
    U16(u16),
    /// An unsigned integer of 32 bits.
    U32(u32),
    /// An unsigned integer of 64 bits.
    U64(u64),
    /// A floating-point number of 32 bits.
    F32(f32),
    /// A floating-point number of 64 bits.
    F64(f64),
    /// Text. Cloning shares it.
    Text(ByteString),
    /// Bytes. Cloning shares them.
    Binary(Bytes),
    /// An array of scalars.
    Array(Array),
}

/// Why something cannot be a value, a tuple or a template.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueError {
    /// A tuple or template without fields.
    NoFields,
    /// A tuple or template with too many fields.
    TooManyFields {
        /// How many there are.
        found: usize,
        /// How many there may be.
        limit: usize,
    },
    /// An array with more dimensions than `limits::MAX_DIMENSIONS`.
    TooManyDimensions,
    /// An array with a dimension above `limits::MAX_BULK_BYTES`.
    Dimension {
        /// Which dimension.
        index: usize,
        /// Its length.
        size: u64,
    },
    /// An array whose data is not as long as its shape says.
    DataLength {
        /// Bytes the shape asks for.
        needed: u64,
        /// Bytes found.
        found: u64,
    },
    /// A value of another type than the one asked for.
    OtherType {
        /// The type asked for.
        wanted: &'static str,
    },
    /// A range without a bound.
    NoBound,
    /// A range whose bounds have different types.
    BoundTypes,
    /// A range of truth values or of arrays.
    NoOrder,
    /// A range with a bound that is not a number.
    NotANumber,
    /// A bound of text or of bytes, or a prefix, that is too long.
    BoundTooLong {
        /// Bytes it has.
        found: usize,
        /// Bytes it may have.
        limit: usize,
    },
    /// A template with too many ranges.
    TooManyRanges {
        /// How many there are.
        found: usize,
        /// How many there may be.
        limit: usize,
    },
}

impl ValueError {
    /// The code under which it travels and is reported.
    #[must_use]
    pub fn code(&self) -> Code {
        Code::BadValue
    }
}

impl Value {
    /// Its type; an array's with every dimension fixed.
    #[must_use]
    pub fn value_type(&self) -> Type {
        match self {
            Value::Text(_) => Type::Text,
            Value::Binary(_) => Type::Binary,
            Value::Array(array) => Type::Array {
                element: array.element(),
                dimensions: array.shape().iter().map(|size| Some(*size)).collect(),
            },
            scalar => Type::Scalar(scalar.element().expect("text, binary and arrays are handled above")),
        }
    }

    /// Its scalar type, unless it is text, binary or an array.
    pub(crate) fn element(&self) -> Option<ElementType> {
        Some(match self {
            Value::Bool(_) => ElementType::Bool,
            Value::I8(_) => ElementType::I8,
            Value::I16(_) => ElementType::I16,
            Value::I32(_) => ElementType::I32,
            Value::I64(_) => ElementType::I64,
            Value::U8(_) => ElementType::U8,
            Value::U16(_) => ElementType::U16,
            Value::U32(_) => ElementType::U32,
            Value::U64(_) => ElementType::U64,
            Value::F32(_) => ElementType::F32,
            Value::F64(_) => ElementType::F64,
            Value::Text(_) | Value::Binary(_) | Value::Array(_) => return None,
        })
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::I8(a), Value::I8(b)) => a == b,
            (Value::I16(a), Value::I16(b)) => a == b,
            (Value::I32(a), Value::I32(b)) => a == b,
            (Value::I64(a), Value::I64(b)) => a == b,
            (Value::U8(a), Value::U8(b)) => a == b,
            (Value::U16(a), Value::U16(b)) => a == b,
            (Value::U32(a), Value::U32(b)) => a == b,
            (Value::U64(a), Value::U64(b)) => a == b,
            (Value::F32(a), Value::F32(b)) => a.to_bits() == b.to_bits(),
            (Value::F64(a), Value::F64(b)) => a.to_bits() == b.to_bits(),
            (Value::Text(a), Value::Text(b)) => a == b,
            (Value::Binary(a), Value::Binary(b)) => a == b,
            (Value::Array(a), Value::Array(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for Value {}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Bool(v) => v.fmt(f),
            Value::I8(v) => v.fmt(f),
            Value::I16(v) => v.fmt(f),
            Value::I32(v) => v.fmt(f),
            Value::I64(v) => v.fmt(f),
            Value::U8(v) => v.fmt(f),
            Value::U16(v) => v.fmt(f),
            Value::U32(v) => v.fmt(f),
            Value::U64(v) => v.fmt(f),
            Value::F32(v) => write!(f, "{v:?}"),
            Value::F64(v) => write!(f, "{v:?}"),
            Value::Text(v) => write!(f, "{:?}", &**v),
            Value::Binary(v) => write!(f, "binary[{}]", v.len()),
            Value::Array(v) => v.fmt(f),
        }
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValueError::NoFields => f.write_str("there must be at least one field"),
            ValueError::TooManyFields { found, limit } => {
                write!(f, "{found} fields; at most {limit} of {MAX_FIELDS} may be used here")
            }
            ValueError::TooManyDimensions => {
                write!(f, "an array has at most {MAX_DIMENSIONS} dimensions")
            }
            ValueError::Dimension { index, size } => {
                write!(f, "dimension {index} is {size}, above the limit of {MAX_BULK_BYTES}")
            }
            ValueError::DataLength { needed, found } => {
                write!(f, "the shape asks for {needed} bytes of data, {found} are there")
            }
            ValueError::OtherType { wanted } => write!(f, "the value is not of type {wanted}"),
            ValueError::NoBound => {
                f.write_str("a range has at least one bound: for every value of a type there is the formal")
            }
            ValueError::BoundTypes => f.write_str("the bounds of a range have one type"),
            ValueError::NoOrder => f.write_str("truth values and arrays have no order, and so no ranges"),
            ValueError::NotANumber => f.write_str("a bound of a range is a number, which NaN is not"),
            ValueError::BoundTooLong { found, limit } => {
                write!(f, "a bound of a range has {found} bytes; it may have {limit}")
            }
            ValueError::TooManyRanges { found, limit } => {
                write!(f, "{found} fields of a template are ranges; {limit} may be")
            }
        }
    }
}

impl core::error::Error for ValueError {}

#[cfg(test)]
#[path = "value/tests.rs"]
mod tests;

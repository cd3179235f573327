//! Fields as a listing shows them: short ones whole, of long ones the beginning.
//!
//! ```text
//! fields    signature, counted | which fields are actual u64 (bit 0: the first) | n fields
//! field     array: each dimension u64, all ones where it is free
//!           actual, if bool, integer, float: its bytes
//!           actual, if text, binary, array:  bytes of its data u32 | length u32 | as many of them from the beginning
//!           formal:                          nothing more
//! ```

use super::fields::scalar;
use super::{FREE_DIMENSION, View};
use crate::{Array, Signature, Type, Value};
use bytes::Bytes;
use bytestring::ByteString;
use core::fmt;
use quintet_wire::{Decode, DecodeError, Reader, Sink};

/// Bytes of a field's data that a listing shows at most.
pub const MAX_GLIMPSE_BYTES: usize = 256;

/// A field of a tuple or of a template, as a listing shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Glimpse {
    /// A value, whole.
    Value(Value),
    /// The beginning of text, of bytes, or of an array's data.
    Beginning {
        /// Its type; an array's with every dimension fixed.
        field: Type,
        /// Bytes that it has in all.
        bytes: u64,
        /// The first of them. Text is not cut within a character.
        beginning: Bytes,
    },
    /// A place-holder of a template: any value of this type.
    Formal(Type),
}

impl Glimpse {
    /// The value, if it is shown whole.
    #[must_use]
    pub fn value(&self) -> Option<&Value> {
        match self {
            Glimpse::Value(value) => Some(value),
            Glimpse::Beginning { .. } | Glimpse::Formal(_) => None,
        }
    }
}

/// Writes the fields of a checked tuple or template, of each at most so many bytes of data.
pub(crate) fn write_fields(view: &View<'_>, most: usize, sink: &mut impl Sink) {
    sink.counted(view.signature());
    let count = u32::try_from(view.len()).expect("at most 64 fields");
    let actuals = view.actuals() & u64::MAX.checked_shr(64 - count).unwrap_or(u64::MAX);
    sink.u64(actuals);
    view.fields().for_each(|field| field.write_beginning(most.min(MAX_GLIMPSE_BYTES), sink));
}

/// Reads what [`write_fields`] wrote.
pub(crate) fn read_fields(reader: &mut Reader<'_>) -> Result<Vec<Glimpse>, DecodeError> {
    let signature = Signature::decode(reader)?;
    let mut actuals = reader.u64()?;
    let mut fields = Vec::new();
    for field in signature.types() {
        fields.push(read_field(field, actuals & 1 == 1, reader)?);
        actuals >>= 1;
    }
    match actuals {
        0 => Ok(fields),
        left => Err(reader.invalid("set of actual fields", left, 8)),
    }
}

fn read_field(field: Type, is_actual: bool, reader: &mut Reader<'_>) -> Result<Glimpse, DecodeError> {
    let field = read_dimensions(field, is_actual, reader)?;
    if !is_actual {
        return Ok(Glimpse::Formal(field));
    }
    if let Type::Scalar(element) = field {
        let bytes = reader.bytes(element.width())?;
        let is_bool = element == crate::ElementType::Bool;
        return match bytes.first() {
            Some(other @ 2..) if is_bool => Err(reader.invalid("truth value", *other, 1)),
            _ => Ok(Glimpse::Value(scalar(element, bytes))),
        };
    }
    let bytes = reader.u32()?;
    let beginning = reader.counted("beginning of a field", MAX_GLIMPSE_BYTES)?;
    let is_whole = match beginning.len().cmp(&(bytes as usize)) {
        core::cmp::Ordering::Greater => return Err(reader.invalid("bytes of a field", bytes, 4)),
        ordering => ordering.is_eq(),
    };
    let data = Bytes::copy_from_slice(beginning);
    if !is_whole {
        return Ok(Glimpse::Beginning { field, bytes: bytes.into(), beginning: data });
    }
    Ok(Glimpse::Value(match field {
        // It was text when it was put. In memory that its sender can still write it may be none any more.
        Type::Text => Value::Text(ByteString::from(String::from_utf8_lossy(&data).into_owned())),
        Type::Array { element, dimensions } => {
            let sizes = dimensions.into_iter().map(|size| size.unwrap_or(FREE_DIMENSION));
            let array = Array::of_sizes(element, sizes, data);
            Value::Array(array.map_err(|_| reader.invalid("bytes of an array", bytes, 4))?)
        }
        _ => Value::Binary(data),
    }))
}

/// An array with the dimensions that follow; every other type as it is.
fn read_dimensions(field: Type, is_actual: bool, reader: &mut Reader<'_>) -> Result<Type, DecodeError> {
    let Type::Array { element, mut dimensions } = field else { return Ok(field) };
    for (index, dimension) in dimensions.iter_mut().enumerate() {
        let size = reader.u64()?;
        let is_free = !is_actual && size == FREE_DIMENSION;
        if !is_free {
            crate::array::check_dimension(index, size)
                .map_err(|_| reader.invalid("dimension of an array", size, 8))?;
            *dimension = Some(size);
        }
    }
    Ok(Type::Array { element, dimensions })
}

impl fmt::Display for Glimpse {
    /// A value as it is shown elsewhere; of a cut one the beginning and how long it is.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Glimpse::Value(value) => value.fmt(f),
            Glimpse::Formal(wanted) => write!(f, "?{wanted}"),
            Glimpse::Beginning { field: Type::Text, bytes, beginning } => {
                write!(f, "{:?}... ({bytes} bytes)", String::from_utf8_lossy(beginning))
            }
            Glimpse::Beginning { field: Type::Binary, bytes, .. } => write!(f, "binary[{bytes}]"),
            Glimpse::Beginning { field, .. } => field.fmt(f),
        }
    }
}

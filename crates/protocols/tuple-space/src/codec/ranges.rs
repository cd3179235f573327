//! The ranges of a template, behind its fields: what knows nothing of them takes them for bytes too many, and refuses the template.
//!
//! ```text
//! ranges  which fields are ranges u64 (bit 0: the first), at least one and no actual | so many ranges
//! range   how u8 | a number: each of its bounds as the number's bytes
//!                | text, binary: each of its bounds, or its prefix, as length u16 and the data
//! how     low half: 0 no first bound, 1 one that is in, 2 one that is not, 3 a prefix
//!         high half: 0 no last bound, 1 one that is in, 2 one that is not
//! ```
//!
//! A range stands among the fields as a formal of its type, and is filed, counted and routed as one.

use super::fields::scalar;
use crate::range::{MAX_BOUND_BYTES, MAX_RANGES, limit};
use crate::types::{TAG_ARRAY, TAG_BINARY, TAG_TEXT};
use crate::{ElementType, Field, Type, Value, ValueRange};
use bytes::Bytes;
use bytestring::ByteString;
use core::ops::Bound;
use quintet_wire::{DecodeError, Reader, Sink};

/// Bytes of the ranges of one template at most.
pub(super) const MAX_BYTES: usize = 8 + MAX_RANGES * (1 + 2 * (2 + MAX_BOUND_BYTES));

/// A range where it lies.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RangeBytes<'a> {
    Between(Bound<&'a [u8]>, Bound<&'a [u8]>),
    Prefix(&'a [u8]),
}

/// The tag of the values in a range.
pub(super) fn tag(range: &ValueRange) -> u8 {
    match range.value_type() {
        Type::Scalar(element) => element.tag(),
        Type::Text => TAG_TEXT,
        Type::Binary => TAG_BINARY,
        Type::Array { element, .. } => TAG_ARRAY | element.tag(),
    }
}

fn ranges(fields: &[Field]) -> impl Iterator<Item = (usize, &ValueRange)> {
    fields.iter().enumerate().filter_map(|(index, field)| match field {
        Field::Range(range) => Some((index, range)),
        Field::Actual(_) | Field::Formal(_) => None,
    })
}

/// Bytes that the ranges of these fields take.
pub(super) fn encoded_len(fields: &[Field]) -> usize {
    let lengths = ranges(fields).map(|(_, range)| {
        let (_, bounds) = parts(range);
        1 + bounds.into_iter().flatten().map(bound_len).sum::<usize>()
    });
    lengths.reduce(|sum, length| sum + length).map_or(0, |sum| 8 + sum)
}

/// Writes the ranges of these fields, if there are any.
pub(super) fn encode(fields: &[Field], sink: &mut impl Sink) {
    let set: u64 = ranges(fields).map(|(index, _)| 1 << index).sum();
    if set == 0 {
        return;
    }
    sink.u64(set);
    for (_, range) in ranges(fields) {
        let (how, bounds) = parts(range);
        sink.u8(how);
        bounds.into_iter().flatten().for_each(|bound| encode_bound(bound, sink));
    }
}

/// How it is bounded, and its bounds.
fn parts(range: &ValueRange) -> (u8, [Option<&Value>; 2]) {
    let how = |bound: &Bound<Value>| match bound {
        Bound::Unbounded => 0,
        Bound::Included(_) => 1,
        Bound::Excluded(_) => 2,
    };
    match range {
        ValueRange::Between(from, to) => (how(from) | how(to) << 4, [limit(from), limit(to)]),
        ValueRange::Prefix(prefix) => (3, [Some(prefix), None]),
    }
}

fn bound_len(bound: &Value) -> usize {
    match bound {
        Value::Text(text) => 2 + text.len(),
        Value::Binary(bytes) => 2 + bytes.len(),
        scalar => scalar.element().map_or(0, ElementType::width),
    }
}

fn encode_bound(bound: &Value, sink: &mut impl Sink) {
    let data = match bound {
        Value::Text(text) => text.as_bytes(),
        Value::Binary(bytes) => bytes,
        scalar => return super::write::write_value(scalar, None, sink),
    };
    let length = u16::try_from(data.len()).expect("Template::new refuses longer bounds");
    sink.bytes(&length.to_le_bytes());
    sink.bytes(data);
}

/// Reads the next range, of values with that tag; it is checked.
pub(super) fn read<'a>(tag: u8, reader: &mut Reader<'a>) -> Result<RangeBytes<'a>, DecodeError> {
    let has_order = matches!(tag, TAG_TEXT | TAG_BINARY)
        || ElementType::from_tag(tag).is_some_and(|element| element != ElementType::Bool);
    if !has_order {
        return Err(DecodeError::Invalid {
            at: reader.at(),
            field: "type of the values in a range",
            value: tag.into(),
        });
    }
    let how = reader.u8()?;
    let (from, to) = (how & 15, how >> 4);
    if from == 3 && to == 0 && matches!(tag, TAG_TEXT | TAG_BINARY) {
        return Ok(RangeBytes::Prefix(read_bound(tag, reader)?));
    }
    if from > 2 || to > 2 || how == 0 {
        return Err(reader.invalid("bounds of a range", how, 1));
    }
    let mut side = |how| {
        Ok(match how {
            0 => Bound::Unbounded,
            1 => Bound::Included(read_bound(tag, reader)?),
            _ => Bound::Excluded(read_bound(tag, reader)?),
        })
    };
    Ok(RangeBytes::Between(side(from)?, side(to)?))
}

fn read_bound<'a>(tag: u8, reader: &mut Reader<'a>) -> Result<&'a [u8], DecodeError> {
    if let Some(element) = ElementType::from_tag(tag) {
        let (at, bytes) = (reader.at(), reader.bytes(element.width())?);
        let is_number = super::fields::order_word(element, bytes).is_some();
        let not_a_number =
            DecodeError::Invalid { at, field: "bound of a range, which is no number", value: 0 };
        return is_number.then_some(bytes).ok_or(not_a_number);
    }
    let length = usize::from(reader.u16()?);
    if length > MAX_BOUND_BYTES {
        return Err(reader.invalid("length of a bound", length as u64, 2));
    }
    let (at, bytes) = (reader.at(), reader.bytes(length)?);
    match tag {
        TAG_TEXT if core::str::from_utf8(bytes).is_err() => Err(DecodeError::NotText { at }),
        _ => Ok(bytes),
    }
}

impl RangeBytes<'_> {
    /// The range, of values with that tag.
    pub(super) fn to_range(self, tag: u8) -> ValueRange {
        let value = |bytes: &[u8]| match tag {
            TAG_TEXT => {
                let text = ByteString::try_from(Bytes::copy_from_slice(bytes));
                Value::Text(text.expect("the text was checked with the bytes"))
            }
            TAG_BINARY => Value::Binary(Bytes::copy_from_slice(bytes)),
            tag => scalar(ElementType::from_tag(tag).expect("ranges of other types are refused"), bytes),
        };
        match self {
            RangeBytes::Between(from, to) => ValueRange::Between(from.map(value), to.map(value)),
            RangeBytes::Prefix(prefix) => ValueRange::Prefix(value(prefix)),
        }
    }
}

#[cfg(test)]
mod tests;

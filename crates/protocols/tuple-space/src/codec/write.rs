//! Writing tuples and templates.

use super::{FREE_DIMENSION, MAX_HEAD_BYTES, MAX_IN_PLACE_BYTES, PLACE_BULK, PLACE_HEAD, aligned, ranges};
use crate::types::{TAG_ARRAY, TAG_BINARY, TAG_TEXT};
use crate::{ElementType, Field, Template, Tuple, Type, Value, ValueRange};
use bytes::Bytes;
use core::fmt;
use quintet_contract::limits::MAX_BULK_BYTES;
use quintet_wire::{DecodeError, Encode, Sink, encode_to_vec};

/// A tuple or template about to be written: where each field's data will lie is settled. Encodes the head.
#[derive(Clone, Debug)]
pub struct Encoded<'a> {
    fields: Fields<'a>,
    /// The fields whose data lies in the bulk, one bit each.
    in_bulk: u64,
    head_len: usize,
    bulk_len: usize,
}

/// What cannot travel, because it is above a limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TooLarge {
    /// The long data up to and with this field.
    Field {
        /// The field's index.
        field: usize,
        /// Bytes of the bulk with it.
        bytes: usize,
        /// Bytes a bulk may have.
        limit: usize,
    },
    /// The tuples of one request.
    Request {
        /// How many tuples.
        tuples: usize,
        /// Bytes of their heads, or of their bulks.
        bytes: usize,
        /// Bytes there may be.
        limit: usize,
    },
}

#[derive(Clone, Copy, Debug)]
enum Fields<'a> {
    Tuple(&'a [Value]),
    Template(&'a [Field]),
}

#[derive(Clone, Copy)]
enum Part<'a> {
    Actual(&'a Value),
    Formal(&'a Type),
    Range(&'a ValueRange),
}

impl<'a> Fields<'a> {
    fn len(self) -> usize {
        match self {
            Fields::Tuple(values) => values.len(),
            Fields::Template(fields) => fields.len(),
        }
    }

    fn part(self, index: usize) -> Part<'a> {
        match self {
            Fields::Tuple(values) => Part::Actual(&values[index]),
            Fields::Template(fields) => Part::of(&fields[index]),
        }
    }

    /// Bytes in front of the fields, without their tags.
    fn front_len(self) -> usize {
        match self {
            Fields::Tuple(_) => 1,
            Fields::Template(_) => 1 + size_of::<u64>(),
        }
    }
}

impl<'a> Part<'a> {
    #[inline]
    fn of(field: &'a Field) -> Self {
        match field {
            Field::Actual(value) => Part::Actual(value),
            Field::Formal(wanted) => Part::Formal(wanted),
            Field::Range(range) => Part::Range(range),
        }
    }

    /// The data of a value whose length is its own: text, binary, array.
    fn long_data(self) -> Option<&'a Bytes> {
        match self {
            Part::Actual(Value::Text(text)) => Some(text.as_bytes()),
            Part::Actual(Value::Binary(bytes)) => Some(bytes),
            Part::Actual(Value::Array(array)) => Some(array.data()),
            _ => None,
        }
    }

    /// Bytes of tag and field in the head without long data, and bytes of the long data.
    #[inline]
    fn lengths(self) -> (usize, usize) {
        let array_len = |dimensions: usize| 2 + dimensions * size_of::<u64>();
        let data_front = size_of::<u8>() + size_of::<u32>();
        match self {
            Part::Actual(Value::Text(text)) => (1 + data_front, text.len()),
            Part::Actual(Value::Binary(bytes)) => (1 + data_front, bytes.len()),
            Part::Actual(Value::Array(array)) => {
                (array_len(array.shape().len()) + data_front, array.data().len())
            }
            Part::Actual(scalar) => (1 + scalar.element().map_or(0, ElementType::width), 0),
            Part::Formal(Type::Array { dimensions, .. }) => (array_len(dimensions.len()), 0),
            Part::Formal(_) | Part::Range(_) => (1, 0),
        }
    }
}

impl<'a> Encoded<'a> {
    /// Plans the encoding of a tuple.
    ///
    /// # Errors
    /// [`TooLarge`] if its long data exceeds `limits::MAX_BULK_BYTES`.
    pub fn tuple(tuple: &'a Tuple) -> Result<Self, TooLarge> {
        Encoded::plan(Fields::Tuple(tuple.values()))
    }

    /// Plans the encoding of a template.
    ///
    /// # Errors
    /// As [`Encoded::tuple`].
    pub fn template(template: &'a Template) -> Result<Self, TooLarge> {
        Encoded::plan(Fields::Template(template.fields()))
    }

    fn plan(fields: Fields<'a>) -> Result<Self, TooLarge> {
        let mut plan = Encoded { fields, in_bulk: 0, head_len: fields.front_len(), bulk_len: 0 };
        match fields {
            Fields::Tuple(values) => plan.measure(values.iter().map(Part::Actual)),
            Fields::Template(fields) => {
                plan.measure(fields.iter().map(Part::of));
                plan.head_len += ranges::encoded_len(fields);
            }
        }
        while plan.head_len > MAX_HEAD_BYTES {
            plan.spill();
        }
        if plan.in_bulk != 0 {
            plan.measure_bulk()?;
        }
        Ok(plan)
    }

    #[inline]
    fn measure(&mut self, parts: impl Iterator<Item = Part<'a>>) {
        for (index, part) in parts.enumerate() {
            let (front, data) = part.lengths();
            self.head_len += front + data;
            if data > MAX_IN_PLACE_BYTES {
                self.move_to_bulk(index);
            }
        }
    }

    fn data_len(&self, index: usize) -> usize {
        self.fields.part(index).long_data().map_or(0, Bytes::len)
    }

    fn move_to_bulk(&mut self, index: usize) {
        self.in_bulk |= 1 << index;
        self.head_len = self.head_len - self.data_len(index) + size_of::<u32>();
    }

    /// Moves the longest field of the head to the bulk.
    fn spill(&mut self) {
        let in_head = (0..self.fields.len()).filter(|index| self.in_bulk >> index & 1 == 0);
        let longest = in_head.max_by_key(|index| self.data_len(*index));
        self.move_to_bulk(longest.expect("a tuple with all its data in the bulk fits"));
    }

    fn measure_bulk(&mut self) -> Result<(), TooLarge> {
        for (index, data) in self.bulk_fields() {
            let end = aligned(self.bulk_len).saturating_add(data.len());
            if end > MAX_BULK_BYTES {
                return Err(TooLarge::Field { field: index, bytes: end, limit: MAX_BULK_BYTES });
            }
            self.bulk_len = end;
        }
        Ok(())
    }

    fn bulk_fields(&self) -> impl Iterator<Item = (usize, &'a Bytes)> + use<'a> {
        let (fields, in_bulk) = (self.fields, self.in_bulk);
        (0..fields.len())
            .filter(move |index| in_bulk >> index & 1 == 1)
            .filter_map(move |index| fields.part(index).long_data().map(|data| (index, data)))
    }

    /// Bytes of the bulk.
    #[must_use]
    pub fn bulk_len(&self) -> usize {
        self.bulk_len
    }

    /// The bulk: empty, the only long field as it is, or a copy of several.
    #[must_use]
    pub fn bulk(&self) -> Bytes {
        if self.in_bulk == 0 {
            return Bytes::new();
        }
        if self.in_bulk.is_power_of_two() {
            return self.bulk_fields().next().map_or_else(Bytes::new, |(_, data)| data.clone());
        }
        let mut bulk = Vec::with_capacity(self.bulk_len);
        self.append_bulk(&mut bulk);
        bulk.into()
    }

    /// Appends the bulk at the next multiple of [`BULK_ALIGNMENT`](super::BULK_ALIGNMENT).
    pub(crate) fn append_bulk(&self, bulk: &mut Vec<u8>) {
        let start = aligned(bulk.len());
        for (_, data) in self.bulk_fields() {
            bulk.resize(start + aligned(bulk.len().saturating_sub(start)), 0);
            bulk.extend_from_slice(data);
        }
    }
}

impl Encode for Encoded<'_> {
    /// Known from the plan.
    fn encoded_len(&self) -> usize {
        self.head_len
    }

    fn encode(&self, sink: &mut impl Sink) {
        match self.fields {
            Fields::Tuple(values) => {
                write_tags(values.iter().map(Part::Actual), sink);
                self.write_fields(values.iter().map(Part::Actual), sink);
            }
            Fields::Template(fields) => {
                write_tags(fields.iter().map(Part::of), sink);
                let actual =
                    |(index, field): (usize, &Field)| u64::from(matches!(field, Field::Actual(_))) << index;
                sink.u64(fields.iter().enumerate().map(actual).sum());
                self.write_fields(fields.iter().map(Part::of), sink);
                ranges::encode(fields, sink);
            }
        }
    }
}

impl Encoded<'_> {
    #[inline]
    fn write_fields<'b>(&self, parts: impl Iterator<Item = Part<'b>>, sink: &mut impl Sink) {
        let mut offset = 0;
        for (index, part) in parts.enumerate() {
            match part {
                Part::Formal(wanted) => write_dimensions(wanted, sink),
                Part::Range(_) => {}
                Part::Actual(value) => {
                    write_value(value, (self.in_bulk >> index & 1 == 1).then_some(&mut offset), sink);
                }
            }
        }
    }
}

/// Writes the signature.
#[inline]
fn write_tags<'a>(parts: impl ExactSizeIterator<Item = Part<'a>>, sink: &mut impl Sink) {
    sink.u8(u8::try_from(parts.len()).expect("tuples and templates have at most 64 fields"));
    for part in parts {
        match part {
            Part::Actual(Value::Text(_)) | Part::Formal(Type::Text) => sink.u8(TAG_TEXT),
            Part::Actual(Value::Binary(_)) | Part::Formal(Type::Binary) => sink.u8(TAG_BINARY),
            Part::Formal(Type::Scalar(element)) => sink.u8(element.tag()),
            Part::Range(range) => sink.u8(ranges::tag(range)),
            Part::Actual(Value::Array(array)) => write_array_tag(array.element(), array.shape().len(), sink),
            Part::Formal(Type::Array { element, dimensions }) => {
                write_array_tag(*element, dimensions.len(), sink);
            }
            Part::Actual(scalar) => {
                sink.u8(scalar.element().expect("text, binary and arrays are handled above").tag());
            }
        }
    }
}

fn write_array_tag(element: ElementType, dimensions: usize, sink: &mut impl Sink) {
    let dimensions = u8::try_from(dimensions).expect("arrays have at most 32 dimensions");
    sink.bytes(&[TAG_ARRAY | element.tag(), dimensions]);
}

fn write_dimensions(wanted: &Type, sink: &mut impl Sink) {
    if let Type::Array { dimensions, .. } = wanted {
        dimensions.iter().for_each(|size| sink.u64(size.unwrap_or(FREE_DIMENSION)));
    }
}

/// `offset`: where the data will lie in the bulk, if it lies there; moved past it.
#[inline]
pub(super) fn write_value(value: &Value, offset: Option<&mut usize>, sink: &mut impl Sink) {
    match value {
        Value::Bool(v) => sink.u8(u8::from(*v)),
        Value::I8(v) => sink.bytes(&v.to_le_bytes()),
        Value::I16(v) => sink.bytes(&v.to_le_bytes()),
        Value::I32(v) => sink.bytes(&v.to_le_bytes()),
        Value::I64(v) => sink.bytes(&v.to_le_bytes()),
        Value::U8(v) => sink.u8(*v),
        Value::U16(v) => sink.u16(*v),
        Value::U32(v) => sink.u32(*v),
        Value::U64(v) => sink.u64(*v),
        Value::F32(v) => sink.bytes(&v.to_le_bytes()),
        Value::F64(v) => sink.bytes(&v.to_le_bytes()),
        Value::Text(v) => write_data(v.as_bytes(), offset, sink),
        Value::Binary(v) => write_data(v, offset, sink),
        Value::Array(v) => {
            v.shape().iter().for_each(|size| sink.u64(*size));
            write_data(v.data(), offset, sink);
        }
    }
}

#[inline]
pub(super) fn write_data(data: &[u8], offset: Option<&mut usize>, sink: &mut impl Sink) {
    let to_u32 = |n: usize| u32::try_from(n).expect("the plan keeps the bulk below 4 GiB");
    match offset {
        None => {
            let [a, b, c, d] = to_u32(data.len()).to_le_bytes();
            sink.bytes(&[PLACE_HEAD, a, b, c, d]);
            sink.bytes(data);
        }
        Some(offset) => {
            let start = aligned(*offset);
            sink.u8(PLACE_BULK);
            sink.u32(to_u32(data.len()));
            sink.u32(to_u32(start));
            *offset = start + data.len();
        }
    }
}

impl Tuple {
    /// The tuple as head and bulk. A tuple with exactly one long field shares that field's bytes as the bulk.
    ///
    /// # Errors
    /// [`TooLarge`], naming the field, if the long data exceeds `limits::MAX_BULK_BYTES`.
    pub fn encode(&self) -> Result<(Vec<u8>, Bytes), TooLarge> {
        let encoded = Encoded::tuple(self)?;
        Ok((encode_to_vec(&encoded), encoded.bulk()))
    }

    /// The tuple of these bytes. Long data is shared with `bulk`, not copied.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    pub fn decode(head: &[u8], bulk: &Bytes) -> Result<Tuple, DecodeError> {
        Ok(Tuple::from_wire(super::View::decode_tuple(head, bulk)?))
    }
}

impl Template {
    /// The template as head and bulk.
    ///
    /// # Errors
    /// As [`Tuple::encode`].
    pub fn encode(&self) -> Result<(Vec<u8>, Bytes), TooLarge> {
        let encoded = Encoded::template(self)?;
        Ok((encode_to_vec(&encoded), encoded.bulk()))
    }

    /// The template of these bytes.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    pub fn decode(head: &[u8], bulk: &Bytes) -> Result<Template, DecodeError> {
        Ok(super::View::template(head, bulk)?.to_template(bulk))
    }
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TooLarge::Field { field, bytes, limit } => {
                write!(
                    f,
                    "the long fields up to field {field} make {bytes} bytes, above the limit of {limit}"
                )
            }
            TooLarge::Request { tuples, bytes, limit } => {
                write!(
                    f,
                    "{tuples} tuples in one request make {bytes} bytes, above the limit of {limit}: put fewer at once"
                )
            }
        }
    }
}

impl core::error::Error for TooLarge {}

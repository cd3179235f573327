//! The fields of an encoded tuple or template, one after the other.
//!
//! One piece of code reads them, both to check what a stranger sent and to walk what was checked before: it is the
//! innermost loop of matching, and inlined there whatever it weighs. It says only *that* bytes are no field;
//! [`Fields::fault`] then says why.

mod ordered;
mod packed;

pub(super) use ordered::order_word;

use super::packing::{self, PackedFront, is_packable};
use super::{FREE_DIMENSION, MAX_HEAD_BYTES, PLACE_BULK, PLACE_HEAD, PLACE_PACKED, aligned};
use crate::types::{TAG_ARRAY, TAG_BINARY, TAG_TEXT};
use crate::{Array, ElementType, Type, Value, array};
use bytes::Bytes;
use bytestring::ByteString;
use core::hash::Hasher;
use quintet_contract::limits::{MAX_BULK_BYTES, MAX_DIMENSIONS, MAX_FIELDS};
use quintet_wire::{DecodeError, Reader, Sink};

/// One field where it lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldBytes<'a> {
    tag: u8,
    pub(crate) is_actual: bool,
    /// Its data lie packed in the bulk, and `data` is what says so: a [`PackedFront`].
    is_packed: bool,
    /// Where its data begins in the bulk, or [`NO_OFFSET`] if it lies in the head.
    offset: u32,
    shape: &'a [u8],
    data: &'a [u8],
}

/// No data begins here: a bulk is at most 2 GiB.
const NO_OFFSET: u32 = u32::MAX;

/// Walks the fields of checked bytes; [`Fields::check`] checks them.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a> {
    head: &'a [u8],
    bulk: &'a [u8],
    /// Where the next tag lies, and where the tags end.
    tag_at: usize,
    tags_end: usize,
    /// Where the next field lies.
    at: usize,
    /// Which of the fields left are actuals.
    actuals: u64,
}

/// Bytes of a scalar by its tag; 0 for the tags of text and binary.
const SCALAR_WIDTHS: [u8; 16] = {
    let mut widths = [0; 16];
    let mut at = 0;
    while at < ElementType::ALL.len() {
        let element = ElementType::ALL[at];
        widths[element.tag() as usize] = element.width() as u8;
        at += 1;
    }
    widths
};

/// Which bytes are tags.
const ARE_TAGS: [bool; 64] = {
    let mut are_tags = [false; 64];
    let mut at = 0;
    while at < ElementType::ALL.len() {
        let tag = ElementType::ALL[at].tag();
        are_tags[tag as usize] = true;
        are_tags[(TAG_ARRAY | tag) as usize] = true;
        at += 1;
    }
    are_tags[TAG_TEXT as usize] = true;
    are_tags[TAG_BINARY as usize] = true;
    are_tags
};

impl<'a> Fields<'a> {
    /// The fields that lie in `head` from `at` on, behind a signature that was checked and ends at `tags_end`.
    #[inline]
    pub(crate) fn new(head: &'a [u8], tags_end: usize, actuals: u64, at: usize, bulk: &'a [u8]) -> Self {
        Fields { head, bulk, tag_at: 1, tags_end, at, actuals }
    }

    /// The tag of the next field and its number of dimensions.
    #[inline(always)]
    fn read_tag(&mut self) -> Option<(u8, usize)> {
        if self.tag_at >= self.tags_end {
            return None;
        }
        let tag = *self.head.get(self.tag_at)?;
        self.tag_at += 1;
        if tag & TAG_ARRAY == 0 {
            return Some((tag, 0));
        }
        let dimensions = *self.head.get(self.tag_at)?;
        self.tag_at += 1;
        Some((tag, dimensions.into()))
    }

    /// The next `length` bytes of the head.
    #[inline(always)]
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let taken = self.head.get(self.at..)?.get(..length)?;
        self.at += length;
        Some(taken)
    }

    /// The next field; none if the bytes are not one.
    #[inline(always)]
    fn read_field(&mut self, tag: u8, dimensions: usize) -> Option<FieldBytes<'a>> {
        let is_actual = self.actuals & 1 == 1;
        self.actuals >>= 1;
        let shape = if dimensions == 0 { &[][..] } else { self.take(dimensions * 8)? };
        let width = SCALAR_WIDTHS.get(usize::from(tag)).copied().unwrap_or(0);
        let (data, offset) = match width {
            _ if !is_actual => (&[][..], NO_OFFSET),
            0 => match self.head.get(self.at) {
                Some(&PLACE_PACKED) => return self.read_packed(tag, shape),
                _ => self.read_data()?,
            },
            width => (self.take(width.into())?, NO_OFFSET),
        };
        Some(FieldBytes { tag, is_actual, is_packed: false, offset, shape, data })
    }

    /// A field that lies packed in the bulk. Kept out of the loop over the fields.
    #[inline(never)]
    fn read_packed(&mut self, tag: u8, shape: &'a [u8]) -> Option<FieldBytes<'a>> {
        self.at += 1;
        let data = self.take(PackedFront::BYTES)?;
        let front = PackedFront::read(data);
        self.bulk.get(front.range())?;
        Some(FieldBytes { tag, is_actual: true, is_packed: true, offset: front.offset, shape, data })
    }

    #[inline(always)]
    fn read_data(&mut self) -> Option<(&'a [u8], u32)> {
        let [place, length @ ..] = self.head.get(self.at..)?.first_chunk::<5>()?;
        let length = u32::from_le_bytes(*length) as usize;
        self.at += 5;
        if *place == PLACE_HEAD {
            return Some((self.take(length)?, NO_OFFSET));
        }
        let offset = self.head[self.at..].first_chunk::<4>().filter(|_| *place == PLACE_BULK)?;
        self.at += 4;
        let offset = u32::from_le_bytes(*offset);
        let data = self.bulk.get(offset as usize..)?.get(..length)?;
        Some((data, offset))
    }

    /// Checks all fields but for their text: `text` sees each actual and says whether it is text if it should be. Tells whether a formal array
    /// fixes a dimension, and where in the head they end.
    #[inline]
    pub(crate) fn check(
        mut self,
        mut text: impl FnMut(&FieldBytes<'a>) -> bool,
    ) -> Result<(bool, usize), DecodeError> {
        let (mut bulk_end, mut fixes_shapes) = (0, false);
        while let Some((tag, dimensions)) = self.read_tag() {
            let at = self.at;
            let Some(field) = self.read_field(tag, dimensions) else {
                return Err(self.fault(tag, dimensions, at));
            };
            if field.is_actual {
                bulk_end = field.check(at, bulk_end)?;
                if !text(&field) {
                    return Err(field.not_its_data(at));
                }
            } else if dimensions > 0 {
                fixes_shapes |= field.check_formal(at)?;
            }
        }
        match self.bulk.len() - bulk_end {
            0 => Ok((fixes_shapes, self.at)),
            left => Err(DecodeError::Trailing { at: bulk_end, left }),
        }
    }

    /// Why the bytes from `base` on are not a field.
    #[cold]
    fn fault(self, tag: u8, dimensions: usize, base: usize) -> DecodeError {
        let mut reader = Reader::new(self.head.get(base..).unwrap_or(&[]));
        let mut read = || {
            reader.bytes(dimensions * 8)?;
            if let Some(element) = ElementType::from_tag(tag) {
                return reader.bytes(element.width()).map(drop);
            }
            match reader.u8()? {
                PLACE_HEAD => reader.counted("length of a field", MAX_HEAD_BYTES).map(drop),
                PLACE_BULK => {
                    let length = reader.length("length of a field", MAX_BULK_BYTES)?;
                    let offset = reader.u32()? as usize;
                    let left = self.bulk.len().saturating_sub(offset);
                    Err(DecodeError::Truncated { at: offset, needed: length, left })
                }
                PLACE_PACKED => {
                    let front = PackedFront::read(reader.bytes(PackedFront::BYTES)?);
                    let (at, needed) = (front.offset as usize, front.packed as usize);
                    Err(DecodeError::Truncated { at, needed, left: self.bulk.len().saturating_sub(at) })
                }
                other => Err(reader.invalid("place of a field", other, 1)),
            }
        };
        match read() {
            Err(DecodeError::Truncated { at, needed, left }) => {
                DecodeError::Truncated { at: at + base, needed, left }
            }
            Err(DecodeError::Invalid { at, field, value }) => {
                DecodeError::Invalid { at: at + base, field, value }
            }
            Err(other) => other,
            Ok(()) => DecodeError::Invalid { at: base, field: "tag of a field", value: tag.into() },
        }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = FieldBytes<'a>;

    #[inline(always)]
    fn next(&mut self) -> Option<FieldBytes<'a>> {
        let (tag, dimensions) = self.read_tag()?;
        Some(self.read_field(tag, dimensions).expect("the bytes were checked before"))
    }
}

/// Checks the signature with which a head begins; its length.
pub(crate) fn check_signature(head: &[u8]) -> Result<usize, DecodeError> {
    let truncated = || DecodeError::Truncated { at: head.len(), needed: 1, left: 0 };
    let invalid = |at, field, value: u8| Err(DecodeError::Invalid { at, field, value: value.into() });
    let (count, tags) = head.split_first().ok_or_else(truncated)?;
    if !(1..=MAX_FIELDS).contains(&usize::from(*count)) {
        return invalid(0, "number of fields", *count);
    }
    let mut rest = tags;
    for _ in 0..*count {
        let at = head.len() - rest.len();
        let (tag, after) = rest.split_first().ok_or_else(truncated)?;
        rest = after;
        match ARE_TAGS.get(usize::from(*tag)) {
            Some(true) if tag & TAG_ARRAY == 0 => continue,
            Some(true) => {}
            _ => return invalid(at, "tag of a field", *tag),
        }
        let (dimensions, after) = rest.split_first().ok_or_else(truncated)?;
        rest = after;
        if usize::from(*dimensions) > MAX_DIMENSIONS {
            return invalid(at + 1, "number of dimensions", *dimensions);
        }
    }
    Ok(head.len() - rest.len())
}

impl<'a> FieldBytes<'a> {
    /// The tag of its type.
    pub(super) fn tag(&self) -> u8 {
        self.tag
    }

    /// The bytes of its text, if it is an actual one.
    pub(crate) fn text(&self) -> Option<&'a [u8]> {
        (self.is_actual && self.tag == TAG_TEXT).then_some(self.data)
    }
}

impl FieldBytes<'_> {
    /// Checks an actual that was read up to `at`, but not whether text is UTF-8. `bulk_end`: where the long data before it
    /// ended; returns where it ends now, as the bulk holds the long fields in order, without gaps but for the alignment.
    #[inline]
    fn check(self, at: usize, bulk_end: usize) -> Result<usize, DecodeError> {
        let invalid = |field, value| Err(DecodeError::Invalid { at, field, value });
        if self.is_packed {
            self.check_packed(at)?;
        }
        match self.tag {
            TAG_TEXT | TAG_BINARY => {}
            tag if tag & TAG_ARRAY != 0 => self.check_shape(at)?,
            tag if tag == ElementType::Bool.tag() && self.data != [0] && self.data != [1] => {
                return invalid("truth value", self.data[0].into());
            }
            _ => {}
        }
        match self.offset {
            NO_OFFSET => Ok(bulk_end),
            offset if offset as usize == aligned(bulk_end) => Ok(offset as usize + self.bulk_len()),
            offset => invalid("offset of a field", offset.into()),
        }
    }

    /// Checks that an array's data is as long as its shape says. Kept out of the loop over the fields, whose registers it
    /// would take.
    #[inline(never)]
    fn check_shape(self, at: usize) -> Result<(), DecodeError> {
        let (field, value) = match array::data_len(self.element(), self.sizes()) {
            Ok(needed) if needed == self.data_len() as u64 => return Ok(()),
            Ok(needed) => ("length of an array whose shape asks for another", needed),
            Err(_) => ("dimension of an array", self.sizes().max().unwrap_or(0)),
        };
        Err(DecodeError::Invalid { at, field, value })
    }

    /// Whether it is UTF-8 if it is text.
    #[inline]
    pub(crate) fn is_valid_text(&self) -> bool {
        // Most text is short and ASCII, which is quicker to see.
        self.tag != TAG_TEXT || self.data.is_ascii() || core::str::from_utf8(self.data).is_ok()
    }

    /// Checks a formal; whether it fixes a dimension.
    fn check_formal(&self, at: usize) -> Result<bool, DecodeError> {
        let mut fixes = false;
        for size in self.sizes().filter(|size| *size != FREE_DIMENSION) {
            array::check_dimension(0, size).map_err(|_| DecodeError::Invalid {
                at,
                field: "dimension of a formal array",
                value: size,
            })?;
            fixes = true;
        }
        Ok(fixes)
    }

    /// Whether it and `other` have the same part of their signatures.
    pub(crate) fn has_type_of(&self, other: &FieldBytes<'_>) -> bool {
        self.tag == other.tag && self.shape.len() == other.shape.len()
    }

    /// Feeds shape and data to a hash, so that no two lists of fields of the same types feed it the same: where the data's length is its
    /// own, it is fed as well. (Else `("ab", "c")` and `("a", "bc")` would collide, whatever the key.)
    #[inline]
    pub(crate) fn hash(&self, hasher: &mut impl Hasher) {
        if let Some(word) = self.word() {
            return hasher.write_u64(word);
        }
        if !self.shape.is_empty() {
            hasher.write(self.shape);
        }
        if matches!(self.tag, TAG_TEXT | TAG_BINARY) {
            hasher.write_u64(self.data_len() as u64);
        }
        if is_packable(self.tag, self.data_len()) {
            return hasher.write(&self.digest());
        }
        hasher.write(self.data);
    }

    /// Its data, if they are short: another word for other data of the same type.
    #[inline]
    pub(crate) fn word(&self) -> Option<u64> {
        if !self.shape.is_empty() {
            return None;
        }
        match self.data.as_array::<8>() {
            Some(word) if !matches!(self.tag, TAG_TEXT | TAG_BINARY) => Some(u64::from_le_bytes(*word)),
            _ => (self.data.len() < 8).then(|| short_word(self.data)),
        }
    }

    /// Whether this field of a template matches `field` of the same type.
    #[inline]
    pub(crate) fn matches(&self, field: &FieldBytes<'_>) -> bool {
        if self.is_actual {
            let is_equal = if self.is_packed | field.is_packed {
                self.has_digest_of(field)
            } else {
                self.data == field.data
            };
            is_equal && self.shape == field.shape
        } else {
            self.sizes().zip(field.sizes()).all(|(wanted, size)| wanted == FREE_DIMENSION || wanted == size)
        }
    }

    /// Whether it is this text.
    pub(crate) fn is_text(&self, text: &str) -> bool {
        self.tag == TAG_TEXT && self.data == text.as_bytes()
    }

    fn sizes(&self) -> impl Iterator<Item = u64> {
        self.shape.chunks_exact(8).map(|size| u64::from_le_bytes(size.try_into().expect("chunks of eight")))
    }

    fn element(&self) -> ElementType {
        ElementType::from_tag(self.tag & !TAG_ARRAY).expect("tags are checked with the signature")
    }

    /// Writes it as a listing shows it, with at most so many bytes of text, of bytes or of an array's data.
    pub(crate) fn write_beginning(&self, most: usize, sink: &mut impl Sink) {
        sink.bytes(self.shape);
        if SCALAR_WIDTHS.get(usize::from(self.tag)).is_some_and(|width| *width > 0) {
            sink.bytes(self.data);
        } else if self.is_actual {
            sink.u32(u32::try_from(self.data_len()).expect("a bulk is shorter than 4 GiB"));
            // What is packed is not unpacked for a look at it.
            sink.counted(if self.is_packed { &[] } else { &self.data[..self.end_of_beginning(most)] });
        }
    }

    /// Where to cut its data: after that many bytes, or, within a character of text, in front of it.
    fn end_of_beginning(&self, most: usize) -> usize {
        let is_within_character =
            |end: &usize| self.tag == TAG_TEXT && self.data.get(*end).is_some_and(|byte| byte & 0xc0 == 0x80);
        match self.data.len() {
            all if all <= most => all,
            _ => (0..=most).rev().find(|end| !is_within_character(end)).unwrap_or(0),
        }
    }

    /// Its type: an actual array's with every dimension fixed.
    pub(crate) fn field_type(&self) -> Type {
        match self.tag {
            TAG_TEXT => Type::Text,
            TAG_BINARY => Type::Binary,
            tag if tag & TAG_ARRAY == 0 => Type::Scalar(self.element()),
            _ => Type::Array {
                element: self.element(),
                dimensions: self.sizes().map(|size| (size != FREE_DIMENSION).then_some(size)).collect(),
            },
        }
    }

    /// Its value, sharing long data with `bulk`, but for text, which must stay as it was checked also where the bulk's sender can still
    /// write it, and for what is packed; none for text that is not UTF-8, and for what does not unpack to what its digest says. The rest has been checked.
    pub(crate) fn value(self, bulk: &Bytes) -> Option<Value> {
        let data = || match self.offset {
            _ if self.is_packed => packing::unpack(self.tag, &PackedFront::read(self.data), bulk),
            NO_OFFSET => Some(Bytes::copy_from_slice(self.data)),
            offset => Some(bulk.slice(offset as usize..offset as usize + self.data.len())),
        };
        Some(match self.tag {
            TAG_TEXT => Value::Text(ByteString::try_from(Bytes::copy_from_slice(self.data)).ok()?),
            TAG_BINARY => Value::Binary(data()?),
            tag if tag & TAG_ARRAY == 0 => scalar(self.element(), self.data),
            _ => Value::Array(
                Array::of_sizes(self.element(), self.sizes(), data()?)
                    .expect("the shape was checked with the bytes"),
            ),
        })
    }
}

/// Less than eight bytes and their number, in one word: no length of longer data, nor other bytes, give the same.
#[inline]
fn short_word(data: &[u8]) -> u64 {
    let number = (data.len() as u64) << 56;
    match (data.first_chunk::<4>(), data.last_chunk::<4>()) {
        (Some(first), Some(last)) => {
            let rest = u64::from(u32::from_le_bytes(*last)) >> (8 * (8 - data.len()));
            u64::from(u32::from_le_bytes(*first)) | rest << 32 | number
        }
        _ => data.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)) | number,
    }
}

/// The scalar of these bytes, as many as the type has.
pub(crate) fn scalar(element: ElementType, bytes: &[u8]) -> Value {
    use crate::Element;
    match element {
        ElementType::Bool => Value::Bool(bool::read(bytes)),
        ElementType::I8 => Value::I8(i8::read(bytes)),
        ElementType::I16 => Value::I16(i16::read(bytes)),
        ElementType::I32 => Value::I32(i32::read(bytes)),
        ElementType::I64 => Value::I64(i64::read(bytes)),
        ElementType::U8 => Value::U8(u8::read(bytes)),
        ElementType::U16 => Value::U16(u16::read(bytes)),
        ElementType::U32 => Value::U32(u32::read(bytes)),
        ElementType::U64 => Value::U64(u64::read(bytes)),
        ElementType::F32 => Value::F32(f32::read(bytes)),
        ElementType::F64 => Value::F64(f64::read(bytes)),
    }
}

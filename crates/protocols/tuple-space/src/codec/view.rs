//! Encoded tuples and templates, checked once and then read where they lie.
//!
//! The manager stores, hashes and compares encodings; it never makes a [`Value`] of them on its usual path.

use super::fields::{FieldBytes, Fields, check_signature};
use super::ranges::{self, RangeBytes};
use super::{DEAD_LETTER_BYTES, MAX_HEAD_BYTES, PLACE_PACKED};
use crate::keyed::HashKey;
use crate::range::MAX_RANGES;
use crate::{Field, Template, Value};
use bytes::Bytes;
use core::hash::{BuildHasher, Hasher};
use core::num::NonZeroU32;
use quintet_wire::{DecodeError, Reader};

/// An encoded tuple or template whose bytes have been checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    head: &'a [u8],
    bulk: &'a [u8],
    layout: Layout,
}

/// What the check of an encoding found out, to be kept with the bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    signature_len: usize,
    /// The fields that are actuals, one bit each; all bits for a tuple.
    actuals: u64,
    is_template: bool,
    /// Some formal array has a fixed dimension.
    fixes_shapes: bool,
    /// Where the ranges lie in the head, if there are any.
    ranges_at: Option<NonZeroU32>,
}

impl<'a> View<'a> {
    /// Checks an encoded tuple.
    pub(crate) fn tuple(head: &'a [u8], bulk: &'a [u8]) -> Result<View<'a>, DecodeError> {
        View::check(head, bulk, false)
    }

    /// Checks an encoded template.
    pub(crate) fn template(head: &'a [u8], bulk: &'a [u8]) -> Result<View<'a>, DecodeError> {
        View::check(head, bulk, true)
    }

    /// A tuple that was checked before, of a signature that long.
    pub(crate) fn stored(head: &'a [u8], bulk: &'a [u8], signature_len: usize) -> View<'a> {
        let layout = Layout {
            signature_len,
            actuals: u64::MAX,
            is_template: false,
            fixes_shapes: false,
            ranges_at: None,
        };
        View { head, bulk, layout }
    }

    /// A tuple that was checked before.
    pub(crate) fn checked_tuple(head: &'a [u8], bulk: &'a [u8]) -> View<'a> {
        let signature_len = check_signature(head).expect("the bytes were checked before");
        View::stored(head, bulk, signature_len)
    }

    /// A tuple or template that was checked before, and what the check found out.
    pub(crate) fn checked(head: &'a [u8], bulk: &'a [u8], layout: Layout) -> View<'a> {
        View { head, bulk, layout }
    }

    /// Checks an encoded tuple and gives its values.
    pub(crate) fn decode_tuple(head: &[u8], bulk: &Bytes) -> Result<Vec<Value>, DecodeError> {
        let view = View::check_front(head, bulk, false)?;
        let mut values = Vec::with_capacity(view.len());
        let (_, end) =
            view.fields().check(|field| field.value(bulk).map(|value| values.push(value)).is_some())?;
        view.ends_at(end)?;
        Ok(values)
    }

    #[inline]
    fn check(head: &'a [u8], bulk: &'a [u8], is_template: bool) -> Result<View<'a>, DecodeError> {
        let mut view = View::check_front(head, bulk, is_template)?;
        let (fixes_shapes, end) = view.fields().check(FieldBytes::is_valid_text)?;
        view.layout.fixes_shapes = fixes_shapes;
        if end < head.len() && is_template {
            view.check_ranges(end)?;
        } else {
            view.ends_at(end)?;
        }
        if is_template && !bulk.is_empty() && view.fields().any(|field| field.is_packed()) {
            return Err(DecodeError::Invalid {
                at: 0,
                field: "place of a template's field",
                value: PLACE_PACKED.into(),
            });
        }
        Ok(view)
    }

    /// Checks that nothing follows.
    fn ends_at(&self, end: usize) -> Result<(), DecodeError> {
        match self.head.len() - end {
            0 => Ok(()),
            left => Err(DecodeError::Trailing { at: end, left }),
        }
    }

    /// Checks the ranges of a template, which lie in the head from there on.
    fn check_ranges(&mut self, at: usize) -> Result<(), DecodeError> {
        let (set, mut reader) = self.ranges_from(at)?;
        let formals = !self.layout.actuals & u64::MAX.checked_shr(64 - u32::from(self.head[0])).unwrap_or(0);
        if set == 0 || set & !formals != 0 || set.count_ones() as usize > MAX_RANGES {
            return Err(reader.invalid("set of ranges", set, 8));
        }
        for (index, field) in self.fields().enumerate() {
            if set >> index & 1 == 1 {
                ranges::read(field.tag(), &mut reader)?;
            }
        }
        self.layout.ranges_at = u32::try_from(at).ok().and_then(NonZeroU32::new);
        self.ends_at(reader.at())
    }

    /// Which fields are ranges, and what reads these; they lie there in the head.
    fn ranges_from(&self, at: usize) -> Result<(u64, Reader<'a>), DecodeError> {
        let mut reader = Reader::new(self.head);
        reader.bytes(at)?;
        Ok((reader.u64()?, reader))
    }

    /// Whether it is a template with a range.
    #[inline]
    pub(crate) fn has_ranges(&self) -> bool {
        self.layout.ranges_at.is_some()
    }

    /// Each field that is a range, where it stands, and the range.
    pub(super) fn ranges(&self) -> impl Iterator<Item = (usize, FieldBytes<'a>, RangeBytes<'a>)> + use<'a> {
        let known = "the ranges were checked before";
        let ranges = self.layout.ranges_at.map(|at| self.ranges_from(at.get() as usize).expect(known));
        let (set, mut reader) = ranges.unwrap_or((0, Reader::new(&[])));
        let fields = self.fields().enumerate().filter(move |(index, _)| set >> index & 1 == 1);
        fields.map(move |(index, field)| (index, field, ranges::read(field.tag(), &mut reader).expect(known)))
    }

    /// The ranges in which the fields of a tuple do not lie, by the fields, one bit each. The tuple may have other types.
    pub(crate) fn missed_ranges(&self, tuple: &View<'_>) -> u64 {
        let mut fields = tuple.fields().enumerate();
        let missed = self.ranges().filter(|(index, wanted, range)| {
            let field = fields.find(|(at, _)| at == index);
            !field.is_some_and(|(_, field)| wanted.has_type_of(&field) && field.lies_in(range, tuple.bulk))
        });
        missed.map(|(index, ..)| 1 << index).sum()
    }

    /// Checks what stands in front of the fields.
    #[inline]
    fn check_front(head: &'a [u8], bulk: &'a [u8], is_template: bool) -> Result<View<'a>, DecodeError> {
        if head.len() > MAX_HEAD_BYTES + DEAD_LETTER_BYTES {
            let (value, limit) = (head.len() as u64, MAX_HEAD_BYTES as u64);
            return Err(DecodeError::TooLarge { at: 0, field: "head", value, limit });
        }
        let signature_len = check_signature(head)?;
        let mut layout =
            Layout { signature_len, actuals: u64::MAX, is_template, fixes_shapes: false, ranges_at: None };
        if is_template {
            let (count, at) = (u32::from(head[0]), signature_len);
            let (set, _) = head[at..].split_first_chunk::<8>().ok_or_else(|| DecodeError::Truncated {
                at,
                needed: 8,
                left: head.len() - at,
            })?;
            layout.actuals = u64::from_le_bytes(*set);
            if layout.actuals.checked_shr(count).unwrap_or(0) != 0 {
                return Err(DecodeError::Invalid {
                    at,
                    field: "set of actual fields",
                    value: layout.actuals,
                });
            }
        }
        Ok(View { head, bulk, layout })
    }

    /// What its check found out.
    pub(crate) fn layout(&self) -> Layout {
        self.layout
    }

    /// The head's bytes.
    pub(crate) fn head(&self) -> &'a [u8] {
        self.head
    }

    /// The bytes of the bulk.
    pub(super) fn bulk(&self) -> &'a [u8] {
        self.bulk
    }

    /// The bytes of the signature, with which the head begins.
    pub(crate) fn signature(&self) -> &'a [u8] {
        &self.head[..self.layout.signature_len]
    }

    /// Number of fields.
    pub(crate) fn len(&self) -> usize {
        self.head[0].into()
    }

    /// The fields that are actuals.
    pub(crate) fn actuals(&self) -> u64 {
        self.layout.actuals
    }

    /// Bytes of head and bulk: what it counts for in the quota.
    pub(crate) fn bytes(&self) -> u64 {
        (self.head.len() + self.bulk.len()) as u64
    }

    /// The fields in order.
    #[inline]
    pub(crate) fn fields(&self) -> Fields<'a> {
        let Layout { signature_len, actuals, is_template, .. } = self.layout;
        let start = if is_template { signature_len + 8 } else { signature_len };
        Fields::new(self.head, signature_len, actuals, start, self.bulk)
    }

    /// A hash of the fields in `set`, which are actuals. Equal fields of equal types have equal hashes.
    pub(crate) fn hash(&self, set: u64, key: &HashKey) -> u64 {
        if set == 0 {
            return 0;
        }
        let mut hasher = key.build_hasher();
        let mut rest = set;
        for field in self.fields() {
            if rest & 1 == 1 {
                field.hash(&mut hasher);
            }
            rest >>= 1;
            if rest == 0 {
                break;
            }
        }
        hasher.finish()
    }

    /// All that is hashed for `set`, if that is one field with short data.
    #[inline]
    pub(crate) fn only_word(&self, set: u64) -> Option<u64> {
        if !set.is_power_of_two() {
            return None;
        }
        self.fields().nth(set.trailing_zeros() as usize)?.word()
    }

    /// Whether this template matches `tuple`, which has the same signature.
    pub(crate) fn matches(&self, tuple: &View<'_>) -> bool {
        let (mut wanted, mut fields) = (self.fields(), tuple.fields());
        let mut rest = self.layout.actuals;
        while rest != 0 || self.layout.fixes_shapes {
            let (Some(wanted), Some(field)) = (wanted.next(), fields.next()) else { break };
            if !wanted.matches(&field) {
                return false;
            }
            rest >>= 1;
        }
        self.layout.ranges_at.is_none() || self.missed_ranges(tuple) == 0
    }

    /// Whether every tuple with this signature and these actuals matches: no dimension and no range is left to compare.
    pub(crate) fn is_decided_by_actuals(&self) -> bool {
        !self.layout.fixes_shapes && self.layout.ranges_at.is_none()
    }

    /// The template. `bulk`: the bytes whose slice this view has.
    pub(crate) fn to_template(self, bulk: &Bytes) -> Template {
        let mut ranges = self.ranges().peekable();
        let field = |(index, field): (usize, FieldBytes<'_>)| {
            if let Some((_, field, range)) = ranges.next_if(|(at, ..)| *at == index) {
                Field::Range(range.to_range(field.tag()))
            } else if field.is_actual {
                Field::Actual(field.value(bulk).expect("the text was checked with the bytes"))
            } else {
                Field::Formal(field.field_type())
            }
        };
        Template::new(self.fields().enumerate().map(field).collect())
            .expect("the fields were checked with the bytes")
    }
}

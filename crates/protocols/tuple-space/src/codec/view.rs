//! Encoded tuples and templates, checked once and then read where they lie.
//!
//! The manager stores, hashes and compares encodings; it never makes a [`Value`] of them on its usual path.

use super::fields::{FieldBytes, Fields, check_signature};
use super::{DEAD_LETTER_BYTES, MAX_HEAD_BYTES, PLACE_PACKED};
use crate::keyed::HashKey;
use crate::{Field, Template, Value};
use bytes::Bytes;
use core::hash::{BuildHasher, Hasher};
use quintet_wire::DecodeError;

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
        let layout = Layout { signature_len, actuals: u64::MAX, is_template: false, fixes_shapes: false };
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
        view.fields().check(|field| field.value(bulk).map(|value| values.push(value)).is_some())?;
        Ok(values)
    }

    #[inline]
    fn check(head: &'a [u8], bulk: &'a [u8], is_template: bool) -> Result<View<'a>, DecodeError> {
        let mut view = View::check_front(head, bulk, is_template)?;
        view.layout.fixes_shapes = view.fields().check(FieldBytes::is_valid_text)?;
        if is_template && !bulk.is_empty() && view.fields().any(|field| field.is_packed()) {
            return Err(DecodeError::Invalid {
                at: 0,
                field: "place of a template's field",
                value: PLACE_PACKED.into(),
            });
        }
        Ok(view)
    }

    /// Checks what stands in front of the fields.
    #[inline]
    fn check_front(head: &'a [u8], bulk: &'a [u8], is_template: bool) -> Result<View<'a>, DecodeError> {
        if head.len() > MAX_HEAD_BYTES + DEAD_LETTER_BYTES {
            let (value, limit) = (head.len() as u64, MAX_HEAD_BYTES as u64);
            return Err(DecodeError::TooLarge { at: 0, field: "head", value, limit });
        }
        let signature_len = check_signature(head)?;
        let mut layout = Layout { signature_len, actuals: u64::MAX, is_template, fixes_shapes: false };
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
            let (Some(wanted), Some(field)) = (wanted.next(), fields.next()) else { return true };
            if !wanted.matches(&field) {
                return false;
            }
            rest >>= 1;
        }
        true
    }

    /// Whether every tuple with this signature and these actuals matches: no dimension is left to compare.
    pub(crate) fn is_decided_by_actuals(&self) -> bool {
        !self.layout.fixes_shapes
    }

    /// The template. `bulk`: the bytes whose slice this view has.
    pub(crate) fn to_template(self, bulk: &Bytes) -> Template {
        let field = |field: FieldBytes<'_>| {
            if field.is_actual {
                Field::Actual(field.value(bulk).expect("the text was checked with the bytes"))
            } else {
                Field::Formal(field.field_type())
            }
        };
        Template::new(self.fields().map(field).collect()).expect("the fields were checked with the bytes")
    }
}

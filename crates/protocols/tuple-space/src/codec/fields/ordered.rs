//! Where the data of a field stand among others of its type.

use super::FieldBytes;
use crate::ElementType;
use crate::codec::packing::{self, PackedFront};
use crate::codec::ranges::RangeBytes;
use crate::range::MAX_BOUND_BYTES;
use core::ops::Bound;
use std::borrow::Cow;

/// A word that is ordered as the numbers are; none for NaN. Of `-0.0` it is that of `0.0`.
pub(in crate::codec) fn order_word(element: ElementType, bytes: &[u8]) -> Option<u64> {
    use crate::Element;
    const SIGN: u64 = 1 << 63;
    let signed = |number: i64| Some(number.cast_unsigned() ^ SIGN);
    match element {
        ElementType::Bool | ElementType::U8 => Some(u8::read(bytes).into()),
        ElementType::U16 => Some(u16::read(bytes).into()),
        ElementType::U32 => Some(u32::read(bytes).into()),
        ElementType::U64 => Some(u64::read(bytes)),
        ElementType::I8 => signed(i8::read(bytes).into()),
        ElementType::I16 => signed(i16::read(bytes).into()),
        ElementType::I32 => signed(i32::read(bytes).into()),
        ElementType::I64 => signed(i64::read(bytes)),
        ElementType::F32 => order_of_float(f32::read(bytes).into()),
        ElementType::F64 => order_of_float(f64::read(bytes)),
    }
}

fn order_of_float(number: f64) -> Option<u64> {
    const SIGN: u64 = 1 << 63;
    // Adding 0.0 makes -0.0 the other zero.
    let bits = (number + 0.0).to_bits();
    (!number.is_nan()).then_some(if bits & SIGN == 0 { bits | SIGN } else { !bits })
}

impl FieldBytes<'_> {
    /// The word by which it is ordered; none for NaN, and for what is no number.
    pub(in crate::codec) fn order_word(&self) -> Option<u64> {
        order_word(ElementType::from_tag(self.tag)?, self.data)
    }

    /// Its first bytes, at most so many, of text or bytes in a tuple with that bulk. Of what is packed and does not unpack there are fewer.
    pub(in crate::codec) fn beginning<'b>(&'b self, bulk: &'b [u8], most: usize) -> Cow<'b, [u8]> {
        if self.is_packed {
            let front = PackedFront::read(self.data);
            let packed = bulk.get(front.range()).unwrap_or(&[]);
            return Cow::Owned(packing::beginning(packed, most.min(front.length as usize)));
        }
        Cow::Borrowed(&self.data[..self.data.len().min(most)])
    }

    /// Whether it lies in a range of values of its type. `bulk`: that of its tuple.
    pub(in crate::codec) fn lies_in(&self, range: &RangeBytes<'_>, bulk: &[u8]) -> bool {
        let Some(element) = ElementType::from_tag(self.tag) else {
            // One byte more than a bound may have tells whether there are more.
            let data = self.beginning(bulk, MAX_BOUND_BYTES + 1);
            return match range {
                RangeBytes::Prefix(prefix) => data.starts_with(prefix),
                RangeBytes::Between(from, to) => is_between(&&*data, *from, *to),
            };
        };
        let word =
            |bytes: &[u8]| order_word(element, bytes).expect("bounds are numbers: the check refuses others");
        match (order_word(element, self.data), range) {
            (Some(number), RangeBytes::Between(from, to)) => {
                is_between(&number, from.map(word), to.map(word))
            }
            (None, _) | (_, RangeBytes::Prefix(_)) => false,
        }
    }
}

fn is_between<T: Ord>(data: &T, from: Bound<T>, to: Bound<T>) -> bool {
    let is_behind = match from {
        Bound::Unbounded => true,
        Bound::Included(limit) => *data >= limit,
        Bound::Excluded(limit) => *data > limit,
    };
    is_behind
        && match to {
            Bound::Unbounded => true,
            Bound::Included(limit) => *data <= limit,
            Bound::Excluded(limit) => *data < limit,
        }
}

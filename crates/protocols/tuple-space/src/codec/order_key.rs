//! Where a field stands in an index that is ordered by it.

use super::View;
use super::fields::{FieldBytes, order_word};
use super::ranges::RangeBytes;
use crate::ElementType;
use core::fmt::Debug;
use core::ops::Bound;

/// A short value in the order of a field's data: other data may share it.
pub(crate) trait OrderKey: Copy + Ord + Debug {
    /// That of a field in a tuple with that bulk.
    fn of_field(field: &FieldBytes<'_>, bulk: &[u8]) -> Self;

    /// From which key and age on, and before which, everything lies that lies in a range of values of that type.
    fn span(range: &RangeBytes<'_>, tag: u8) -> [(Self, u64); 2];
}

/// Of numbers it is exact. What is not a number comes behind all of them.
impl OrderKey for u64 {
    fn of_field(field: &FieldBytes<'_>, _: &[u8]) -> u64 {
        field.order_word().unwrap_or(u64::MAX)
    }

    fn span(range: &RangeBytes<'_>, tag: u8) -> [(u64, u64); 2] {
        let element = ElementType::from_tag(tag).expect("the field is a number's");
        let word =
            |bytes: &[u8]| order_word(element, bytes).expect("bounds are numbers: the check refuses others");
        let last = match element {
            ElementType::F32 | ElementType::F64 => word_of_infinity(),
            _ => u64::MAX,
        };
        let RangeBytes::Between(from, to) = range else { return [(0, 0); 2] };
        let start = match from {
            Bound::Unbounded => (0, 0),
            Bound::Included(bytes) => (word(bytes), 0),
            Bound::Excluded(bytes) => (word(bytes), u64::MAX),
        };
        let end = match to {
            Bound::Unbounded => (last, u64::MAX),
            Bound::Included(bytes) => (word(bytes), u64::MAX),
            Bound::Excluded(bytes) => (word(bytes), 0),
        };
        [start, end]
    }
}

fn word_of_infinity() -> u64 {
    order_word(ElementType::F64, &f64::INFINITY.to_le_bytes()).expect("infinity is ordered")
}

/// The first bytes of text or bytes, and how many there are: exact up to [`FrontKey::EXACT`] bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct FrontKey([u64; 4]);

impl FrontKey {
    /// Longer data share their keys with others that begin alike.
    const EXACT: usize = 31;

    fn of(data: &[u8]) -> FrontKey {
        let mut bytes = [0; 32];
        let front = &data[..data.len().min(FrontKey::EXACT)];
        bytes[..front.len()].copy_from_slice(front);
        bytes[FrontKey::EXACT] = u8::try_from(data.len()).unwrap_or(u8::MAX).min(32);
        FrontKey::of_bytes(bytes)
    }

    /// That of the last data that begin so.
    fn last_of(prefix: &[u8]) -> FrontKey {
        let mut bytes = [u8::MAX; 32];
        let front = &prefix[..prefix.len().min(FrontKey::EXACT)];
        bytes[..front.len()].copy_from_slice(front);
        FrontKey::of_bytes(bytes)
    }

    fn of_bytes(bytes: [u8; 32]) -> FrontKey {
        let (words, _) = bytes.as_chunks::<8>();
        FrontKey(core::array::from_fn(|at| u64::from_be_bytes(words[at])))
    }
}

impl OrderKey for FrontKey {
    fn of_field(field: &FieldBytes<'_>, bulk: &[u8]) -> FrontKey {
        FrontKey::of(&field.beginning(bulk, FrontKey::EXACT + 1))
    }

    fn span(range: &RangeBytes<'_>, _: u8) -> [(FrontKey, u64); 2] {
        // Of a bound whose key is not exact, others that have it may lie on the right side.
        let side = |data: &[u8], age: u64| {
            (FrontKey::of(data), if data.len() > FrontKey::EXACT { !age } else { age })
        };
        match range {
            RangeBytes::Prefix(prefix) => [(FrontKey::of(prefix), 0), (FrontKey::last_of(prefix), u64::MAX)],
            RangeBytes::Between(from, to) => [
                match from {
                    Bound::Unbounded => (FrontKey([0; 4]), 0),
                    Bound::Included(data) => (FrontKey::of(data), 0),
                    Bound::Excluded(data) => side(data, u64::MAX),
                },
                match to {
                    Bound::Unbounded => (FrontKey([u64::MAX; 4]), u64::MAX),
                    Bound::Included(data) => (FrontKey::of(data), u64::MAX),
                    Bound::Excluded(data) => side(data, 0),
                },
            ],
        }
    }
}

impl View<'_> {
    /// The fields of a template that are ranges, one bit each.
    pub(crate) fn ranged(&self) -> u64 {
        self.ranges().map(|(index, ..)| 1 << index).sum()
    }

    /// Where a tuple stands by that field.
    pub(crate) fn order_key<K: OrderKey>(&self, field: usize) -> K {
        let field = self.fields().nth(field).expect("the tuple has the signature of its index");
        K::of_field(&field, self.bulk())
    }

    /// Where the tuples stand that lie in the range which that field of a template is.
    pub(crate) fn order_span<K: OrderKey>(&self, field: usize) -> Option<[(K, u64); 2]> {
        let (_, wanted, range) = self.ranges().find(|(index, ..)| *index == field)?;
        Some(K::span(&range, wanted.tag()))
    }
}

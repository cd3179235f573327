//! Collections: all tuples that match, to whoever asks a page at a time, or into another space at one instant.
//!
//! ```text
//! FURTHER    settled u64 | operation u8 | the rest:
//! 3  collect            from which age on u64 | below which age u64 (0: all that are there) | tuples at most u32 | template, to the end
//! 4  copy-collect       as 3
//! 5  collect into       the number of the other space u32 | template, to the end
//! 6  copy-collect into  as 5
//! COLLECTED  from which age it goes on u64 (0: it has ended) | below which age u64 | n u32 | n tuples, as those of an OUT
//! ```
//!
//! The age that a page gives as its upper bound is asked for with those that follow: so they are about the tuples that were there at the
//! first. A collection into another space is answered with how many tuples it was ([`COUNTED`](super::COUNTED)), or with a page of none,
//! which says to ask again, as an index is being built.

use super::put::{Parts, TupleLengths, own_part};
use super::request::template;
use super::{BULK_ALIGNMENT, SpaceNumber, View};
use crate::Tuple;
use bytes::Bytes;
use quintet_wire::{DecodeError, Encode, Reader, Sink};

/// It has ended.
const NO_AGE: u64 = 0;

/// A page of a collection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Collected {
    /// The oldest first.
    pub tuples: Vec<Tuple>,
    /// From which age on the next page is; none: this was the last.
    pub next: Option<u64>,
    /// The collection is about tuples that are older than this.
    pub below: u64,
}

/// What a collection asks for, as the manager reads it.
#[derive(Clone, Debug)]
pub(crate) struct Collect<'a> {
    /// Whether the tuples are taken.
    pub(crate) takes: bool,
    pub(crate) from: u64,
    /// None: all tuples that are there now.
    pub(crate) below: Option<u64>,
    /// At least one.
    pub(crate) most: u32,
    pub(crate) template: View<'a>,
}

/// What a collection into another space asks for, as the manager reads it.
#[derive(Clone, Debug)]
pub(crate) struct CollectInto<'a> {
    /// Whether the tuples are taken.
    pub(crate) takes: bool,
    pub(crate) into: SpaceNumber,
    pub(crate) template: View<'a>,
}

impl<'a> Collect<'a> {
    /// Writes what stands in front of the template.
    pub(crate) fn encode_front(from: u64, below: Option<u64>, most: u32, sink: &mut impl Sink) {
        sink.u64(from);
        sink.u64(below.unwrap_or(NO_AGE));
        sink.u32(most);
    }

    pub(super) fn decode(
        takes: bool,
        reader: &mut Reader<'a>,
        bulk: &'a Bytes,
    ) -> Result<Collect<'a>, DecodeError> {
        let from = reader.u64()?;
        let below = Some(reader.u64()?).filter(|below| *below != NO_AGE);
        let most = reader.u32()?;
        if most == 0 {
            return Err(reader.invalid("number of tuples", most, 4));
        }
        Ok(Collect { takes, from, below, most, template: template(reader, bulk)? })
    }
}

impl<'a> CollectInto<'a> {
    pub(super) fn decode(
        takes: bool,
        reader: &mut Reader<'a>,
        bulk: &'a Bytes,
    ) -> Result<CollectInto<'a>, DecodeError> {
        let into = SpaceNumber(reader.u32()?);
        Ok(CollectInto { takes, into, template: template(reader, bulk)? })
    }
}

/// The tuples of a page as they are gathered.
#[derive(Debug, Default)]
pub(crate) struct CollectedRows {
    count: u32,
    bytes: Vec<u8>,
    /// Of those that have any.
    bulks: Vec<Bytes>,
    bulk_len: usize,
}

impl CollectedRows {
    /// What stands in front of the tuples.
    const FRONT_BYTES: usize = 8 + 8 + 4;

    /// Whether a tuple with so long a head and bulk finds room in a body and a bulk of these lengths. The first always does.
    pub(crate) fn has_room(&self, head: usize, bulk: usize, body_limit: usize, bulk_limit: usize) -> bool {
        let body = Self::FRONT_BYTES + self.bytes.len() + TupleLengths::BYTES + head;
        let bulk = if bulk == 0 { 0 } else { self.bulk_len.next_multiple_of(BULK_ALIGNMENT) + bulk };
        self.count == 0 || (body <= body_limit && bulk <= bulk_limit)
    }

    pub(crate) fn add(&mut self, head: &[u8], bulk: Bytes) {
        TupleLengths::of(head.len(), bulk.len()).encode(&mut self.bytes);
        self.bytes.bytes(head);
        self.count += 1;
        if !bulk.is_empty() {
            self.bulk_len = self.bulk_len.next_multiple_of(BULK_ALIGNMENT) + bulk.len();
            self.bulks.push(bulk);
        }
    }

    /// Their bulks behind each other; that of a single one as it lies.
    pub(crate) fn bulk(&self) -> Bytes {
        match &self.bulks[..] {
            [] => Bytes::new(),
            [only] => only.clone(),
            several => {
                let mut bulk: Vec<u8> = Vec::with_capacity(self.bulk_len);
                for one in several {
                    bulk.resize(bulk.len().next_multiple_of(BULK_ALIGNMENT), 0);
                    bulk.extend_from_slice(one);
                }
                bulk.into()
            }
        }
    }
}

const _: () = assert!(
    CollectedRows::FRONT_BYTES + TupleLengths::BYTES <= super::REQUEST_BYTES,
    "a page of the longest tuple fits an answer"
);

/// The body of a page.
pub(crate) struct CollectedBody<'a> {
    pub(crate) next: Option<u64>,
    pub(crate) below: u64,
    pub(crate) rows: &'a CollectedRows,
}

impl Encode for CollectedBody<'_> {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u64(self.next.unwrap_or(NO_AGE));
        sink.u64(self.below);
        sink.u32(self.rows.count);
        sink.bytes(&self.rows.bytes);
    }
}

impl Collected {
    /// Reads the body of a page, and its bulk, which is shared.
    pub(crate) fn decode<'a>(reader: &mut Reader<'a>, bulk: &'a Bytes) -> Result<Collected, DecodeError> {
        let next = Some(reader.u64()?).filter(|next| *next != NO_AGE);
        let below = reader.u64()?;
        let is_without_heads = reader.left() == size_of::<u32>();
        let mut parts = Parts::decode(reader, bulk)?;
        if is_without_heads && parts.count() > 0 {
            return Err(reader.invalid("number of tuples of a page without any", parts.count(), 4));
        }
        let mut tuples = Vec::new();
        while parts.count() > 0 {
            let (head, own) = parts.next_part()?;
            tuples.push(Tuple::decode(head, &own_part(bulk, own))?);
        }
        parts.finish()?;
        Ok(Collected { tuples, next, below })
    }
}

//! The tuples of a request, and what stands in front of each.
//!
//! ```text
//! tuple of a request   head length u32, its highest bit: it expires | bulk length u32 | if it expires: in how long u64, at least 1 | head
//! ```

use super::{MAX_HEAD_BYTES, View, aligned};
use crate::MAX_TUPLE_FIELDS;
use bytes::Bytes;
use quintet_contract::Span;
use quintet_wire::{DecodeError, Encode, Reader, Sink};

/// In the length of a head: the tuple expires.
const EXPIRES: u32 = 1 << 31;

const _: () = assert!(MAX_HEAD_BYTES < EXPIRES as usize, "no length has the bit");

/// What [`OUT`](super::OUT) and [`ACK`](super::ACK) put, as the manager reads it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Put<'a> {
    /// For how long the request may wait for room; `u64::MAX` without end.
    pub(crate) deadline: Span,
    /// The tuples.
    pub(crate) tuples: PutTuples<'a>,
}

impl<'a> Put<'a> {
    /// Reads it and checks every tuple.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    pub(crate) fn decode(reader: &mut Reader<'a>, bulk: &'a Bytes) -> Result<Put<'a>, DecodeError> {
        let deadline = Span(reader.u64()?);
        Ok(Put { deadline, tuples: Parts::decode(reader, bulk)?.into_tuples()? })
    }
}

/// Several tuples and templates in a request, read one after the other.
#[derive(Debug)]
pub(super) struct Parts<'a> {
    /// How many are left.
    count: u32,
    bulk: &'a Bytes,
    walk: Walk<'a>,
}

impl<'a> Parts<'a> {
    /// Reads where they are: to the end of the body.
    pub(super) fn decode(reader: &mut Reader<'a>, bulk: &'a Bytes) -> Result<Parts<'a>, DecodeError> {
        let count = reader.u32()?;
        let at = reader.at();
        let (rest, own) = match reader.bytes(reader.left())? {
            [] if count > 0 => split_heads(bulk).ok_or(DecodeError::Truncated { at, needed: 4, left: 0 })?,
            bytes => (bytes, bulk.len()),
        };
        Ok(Parts { count, bulk, walk: Walk { rest, bulk: &bulk[..own], bulk_end: 0 } })
    }

    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// The head and the bulk of the next one, which does not expire.
    pub(super) fn next_part(&mut self) -> Result<(&'a [u8], &'a [u8]), DecodeError> {
        let len = self.walk.rest.len();
        let Part { head, bulk, expires_in } = self.walk.next_part().ok_or_else(|| self.walk.fault(len))?;
        if let Some(Span(value)) = expires_in {
            return Err(DecodeError::Invalid { at: 0, field: "expiry of a template", value });
        }
        self.count -= 1;
        Ok((head, bulk))
    }

    /// Checks that nothing is left.
    pub(super) fn finish(&self) -> Result<(), DecodeError> {
        let Walk { rest, bulk, bulk_end } = &self.walk;
        match (rest.len(), bulk.len() - bulk_end) {
            (0, 0) => Ok(()),
            (0, left) => Err(DecodeError::Trailing { at: *bulk_end, left }),
            (left, _) => Err(DecodeError::Trailing { at: 0, left }),
        }
    }

    /// Those that are left, which are tuples; checks every one.
    pub(super) fn into_tuples(self) -> Result<PutTuples<'a>, DecodeError> {
        let Parts { count, bulk, walk: Walk { rest: bytes, bulk: own, bulk_end: bulk_start } } = self;
        let bulk_len = own.len();
        let mut tuples = PutTuples { count, expiring: 0, total_bytes: 0, bytes, bulk, bulk_start, bulk_len };
        (tuples.total_bytes, tuples.expiring) = tuples.check()?;
        Ok(tuples)
    }
}

/// The tuples' lengths and heads at the end of the bulk, and how much of the bulk is the tuples' own.
fn split_heads(bulk: &[u8]) -> Option<(&[u8], usize)> {
    let (front, len) = bulk.split_last_chunk()?;
    let start = front.len().checked_sub(u32::from_le_bytes(*len) as usize)?;
    Some((&front[start..], start))
}

/// What stands in front of one tuple of several.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TupleLengths {
    pub(crate) head: usize,
    pub(crate) bulk: usize,
    /// How long after it was put it expires; none: not at all.
    pub(crate) expires_in: Option<Span>,
}

impl Encode for TupleLengths {
    fn encode(&self, sink: &mut impl Sink) {
        let length = |length| u32::try_from(length).expect("lengths are checked against limits below 2 GiB");
        let expires = if self.expires_in.is_some() { EXPIRES } else { 0 };
        sink.u64(u64::from(length(self.head) | expires) | u64::from(length(self.bulk)) << 32);
        if let Some(expires_in) = self.expires_in {
            // As with a lease, the shortest time is a nanosecond.
            sink.u64(expires_in.0.max(1));
        }
    }
}

impl TupleLengths {
    /// Of one that does not expire.
    pub(crate) const BYTES: usize = 8;
    /// What the expiry of one that expires adds.
    pub(crate) const EXPIRY_BYTES: usize = 8;

    /// Of one that does not expire.
    pub(crate) fn of(head: usize, bulk: usize) -> TupleLengths {
        TupleLengths { head, bulk, expires_in: None }
    }

    /// What is in front of the next tuple, and what is behind that.
    #[inline]
    fn split(bytes: &[u8]) -> Option<(TupleLengths, &[u8])> {
        let (lengths, rest) = bytes.split_first_chunk::<{ TupleLengths::BYTES }>()?;
        let [a, b, c, d, e, f, g, h] = *lengths;
        let (head, bulk) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]) as usize);
        if head & EXPIRES == 0 {
            return Some((TupleLengths::of(head as usize, bulk), rest));
        }
        let (expires_in, rest) = rest.split_first_chunk()?;
        let expires_in = Some(Span(u64::from_le_bytes(*expires_in)));
        Some((TupleLengths { head: (head & !EXPIRES) as usize, bulk, expires_in }, rest))
    }
}

/// One tuple of a request.
#[derive(Clone, Debug)]
pub(crate) struct PutTuple<'a> {
    pub(crate) tuple: View<'a>,
    /// Its part of the bulk: shared, or copied where it would keep more than twice its own bytes alive.
    pub(crate) bulk: Bytes,
    /// How long after it is put it expires; none: not at all.
    pub(crate) expires_in: Option<Span>,
}

/// The encoded tuples of a request, checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PutTuples<'a> {
    count: u32,
    /// How many of them expire.
    expiring: u32,
    /// Bytes they take in the space: heads and bulks.
    total_bytes: u64,
    bytes: &'a [u8],
    bulk: &'a Bytes,
    /// What lies before it is not theirs.
    bulk_start: usize,
    /// Where the part of the bulk ends that belongs to tuples; the rest is `bytes`.
    bulk_len: usize,
}

impl<'a> PutTuples<'a> {
    /// Number of tuples.
    pub(crate) fn len(&self) -> u32 {
        self.count
    }

    /// How many of them expire.
    pub(crate) fn expiring(&self) -> u32 {
        self.expiring
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Keeps them beyond the frame, with no more memory than [`kept_bytes`](PutTuples::kept_bytes).
    pub(crate) fn keep(&self) -> KeptTuples {
        let own = self.own_bulk();
        let is_whole = own.len() == self.bulk.len();
        let bulk = if is_whole { self.bulk.clone() } else { Bytes::copy_from_slice(own) };
        let PutTuples { count, expiring, total_bytes, .. } = *self;
        KeptTuples { count, expiring, total_bytes, bytes: self.bytes.into(), bulk }
    }

    /// Bytes they take while they are kept: the lengths between them and the gaps in the bulk included.
    pub(crate) fn kept_bytes(&self) -> u64 {
        (self.bytes.len() + self.own_bulk().len()) as u64
    }

    /// Their part of the bulk, from a multiple of [`BULK_ALIGNMENT`](super::BULK_ALIGNMENT) on.
    fn own_bulk(&self) -> &'a [u8] {
        self.bulk[..self.bulk_len].get(aligned(self.bulk_start)..).unwrap_or(&[])
    }

    /// Bytes they take in the space.
    pub(crate) fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// Checks every tuple; the bytes they take, and how many expire.
    fn check(&self) -> Result<(u64, u32), DecodeError> {
        let (mut total_bytes, mut expiring, mut walk) = (0, 0, self.walk());
        for _ in 0..self.count {
            let Part { head, bulk, expires_in } =
                walk.next_part().ok_or_else(|| walk.fault(self.bytes.len()))?;
            if expires_in == Some(Span(0)) {
                return Err(DecodeError::Invalid { at: 0, field: "expiry of a tuple", value: 0 });
            }
            expiring += u32::from(expires_in.is_some());
            let tuple = View::tuple(head, bulk)?;
            if tuple.len() > MAX_TUPLE_FIELDS || head.len() > MAX_HEAD_BYTES {
                let (value, limit) = (tuple.len() as u64, MAX_TUPLE_FIELDS as u64);
                return Err(DecodeError::TooLarge { at: 0, field: "number or size of fields", value, limit });
            }
            total_bytes += tuple.bytes();
        }
        let at = self.bytes.len() - walk.rest.len();
        match (walk.rest.len(), self.bulk_len - walk.bulk_end) {
            (0, 0) => Ok((total_bytes, expiring)),
            (0, left) => Err(DecodeError::Trailing { at: walk.bulk_end, left }),
            (left, _) => Err(DecodeError::Trailing { at, left }),
        }
    }

    fn walk(&self) -> Walk<'a> {
        Walk { rest: self.bytes, bulk: &self.bulk[..self.bulk_len], bulk_end: self.bulk_start }
    }

    /// The tuples, to be looked at.
    pub(crate) fn views(&self) -> impl Iterator<Item = View<'a>> + use<'a> {
        let mut walk = self.walk();
        (0..self.count).map(move |_| {
            let Part { head, bulk, .. } = walk.next_part().expect("checked when they were read");
            View::checked_tuple(head, bulk)
        })
    }

    /// The tuples.
    pub(crate) fn iter(&self) -> impl Iterator<Item = PutTuple<'a>> + use<'a> {
        let (whole, mut walk) = (self.bulk, self.walk());
        (0..self.count).map(move |_| {
            let Part { head, bulk, expires_in } = walk.next_part().expect("checked when they were read");
            PutTuple { tuple: View::checked_tuple(head, bulk), bulk: own_part(whole, bulk), expires_in }
        })
    }
}

/// A tuple's part of a request's bulk. It may be kept for long after the others were dropped; a link gives each bulk in memory of
/// its own, which a shared part keeps alive as a whole.
pub(super) fn own_part(whole: &Bytes, part: &[u8]) -> Bytes {
    if part.len() * 2 < whole.len() { Bytes::copy_from_slice(part) } else { whole.slice_ref(part) }
}

/// The encoded tuples of a request that outlive its frame.
#[derive(Debug)]
pub(crate) struct KeptTuples {
    count: u32,
    expiring: u32,
    total_bytes: u64,
    bytes: Box<[u8]>,
    bulk: Bytes,
}

impl KeptTuples {
    /// How many there are, their lengths and heads, and their bulk.
    pub(crate) fn parts(&self) -> (u32, &[u8], &[u8]) {
        (self.count, &self.bytes, &self.bulk)
    }

    /// The tuples, as they were.
    pub(crate) fn borrow(&self) -> PutTuples<'_> {
        let KeptTuples { count, expiring, total_bytes, bytes, bulk } = self;
        let (count, expiring, total_bytes, bulk_len) = (*count, *expiring, *total_bytes, bulk.len());
        PutTuples { count, expiring, total_bytes, bytes, bulk, bulk_start: 0, bulk_len }
    }
}

/// Walks the tuples of a request.
#[derive(Debug)]
struct Walk<'a> {
    rest: &'a [u8],
    bulk: &'a [u8],
    bulk_end: usize,
}

/// One tuple or template of a request, as it lies there.
struct Part<'a> {
    head: &'a [u8],
    bulk: &'a [u8],
    expires_in: Option<Span>,
}

impl<'a> Walk<'a> {
    /// The next tuple; none if it is not there.
    #[inline]
    fn next_part(&mut self) -> Option<Part<'a>> {
        let (lengths, rest) = TupleLengths::split(self.rest)?;
        let (head, rest) = rest.split_at_checked(lengths.head)?;
        let start = if lengths.bulk == 0 { self.bulk_end } else { aligned(self.bulk_end) };
        let bulk = self.bulk.get(start..)?.get(..lengths.bulk)?;
        (self.rest, self.bulk_end) = (rest, start + lengths.bulk);
        Some(Part { head, bulk, expires_in: lengths.expires_in })
    }

    /// Why there is no next tuple, in a request with that many bytes of tuples.
    #[cold]
    fn fault(&self, len: usize) -> DecodeError {
        let (at, left) = (len - self.rest.len(), self.rest.len());
        let Some((lengths, rest)) = TupleLengths::split(self.rest) else {
            let expiry = if left < TupleLengths::BYTES { 0 } else { TupleLengths::EXPIRY_BYTES };
            return DecodeError::Truncated { at, needed: TupleLengths::BYTES + expiry, left };
        };
        if lengths.head > rest.len() {
            return DecodeError::Truncated { at, needed: lengths.head, left: rest.len() };
        }
        let left = self.bulk.len().saturating_sub(self.bulk_end);
        DecodeError::Truncated { at: self.bulk_end, needed: lengths.bulk, left }
    }
}

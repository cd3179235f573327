//! The bodies of requests.

use super::{
    ACK, CANCEL, COMMIT, COUNT, CodeGrants, DONE, FURTHER, Further, GRANT, LIST, ListView, MAX_HEAD_BYTES,
    MORE, More, OUT, READ, RELEASE, RENEW, RETURN, SPACES, STATUS, TAKE, Uses, View, aligned,
};
use crate::MAX_TUPLE_FIELDS;
use bytes::Bytes;
use quintet_contract::{Frame, Kind, Span, Token};
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

/// How long a request waits for a tuple.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// Not at all: it is answered from what the space holds at that instant.
    AtOnce,
    /// For at most this long.
    For(Span),
    /// Until there is one.
    Forever,
}

impl Wait {
    pub(crate) fn parts(self) -> (u8, u64) {
        match self {
            Wait::AtOnce => (0, 0),
            Wait::For(span) => (1, span.0),
            Wait::Forever => (2, 0),
        }
    }

    /// Reads the rest of what says how to wait, whose first byte is `how`.
    pub(crate) fn read(how: u8, reader: &mut Reader<'_>) -> Result<Wait, DecodeError> {
        match (how, reader.u64()?) {
            (0, 0) => Ok(Wait::AtOnce),
            (1, span) => Ok(Wait::For(Span(span))),
            (2, 0) => Ok(Wait::Forever),
            (0 | 2, span) => Err(reader.invalid("span of a request without deadline", span, 8)),
            (how, _) => Err(reader.invalid("manner of waiting", how, 9)),
        }
    }
}

/// Added to how a request waits where it is a group's.
const FOR_GROUP: u8 = 0x10;

/// The word every request begins with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settled(pub(crate) u64);

impl Encode for Settled {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u64(self.0);
    }
}

/// What [`TAKE`] and [`READ`] ask for, as the manager reads it after `settled`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Query<'a> {
    pub(crate) wait: Wait,
    /// For how long the tuple is leased unless renewed; none for a plain take and for a read.
    pub(crate) lease: Option<Span>,
    /// It is a group's. How long that may last: what it takes returns by then; `u64::MAX` for a read, and without end.
    pub(crate) group: Option<Span>,
    pub(crate) template: View<'a>,
}

impl<'a> Query<'a> {
    /// Writes what stands in front of the template.
    pub(crate) fn encode_front(wait: Wait, lease: Option<Span>, group: Option<Span>, sink: &mut impl Sink) {
        let (how, span) = wait.parts();
        sink.u8(if group.is_some() { how | FOR_GROUP } else { how });
        sink.u64(span);
        // 0 stands for a plain take: the shortest lease lives a nanosecond.
        sink.u64(lease.map_or(0, |ttl| ttl.0.max(1)));
        if let (Some(_), Some(limit)) = (lease, group) {
            sink.u64(limit.0);
        }
    }

    /// How it waits, for how long the tuple is leased, and how long its group may last.
    pub(super) fn decode_front(
        reader: &mut Reader<'_>,
    ) -> Result<(Wait, Option<Span>, Option<Span>), DecodeError> {
        let how = reader.u8()?;
        let wait = Wait::read(how & !FOR_GROUP, reader)?;
        let lease = Some(reader.u64()?).filter(|ttl| *ttl != 0).map(Span);
        let group = match (how & FOR_GROUP, lease) {
            (0, _) => None,
            (_, Some(_)) => Some(Span(reader.u64()?)),
            (_, None) => Some(Span(u64::MAX)),
        };
        Ok((wait, lease, group))
    }

    fn decode(reader: &mut Reader<'a>, bulk: &'a Bytes) -> Result<Self, DecodeError> {
        let (wait, lease, group) = Query::decode_front(reader)?;
        Ok(Query { wait, lease, group, template: template(reader, bulk)? })
    }
}

/// The template to the end of the body.
pub(super) fn template<'a>(reader: &mut Reader<'a>, bulk: &'a Bytes) -> Result<View<'a>, DecodeError> {
    View::template(reader.bytes(reader.left())?, bulk)
}

/// A request as the manager reads it: everything checked, nothing copied.
#[derive(Clone, Debug)]
pub(crate) enum RequestView<'a> {
    Out(Put<'a>),
    Take(Query<'a>),
    Read(Query<'a>),
    Cancel,
    Return,
    Ack(LeaseId, Put<'a>),
    Release(LeaseId),
    Renew,
    Count(View<'a>),
    Status,
    List(ListView<'a>),
    Grant(CodeGrants),
    Commit(Uses<'a>, Put<'a>),
    Further(Further<'a>),
    More(More<'a>),
}

impl<'a> RequestView<'a> {
    /// Whether a frame of this kind is a request, known or not.
    pub(crate) fn is_request(kind: Kind) -> bool {
        (OUT..DONE).contains(&kind)
    }

    /// Whether a request of this kind is answered under its own name. The token of the others names another request.
    pub(crate) fn is_answered(kind: Kind) -> bool {
        !matches!(kind, CANCEL | RETURN | RENEW)
    }

    /// Whether a request of this kind is for one space, which a [`NAMED`](super::NAMED) says: the others are for all.
    pub(crate) fn is_of_one_space(kind: Kind) -> bool {
        RequestView::is_request(kind) && RequestView::is_answered(kind) && !matches!(kind, GRANT | SPACES)
    }

    /// Whether more lies in a frame's bulk than data that is only compared, hashed and passed on: a template, or the heads of tuples.
    pub(crate) fn relies_on_bulk(frame: &Frame<'_>) -> bool {
        match frame.kind {
            TAKE | READ | COUNT | LIST | FURTHER | MORE => true,
            OUT => frame.body.len() == HEADLESS_OUT_BYTES,
            ACK => frame.body.len() == HEADLESS_OUT_BYTES + size_of::<LeaseId>(),
            COMMIT => {
                Uses::len_in(frame.body).is_some_and(|uses| frame.body.len() == HEADLESS_OUT_BYTES + uses)
            }
            _ => false,
        }
    }

    /// Reads a request, and the token below which the sender's takes are settled.
    pub(crate) fn decode(frame: &Frame<'a>) -> Result<(Token, RequestView<'a>), DecodeError> {
        let mut reader = Reader::new(frame.body);
        let settled = Token(reader.u64()?);
        let request = RequestView::decode_rest(frame, &mut reader)?;
        reader.finish()?;
        let takes_bulk =
            matches!(frame.kind, OUT | TAKE | READ | ACK | COUNT | LIST | COMMIT | FURTHER | MORE);
        if !takes_bulk && !frame.bulk.is_empty() {
            return Err(DecodeError::Trailing { at: 0, left: frame.bulk.len() });
        }
        Ok((settled, request))
    }

    fn decode_rest(frame: &Frame<'a>, reader: &mut Reader<'a>) -> Result<RequestView<'a>, DecodeError> {
        Ok(match frame.kind {
            OUT => {
                let put = Put::decode(reader, frame.bulk)?;
                if put.tuples.is_empty() {
                    return Err(reader.invalid("number of tuples", 0u32, 4));
                }
                RequestView::Out(put)
            }
            TAKE => {
                let query = Query::decode(reader, frame.bulk)?;
                if query.group.is_some() && query.lease.is_none() {
                    return Err(reader.invalid("lease of a group's take", 0u64, 8));
                }
                RequestView::Take(query)
            }
            READ => {
                let query = Query::decode(reader, frame.bulk)?;
                match query.lease {
                    None => RequestView::Read(query),
                    Some(ttl) => return Err(reader.invalid("lease of a read", ttl.0, 8)),
                }
            }
            CANCEL => RequestView::Cancel,
            RETURN => RequestView::Return,
            ACK => RequestView::Ack(LeaseId::decode(reader)?, Put::decode(reader, frame.bulk)?),
            RELEASE => RequestView::Release(LeaseId::decode(reader)?),
            RENEW => RequestView::Renew,
            COUNT => RequestView::Count(template(reader, frame.bulk)?),
            STATUS => RequestView::Status,
            LIST => RequestView::List(ListView::decode(reader, frame.bulk)?),
            GRANT => RequestView::Grant(CodeGrants::decode(reader)?),
            COMMIT => RequestView::Commit(Uses::decode(reader)?, Put::decode(reader, frame.bulk)?),
            FURTHER => RequestView::Further(Further::decode(reader, frame.bulk)?),
            MORE => RequestView::More(More::decode(reader, frame.bulk)?),
            Kind(other) => return Err(reader.invalid("kind", other, 0)),
        })
    }
}

/// The body of an [`OUT`] whose tuples' heads lie in the bulk: settled, deadline, count.
const HEADLESS_OUT_BYTES: usize = 8 + 8 + 4;

/// Names a lease. No two leases of one manager's life have the same; it is never 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LeaseId(pub u64);

impl Encode for LeaseId {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u64(self.0);
    }
}

impl Decode<'_> for LeaseId {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        reader.u64().map(LeaseId)
    }
}

/// What [`OUT`] and [`ACK`] put, as the manager reads it.
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

    /// The head and the bulk of the next one.
    pub(super) fn next_part(&mut self) -> Result<(&'a [u8], &'a [u8]), DecodeError> {
        let len = self.walk.rest.len();
        let part = self.walk.next_parts().ok_or_else(|| self.walk.fault(len))?;
        self.count -= 1;
        Ok(part)
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
        let mut tuples = PutTuples { count, total_bytes: 0, bytes, bulk, bulk_start, bulk_len: own.len() };
        tuples.total_bytes = tuples.check()?;
        Ok(tuples)
    }
}

/// The tuples' lengths and heads at the end of the bulk, and how much of the bulk is the tuples' own.
fn split_heads(bulk: &[u8]) -> Option<(&[u8], usize)> {
    let (front, len) = bulk.split_last_chunk()?;
    let start = front.len().checked_sub(u32::from_le_bytes(*len) as usize)?;
    Some((&front[start..], start))
}

/// Lengths in front of one tuple of several.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TupleLengths {
    pub(crate) head: usize,
    pub(crate) bulk: usize,
}

impl Encode for TupleLengths {
    fn encode(&self, sink: &mut impl Sink) {
        let length = |length| u32::try_from(length).expect("lengths are checked against limits below 4 GiB");
        sink.u64(u64::from(length(self.head)) | u64::from(length(self.bulk)) << 32);
    }
}

impl TupleLengths {
    pub(crate) const BYTES: usize = 8;

    #[inline]
    fn from_bytes(bytes: &[u8; Self::BYTES]) -> TupleLengths {
        let [a, b, c, d, e, f, g, h] = *bytes;
        TupleLengths {
            head: u32::from_le_bytes([a, b, c, d]) as usize,
            bulk: u32::from_le_bytes([e, f, g, h]) as usize,
        }
    }
}

/// The encoded tuples of a request, checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PutTuples<'a> {
    count: u32,
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

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Keeps them beyond the frame, with no more memory than [`kept_bytes`](PutTuples::kept_bytes).
    pub(crate) fn keep(&self) -> KeptTuples {
        let own = self.own_bulk();
        let is_whole = own.len() == self.bulk.len();
        let bulk = if is_whole { self.bulk.clone() } else { Bytes::copy_from_slice(own) };
        let (count, total_bytes, bytes) = (self.count, self.total_bytes, self.bytes.into());
        KeptTuples { count, total_bytes, bytes, bulk }
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

    /// Checks every tuple; the bytes they take.
    fn check(&self) -> Result<u64, DecodeError> {
        let (mut total_bytes, mut walk) = (0, self.walk());
        for _ in 0..self.count {
            let (head, bulk) = walk.next_parts().ok_or_else(|| walk.fault(self.bytes.len()))?;
            let tuple = View::tuple(head, bulk)?;
            if tuple.len() > MAX_TUPLE_FIELDS || head.len() > MAX_HEAD_BYTES {
                let (value, limit) = (tuple.len() as u64, MAX_TUPLE_FIELDS as u64);
                return Err(DecodeError::TooLarge { at: 0, field: "number or size of fields", value, limit });
            }
            total_bytes += tuple.bytes();
        }
        let at = self.bytes.len() - walk.rest.len();
        match (walk.rest.len(), self.bulk_len - walk.bulk_end) {
            (0, 0) => Ok(total_bytes),
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
            let (head, bulk) = walk.next_parts().expect("checked when they were read");
            View::checked_tuple(head, bulk)
        })
    }

    /// The tuples, each with its part of the bulk: shared, or copied where it would keep more than twice its own bytes alive.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (View<'a>, Bytes)> + use<'a> {
        let (whole, mut walk) = (self.bulk, self.walk());
        (0..self.count).map(move |_| {
            let (head, bulk) = walk.next_parts().expect("checked when they were read");
            (View::checked_tuple(head, bulk), own_part(whole, bulk))
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
        let KeptTuples { count, total_bytes, bytes, bulk } = self;
        let (count, total_bytes, bulk_len) = (*count, *total_bytes, bulk.len());
        PutTuples { count, total_bytes, bytes, bulk, bulk_start: 0, bulk_len }
    }
}

/// Walks the tuples of a request.
#[derive(Debug)]
struct Walk<'a> {
    rest: &'a [u8],
    bulk: &'a [u8],
    bulk_end: usize,
}

impl<'a> Walk<'a> {
    /// The head and the bulk of the next tuple; none if they are not there.
    #[inline]
    fn next_parts(&mut self) -> Option<(&'a [u8], &'a [u8])> {
        let (lengths, rest) = self.rest.split_first_chunk()?;
        let lengths = TupleLengths::from_bytes(lengths);
        let (head, rest) = rest.split_at_checked(lengths.head)?;
        let start = if lengths.bulk == 0 { self.bulk_end } else { aligned(self.bulk_end) };
        let bulk = self.bulk.get(start..)?.get(..lengths.bulk)?;
        (self.rest, self.bulk_end) = (rest, start + lengths.bulk);
        Some((head, bulk))
    }

    /// Why there is no next tuple, in a request with that many bytes of tuples.
    #[cold]
    fn fault(&self, len: usize) -> DecodeError {
        let (at, left) = (len - self.rest.len(), self.rest.len());
        let Some((lengths, rest)) = self.rest.split_first_chunk() else {
            return DecodeError::Truncated { at, needed: TupleLengths::BYTES, left };
        };
        let lengths = TupleLengths::from_bytes(lengths);
        if lengths.head > rest.len() {
            return DecodeError::Truncated { at, needed: lengths.head, left: rest.len() };
        }
        let left = self.bulk.len().saturating_sub(self.bulk_end);
        DecodeError::Truncated { at: self.bulk_end, needed: lengths.bulk, left }
    }
}

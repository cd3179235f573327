//! What a request carries, and where it will lie.

use super::packed::PackedTuples;
use super::parts::Parts;
use crate::Tuple;
use crate::codec::{BULK_ALIGNMENT, Encoded, TooLarge, TupleLengths};
use bytes::Bytes;
use quintet_contract::Span;
use quintet_contract::limits::{MAX_BULK_BYTES, MAX_PAYLOAD_BYTES};
use quintet_wire::{Encode, Sink};

/// In how long each tuple of a request expires, by its place; those without one do not.
#[derive(Clone, Copy)]
pub(super) struct Expiries<'a>(pub(super) &'a [Option<Span>]);

impl Expiries<'_> {
    pub(super) fn of(self, at: usize) -> Option<Span> {
        self.0.get(at).copied().flatten()
    }
}

/// What a request carries: planned once where it is one tuple or template, which it nearly always is.
pub(super) enum Plan<'a> {
    One(Encoded<'a>),
    /// A template that lies encoded.
    Head(&'a [u8]),
    /// Lengths and heads go in the body. With the bytes of the bulk.
    Tuples(&'a [Tuple], usize),
    /// They are too long for a body, and go at the end of the bulk. With the bytes of that.
    ManyTuples(&'a [Tuple], usize),
    Parts(Parts<'a>),
    /// Lengths and heads of tuples go in the body, and the bulk lies ready.
    Packed(PackedTuples),
}

impl<'a> Plan<'a> {
    /// Plans several tuples, or none, behind so many bytes at most.
    pub(super) fn several(
        tuples: &'a [Tuple],
        expiries: Expiries<'_>,
        front: usize,
    ) -> Result<Self, TooLarge> {
        let (mut heads, mut bulk) = (0usize, 0usize);
        for (at, tuple) in tuples.iter().enumerate() {
            let encoded = Encoded::tuple(tuple)?;
            let expiry = if expiries.of(at).is_some() { TupleLengths::EXPIRY_BYTES } else { 0 };
            heads += TupleLengths::BYTES + expiry + encoded.encoded_len();
            bulk = bulk.next_multiple_of(BULK_ALIGNMENT) + encoded.bulk_len();
        }
        let fits = front + heads <= MAX_PAYLOAD_BYTES;
        let (bytes, limit) = (if fits { bulk } else { bulk + heads + size_of::<u32>() }, MAX_BULK_BYTES);
        match (bytes > limit, fits) {
            (true, _) => Err(TooLarge::Request { tuples: tuples.len(), bytes, limit }),
            (false, true) => Ok(Plan::Tuples(tuples, bytes)),
            (false, false) => Ok(Plan::ManyTuples(tuples, bytes)),
        }
    }

    /// Gathers the bulk. That of a single tuple stays where it lies, also among others without any.
    pub(super) fn bulk(&self, expiries: Expiries<'_>) -> Result<Bytes, TooLarge> {
        let (tuples, bytes) = match self {
            Plan::One(encoded) => return Ok(encoded.bulk()),
            Plan::Head(_) => return Ok(Bytes::new()),
            Plan::Parts(parts) => return Ok(parts.bulk()),
            Plan::Packed(packed) => return Ok(packed.bulk.clone()),
            Plan::Tuples(tuples, _) if let Some(bulk) = lone_bulk(tuples) => return Ok(bulk),
            Plan::Tuples(tuples, bytes) | Plan::ManyTuples(tuples, bytes) => (tuples, *bytes),
        };
        let mut bulk = Vec::with_capacity(bytes);
        for tuple in *tuples {
            Encoded::tuple(tuple)?.append_bulk(&mut bulk);
        }
        if matches!(self, Plan::ManyTuples(..)) {
            let start = bulk.len();
            encode_each(tuples, expiries, &mut bulk);
            let heads = u32::try_from(bulk.len() - start).expect("a bulk is shorter than 4 GiB");
            bulk.u32(heads);
        }
        Ok(bulk.into())
    }

    /// The same tuples, if that is what `is_of_tuples` says that they are, with long data packed; none if nothing becomes shorter.
    pub(super) fn packed(&self, is_of_tuples: bool) -> Option<PackedTuples> {
        match self {
            Plan::One(encoded) if is_of_tuples => PackedTuples::of(core::slice::from_ref(encoded)),
            Plan::Tuples(tuples, _) => PackedTuples::of(&tuples.iter().map(planned).collect::<Vec<_>>()),
            _ => None,
        }
    }

    pub(super) fn encode_tuples(&self, deadline: Option<Span>, expiries: Expiries<'_>, sink: &mut impl Sink) {
        sink.u64(deadline.map_or(u64::MAX, |span| span.0));
        let count = |tuples: &[Tuple]| u32::try_from(tuples.len()).expect("their heads are below 4 GiB");
        match self {
            Plan::One(encoded) => {
                sink.u32(1);
                encode_tuple(encoded, expiries.of(0), sink);
            }
            Plan::Tuples(tuples, _) => {
                sink.u32(count(tuples));
                encode_each(tuples, expiries, sink);
            }
            Plan::ManyTuples(tuples, _) => sink.u32(count(tuples)),
            Plan::Packed(packed) => packed.encode(expiries, sink),
            Plan::Head(_) | Plan::Parts(_) => unreachable!("it has templates"),
        }
    }

    pub(super) fn encode_template(&self, sink: &mut impl Sink) {
        match self {
            Plan::One(encoded) => encoded.encode(sink),
            Plan::Head(head) => sink.bytes(head),
            Plan::Tuples(..) | Plan::ManyTuples(..) | Plan::Parts(_) | Plan::Packed(_) => {
                unreachable!("it is not one template")
            }
        }
    }

    pub(super) fn encode_parts(&self, sink: &mut impl Sink) {
        match self {
            Plan::Parts(parts) => parts.encode(sink),
            _ => unreachable!("it was planned as something else"),
        }
    }
}

/// The bulk of those tuples, which were planned, if no two of them have any.
fn lone_bulk(tuples: &[Tuple]) -> Option<Bytes> {
    let mut with_bulk = tuples.iter().map(planned).filter(|encoded| encoded.bulk_len() > 0);
    let bulk = with_bulk.next().map_or_else(Bytes::new, |encoded| encoded.bulk());
    with_bulk.next().is_none().then_some(bulk)
}

fn planned(tuple: &Tuple) -> Encoded<'_> {
    Encoded::tuple(tuple).expect("it was planned with the request")
}

/// The lengths and heads of tuples that were planned.
fn encode_each(tuples: &[Tuple], expiries: Expiries<'_>, sink: &mut impl Sink) {
    for (at, tuple) in tuples.iter().enumerate() {
        encode_tuple(&planned(tuple), expiries.of(at), sink);
    }
}

pub(super) fn encode_tuple(encoded: &Encoded<'_>, expires_in: Option<Span>, sink: &mut impl Sink) {
    TupleLengths { head: encoded.encoded_len(), bulk: encoded.bulk_len(), expires_in }.encode(sink);
    encoded.encode(sink);
}

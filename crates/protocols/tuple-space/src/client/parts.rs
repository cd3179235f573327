//! A request of several templates and tuples.

use super::plan::{Expiries, encode_tuple};
use crate::codec::{BULK_ALIGNMENT, Encoded, REQUEST_BYTES, TooLarge, TupleLengths};
use crate::{Template, Tuple};
use bytes::Bytes;
use quintet_contract::Span;
use quintet_contract::limits::{MAX_BULK_BYTES, MAX_PAYLOAD_BYTES};
use quintet_wire::{Encode, Sink};

/// Templates, then tuples, whose sizes were checked.
pub(super) struct Parts<'a> {
    /// With in how long each expires.
    parts: Vec<(Encoded<'a>, Option<Span>)>,
    /// Lengths and heads are too long for a body, and go at the end of the bulk.
    heads_in_bulk: bool,
    /// Of the bulk.
    bytes: usize,
}

impl<'a> Parts<'a> {
    /// Plans where everything lies.
    ///
    /// # Errors
    /// It can never be sent.
    pub(super) fn plan(
        templates: &'a [Template],
        tuples: &'a [Tuple],
        expiries: Expiries<'_>,
    ) -> Result<Parts<'a>, TooLarge> {
        let templates = templates.iter().map(|template| Ok((Encoded::template(template)?, None)));
        let tuples = tuples.iter().enumerate();
        let tuples = tuples.map(|(at, tuple)| Ok((Encoded::tuple(tuple)?, expiries.of(at))));
        let parts = templates.chain(tuples).collect::<Result<Vec<_>, TooLarge>>()?;
        let front = |expires| TupleLengths::BYTES + if expires { TupleLengths::EXPIRY_BYTES } else { 0 };
        let heads: usize =
            parts.iter().map(|(part, expires_in)| front(expires_in.is_some()) + part.encoded_len()).sum();
        let bulk =
            |end: usize, (part, _): &(Encoded<'_>, _)| end.next_multiple_of(BULK_ALIGNMENT) + part.bulk_len();
        let bulk = parts.iter().fold(0, bulk);
        let heads_in_bulk = REQUEST_BYTES + heads > MAX_PAYLOAD_BYTES;
        let bytes = if heads_in_bulk { bulk + heads + size_of::<u32>() } else { bulk };
        if bytes > MAX_BULK_BYTES {
            return Err(TooLarge::Request { tuples: parts.len(), bytes, limit: MAX_BULK_BYTES });
        }
        Ok(Parts { parts, heads_in_bulk, bytes })
    }

    /// Gathers the long data. That of a single part stays where it lies.
    pub(super) fn bulk(&self) -> Bytes {
        let mut long = self.parts.iter().map(|(part, _)| part).filter(|part| part.bulk_len() > 0);
        if !self.heads_in_bulk {
            match (long.next(), long.next()) {
                (None, _) => return Bytes::new(),
                (Some(only), None) => return only.bulk(),
                _ => {}
            }
        }
        let mut bulk = Vec::with_capacity(self.bytes);
        let long = self.parts.iter().map(|(part, _)| part).filter(|part| part.bulk_len() > 0);
        long.for_each(|part| part.append_bulk(&mut bulk));
        if self.heads_in_bulk {
            let start = bulk.len();
            self.parts.iter().for_each(|(part, expires_in)| encode_tuple(part, *expires_in, &mut bulk));
            bulk.u32(u32::try_from(bulk.len() - start).expect("a bulk is shorter than 4 GiB"));
        }
        bulk.into()
    }
}

/// How many there are, and their heads unless those lie in the bulk.
impl Encode for Parts<'_> {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u32(u32::try_from(self.parts.len()).expect("their heads are below 4 GiB"));
        if !self.heads_in_bulk {
            self.parts.iter().for_each(|(part, expires_in)| encode_tuple(part, *expires_in, sink));
        }
    }
}

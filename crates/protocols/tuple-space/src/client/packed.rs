//! The tuples of a request, encoded with their long data packed.

use super::plan::Expiries;
use crate::codec::{BULK_ALIGNMENT, Encoded, MAX_HEAD_BYTES, TupleLengths, packing::packed_tuple};
use bytes::Bytes;
use quintet_wire::{Encode, Sink, encode_to_vec};

/// Heads, and the bulk of all.
pub(super) struct PackedTuples {
    /// With the bytes of the bulk that are the tuple's.
    heads: Vec<(Vec<u8>, usize)>,
    pub(super) bulk: Bytes,
}

impl PackedTuples {
    /// None if nothing of them becomes shorter, or no longer fits where it lay.
    pub(super) fn of(tuples: &[Encoded<'_>]) -> Option<PackedTuples> {
        let packed: Vec<_> = tuples.iter().map(packed_tuple).collect();
        if packed.iter().all(Option::is_none) {
            return None;
        }
        let (mut heads, mut bulk) = (Vec::with_capacity(tuples.len()), Vec::new());
        for (plain, packed) in tuples.iter().zip(packed) {
            let (head, own) = packed.unwrap_or_else(|| (encode_to_vec(plain), plain.bulk()));
            if !own.is_empty() {
                bulk.resize(bulk.len().next_multiple_of(BULK_ALIGNMENT), 0);
            }
            bulk.extend_from_slice(&own);
            heads.push((head, own.len()));
        }
        let body: usize =
            heads.iter().map(|(head, _)| head.len() + TupleLengths::BYTES + TupleLengths::EXPIRY_BYTES).sum();
        (heads.len() == 1 || body <= MAX_HEAD_BYTES).then(|| PackedTuples { heads, bulk: bulk.into() })
    }

    pub(super) fn encode(&self, expiries: Expiries<'_>, sink: &mut impl Sink) {
        sink.u32(u32::try_from(self.heads.len()).expect("their heads fit a body"));
        for (at, (head, bulk)) in self.heads.iter().enumerate() {
            let expires_in = expiries.of(at);
            TupleLengths { head: head.len(), bulk: *bulk, expires_in }.encode(sink);
            sink.bytes(head);
        }
    }
}

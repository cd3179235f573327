//! What a request ends, as bytes.

use super::{Ends, LeaseId, Witness};
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

impl Ends {
    pub(in crate::space) fn save(&self, bytes: &mut Vec<u8>) {
        let Ends { leases, witnesses } = self;
        bytes.u64(leases.len() as u64);
        leases.iter().for_each(|lease| bytes.u64(lease.0));
        bytes.u64(witnesses.len() as u64);
        witnesses.iter().for_each(|witness| witness.encode(bytes));
    }

    pub(in crate::space) fn restore(reader: &mut Reader<'_>) -> Result<Ends, DecodeError> {
        // The counts are a stranger's words: room grows as what they count is really read.
        let mut ends = Ends::default();
        for _ in 0..reader.u64()? {
            ends.leases.push(LeaseId(reader.u64()?));
        }
        for _ in 0..reader.u64()? {
            ends.witnesses.push(Witness::decode(reader)?);
        }
        Ok(ends)
    }
}

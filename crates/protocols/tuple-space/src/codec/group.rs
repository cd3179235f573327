//! What a group ends with.
//!
//! ```text
//! COMMIT   settled u64 | 1: it is to happen, 0: it is not u8
//!          | n u32, n leases u64 | m u32, m witnesses (age u64, place u64)
//!          | as OUT: deadline u64, number u32, tuples; none where it is not to happen
//! ```
//!
//! Leases go up by their numbers, so that none is there twice. A witness is the answer to a group's read: which tuple that was, and
//! where to look whether it is still there.

use super::LeaseId;
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

/// Tuples that one group may take, and that it may read.
pub const MAX_GROUP_USES: usize = 1024;

/// Which tuple a group has read. No two tuples of one manager's life have the same age.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Witness {
    /// Its age: its place in the order in which tuples were put; never 0.
    pub age: u64,
    /// Where the manager keeps it; nothing to anybody else.
    pub place: u64,
}

impl Witness {
    const BYTES: usize = 16;
}

impl Encode for Witness {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u64(self.age);
        sink.u64(self.place);
    }
}

impl Decode<'_> for Witness {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Witness { age: reader.u64()?, place: reader.u64()? })
    }
}

/// What a group has taken and read, as the manager reads it, checked; and whether it is to happen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Uses<'a> {
    pub(crate) is_commit: bool,
    leases: &'a [u8],
    witnesses: &'a [u8],
}

impl<'a> Uses<'a> {
    /// Whether the group is to happen, and how many of each: what stands there for a group that used nothing.
    const FRONT_BYTES: usize = 1 + 4 + 4;

    /// Reads it.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    pub(crate) fn decode(reader: &mut Reader<'a>) -> Result<Uses<'a>, DecodeError> {
        let is_commit = reader.flag("whether a group is to happen")?;
        let leases = counted(reader, "number of leases of a group", size_of::<u64>())?;
        let witnesses = counted(reader, "number of witnesses of a group", Witness::BYTES)?;
        let uses = Uses { is_commit, leases, witnesses };
        let mut last = 0;
        for LeaseId(lease) in uses.leases() {
            if lease <= last {
                return Err(reader.invalid("lease of a group, which is not above the one before", lease, 8));
            }
            last = lease;
        }
        Ok(uses)
    }

    /// Bytes that it takes in the body of a request; none if it is not all there.
    pub(crate) fn len_in(body: &[u8]) -> Option<usize> {
        let mut reader = Reader::new(body);
        reader.u64().and_then(|_| Uses::decode(&mut reader)).ok().map(|uses| Uses::FRONT_BYTES + uses.bytes())
    }

    /// Bytes that it takes while it is kept.
    pub(crate) fn bytes(&self) -> usize {
        self.leases.len() + self.witnesses.len()
    }

    /// What was taken, going up.
    pub(crate) fn leases(&self) -> impl Iterator<Item = LeaseId> + use<'a> {
        let (words, _) = self.leases.as_chunks();
        words.iter().map(|word| LeaseId(u64::from_le_bytes(*word)))
    }

    /// What was read.
    pub(crate) fn witnesses(&self) -> impl Iterator<Item = Witness> + use<'a> {
        let (words, _) = self.witnesses.as_chunks::<8>();
        let (pairs, _) = words.as_chunks();
        pairs
            .iter()
            .map(|[age, place]| Witness { age: u64::from_le_bytes(*age), place: u64::from_le_bytes(*place) })
    }
}

/// The bytes of a number of things of so many bytes each.
fn counted<'a>(reader: &mut Reader<'a>, field: &'static str, each: usize) -> Result<&'a [u8], DecodeError> {
    let number = reader.length(field, MAX_GROUP_USES)?;
    reader.bytes(number * each)
}

/// Bytes that [`encode_uses`] writes at most.
pub(crate) const fn uses_len(leases: usize, witnesses: usize) -> usize {
    Uses::FRONT_BYTES + leases * size_of::<u64>() + witnesses * Witness::BYTES
}

/// Writes what a group has used: its leases going up, at most [`MAX_GROUP_USES`] of each.
pub(crate) fn encode_uses(is_commit: bool, leases: &[LeaseId], witnesses: &[Witness], sink: &mut impl Sink) {
    sink.u8(is_commit.into());
    let number = |number: usize| u32::try_from(number).expect("at most MAX_GROUP_USES");
    sink.u32(number(leases.len()));
    leases.iter().for_each(|lease| lease.encode(sink));
    sink.u32(number(witnesses.len()));
    witnesses.iter().for_each(|witness| witness.encode(sink));
}

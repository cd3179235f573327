//! What a space is made with.

use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

/// The limits of a space and the seed of its hashing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpaceConfig {
    /// Bytes of tuples it holds, those under a lease included: heads, bulks, [`TUPLE_BYTES`](crate::TUPLE_BYTES) for each, and further indexes. Results of leased tuples that find no room in it have a
    /// reserve of a quarter more, or of one request. Default 1 GiB.
    pub max_bytes: u64,
    /// Tuples it holds, those under a lease included. Default 16,777,216.
    pub max_tuples: u64,
    /// Leases of one tuple that may end without an acknowledgement; then it becomes a dead letter. Default 5, at least 1.
    pub max_attempts: u32,
    /// Requests of one sender that may wait at one time, and answers that may wait for its link. Default 65,536.
    pub max_waiting: usize,
    /// Bytes of all requests that wait, as they came: their templates, or the tuples for which there is no room. Default 1 GiB.
    pub max_waiting_bytes: u64,
    /// Takes of one sender that may be undone at one time; older ones are settled. Default 1,024.
    pub max_unsettled: usize,
    /// Tuples looked at in one turn when an index over those that are there already is built; a search that needs it waits until it is
    /// ready. Default 1,024, at least 1.
    pub index_step: usize,
    /// Keys the hashing, so that a stranger cannot choose fields that collide. Any number; the same seed, the same run.
    pub seed: u64,
    /// A defect built in on purpose, for a test that must find it.
    #[cfg(feature = "seeded-defects")]
    pub defect: Option<super::Defect>,
}

impl Default for SpaceConfig {
    fn default() -> Self {
        SpaceConfig {
            max_bytes: 1 << 30,
            max_tuples: 1 << 24,
            max_attempts: 5,
            max_waiting: 1 << 16,
            max_waiting_bytes: 1 << 30,
            max_unsettled: 1 << 10,
            index_step: 1 << 10,
            seed: 0,
            #[cfg(feature = "seeded-defects")]
            defect: None,
        }
    }
}

/// As a recording and a log keep it: each number as u64, but the attempts as u32, in the order of the fields.
impl Encode for SpaceConfig {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u64(self.max_bytes);
        sink.u64(self.max_tuples);
        sink.u32(self.max_attempts);
        sink.u64(self.max_waiting as u64);
        sink.u64(self.max_waiting_bytes);
        sink.u64(self.max_unsettled as u64);
        sink.u64(self.index_step as u64);
        sink.u64(self.seed);
    }
}

impl Decode<'_> for SpaceConfig {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let count = |reader: &mut Reader<'_>| Ok(usize::try_from(reader.u64()?).unwrap_or(usize::MAX));
        Ok(SpaceConfig {
            max_bytes: reader.u64()?,
            max_tuples: reader.u64()?,
            max_attempts: reader.u32()?,
            max_waiting: count(reader)?,
            max_waiting_bytes: reader.u64()?,
            max_unsettled: count(reader)?,
            index_step: count(reader)?,
            seed: reader.u64()?,
            #[cfg(feature = "seeded-defects")]
            defect: None,
        })
    }
}

//! The quota, and the requests that wait for room.

use super::SpaceConfig;
use crate::codec::{KeptTuples, LeaseId, PutTuples};
use quintet_contract::{Address, Span, Time, Token};
use std::collections::BTreeMap;

/// What something takes of the quota.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Size {
    pub(super) bytes: u64,
    pub(super) tuples: u64,
}

/// Orders the requests that wait for room: acknowledgements first, as they free the room of the tuple they end, then
/// by age.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct ParkedKey {
    pub(super) is_out: bool,
    pub(super) order: u64,
}

/// A put that waits for room, whole.
#[derive(Debug)]
pub(super) struct Parked {
    pub(super) address: Address,
    pub(super) token: Token,
    /// The lease that it ends, if it is an acknowledgement.
    pub(super) lease: Option<LeaseId>,
    pub(super) due: Option<Time>,
    pub(super) waits: Span,
    pub(super) size: Size,
    tuples: KeptTuples,
}

/// The quota and its use.
#[derive(Debug)]
pub(super) struct Room {
    limit: Size,
    used: Size,
    /// Bytes of takes that may still be undone: no longer counted as used, bounded by the quota once more.
    pub(super) unsettled_bytes: u64,
    parked: BTreeMap<ParkedKey, Parked>,
    /// Bytes of all requests that wait, for a tuple or for room; and how many there may be.
    waiting_bytes: u64,
    max_waiting_bytes: u64,
    /// Something was freed since parked requests were last looked at.
    freed: bool,
}

impl Parked {
    pub(super) fn new(
        address: Address,
        token: Token,
        lease: Option<LeaseId>,
        waits: Span,
        tuples: &PutTuples<'_>,
    ) -> Parked {
        let (size, tuples) = (Size::of(tuples), tuples.keep());
        Parked { address, token, lease, due: None, waits, size, tuples }
    }

    pub(super) fn tuples(&self) -> PutTuples<'_> {
        self.tuples.borrow()
    }
}

impl Size {
    pub(super) fn of(tuples: &PutTuples<'_>) -> Size {
        Size { bytes: tuples.total_bytes(), tuples: tuples.len().into() }
    }
}

impl Room {
    pub(super) fn new(config: &SpaceConfig) -> Room {
        Room {
            limit: Size { bytes: config.max_bytes, tuples: config.max_tuples },
            used: Size::default(),
            unsettled_bytes: 0,
            parked: BTreeMap::new(),
            waiting_bytes: 0,
            max_waiting_bytes: config.max_waiting_bytes,
            freed: false,
        }
    }

    pub(super) fn used(&self) -> Size {
        self.used
    }

    pub(super) fn limit(&self) -> Size {
        self.limit
    }

    /// Whether it could ever fit.
    pub(super) fn could_fit(&self, size: Size) -> bool {
        size.bytes <= self.limit.bytes && size.tuples <= self.limit.tuples
    }

    /// Whether it fits now, once `freed` is given back.
    pub(super) fn fits(&self, size: Size, freed: Size) -> bool {
        let fits = |used: u64, freed: u64, wanted: u64, limit: u64| {
            used.saturating_sub(freed).saturating_add(wanted) <= limit
        };
        fits(self.used.bytes, freed.bytes, size.bytes, self.limit.bytes)
            && fits(self.used.tuples, freed.tuples, size.tuples, self.limit.tuples)
    }

    /// Counts one tuple. A tuple that returns is counted also where it does not fit: it was here before.
    pub(super) fn add(&mut self, bytes: u64) {
        self.used.bytes += bytes;
        self.used.tuples += 1;
    }

    /// Counts one tuple less.
    pub(super) fn free(&mut self, bytes: u64) {
        self.used.bytes = self.used.bytes.saturating_sub(bytes);
        self.used.tuples = self.used.tuples.saturating_sub(1);
        self.freed = true;
    }

    /// How full it is, for an error.
    pub(super) fn describe(&self) -> String {
        let Room { limit, used, .. } = self;
        format!(
            "it holds {} of {} bytes and {} of {} tuples",
            used.bytes, limit.bytes, used.tuples, limit.tuples
        )
    }

    /// Whether a request waits for room: a later `out` must not overtake it.
    pub(super) fn has_parked(&self) -> bool {
        !self.parked.is_empty()
    }

    /// Counts the bytes of a request that is to wait. False: there is no memory for it.
    #[must_use]
    pub(super) fn keep(&mut self, bytes: u64) -> bool {
        let sum = self.waiting_bytes.saturating_add(bytes);
        let fits = sum <= self.max_waiting_bytes;
        if fits {
            self.waiting_bytes = sum;
        }
        fits
    }

    /// Counts the bytes of a request that waits no more.
    pub(super) fn unkeep(&mut self, bytes: u64) {
        self.waiting_bytes -= bytes;
    }

    /// Adds a request that waits for room. Its bytes have been counted.
    pub(super) fn park(&mut self, key: ParkedKey, parked: Parked) {
        self.parked.insert(key, parked);
    }

    pub(super) fn unpark(&mut self, key: ParkedKey) -> Option<Parked> {
        let parked = self.parked.remove(&key)?;
        self.unkeep(parked.tuples().kept_bytes());
        // Whoever comes next may fit where this one did not.
        self.freed = true;
        Some(parked)
    }

    pub(super) fn parked(&self) -> usize {
        self.parked.len()
    }

    /// The request to serve next: any acknowledgement that fits, or, where none waits, the oldest put if it fits.
    /// `freed_by` says what the end of a lease gives back. Looks only if something was freed since it last found none.
    pub(super) fn next_parked(&mut self, freed_by: impl Fn(LeaseId) -> Size) -> Option<ParkedKey> {
        if !self.freed {
            return None;
        }
        let acknowledgements = self.parked.iter().take_while(|(key, _)| !key.is_out);
        let oldest_out = self.parked.first_key_value().filter(|(key, _)| key.is_out);
        let mut candidates = acknowledgements.chain(oldest_out);
        let fitting = candidates
            .find(|(_, parked)| self.fits(parked.size, parked.lease.map_or(Size::default(), &freed_by)));
        let next = fitting.map(|(key, _)| *key);
        self.freed = next.is_some();
        next
    }
}

//! What counts in the quota and the reserve, and what finds room there.

use super::expiry::expires;
use super::{Model, Place, Stored};
use crate::codec::View;
use crate::space::room::{EXPIRY_BYTES, INDEX_ENTRY_BYTES, TUPLE_BYTES};
use crate::{Signature, SpaceConfig, Tuple};

fn bytes(tuple: &Tuple) -> u64 {
    let (head, bulk) = tuple.encode().unwrap();
    let expiry = if expires(tuple) { EXPIRY_BYTES } else { 0 };
    (head.len() + bulk.len()) as u64 + TUPLE_BYTES + expiry
}

fn signature(tuple: &Tuple) -> Signature {
    let (head, bulk) = tuple.encode().unwrap();
    Signature(View::tuple(&head, &bulk).unwrap().signature().into())
}

fn size<'a>(tuples: impl IntoIterator<Item = &'a Tuple>) -> (u64, u64) {
    tuples.into_iter().fold((0, 0), |(number, sum), tuple| (number + 1, sum + bytes(tuple)))
}

pub(super) fn could_fit(config: &SpaceConfig, tuples: &[Tuple]) -> bool {
    let (number, bytes) = size(tuples);
    number <= config.max_tuples && bytes + number * 6 * INDEX_ENTRY_BYTES <= config.max_bytes
}

/// Whether something is under one of these leases.
fn is_under(ids: &[u64]) -> impl Fn(&Stored) -> bool + Copy {
    move |s| matches!(s.place, Place::Leased { lease, .. } if ids.contains(&lease))
}

impl Model {
    /// Number and bytes of what counts in the quota or the reserve, without what is `ending`.
    fn counted(&self, is_reserve: bool, ending: impl Fn(&Stored) -> bool) -> (u64, u64) {
        let counted = self.stored.iter().filter(|s| !matches!(s.place, Place::Taken { .. }) && !ending(s));
        size(counted.filter(|s| s.is_reserve == is_reserve).map(|s| &s.tuple))
    }

    pub(super) fn fits(&self, tuples: &[Tuple], ids: &[u64]) -> bool {
        self.fits_beside(tuples, is_under(ids))
    }

    fn fits_beside(&self, tuples: &[Tuple], ending: impl Fn(&Stored) -> bool) -> bool {
        let ((held, held_bytes), (number, bytes)) = (self.counted(false, ending), size(tuples));
        let of = |tuple: &Tuple| self.indexes.get(&signature(tuple)).copied().unwrap_or(0);
        let shown = self.stored.iter().filter(|s| s.place == Place::Shown);
        let entries = shown.map(|s| of(&s.tuple)).sum::<u64>() + number * self.most_indexes;
        let bytes = held_bytes + bytes + entries * INDEX_ENTRY_BYTES;
        held + number <= self.config.max_tuples && bytes <= self.config.max_bytes
    }

    /// Whether results count in the reserve; none: there is no room for them.
    pub(super) fn room_for_results(&self, tuples: &[Tuple], ids: &[u64], is_oldest: bool) -> Option<bool> {
        self.room_beside(tuples, is_under(ids), is_oldest)
    }

    /// The same for what is put in the place of another.
    pub(super) fn room_instead(&self, at: usize, tuples: &[Tuple]) -> Option<bool> {
        let (order, is_oldest) = (self.stored[at].order, self.parked.iter().all(|p| p.leases.is_empty()));
        self.room_beside(tuples, |s: &Stored| s.order == order, is_oldest)
    }

    fn room_beside(
        &self,
        tuples: &[Tuple],
        ending: impl Fn(&Stored) -> bool + Copy,
        is_oldest: bool,
    ) -> Option<bool> {
        if self.fits_beside(tuples, ending) {
            return Some(false);
        }
        let (number, bytes) = size(tuples);
        for is_reserve in [false, true] {
            let ending = self.stored.iter().filter(|s| ending(s) && s.is_reserve == is_reserve);
            let (room, room_bytes) = size(ending.map(|s| &s.tuple));
            if room > 0 && number <= room && bytes <= room_bytes {
                return Some(is_reserve);
            }
        }
        let (held, held_bytes) = self.counted(true, ending);
        let SpaceConfig { max_tuples, max_bytes, .. } = self.config;
        let fits = held + number <= max_tuples / 4 && held_bytes + bytes <= max_bytes / 4;
        let alone = held == 0 && could_fit(&self.config, tuples);
        (is_oldest && (fits || alone)).then_some(true)
    }
}

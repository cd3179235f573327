//! Collections into another space of the same server, at one instant.
//!
//! Whoever keeps both spaces asks the one for what matches, the other whether there is room for it, and then moves or copies it, a tuple at a
//! time and within one input: nobody sees the spaces between. What comes is new in the other space, in the order that it had. None of it
//! can be undone: others may have taken it. (docs/design/0051.)

use super::collect::Reach;
use super::room::{Account, Size};
use super::stores::Place;
use super::{Space, seeded, stages};
use crate::codec::{Change, CollectInto, View};
use bytes::Bytes;
use core::ops::ControlFlow;
use quintet_contract::{Address, Outbox, Time, Token};
use quintet_errors::Code;
use std::collections::VecDeque;

/// Tuples that are compared at most for one collection into another space: as it is one turn, others wait for its end.
pub const MAX_COLLECTED: usize = 1 << 16;

/// The tuples that match.
#[derive(Debug, Default)]
pub(crate) struct Matching {
    places: Vec<Place>,
    size: Size,
}

/// A tuple on its way into another space.
pub(crate) struct Carried {
    head: Box<[u8]>,
    bulk: Bytes,
    expiry: Option<Time>,
}

impl Matching {
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }
}

impl Space {
    /// Whether a request with this token may be begun, and below which token its sender's takes are settled.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn begin_collect_into(
        &mut self,
        from: Address,
        (token, settled): (Token, Token),
        takes: bool,
    ) -> Result<(), (Code, String)> {
        self.settle(from, settled);
        if let Some(text) = self.is_in_use(from, token) {
            return Err((Code::Malformed, text));
        }
        self.count_collection(takes);
        Ok(())
    }

    /// All that matches and can be taken, the oldest first; none: an index for it is being built.
    ///
    /// # Errors
    /// It is more than one turn may look at.
    pub(crate) fn matching(
        &mut self,
        asked: &CollectInto<'_>,
        out: &mut dyn Outbox,
    ) -> Result<Option<Matching>, (Code, String)> {
        let mut matching = Matching::default();
        let mut budget = self.budget();
        let (reach, compared) = self.stores.walk(
            &asked.template,
            0..self.next_order,
            MAX_COLLECTED,
            (&mut budget, &self.key),
            |place, entry| {
                matching.places.push(place);
                matching.size = matching.size.plus(Size { bytes: entry.bytes(), tuples: 1 });
                ControlFlow::Continue(())
            },
        );
        self.room.index_made(budget.made);
        out.work(stages::MATCH, compared.saturating_add(1));
        match reach {
            Reach::End => Ok(Some(matching)),
            Reach::NotReady => {
                self.build(out);
                Ok(None)
            }
            Reach::Before(_) => {
                let text = format!(
                    "more than {MAX_COLLECTED} tuples are to be looked at, and so many are not collected into another space at one instant, as all others \
                     would wait for it: use templates that match fewer, or collect them to yourself and put them"
                );
                Err((Code::TooLarge, text))
            }
        }
    }

    /// Whether one of these tuples is one that others run.
    pub(crate) fn has_code(&self, matching: &Matching) -> bool {
        matching.places.iter().any(|place| super::code::is_code(&self.stores.view(*place)))
    }

    /// Whether there is room for all of these now.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) fn check_room(&self, matching: &Matching) -> Result<(), (Code, String)> {
        let size = matching.size;
        if size.tuples == 0 || !self.room.has_parked() && self.room.fits(size) {
            return Ok(());
        }
        if !self.room.could_fit(size) {
            return Err((Code::TooLarge, self.room.never_fits(size)));
        }
        let others = if self.room.has_parked() { ", and others wait for room" } else { "" };
        let text = format!(
            "no room for {} tuples of {} bytes in the space to collect into, and none has gone there: {}{others}",
            size.tuples,
            size.bytes,
            self.room.describe()
        );
        Err((Code::SpaceFull, text))
    }

    /// A tuple to be put elsewhere: removed for good, or a copy of one that stays.
    pub(crate) fn carry(&mut self, now: Time, matching: &Matching, at: usize, takes: bool) -> Carried {
        let place = matching.places[at];
        self.stores[place.store].note_delivery(now, place.entry, !takes);
        let entry = self.stores.entry(place);
        let carried = Carried { head: entry.head().into(), bulk: entry.bulk(), expiry: entry.expiry() };
        if takes && !seeded!(self.config, CollectedStays) {
            self.remove_taken(now, place);
        }
        carried
    }

    /// Puts tuples for which there is room: all are there before one is given away.
    pub(crate) fn put_carried(&mut self, now: Time, carried: &[Carried], out: &mut dyn Outbox) {
        out.work(stages::STORE, u32::try_from(carried.len()).unwrap_or(u32::MAX));
        let mut put = VecDeque::new();
        for Carried { head, bulk, expiry } in carried {
            let tuple = (&View::checked_tuple(head, bulk), bulk.clone());
            let place = self.add(now, tuple, *expiry, Account::Quota);
            if !self.leaves(now, place, Some(Change::Put)) {
                put.push_back(place);
            }
        }
        self.offer_all(now, put, out);
    }
}

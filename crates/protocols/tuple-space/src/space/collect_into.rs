//! Collections into another space of the same server, at one instant.
//!
//! Whoever keeps both spaces asks the one for what matches, the other whether there is room for it, and then moves or copies it, a tuple at a
//! time and within one input: nobody sees the spaces between. What comes is new in the other space, in the order that it had. None of it
//! can be undone: others may have taken it. (docs/design/0051.) Where one of them has several managers, see `managers/manager/collecting.rs`.

use super::collect::Reach;
use super::room::{Account, Size};
use super::stores::Place;
use super::{Space, seeded, stages};
use crate::codec::{Amount, Change, MovedTuple, View};
use bytes::Bytes;
use core::ops::ControlFlow;
use quintet_contract::{Address, Outbox, Time, Token};
use quintet_errors::Code;
use std::collections::{BTreeMap, VecDeque};

/// Tuples that are compared at most for one collection into another space: as it is one turn, others wait for its end.
pub const MAX_COLLECTED: usize = 1 << 16;

/// Bytes, as they count for a quota, of what goes at most to or from other managers of a space in one collection: all of them stand still meanwhile.
pub const MAX_CARRIED_BYTES: u64 = 64 << 20;

/// The tuples that match.
#[derive(Debug, Default)]
pub(crate) struct Matching {
    places: Vec<Place>,
    size: Size,
}

/// What of them one manager is to have.
#[derive(Debug, Default)]
pub(crate) struct Share {
    /// Which of those that match.
    pub(crate) at: Vec<usize>,
    pub(crate) amount: Amount,
}

impl Matching {
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    pub(crate) fn amount(&self) -> Amount {
        self.size.amount()
    }
}

impl Size {
    fn amount(self) -> Amount {
        Amount { tuples: self.tuples, bytes: self.bytes }
    }
}

/// Whether so much may go to or from other managers in one collection.
///
/// # Errors
/// It is too much.
pub(crate) fn check_carried(amount: Amount) -> Result<(), (Code, String)> {
    if amount.bytes <= MAX_CARRIED_BYTES {
        return Ok(());
    }
    let text = format!(
        "{} tuples of {} bytes are not collected into another space at one instant where they go from one manager to another, as all stand still for it: \
         {MAX_CARRIED_BYTES} bytes are the most, and none has gone there; use templates that match fewer, or collect them to yourself and put them",
        amount.tuples, amount.bytes
    );
    Err((Code::TooLarge, text))
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
        template: &View<'_>,
        out: &mut dyn Outbox,
    ) -> Result<Option<Matching>, (Code, String)> {
        let mut matching = Matching::default();
        let mut budget = self.budget();
        let (reach, compared) = self.stores.walk(
            template,
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

    /// Which of them each manager is to have, in a space that has several: `of` has them.
    pub(crate) fn shares(&self, of: &Space, matching: &Matching) -> BTreeMap<u8, Share> {
        let mut shares: BTreeMap<u8, Share> = BTreeMap::new();
        for (at, place) in matching.places.iter().enumerate() {
            let share = shares.entry(self.home_of(&of.stores.view(*place))).or_default();
            share.at.push(at);
            share.amount.tuples += 1;
            share.amount.bytes += of.stores.entry(*place).bytes();
        }
        shares
    }

    /// Whether there is room for so much now.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) fn check_room(&self, amount: Amount) -> Result<(), (Code, String)> {
        let size = Size { tuples: amount.tuples, bytes: amount.bytes };
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
    pub(crate) fn carry(&mut self, now: Time, matching: &Matching, at: usize, takes: bool) -> MovedTuple {
        let place = matching.places[at];
        self.stores[place.store].note_delivery(now, place.entry, !takes);
        let entry = self.stores.entry(place);
        let carried = MovedTuple {
            // It is new where it comes to be.
            age: 0,
            failed: 0,
            is_reserve: false,
            expires_in: entry.expiry().map(|expiry| expiry.since(now)),
            change: None,
            number: 0,
            head: Bytes::copy_from_slice(entry.head()),
            bulk: entry.bulk(),
        };
        if takes && !seeded!(self.config, CollectedStays) {
            self.remove_taken(now, place);
        }
        carried
    }

    /// Puts tuples for which there is room: all are there before one is given away.
    pub(crate) fn put_carried(&mut self, now: Time, carried: &[MovedTuple], out: &mut dyn Outbox) {
        out.work(stages::STORE, u32::try_from(carried.len()).unwrap_or(u32::MAX));
        let mut put = VecDeque::new();
        for MovedTuple { head, bulk, expires_in, .. } in carried {
            let tuple = (&View::checked_tuple(head, bulk), bulk.clone());
            let expiry = expires_in.map(|span| now + span);
            let place = self.add(now, tuple, expiry, Account::Quota);
            if !self.leaves(now, place, Some(Change::Put)) {
                put.push_back(place);
            }
        }
        self.offer_all(now, put, out);
    }
}

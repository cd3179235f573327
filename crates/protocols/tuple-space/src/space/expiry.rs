//! Tuples that leave by themselves.
//!
//! The time of a tuple runs from when it is put, which is to say from when it has room, and by the space's own clock. A deadline is kept for each
//! that can be taken; what is hidden has none, and is looked at when it would return. What is due is done before anything that is asked at that
//! time or later, so nobody sees a tuple after its time, and the host is told of the first. (Decision 49.)

use super::stores::Place;
use super::{Space, Timer, seeded};
use crate::codec::Change;
use quintet_contract::{Span, Time};

impl Space {
    /// When a tuple expires that is put now.
    pub(super) fn expiry(&self, now: Time, expires_in: Option<Span>) -> Option<Time> {
        let early = seeded!(self.config, ExpiresEarly);
        expires_in.map(|span| now + if early { Span(span.0 / 2) } else { span })
    }

    /// Keeps the deadline of a tuple that can be taken from now on, if it expires.
    #[inline]
    pub(super) fn await_expiry(&mut self, place: Place) {
        let entry = self.stores.entry(place);
        if let Some(due) = entry.expiry() {
            let order = entry.order;
            self.timers.add(due, order, Timer::Tuple(place));
        }
    }

    /// Calls the deadline of a tuple off that cannot be taken from now on.
    #[inline]
    pub(super) fn drop_expiry(&mut self, place: Place) {
        let entry = self.stores.entry(place);
        if let Some(due) = entry.expiry() {
            self.timers.remove_tuple(due, entry.order, place);
        }
    }

    /// A tuple that could be taken leaves.
    pub(super) fn expire_shown(&mut self, now: Time, place: Place) {
        if !seeded!(self.config, ExpiredStays) {
            self.hide(place);
            self.remove_expired(now, place);
        }
    }

    /// Whether the time of a hidden tuple had come when it was to return: then it leaves.
    #[inline]
    pub(super) fn has_expired(&mut self, now: Time, returned: Time, place: Place) -> bool {
        let is_over = self.is_over(returned, place) && !seeded!(self.config, ExpiredReturns);
        if is_over {
            self.remove_expired(now, place);
        }
        is_over
    }

    /// Whether the time of a tuple has come.
    #[inline]
    pub(super) fn is_over(&self, now: Time, place: Place) -> bool {
        self.stores.entry(place).expiry().is_some_and(|expiry| expiry <= now)
    }

    /// Removes a hidden tuple that counts.
    #[cold]
    fn remove_expired(&mut self, now: Time, place: Place) {
        self.expired += 1;
        self.note(now, Change::Expired, place);
        self.stores[place.store].leave(place.entry);
        let entry = self.stores[place.store].remove(place.entry);
        self.room.free(entry.bytes(), entry.account());
    }
}

//! Tuples that expire. Whether one does, its fields say: so nothing else has to carry it along.

use super::{Model, Place, Stored};
use crate::{Change, Tuple, tuple};
use quintet_contract::{Span, Time};

/// In how long a tuple expires after it was put.
fn expires_in(tuple: &Tuple) -> Option<Span> {
    if *tuple == tuple!["b", 2i64] {
        Some(Span::from_micros(20))
    } else if *tuple == tuple![1i64, 0i64] {
        Some(Span::from_micros(3))
    } else {
        None
    }
}

/// The same of each, as it is asked for.
pub(in super::super) fn expiries(tuples: &[Tuple]) -> Vec<Option<Span>> {
    tuples.iter().map(expires_in).collect()
}

pub(super) fn expires(tuple: &Tuple) -> bool {
    expires_in(tuple).is_some()
}

impl Stored {
    /// One that is put now.
    pub(super) fn put(now: Time, order: u64, tuple: Tuple, is_reserve: bool) -> Stored {
        let expiry = expires_in(&tuple).map(|span| now + span);
        Stored { order, tuple, failed: 0, place: Place::Put, is_reserve, expiry }
    }

    /// Whether its time has come by then.
    pub(super) fn is_over(&self, time: Time) -> bool {
        self.expiry.is_some_and(|expiry| expiry <= time)
    }

    /// When it leaves, if it can be taken until then.
    pub(super) fn due(&self) -> Option<Time> {
        self.expiry.filter(|_| self.place == Place::Shown)
    }
}

impl Model {
    /// How many tuples have left by themselves.
    pub(in super::super) fn expired(&self) -> u64 {
        self.expired
    }

    pub(super) fn expire(&mut self, at: usize) {
        self.expired += 1;
        self.note(Change::Expired, at);
        self.stored.remove(at);
    }
}

//! What a space has of tuples that belong to other managers of the same space, and who waits until they are there.
//!
//! A tuple that becomes one that can be taken, because it is put or returns, is offered to those who wait here if it belongs here; else it
//! leaves, and whoever asked for what made it leave is answered when it has come to where it belongs.

use super::prepared::Parts;
use super::room::Account;
use super::stores::Place;
use super::waiter::Waiter;
use super::{Space, seeded};
use crate::Signature;
use crate::codec::{Change, DONE, MOVED, MovedTuple, View};
use crate::managers::Placement;
use bytes::Bytes;
use quintet_contract::{Address, Outbox, Time, Token};
use quintet_wire::{Encode, Sink};
use std::collections::{BTreeMap, VecDeque};

/// The part of the space that is another manager's.
#[derive(Debug)]
pub(crate) struct Elsewhere {
    pub(crate) placement: Placement,
    pub(crate) me: u8,
    /// Signatures of which not all has come, or all of a key: what is put of them has no age before that, and what returns is not there before.
    incoming: BTreeMap<Signature, Option<u64>>,
    /// Ages are this far apart, so that no two managers give the same.
    stride: u64,
    /// Tuples that leave, and who is answered when they have come; those of one request are together.
    leaving: Vec<Leaving>,
    /// Tuples that left and belong to no request so far.
    pub(super) begun: Vec<MovedTuple>,
    pub(super) parts: Parts,
}

/// Tuples that leave together, and who is answered then.
#[derive(Debug)]
pub(crate) struct Leaving {
    pub(crate) tuples: Vec<MovedTuple>,
    pub(crate) answer: Option<(Address, Token)>,
}

/// The body of a [`MOVED`] answer: the epoch.
struct Epoch(u64);

impl Encode for Epoch {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u64(self.0);
    }
}

impl Elsewhere {
    pub(crate) fn new(placement: Placement, me: u8, managers: u8) -> Elsewhere {
        Elsewhere {
            placement,
            me,
            incoming: BTreeMap::new(),
            stride: managers.into(),
            leaving: Vec::new(),
            begun: Vec::new(),
            parts: Parts::default(),
        }
    }

    /// Whether it is among what has not all come.
    fn is_incoming(&self, view: &View<'_>) -> bool {
        let missing = self.incoming.get(view.signature());
        missing.is_some_and(|key| self.placement.concerns(view.signature(), *key, view))
    }

    /// Whether it belongs to another manager, or is among what has not all come.
    pub(super) fn is_away(&self, view: &View<'_>) -> bool {
        self.placement.of_tuple(view) != self.me || !self.incoming.is_empty() && self.is_incoming(view)
    }
}

impl Space {
    /// Makes it one manager's of a space that has several.
    pub(crate) fn set_elsewhere(&mut self, elsewhere: Elsewhere) {
        // A remainder of its own for each manager; no age is 0.
        self.next_order = elsewhere.stride + u64::from(elsewhere.me);
        self.watches.spread(elsewhere.me, elsewhere.stride);
        self.elsewhere = Some(Box::new(elsewhere));
    }

    /// Where tuples are, if it is one of several managers.
    pub(crate) fn placement(&mut self) -> Option<&mut Placement> {
        self.elsewhere.as_mut().map(|elsewhere| &mut elsewhere.placement)
    }

    /// At which epoch a signature moved last.
    pub(super) fn moved_at(&self, signature: &[u8]) -> u64 {
        self.elsewhere.as_ref().map_or(0, |elsewhere| elsewhere.placement.moved_at(signature))
    }

    /// The manager to which a tuple belongs.
    pub(crate) fn home_of(&self, tuple: &View<'_>) -> u8 {
        self.elsewhere.as_ref().map_or(0, |elsewhere| elsewhere.placement.of_tuple(tuple))
    }

    /// Whether a tuple belongs to this manager.
    pub(crate) fn is_home(&self, tuple: &View<'_>) -> bool {
        self.elsewhere.as_ref().is_none_or(|elsewhere| elsewhere.placement.of_tuple(tuple) == elsewhere.me)
    }

    /// Says whether all of a signature has come; if not, perhaps of which key.
    pub(crate) fn set_incoming(&mut self, signature: &Signature, missing: Option<Option<u64>>) {
        let Some(elsewhere) = &mut self.elsewhere else { return };
        match missing {
            Some(key) => elsewhere.incoming.insert(signature.clone(), key),
            None => elsewhere.incoming.remove(signature),
        };
    }

    /// How far apart ages are.
    #[inline]
    pub(super) fn stride(&self) -> u64 {
        self.elsewhere.as_ref().map_or(1, |elsewhere| elsewhere.stride)
    }

    /// Lets a hidden tuple leave if it belongs to another manager; whether it does. What has happened to it is told there; if it was put just now, it has
    /// its age there.
    #[inline]
    pub(super) fn leaves(&mut self, now: Time, place: Place, change: Option<Change>) -> bool {
        let Some(elsewhere) = &self.elsewhere else { return false };
        if !elsewhere.is_away(&self.stores.view(place)) {
            return false;
        }
        let mut moved = self.take_away(now, place);
        moved.change = change;
        if change == Some(Change::Put) && !seeded!(self.config, AgeKeptByNewTuple) {
            moved.age = 0;
        }
        if let Some(elsewhere) = &mut self.elsewhere {
            elsewhere.begun.push(moved);
        }
        true
    }

    /// Removes a hidden tuple for good.
    fn take_away(&mut self, now: Time, place: Place) -> MovedTuple {
        self.stores[place.store].leave(place.entry);
        let removed = self.stores[place.store].remove(place.entry);
        self.room.free(removed.bytes(), removed.account());
        MovedTuple {
            age: removed.order,
            failed: removed.failed,
            is_reserve: removed.account() == Account::Reserve,
            expires_in: removed.expiry().map(|expiry| expiry.since(now)),
            change: None,
            number: 0,
            head: Bytes::copy_from_slice(removed.head()),
            bulk: removed.bulk(),
        }
    }

    /// Answers that a request had its effect: at once, or when what it has made leave has come.
    #[inline]
    pub(super) fn reply_done(&mut self, to: Address, token: Token, out: &mut dyn Outbox) {
        if seeded!(self.config, AnsweredBeforeItCame) || !self.leaves_for(to, token) {
            self.reply(to, DONE, token, out);
        }
    }

    /// Has somebody answered when what has begun to leave is where it belongs; false if nothing has.
    #[inline]
    pub(crate) fn leaves_for(&mut self, to: Address, token: Token) -> bool {
        let Some(elsewhere) = self.elsewhere.as_mut().filter(|elsewhere| !elsewhere.begun.is_empty()) else {
            return false;
        };
        let tuples = core::mem::take(&mut elsewhere.begun);
        elsewhere.leaving.push(Leaving { tuples, answer: Some((to, token)) });
        true
    }

    /// What leaves now.
    pub(crate) fn take_leaving(&mut self) -> Vec<Leaving> {
        let Some(elsewhere) = &mut self.elsewhere else { return Vec::new() };
        if !elsewhere.begun.is_empty() {
            let tuples = core::mem::take(&mut elsewhere.begun);
            elsewhere.leaving.push(Leaving { tuples, answer: None });
        }
        core::mem::take(&mut elsewhere.leaving)
    }

    /// All ages given so far are below it.
    pub(crate) fn next_age(&self) -> u64 {
        self.next_order
    }

    /// Gives no age from now on that is not above those of another manager; the remainder stays.
    pub(crate) fn pass_age(&mut self, next_age: u64) {
        if !seeded!(self.config, AgesNotPassed) && next_age > self.next_order {
            self.next_order += (next_age - self.next_order).next_multiple_of(self.stride());
        }
    }

    /// Stores tuples that come from another manager, at their ages if they have them. They were counted there, and have room here whatever there is. All are
    /// there before one is given away, as what is put at one instant. What has happened to them on the way is told here.
    pub(crate) fn adopt<'a>(
        &mut self,
        now: Time,
        moved: impl IntoIterator<Item = &'a MovedTuple>,
        out: &mut dyn Outbox,
    ) {
        let mut put = VecDeque::new();
        for moved in moved {
            match moved.change {
                Some(change) if !change.is_there() => self.hear_of(now, moved, change),
                change => put.extend(self.adopt_one(now, moved, change)),
            }
        }
        self.offer_all(now, put, out);
    }

    /// Stores one, if it stays: where it lies, still hidden.
    fn adopt_one(&mut self, now: Time, moved: &MovedTuple, change: Option<Change>) -> Option<Place> {
        let place = self.store_moved(now, moved);
        if self.leaves(now, place, change) {
            return None;
        }
        change.into_iter().for_each(|change| self.note(now, change, place));
        (!self.has_expired(now, now, place)).then_some(place)
    }

    /// Tells of one that is gone, or lets that go on to where it belongs now.
    fn hear_of(&mut self, now: Time, moved: &MovedTuple, change: Change) {
        let Some(elsewhere) = &mut self.elsewhere else { return };
        if elsewhere.is_away(&View::checked_tuple(&moved.head, &moved.bulk)) {
            elsewhere.begun.push(moved.clone());
        } else {
            self.tell_of(now, moved, change);
        }
    }

    /// Stores one, still hidden.
    fn store_moved(&mut self, now: Time, moved: &MovedTuple) -> Place {
        let age = if moved.age == 0 { self.order() } else { moved.age };
        let view = View::checked_tuple(&moved.head, &moved.bulk);
        let store = self.stores.find_or_add(view.signature());
        let account = if moved.is_reserve { Account::Reserve } else { Account::Quota };
        // The managers' clocks are not the same: what is left of its time goes with a tuple.
        let expiry = moved.expires_in.map(|span| now + span);
        let entry = self.stores[store].add(now, age, (&view, moved.bulk.clone()), expiry, account);
        self.stores[store].entry_mut(entry).failed = moved.failed;
        let bytes = self.stores[store].entry(entry).bytes();
        self.room.add(bytes, account);
        Place { store, entry }
    }

    /// Takes the tuples of a signature away that can be taken and belong to others now, oldest first.
    pub(crate) fn take_away_moved(&mut self, now: Time, signature: &[u8]) -> Vec<MovedTuple> {
        let Some(store) = self.stores.find(signature) else { return Vec::new() };
        let Some(elsewhere) = &self.elsewhere else { return Vec::new() };
        let is_elsewhere =
            |entry: u32| elsewhere.placement.of_tuple(&self.stores[store].view(entry)) != elsewhere.me;
        let shown = self.stores[store].entries().filter(|(_, entry)| entry.is_shown());
        let mut moved: Vec<(u64, u32)> = shown
            .filter(|(place, _)| is_elsewhere(*place))
            .map(|(place, entry)| (entry.order, place))
            .collect();
        moved.sort_unstable();
        if seeded!(self.config, TupleLeftBehind) {
            moved.pop();
        }
        let away = |(_, entry)| {
            let place = Place { store, entry };
            self.hide(place);
            self.take_away(now, place)
        };
        moved.into_iter().map(away).collect()
    }

    /// Answers those who wait for a tuple of a signature, or of a key, that they are to ask again, oldest first.
    pub(crate) fn send_waiters_away(&mut self, signature: &[u8], key: Option<u64>, out: &mut dyn Outbox) {
        if seeded!(self.config, WaiterLeftBehind) {
            return;
        }
        let Some(elsewhere) = &self.elsewhere else { return };
        let is_concerned = |about: &View<'_>| elsewhere.placement.concerns(signature, key, about);
        // What a replacement puts is there when it is answered, and so is not to be on its way to another manager then.
        let puts = |waiter: &Waiter| {
            let tuples = waiter.replacement();
            tuples.is_some_and(|tuples| tuples.borrow().views().any(|tuple| is_concerned(&tuple)))
        };
        let concerns = |waiter: &Waiter| {
            waiter.templates().any(|template| is_concerned(&template.view())) || puts(waiter)
        };
        let mut concerned: Vec<(u64, u32)> = self
            .waiters
            .iter()
            .filter(|(_, waiter)| concerns(waiter))
            .map(|(place, waiter)| (waiter.order, place))
            .collect();
        concerned.sort_unstable();
        for (_, place) in concerned {
            let waiter = self.drop_waiter(place);
            self.reply_moved(waiter.requester.address, waiter.requester.token, out);
        }
    }

    /// Answers that a request is to be asked again, of whoever the directory says.
    pub(crate) fn reply_moved(&mut self, to: Address, token: Token, out: &mut dyn Outbox) {
        let epoch = self.elsewhere.as_ref().map_or(0, |elsewhere| elsewhere.placement.epoch);
        self.reply_with(to, MOVED, token, &Epoch(epoch), out);
    }
}

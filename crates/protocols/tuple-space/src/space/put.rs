//! Puts: `out`, and the results that come with an acknowledgement.

use super::group::Ends;
use super::lease::Leases;
use super::room::{Account, Counted, Parked, ParkedKey, Size};
use super::store::stored_bytes;
use super::stores::{Place, Stores};
use super::{Space, Timer, Unanswered, seeded, stages};
use crate::codec::{Change, LeaseId, Put, PutTuple, PutTuples, View};
use bytes::Bytes;
use quintet_contract::{Address, Outbox, Time, Token};
use quintet_errors::Code;
use std::collections::VecDeque;

impl Space {
    /// Puts tuples, all or none; waits while the space is full.
    pub(super) fn out(
        &mut self,
        now: Time,
        from: Address,
        token: Token,
        put: &Put<'_>,
        out: &mut dyn Outbox,
    ) {
        let size = Size::of(&put.tuples);
        let passes = seeded!(self.config, PutPassesAcknowledgement) && !self.room.has_parked_out();
        if (passes || !self.room.has_parked()) && self.room.fits(size) {
            self.put_all(now, &put.tuples, Account::Quota, out);
            self.reply_done(from, token, out);
        } else if self.may_park(from, token, put, 0, out) {
            self.park(now, Parked::new(from, token, Ends::default(), put.deadline, &put.tuples));
        }
    }

    /// Ends a lease and puts the results, at one instant; waits while there is no room for them.
    pub(super) fn acknowledge(
        &mut self,
        now: Time,
        from: Address,
        token: Token,
        id: LeaseId,
        put: &Put<'_>,
        out: &mut dyn Outbox,
    ) {
        let Some(lease) = self.held(from, id).filter(|lease| lease.parked.is_none()) else {
            return self.refuse_lost(from, token, id, out);
        };
        let size = Size::of(&put.tuples);
        let ends = Ends::of_lease(id);
        if let Some(account) = self.room.for_results(size, self.counted(&ends)) {
            self.finish_lease(now, id, &lease);
            self.put_all(now, &put.tuples, account, out);
            self.reply_done(from, token, out);
        } else if self.may_park(from, token, put, ends.bytes(), out) {
            self.park(now, Parked::new(from, token, ends, put.deadline, &put.tuples));
        }
    }

    /// What the tuples under these leases count for.
    pub(super) fn counted(&self, ends: &Ends) -> Counted {
        counted(&self.stores, &self.leases, ends)
    }

    /// Whether a put may wait for room, with so many bytes more; if not, it is answered.
    pub(super) fn may_park(
        &mut self,
        from: Address,
        token: Token,
        put: &Put<'_>,
        more: u64,
        out: &mut dyn Outbox,
    ) -> bool {
        let size = Size::of(&put.tuples);
        if !self.room.could_fit(size) {
            let text = self.room.never_fits(size);
            self.refuse(from, token, Code::TooLarge, text, out);
            return false;
        }
        if put.deadline.0 == 0 {
            let text = format!("no room for {} bytes now: {}", size.bytes, self.room.describe());
            self.refuse(from, token, Code::SpaceFull, text, out);
            return false;
        }
        self.may_wait(from, token, put.tuples.kept_bytes() + more, out)
    }

    /// Lets a put wait for room. The leases that it is to end live on without end meanwhile.
    pub(super) fn park(&mut self, now: Time, mut parked: Parked) {
        let key = ParkedKey { is_out: parked.ends.leases.is_empty(), order: self.order() };
        parked.since = now;
        parked.due = (parked.waits.0 != u64::MAX).then(|| now + parked.waits);
        if let Some(due) = parked.due {
            self.timers.add(due, key.order, Timer::Parked(key));
        }
        self.senders.get_or_add(parked.address).unanswered.insert(parked.token, Unanswered::Parked(key));
        for lease in &parked.ends.leases {
            self.suspend_lease(*lease, key);
        }
        self.room.park(key, parked);
    }

    /// Removes a parked request from everywhere. The leases that it would have ended live again from now.
    pub(super) fn drop_parked(&mut self, now: Time, key: ParkedKey) -> Option<Parked> {
        let parked = self.room.unpark(key)?;
        if let Some(due) = parked.due {
            self.timers.remove(due, key.order);
        }
        if let Some(sender) = self.senders.get_mut(parked.address) {
            sender.unanswered.remove(&parked.token);
        }
        for lease in &parked.ends.leases {
            self.resume_lease(now, *lease);
        }
        Some(parked)
    }

    /// Ends a parked request whose deadline has passed.
    pub(super) fn time_out_parked(&mut self, now: Time, key: ParkedKey, out: &mut dyn Outbox) {
        let Some(parked) = self.drop_parked(now, key) else { return };
        let room = self.room.describe();
        let text = format!("no room for {} bytes within {}: {room}", parked.size.bytes, parked.waits);
        self.refuse(parked.address, parked.token, Code::SpaceFull, text, out);
    }

    /// Does the parked requests for which there is room now.
    pub(super) fn serve_parked(&mut self, now: Time, out: &mut dyn Outbox) {
        while let Some((key, account)) = self.next_parked() {
            let Some(parked) = self.drop_parked(now, key) else { return };
            if let Some(age) = self.first_gone(&parked.ends) {
                self.refuse_conflict(parked.address, parked.token, age, out);
                continue;
            }
            if parked.others.is_some() {
                self.hold_part(parked, account, out);
                continue;
            }
            self.finish_leases(now, &parked.ends);
            self.put_all(now, &parked.tuples(), account, out);
            self.reply_done(parked.address, parked.token, out);
        }
    }

    fn next_parked(&mut self) -> Option<(ParkedKey, Account)> {
        let (stores, leases) = (&self.stores, &self.leases);
        self.room.next_parked(|ends| counted(stores, leases, ends))
    }

    pub(super) fn put_all(
        &mut self,
        now: Time,
        tuples: &PutTuples<'_>,
        account: Account,
        out: &mut dyn Outbox,
    ) {
        out.work(stages::STORE, tuples.len());
        if tuples.len() == 1 {
            tuples.iter().for_each(|put| {
                let expiry = self.expiry(now, put.expires_in);
                self.put(now, (&put.tuple, put.bulk), expiry, account, out);
            });
            return;
        }
        // All are there before one is given away: what replaces it is younger than they are.
        let mut put = VecDeque::new();
        for PutTuple { tuple, bulk, expires_in } in tuples.iter() {
            let expiry = self.expiry(now, expires_in);
            let place = self.add(now, (&tuple, bulk), expiry, account);
            if !self.leaves(now, place, Some(Change::Put)) {
                put.push_back(place);
            }
        }
        self.offer_all(now, put, out);
    }

    /// Puts one tuple for which there is room.
    pub(super) fn put(
        &mut self,
        now: Time,
        tuple: (&View<'_>, Bytes),
        expiry: Option<Time>,
        account: Account,
        out: &mut dyn Outbox,
    ) {
        let place = self.add(now, tuple, expiry, account);
        if !self.leaves(now, place, Some(Change::Put)) {
            self.offer(now, place, out);
        }
    }

    /// Adds one tuple, still hidden, for which there is room.
    pub(super) fn add(
        &mut self,
        now: Time,
        (tuple, bulk): (&View<'_>, Bytes),
        expiry: Option<Time>,
        account: Account,
    ) -> Place {
        let order = self.order();
        let store = self.stores.find_or_add(tuple.signature());
        let entry = self.stores[store].add(now, order, (tuple, bulk), expiry, account);
        self.room.add(stored_bytes(tuple.bytes(), expiry), account);
        let place = Place { store, entry };
        self.note(now, Change::Put, place);
        place
    }
}

fn counted(stores: &Stores, leases: &Leases, ends: &Ends) -> Counted {
    let mut counted = Counted::default();
    // A lease lives while what is to end it waits.
    for lease in ends.leases.iter().filter_map(|lease| leases.get(&lease.0)) {
        let entry = stores.entry(lease.place);
        counted.add(Size { bytes: entry.bytes(), tuples: 1 }, entry.account());
    }
    counted
}

//! Leases: tuples hidden until their taker has done its work.

pub(super) mod saved;

use super::room::ParkedKey;
use super::stores::Place;
use super::{Space, Timer, seeded, stages};
use crate::Tuple;
use crate::codec::{Change, Encoded, LeaseId, View};
use quintet_contract::{Address, Outbox, Span, Time, Token};
use quintet_errors::Code;
use quintet_wire::encode_to_vec;
use std::collections::BTreeMap;

/// The first field of a dead letter.
pub const DEAD_LETTER: &str = "quintet.dead-letter";

/// One lease.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lease {
    pub(super) holder: Address,
    pub(super) place: Place,
    /// When it began.
    pub(super) since: Time,
    /// How long it lives unless renewed.
    ttl: Span,
    /// It is a group's: its end is no failure.
    pub(super) for_group: bool,
    /// When it ends although renewed.
    until: Option<Time>,
    /// When it ends unless renewed; none while its acknowledgement waits for room, as the work is done then.
    pub(super) due: Option<Time>,
    /// It was put off since it began or was renewed, because the manager was woken late.
    put_off: bool,
    /// The acknowledgement that waits for room.
    pub(super) parked: Option<ParkedKey>,
}

impl Lease {
    /// When it ends if it is renewed now: not before now, though its limit may have passed while its end was put off.
    fn renewed(&self, now: Time) -> Option<Time> {
        let ttl = (self.ttl.0 != u64::MAX).then(|| now + self.ttl);
        ttl.into_iter().chain(self.until.map(|until| until.max(now))).min()
    }
}

/// All leases, by their number.
pub(super) type Leases = BTreeMap<u64, Lease>;

/// Why a lease ended without an acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Failure {
    /// Its holder gave it back.
    Released,
    /// It was not renewed in time.
    Expired,
    /// Its holder is gone.
    HolderDown,
}

impl Failure {
    /// In a few words, for the dead letter.
    pub(super) fn text(self) -> &'static str {
        match self {
            Failure::Released => "released by its holder",
            Failure::Expired => "the lease was not renewed in time",
            Failure::HolderDown => "its holder went down",
        }
    }
}

impl Space {
    /// The lease of this name, if `holder` holds it.
    pub(super) fn held(&self, holder: Address, id: LeaseId) -> Option<Lease> {
        let anyone = seeded!(self.config, AcknowledgedByAnyone);
        self.leases.get(&id.0).filter(|lease| anyone || lease.holder == holder).copied()
    }

    /// Hides a tuple under a lease named by the next age: the caller has said so in its answer. `group`: how long it lives at most, for a
    /// group.
    pub(super) fn hold_under_lease(
        &mut self,
        now: Time,
        place: Place,
        holder: Address,
        ttl: Span,
        group: Option<Span>,
    ) {
        let id = self.order();
        self.hide(place);
        self.note(now, Change::Leased, place);
        let until = group.filter(|limit| limit.0 != u64::MAX).map(|limit| now + limit);
        let (for_group, put_off, parked) = (group.is_some(), false, None);
        let mut lease =
            Lease { holder, place, since: now, ttl, for_group, until, due: None, put_off, parked };
        lease.due = lease.renewed(now);
        let due = lease.due;
        self.leases.insert(id, lease);
        if due.is_some() || !seeded!(self.config, EndlessLeaseKept) {
            self.senders.get_or_add(holder).leases.insert(id);
        }
        if let Some(due) = due {
            self.timers.add(due, id, Timer::Lease(id));
        }
    }

    /// Extends every lease of `holder` by its time to live from now. O(leases of the holder).
    pub(super) fn renew(&mut self, now: Time, holder: Address) {
        let Some(sender) = self.senders.get(holder) else { return };
        for id in &sender.leases {
            let Some(lease) = self.leases.get_mut(id) else { continue };
            let is_left_out = seeded!(self.config, RenewalSkipsPutOff) && lease.put_off;
            if let (Some(due), Some(renewed)) = (lease.due.filter(|_| !is_left_out), lease.renewed(now)) {
                self.timers.remove(due, *id);
                lease.due = Some(renewed);
                lease.put_off = false;
                self.timers.add(renewed, *id, Timer::Lease(*id));
            }
        }
    }

    /// Puts off, once each, the leases that came due while the manager was not woken: their renewals may lie unread in the
    /// link. To read them takes no longer than they took to come, so that a lease lives as long from now as the manager is
    /// late, at most its time to live.
    pub(super) fn put_off_leases(&mut self, now: Time, late: Span) {
        for id in self.timers.due_leases(now) {
            let Some(lease) = self.leases.get_mut(&id).filter(|lease| !lease.put_off) else { continue };
            let Some(due) = lease.due.replace(now + late.min(lease.ttl)) else { continue };
            lease.put_off = true;
            self.timers.remove(due, id);
            self.timers.add(now + late.min(lease.ttl), id, Timer::Lease(id));
        }
    }

    /// Lets a lease live without end while its acknowledgement waits for room.
    pub(super) fn suspend_lease(&mut self, id: LeaseId, parked: ParkedKey) {
        let Some(lease) = self.leases.get_mut(&id.0) else { return };
        lease.parked = Some(parked);
        if let Some(due) = lease.due.take() {
            self.timers.remove(due, id.0);
        }
    }

    /// The acknowledgement was called off: the lease lives on from now.
    pub(super) fn resume_lease(&mut self, now: Time, id: LeaseId) {
        let Some(lease) = self.leases.get_mut(&id.0) else { return };
        (lease.parked, lease.put_off) = (None, false);
        lease.due = lease.renewed(now);
        if let Some(due) = lease.due {
            self.timers.add(due, id.0, Timer::Lease(id.0));
        }
    }

    /// Ends a lease for good: its tuple is gone.
    pub(super) fn finish_lease(&mut self, now: Time, id: LeaseId, lease: &Lease) {
        self.end_lease(id.0);
        if !lease.for_group {
            self.note_acknowledged(now, lease);
        }
        self.note(now, Change::Done, lease.place);
        self.stores[lease.place.store].leave(lease.place.entry);
        let entry = self.stores[lease.place.store].remove(lease.place.entry);
        self.room.free(entry.bytes(), entry.account());
    }

    /// Forgets a lease; its tuple stays hidden.
    pub(super) fn end_lease(&mut self, id: u64) -> Option<Lease> {
        let lease = self.leases.remove(&id)?;
        if let Some(due) = lease.due {
            self.timers.remove(due, id);
        }
        if let Some(sender) = self.senders.get_mut(lease.holder) {
            sender.leases.remove(&id);
        }
        Some(lease)
    }

    /// Answers that a lease is not held.
    pub(super) fn refuse_lost(&mut self, to: Address, token: Token, id: LeaseId, out: &mut dyn Outbox) {
        let text = format!("lease {} is not held by this sender, or is being acknowledged", id.0);
        self.refuse(to, token, Code::LeaseLost, text, out);
    }

    /// Ends a lease at its holder's request; the tuple returns.
    pub(super) fn release(
        &mut self,
        now: Time,
        from: Address,
        token: Token,
        id: LeaseId,
        out: &mut dyn Outbox,
    ) {
        match self.held(from, id) {
            Some(lease) if lease.parked.is_none() => {
                self.fail_leases(now, [id.0], Failure::Released, out);
                self.reply_done(from, token, out);
            }
            _ => self.refuse_lost(from, token, id, out),
        }
    }

    /// Ends leases without an acknowledgement, at one instant: their tuples return to their old places, or become dead letters. All are there before
    /// one is offered, the oldest first, as nobody who waits is to be given one that is younger than another that returns as well.
    pub(super) fn fail_leases(
        &mut self,
        now: Time,
        leases: impl IntoIterator<Item = u64>,
        failure: Failure,
        out: &mut dyn Outbox,
    ) {
        let mut offered: Vec<(u64, Place)> = Vec::new();
        for id in leases {
            let place = self.fail_lease(now, id, failure, out);
            offered.extend(place.map(|place| (self.stores.entry(place).order, place)));
        }
        offered.sort_unstable_by_key(|(order, _)| *order);
        self.offer_returned(now, offered.into_iter().map(|(_, place)| place).collect(), out);
    }

    /// Ends a lease so; where that lies, still hidden, which is to be offered. What happens here counts from when the lease ended, however late that is
    /// found: a tuple whose own time came after that was wanted still.
    fn fail_lease(&mut self, now: Time, id: u64, failure: Failure, out: &mut dyn Outbox) -> Option<Place> {
        let lease = self.end_lease(id)?;
        let ended = lease.due.filter(|_| failure == Failure::Expired).unwrap_or(now);
        let place = lease.place;
        if lease.for_group {
            return self.comes_back(now, ended, place).then_some(place);
        }
        self.redone += 1;
        self.note_given_up(&lease);
        let entry = self.stores[place.store].entry_mut(place.entry);
        entry.failed = entry.failed.saturating_add(1);
        let is_exhausted = entry.failed >= self.config.max_attempts.max(1);
        if is_exhausted && !self.is_over(ended, place) && !is_dead_letter(&self.stores.view(place)) {
            let letter = self.add_dead_letter(now, place, failure, out);
            return (!self.leaves(now, letter, Some(Change::Put))).then_some(letter);
        }
        if seeded!(self.config, FailedLeaseGoesToTheEnd) {
            let order = self.order();
            self.stores[place.store].entry_mut(place.entry).order = order;
        }
        self.comes_back(now, ended, place).then_some(place)
    }

    /// Adds a dead letter instead of a hidden tuple. It may exceed the quota, by the few bytes that it adds.
    fn add_dead_letter(&mut self, now: Time, place: Place, failure: Failure, out: &mut dyn Outbox) -> Place {
        self.dead_letters += 1;
        self.note(now, Change::Failed, place);
        let entry = self.stores[place.store].entry(place.entry);
        let head = dead_letter(&self.stores.view(place), failure, entry.failed);
        let bulk = entry.bulk();
        self.stores[place.store].leave(place.entry);
        let removed = self.stores[place.store].remove(place.entry);
        self.room.free(removed.bytes(), removed.account());
        out.work(stages::STORE, 1);
        self.add(now, (&View::checked_tuple(&head, &bulk), bulk.clone()), None, removed.account())
    }
}

/// The head of a dead letter: three fields in front of those of `tuple`, whose bulk it shares.
fn dead_letter(tuple: &View<'_>, failure: Failure, attempts: u32) -> Vec<u8> {
    let front = Tuple::from_values([DEAD_LETTER.into(), failure.text().into(), i64::from(attempts).into()]);
    let front = encode_to_vec(&Encoded::tuple(&front).expect("three short fields"));
    let (front_tags, front_fields) = front.split_at(1 + 3);
    let (tags, fields) = tuple.head().split_at(tuple.signature().len());
    let mut head = Vec::with_capacity(front.len() + tuple.head().len());
    head.push(tags[0] + 3);
    for part in [&front_tags[1..], &tags[1..], front_fields, fields] {
        head.extend_from_slice(part);
    }
    head
}

fn is_dead_letter(tuple: &View<'_>) -> bool {
    let mut fields = tuple.fields();
    fields.next().is_some_and(|first| first.is_text(DEAD_LETTER))
}

//! One manager's part of what several do at one instant.
//!
//! A part is prepared: its leases live on without an end, and its tuples have room, which nobody else is given. So it can be done when it is told to be,
//! unless what its group has read is gone by then, or its tuples belong elsewhere. It is its client's until then, and given up with it.
//! (docs/design/0061.)

use super::group::Ends;
use super::room::{Account, Parked, ParkedKey, Size};
use super::seek::Sought;
use super::sender::Unanswered;
use super::{Space, seeded};
use crate::codec::{PREPARED, PartView, PreparedAt, PreparedBody, RequestView, View};
use core::mem;
use quintet_contract::{Address, Outbox, Time, Token};
use quintet_errors::Code;
use std::collections::BTreeMap;

/// All parts, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Parts {
    prepared: BTreeMap<u64, Prepared>,
    /// Those that are to be brought together with others, which were told.
    ready: Vec<u64>,
    /// Those of selects and replacements.
    pub(super) sought: Sought,
}

/// One of them.
#[derive(Debug)]
pub(crate) struct Prepared {
    parked: Parked,
    account: Account,
}

impl Prepared {
    /// Whose it is, and under which token.
    pub(crate) fn asked(&self) -> (Address, Token) {
        (self.parked.address, self.parked.token)
    }

    /// The parts with which it is brought together here; none: another manager does that.
    pub(crate) fn others(&self) -> &[PreparedAt] {
        self.parked.others.as_deref().unwrap_or_default()
    }

    /// What it puts.
    pub(crate) fn views(&self) -> impl Iterator<Item = View<'_>> {
        self.parked.tuples().views()
    }
}

/// Whether a part can be done now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Readiness {
    Ready,
    /// It was given up.
    Gone,
    /// A tuple of this age that was read is not there any more.
    Conflict(u64),
}

impl Space {
    /// Prepares a part, or lets it wait for room first.
    pub(crate) fn prepare(
        &mut self,
        now: Time,
        (from, token): (Address, Token),
        part: &PartView<'_>,
        out: &mut dyn Outbox,
    ) {
        let PartView { others, uses, put } = part;
        if let Some(text) = self.is_in_use(from, token) {
            return self.refuse(from, token, Code::Malformed, text, out);
        }
        if self.needs_grant(from, &RequestView::Commit(*uses, *put)) {
            return self.refuse_code(from, token, out);
        }
        let is_free = |lease: &_| self.held(from, *lease).is_some_and(|lease| lease.parked.is_none());
        if let Some(lost) = uses.leases().find(|lease| !is_free(lease)) {
            return self.refuse_lost(from, token, lost, out);
        }
        let ends = Ends::of(uses);
        if let Some(age) = self.first_gone(&ends) {
            return self.refuse_conflict(from, token, age, out);
        }
        let account = self.room_for_group(&ends, put);
        let may_stay = match account {
            Some(_) => self.may_wait(from, token, put.tuples.kept_bytes() + ends.bytes(), out),
            None => self.may_park(from, token, put, ends.bytes(), out),
        };
        if !may_stay {
            return;
        }
        let mut parked = Parked::new(from, token, ends, put.deadline, &put.tuples);
        parked.others = Some(others.clone());
        match account {
            Some(account) => self.keep_part(parked, account, out),
            None => self.park(now, parked),
        }
        self.end_turn(now, out);
    }

    /// A part has found room for which it waited.
    pub(super) fn hold_part(&mut self, parked: Parked, account: Account, out: &mut dyn Outbox) {
        // It was counted until just now.
        if self.may_wait(parked.address, parked.token, parked.kept_bytes(), out) {
            self.keep_part(parked, account, out);
        }
    }

    /// Keeps a part, whose bytes have been counted.
    fn keep_part(&mut self, parked: Parked, account: Account, out: &mut dyn Outbox) {
        let (address, token) = (parked.address, parked.token);
        let number = self.order();
        let key = ParkedKey { is_out: parked.ends.leases.is_empty(), order: number };
        for lease in &parked.ends.leases {
            self.suspend_lease(*lease, key);
        }
        self.room.reserve(parked.size, account);
        self.senders.get_or_add(address).unanswered.insert(token, Unanswered::Prepared(number));
        let is_answered = parked.others.as_ref().is_none_or(Vec::is_empty);
        if let Some(elsewhere) = &mut self.elsewhere {
            elsewhere.parts.prepared.insert(number, Prepared { parked, account });
            elsewhere.parts.ready.extend((!is_answered).then_some(number));
        }
        if is_answered {
            self.reply_with(address, PREPARED, token, &PreparedBody(number), out);
        }
    }

    /// This one is to be brought together with others.
    pub(super) fn note_ready(&mut self, number: u64) {
        if let Some(elsewhere) = &mut self.elsewhere {
            elsewhere.parts.ready.push(number);
        }
    }

    /// Those that are to be brought together with others now.
    pub(crate) fn take_ready(&mut self) -> Vec<u64> {
        self.elsewhere.as_mut().map(|elsewhere| mem::take(&mut elsewhere.parts.ready)).unwrap_or_default()
    }

    /// The part with this number.
    pub(crate) fn part(&self, number: u64) -> Option<&Prepared> {
        self.elsewhere.as_ref()?.parts.prepared.get(&number)
    }

    /// Whose a part is, of whatever kind, and under which token; and the parts with which it is brought together here.
    pub(crate) fn asked_part(&self, number: u64) -> Option<((Address, Token), &[PreparedAt])> {
        let of_group = self.part(number).map(|part| (part.asked(), part.others()));
        of_group.or_else(|| self.sought_by(number))
    }

    /// Whether it can be done now, as far as this space knows.
    pub(crate) fn readiness(&self, number: u64) -> Readiness {
        let Some(part) = self.part(number) else { return Readiness::Gone };
        if seeded!(self.config, WitnessGoneAtLock) {
            return Readiness::Ready;
        }
        self.first_gone(&part.parked.ends).map_or(Readiness::Ready, Readiness::Conflict)
    }

    /// Does it: ends its leases and puts its tuples.
    pub(crate) fn perform(&mut self, now: Time, number: u64, out: &mut dyn Outbox) {
        let Some(Prepared { parked, account }) = self.drop_prepared(now, number) else { return };
        self.finish_leases(now, &parked.ends);
        self.put_all(now, &parked.tuples(), account, out);
        self.end_turn(now, out);
    }

    /// Gives a part up: its leases live again from now, and its room is free.
    pub(crate) fn give_up(&mut self, now: Time, from: Address, number: u64, out: &mut dyn Outbox) {
        if self.part(number).is_some_and(|part| part.parked.address == from && part.others().is_empty()) {
            self.drop_prepared(now, number);
            self.end_turn(now, out);
        }
        if self.sought_by(number).is_some_and(|((client, _), others)| client == from && others.is_empty()) {
            self.drop_sought(now, number, out);
        }
    }

    /// Removes a part from everywhere.
    pub(super) fn drop_prepared(&mut self, now: Time, number: u64) -> Option<Prepared> {
        let part = self.elsewhere.as_mut()?.parts.prepared.remove(&number)?;
        let Prepared { parked, account } = &part;
        self.room.unkeep(parked.kept_bytes());
        self.room.release(parked.size, *account);
        if let Some(sender) = self.senders.get_mut(parked.address) {
            sender.unanswered.remove(&parked.token);
        }
        for lease in &parked.ends.leases {
            self.resume_lease(now, *lease);
        }
        Some(part)
    }

    /// Gives up a part that its own manager was to bring together with others.
    pub(crate) fn abandon(&mut self, now: Time, number: u64, out: &mut dyn Outbox) {
        self.drop_prepared(now, number);
        self.drop_sought(now, number, out);
    }

    /// Whether what is noted as unanswered was answered: that it is prepared.
    pub(super) fn was_answered(&self, unanswered: Unanswered) -> bool {
        match unanswered {
            Unanswered::Prepared(number) => self.part(number).is_some_and(|part| part.others().is_empty()),
            Unanswered::Waiter(place) => self.was_prepared(place),
            Unanswered::Parked(_) | Unanswered::Watcher(_) => false,
        }
    }

    /// The room that parts have which were not done so far.
    pub(super) fn reserved(&self) -> impl Iterator<Item = (Size, Account)> {
        let parts = self.elsewhere.iter().flat_map(|elsewhere| elsewhere.parts.prepared.values());
        parts.map(|part| (part.parked.size, part.account))
    }
}

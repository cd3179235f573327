//! Groups: several takes, reads and puts that happen at one instant, or not at all.
//!
//! A group is its holder's: the manager knows no more of it than leases, each of which says that its end is no failure. What the group reads
//! stays where it is; the end names it, and is refused if it has gone. So nobody waits for who reads, and a group that was
//! not refused has seen the space as it was at its end. (docs/design/0038.)

mod saved;

use super::room::{Account, Parked, Size};
use super::stores::Place;
use super::{Space, seeded};
use crate::codec::{LeaseId, Put, Uses, Witness};
use quintet_contract::{Address, Outbox, Time, Token};
use quintet_errors::Code;

/// What a request ends beside what it puts: the leases of what it removes, and what has to be there at that instant.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Ends {
    pub(super) leases: Vec<LeaseId>,
    witnesses: Vec<Witness>,
}

impl Ends {
    /// What an acknowledgement ends.
    pub(super) fn of_lease(lease: LeaseId) -> Ends {
        Ends { leases: vec![lease], witnesses: Vec::new() }
    }

    pub(super) fn of(uses: &Uses<'_>) -> Ends {
        Ends { leases: uses.leases().collect(), witnesses: uses.witnesses().collect() }
    }

    /// Bytes that it takes while it is kept.
    pub(super) fn bytes(&self) -> u64 {
        (size_of_val(&*self.leases) + size_of_val(&*self.witnesses)) as u64
    }
}

impl Space {
    /// Ends a group: removes what it took and puts, at one instant; waits while there is no room for what it puts.
    pub(super) fn commit(
        &mut self,
        now: Time,
        from: Address,
        token: Token,
        uses: &Uses<'_>,
        put: &Put<'_>,
        out: &mut dyn Outbox,
    ) {
        if let Some(lost) = uses.leases().find(|lease| !self.is_free(from, *lease)) {
            return self.refuse_lost(from, token, lost, out);
        }
        let ends = Ends::of(uses);
        if let Some(age) = self.first_gone(&ends) {
            return self.refuse_conflict(from, token, age, out);
        }
        if let Some(account) = self.room_for_group(&ends, put) {
            self.finish_leases(now, &ends);
            self.put_all(now, &put.tuples, account, out);
            self.reply_done(from, token, out);
        } else if self.may_park(from, token, put, ends.bytes(), out) {
            self.park(now, Parked::new(from, token, ends, put.deadline, &put.tuples));
        }
    }

    /// Where what a group puts finds room. One that removes something is as an acknowledgement, any other as an `out`.
    pub(super) fn room_for_group(&self, ends: &Ends, put: &Put<'_>) -> Option<Account> {
        let size = Size::of(&put.tuples);
        if put.tuples.is_empty() {
            return Some(Account::Quota);
        }
        if ends.leases.is_empty() {
            return (!self.room.has_parked() && self.room.fits(size)).then_some(Account::Quota);
        }
        self.room.for_results(size, self.counted(ends))
    }

    /// Ends a group of which nothing happens: returns what it still has at one instant, the oldest tuple first, as nobody who waits is to be given one that
    /// is younger than another that returns as well.
    pub(super) fn abort(
        &mut self,
        now: Time,
        from: Address,
        token: Token,
        uses: &Uses<'_>,
        out: &mut dyn Outbox,
    ) {
        let own = uses.leases().filter(|lease| self.is_free(from, *lease));
        let aged =
            own.filter_map(|lease| Some((self.stores.get(self.leases.get(&lease.0)?.place)?.order, lease)));
        let mut leases: Vec<(u64, LeaseId)> = aged.collect();
        leases.sort_unstable();
        let ended = leases.into_iter().filter_map(|(_, lease)| Some(self.end_lease(lease.0)?.place));
        let returning = ended.collect();
        self.bring_back_all(now, returning, out);
        self.reply_done(from, token, out);
    }

    /// Whether `holder` has this lease for a group whose end does not wait for room already.
    fn is_free(&self, holder: Address, lease: LeaseId) -> bool {
        self.held(holder, lease).is_some_and(|lease| lease.for_group && lease.parked.is_none())
    }

    /// The age of the first tuple that was read and is not there any more. What the group has taken itself is there.
    pub(super) fn first_gone(&self, ends: &Ends) -> Option<u64> {
        if seeded!(self.config, WitnessNotChecked) {
            return None;
        }
        let gone = ends.witnesses.iter().find(|witness| !self.is_there(witness, &ends.leases));
        gone.map(|witness| witness.age)
    }

    fn is_there(&self, witness: &Witness, own: &[LeaseId]) -> bool {
        let place = Place::of_number(witness.place);
        let entry = self.stores.get(place).filter(|entry| entry.order == witness.age);
        let is_own =
            || own.iter().filter_map(|lease| self.leases.get(&lease.0)).any(|lease| lease.place == place);
        entry.is_some_and(|entry| entry.is_shown() || is_own())
    }

    /// Answers that what a group has read is gone.
    pub(super) fn refuse_conflict(&mut self, to: Address, token: Token, age: u64, out: &mut dyn Outbox) {
        let text = format!(
            "tuple {age}, which the group has read, was taken by somebody else, or has expired, before its end; nothing of the group has happened: do it again"
        );
        self.refuse(to, token, Code::Conflict, text, out);
    }

    /// Ends leases for good.
    pub(super) fn finish_leases(&mut self, now: Time, ends: &Ends) {
        let is_cut_short = seeded!(self.config, GroupEndsHalf);
        for id in ends.leases.iter().take(if is_cut_short { 1 } else { usize::MAX }) {
            if let Some(lease) = self.leases.get(&id.0).copied() {
                self.finish_lease(now, *id, &lease);
            }
        }
    }
}

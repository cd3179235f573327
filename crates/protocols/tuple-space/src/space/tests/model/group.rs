//! What the end of a group does.

use super::{Model, Place, Stored};
use crate::{Answer, Change, Tuple};
use quintet_contract::Span;
use quintet_errors::Code;

impl Model {
    pub(in super::super) fn commit(
        &mut self,
        from: u16,
        token: u64,
        (leases, witnesses): (&[u64], &[u64]),
        tuples: &[Tuple],
        deadline: Option<Span>,
    ) {
        if !leases.iter().all(|lease| self.is_free(from, *lease)) {
            return self.refuse(from, token, Code::LeaseLost);
        }
        if self.is_conflict(leases, witnesses) {
            return self.refuse(from, token, Code::Conflict);
        }
        let is_oldest = self.parked.iter().all(|p| p.leases.is_empty());
        let account = match (tuples, leases) {
            ([], _) => Some(false),
            (_, []) => (self.parked.is_empty() && self.fits(tuples, &[])).then_some(false),
            _ => self.room_for_results(tuples, leases, is_oldest),
        };
        if let Some(is_reserve) = account {
            self.remove_leased(leases);
            self.put_all(tuples, is_reserve);
            self.reply(from, token, Answer::Done);
        } else {
            self.park(from, token, (leases.to_vec(), witnesses.to_vec()), tuples, deadline);
        }
    }

    pub(in super::super) fn abort(&mut self, from: u16, token: u64, leases: &[u64]) {
        let own = leases.iter().filter(|lease| self.is_free(from, **lease));
        let mut back: Vec<u64> =
            own.filter_map(|lease| Some(self.stored[self.held(from, *lease)?].order)).collect();
        back.sort_unstable();
        self.show_all(back.into());
        self.reply(from, token, Answer::Done);
    }

    fn is_free(&self, from: u16, id: u64) -> bool {
        self.held(from, id)
            .is_some_and(|at| matches!(self.stored[at].place, Place::Leased { life, .. } if life.for_group))
    }

    /// Whether something that was read is not there, unless it is the group's own.
    pub(super) fn is_conflict(&self, leases: &[u64], witnesses: &[u64]) -> bool {
        let is_there = |age: &u64| {
            self.stored.iter().any(|s| {
                s.order == *age
                    && match s.place {
                        Place::Shown | Place::Put => true,
                        Place::Taken { .. } => false,
                        Place::Leased { lease, .. } => leases.contains(&lease),
                    }
            })
        };
        !witnesses.iter().all(is_there)
    }

    pub(super) fn remove_leased(&mut self, leases: &[u64]) {
        for id in leases {
            let is_it = |s: &Stored| matches!(s.place, Place::Leased { lease, .. } if lease == *id);
            if let Some(at) = self.stored.iter().position(is_it) {
                self.note(Change::Done, at);
                self.stored.remove(at);
            }
        }
    }
}

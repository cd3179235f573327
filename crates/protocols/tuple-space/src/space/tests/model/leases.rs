//! Leases: how they are given, renewed, ended and lost.

use super::{Life, Model, Parked, Place, Stored};
use crate::{Answer, Attempt, Change, DEAD_LETTER, LeaseId, Tuple, Value};
use quintet_contract::{Span, Time};
use quintet_errors::Code;

impl Model {
    pub(in super::super) fn acknowledge(
        &mut self,
        from: u16,
        token: u64,
        id: u64,
        tuples: &[Tuple],
        deadline: Option<Span>,
    ) {
        let Some(at) = self.held(from, id) else { return self.refuse(from, token, Code::LeaseLost) };
        let is_oldest = self.parked.iter().all(|p| p.leases.is_empty());
        if let Some(is_reserve) = self.room_for_results(tuples, &[id], is_oldest) {
            self.note(Change::Done, at);
            self.stored.remove(at);
            self.put_all(tuples, is_reserve);
            self.reply(from, token, Answer::Done);
        } else {
            self.park(from, token, (vec![id], vec![]), tuples, deadline);
        }
    }

    pub(super) fn held(&self, from: u16, id: u64) -> Option<usize> {
        self.stored.iter().position(|s| {
            matches!(s.place, Place::Leased { by, lease, is_acknowledging: false, .. } if (by, lease) == (from, id))
        })
    }

    pub(super) fn resume(&mut self, parked: &Parked) {
        for stored in &mut self.stored {
            if let Place::Leased { lease, life, due, put_off, is_acknowledging, .. } = &mut stored.place
                && parked.leases.contains(lease)
            {
                (*due, *put_off, *is_acknowledging) = (Some(life.due(self.now)), false, false);
            }
        }
    }

    pub(in super::super) fn release(&mut self, from: u16, token: u64, id: u64) {
        if self.held(from, id).is_none() {
            return self.refuse(from, token, Code::LeaseLost);
        }
        self.fail(&[id], "released by its holder", self.now);
        self.reply(from, token, Answer::Done);
    }

    /// Leases end at that time without an acknowledgement: what was under them is back before any of it is offered.
    pub(super) fn fail(&mut self, ids: &[u64], reason: &str, ended: Time) {
        let mut back: Vec<u64> = ids.iter().filter_map(|id| self.fail_one(*id, reason, ended)).collect();
        back.sort_unstable();
        self.offer_all(back.into());
    }

    /// The age of what is to be offered.
    fn fail_one(&mut self, id: u64, reason: &str, ended: Time) -> Option<u64> {
        let is_it = |s: &Stored| matches!(s.place, Place::Leased { lease, .. } if lease == id);
        let at = self.stored.iter().position(is_it).unwrap();
        let order = self.stored[at].order;
        if matches!(self.stored[at].place, Place::Leased { life: Life { for_group: true, .. }, .. }) {
            return self.comes_back(order, ended).then_some(order);
        }
        self.stored[at].failed += 1;
        let Stored { failed, ref tuple, .. } = self.stored[at];
        let is_letter = tuple[0] == Value::from(DEAD_LETTER);
        if failed < self.config.max_attempts || self.stored[at].is_over(ended) || is_letter {
            return self.comes_back(order, ended).then_some(order);
        }
        self.note(Change::Failed, at);
        let mut values: Vec<Value> = vec![DEAD_LETTER.into(), reason.into(), i64::from(failed).into()];
        let Stored { tuple, is_reserve, .. } = self.stored.remove(at);
        values.extend(tuple);
        let order = self.order();
        self.stored.push(Stored::put(self.now, order, Tuple::new(values).unwrap(), is_reserve));
        self.note(Change::Put, self.stored.len() - 1);
        Some(order)
    }

    pub(in super::super) fn renew(&mut self, from: u16) {
        let now = self.now;
        for stored in &mut self.stored {
            if let Place::Leased { by, life, due: Some(due), put_off, .. } = &mut stored.place
                && *by == from
            {
                (*due, *put_off) = (life.due(now), false);
            }
        }
    }

    pub(super) fn lease(&mut self, at: usize, to: u16, life: Life) -> Attempt {
        let lease = self.order();
        let due = Some(life.due(self.now));
        self.stored[at].place =
            Place::Leased { by: to, lease, life, due, put_off: false, is_acknowledging: false };
        self.note(Change::Leased, at);
        Attempt { lease: LeaseId(lease), attempt: self.stored[at].failed + 1 }
    }
}

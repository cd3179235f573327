//! Leases: how they are given, renewed, ended and lost.

use super::{Life, Model, Parked, Place, Stored};
use crate::{Answer, Attempt, Change, DEAD_LETTER, LeaseId, Tuple, Value};
use quintet_contract::Span;
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
        self.fail(id, "released by its holder");
        self.reply(from, token, Answer::Done);
    }

    pub(super) fn fail(&mut self, id: u64, reason: &str) {
        let is_it = |s: &Stored| matches!(s.place, Place::Leased { lease, .. } if lease == id);
        let at = self.stored.iter().position(is_it).unwrap();
        if matches!(self.stored[at].place, Place::Leased { life: Life { for_group: true, .. }, .. }) {
            return self.show(at);
        }
        self.stored[at].failed += 1;
        let Stored { failed, ref tuple, .. } = self.stored[at];
        if failed < self.config.max_attempts || self.is_over(at) || tuple[0] == Value::from(DEAD_LETTER) {
            return self.show(at);
        }
        self.note(Change::Failed, at);
        let mut values: Vec<Value> = vec![DEAD_LETTER.into(), reason.into(), i64::from(failed).into()];
        let Stored { tuple, is_reserve, .. } = self.stored.remove(at);
        values.extend(tuple);
        self.put_all(&[Tuple::new(values).unwrap()], is_reserve);
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

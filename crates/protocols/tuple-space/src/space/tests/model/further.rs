//! Selects and replacements.

use super::{Model, Purpose, Stored, Waiting};
use crate::space::tests::model::quota;
use crate::{Change, Template, Tuple, Wait};
use quintet_errors::Code;
use std::collections::VecDeque;

/// What became of a tuple that was to be given to one who waits.
pub(super) enum Given {
    Sent,
    Full,
    /// What would be put in its place has no room.
    Refused,
}

impl Model {
    pub(in super::super) fn select(
        &mut self,
        from: u16,
        token: u64,
        purpose: Purpose,
        wait: Wait,
        templates: &[Template],
    ) {
        self.further(from, token, purpose, wait, templates, &[]);
    }

    pub(in super::super) fn replace(
        &mut self,
        from: u16,
        token: u64,
        wait: Wait,
        template: &Template,
        puts: &[Tuple],
    ) {
        if !quota::could_fit(&self.config, puts) {
            return self.refuse(from, token, Code::TooLarge);
        }
        self.further(from, token, Purpose::Replace, wait, core::slice::from_ref(template), puts);
    }

    fn further(
        &mut self,
        from: u16,
        token: u64,
        purpose: Purpose,
        wait: Wait,
        templates: &[Template],
        puts: &[Tuple],
    ) {
        if !self.may_wait(from, token) {
            return;
        }
        let due = if let Wait::For(span) = wait { Some(self.now + span) } else { None };
        let waiting = Waiting {
            order: self.order(),
            from,
            token,
            purpose,
            wait,
            due,
            templates: templates.to_vec(),
            puts: puts.to_vec(),
            is_select: purpose != Purpose::Replace,
            is_blocked: false,
            is_unindexed: false,
        };
        self.waiting.push(waiting.clone());
        self.search_for(&waiting);
    }

    /// Gives a tuple to one who waits; what a replacement puts is still to be offered.
    pub(super) fn give(&mut self, at: usize, waiting: &Waiting, put: &mut VecDeque<u64>) -> Given {
        let Waiting { from, token, purpose, .. } = *waiting;
        let which = waiting.which(&self.stored[at].tuple).filter(|_| waiting.is_select);
        if purpose != Purpose::Replace {
            let is_sent = self.deliver_selected(at, from, token, purpose, which);
            return if is_sent { Given::Sent } else { Given::Full };
        }
        let Some(is_reserve) = self.room_instead(at, &waiting.puts) else {
            self.refuse(from, token, Code::SpaceFull);
            return Given::Refused;
        };
        if !self.deliver(at, from, token, purpose) {
            return Given::Full;
        }
        self.note(Change::Taken, at);
        self.stored.remove(at);
        for tuple in &waiting.puts {
            let order = self.order();
            self.stored.push(Stored::put(self.now, order, tuple.clone(), is_reserve));
            self.note(Change::Put, self.stored.len() - 1);
            put.push_back(order);
        }
        Given::Sent
    }
}

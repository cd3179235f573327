//! Collections. How much of what matches is on one page is the manager's own affair, but not which tuples those are.

use super::{Model, Place};
use crate::{Answer, Change, Collected, Template};

impl Model {
    /// Does what the manager did, which answered with this page unless the link had no room.
    pub(in super::super) fn collect(
        &mut self,
        (from, token): (u16, u64),
        takes: bool,
        (start, below): (u64, Option<u64>),
        template: &Template,
        page: Option<&Collected>,
    ) {
        let below = below.unwrap_or(self.next);
        let again = Collected { tuples: vec![], next: Some(start.max(1)), below };
        if self.full.contains(&from) {
            return self.reply(from, token, Answer::Collected(again));
        }
        let next = page.and_then(|page| page.next);
        let ages = start..next.unwrap_or(below);
        let wanted = |place: Place, order, tuple| {
            place == Place::Shown && ages.contains(&order) && template.matches(tuple)
        };
        let stored = self.stored.iter().filter(|s| wanted(s.place, s.order, &s.tuple));
        let mut orders: Vec<u64> = stored.map(|s| s.order).collect();
        orders.sort_unstable();
        let mut tuples = vec![];
        for order in orders {
            let at = self.stored.iter().position(|s| s.order == order).unwrap();
            tuples.push(self.stored[at].tuple.clone());
            if takes {
                self.stored[at].place = Place::Taken { by: from, token };
                self.note(Change::Taken, at);
            }
        }
        if takes {
            self.settle_surplus(from, token);
        }
        self.sent.push((from, token, Answer::Collected(Collected { tuples, next, below })));
    }

    /// Settles the oldest takes of a sender that has too many but for this one, each with all that it took.
    pub(super) fn settle_surplus(&mut self, sender: u16, token: u64) {
        while self.taken_by(sender).count() > self.config.max_unsettled {
            let Some(oldest) = self.taken_by(sender).filter(|other| *other != token).min() else { return };
            self.stored.retain(|s| s.place != Place::Taken { by: sender, token: oldest });
        }
    }
}

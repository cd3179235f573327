//! What a listing shows.

use super::{Model, Place, Purpose};
use crate::{Answer, Template, Value, Wait};

/// A listed tuple: age, failed leases, lease and holder, fields.
pub(in super::super) type Listed = (u64, u32, Option<(u64, u16)>, Vec<Value>);

impl Model {
    pub(in super::super) fn count(&mut self, from: u16, token: u64, template: &Template) {
        self.query(from, token, Purpose::Count, Wait::AtOnce, template);
    }

    pub(super) fn reply_count(&mut self, from: u16, token: u64, template: &Template) {
        let matching = self.stored.iter().filter(|s| s.place == Place::Shown && template.matches(&s.tuple));
        let number = matching.count() as u64;
        self.reply(from, token, Answer::Count(number));
    }

    /// What a listing shows: age, failed leases, lease and holder, fields; oldest first.
    pub(in super::super) fn list(&self, template: Option<&Template>) -> Vec<Listed> {
        let wanted =
            self.stored.iter().filter(|s| template.is_none_or(|template| template.matches(&s.tuple)));
        let mut listed: Vec<Listed> = wanted
            .filter_map(|s| {
                let lease = match s.place {
                    Place::Shown => None,
                    Place::Taken { .. } | Place::Put => return None,
                    Place::Leased { by, lease, .. } => Some((lease, by)),
                };
                Some((s.order, s.failed, lease, s.tuple.values().to_vec()))
            })
            .collect();
        listed.sort_by_key(|row| row.0);
        listed
    }
}

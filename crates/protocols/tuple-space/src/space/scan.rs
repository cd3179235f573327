//! Searches and counts that must compare many tuples: a few in each turn.
//!
//! A request that has compared as many as one turn may goes on in wakes of its own, one request at a time, the others behind it. It
//! compares the candidates in the order of their age, up to a mark. What changes behind the mark is entered in what it has found so far:
//! a count is corrected by each matching tuple that comes or goes there, a search goes back to one that returns. So when the mark
//! has passed the last candidate, the result is that of this one instant. (docs/design/0008.)

mod saved;

use super::Space;
use super::store::SearchBudget;
use super::stores::Place;
use super::waiter::Operation;
use crate::codec::View;
use quintet_contract::{Outbox, Time};
use std::collections::BTreeMap;

/// Bytes that the comparisons, or the hashes, of one turn may read.
pub(super) const STEP_BYTES: u64 = 4 << 20;

/// How far a search or count is.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Progress {
    /// The mark: candidates older than this were compared.
    pub(super) mark: u64,
    /// Of those, how many match: the result of a count.
    pub(super) matching: u64,
}

/// The requests that go on in steps.
#[derive(Debug, Default)]
pub(super) struct Scans {
    /// Where each lies among the waiters, by age.
    waiters: BTreeMap<u64, u32>,
    /// The one that is worked on, by its age.
    current: Option<(u64, Progress)>,
}

impl Scans {
    /// Adds a request. If it is the only one it goes on from where it is, else from the start when its turn comes.
    pub(super) fn add(&mut self, order: u64, waiter: u32, progress: Progress) {
        self.waiters.insert(order, waiter);
        self.current.get_or_insert((order, progress));
    }

    pub(super) fn remove(&mut self, order: u64) {
        if self.waiters.remove(&order).is_some() {
            self.current = self.current.filter(|(current, _)| *current != order);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiters.is_empty()
    }

    #[cfg(test)]
    pub(super) fn waiters(&self) -> impl Iterator<Item = u32> {
        self.waiters.values().copied()
    }

    pub(super) fn len(&self) -> usize {
        self.waiters.len()
    }

    pub(super) fn contains(&self, order: u64, waiter: u32) -> bool {
        self.waiters.get(&order) == Some(&waiter)
    }

    /// The request to work on: the oldest, if none is under way.
    fn next(&mut self) -> Option<(u32, Progress)> {
        let (first, _) = self.waiters.first_key_value()?;
        let (order, progress) = *self.current.get_or_insert((*first, Progress::default()));
        Some((self.waiters[&order], progress))
    }
}

/// How many candidates one turn may compare with a template.
pub(super) fn comparisons(step: usize, template: &View<'_>) -> usize {
    let bytes = template.bytes();
    if (step as u64).saturating_mul(bytes) <= STEP_BYTES {
        return step;
    }
    usize::try_from(STEP_BYTES / bytes).unwrap_or(step).clamp(1, step)
}

impl Space {
    /// What a search may do now.
    pub(super) fn budget(&self) -> SearchBudget {
        let (step, index_bytes) = (self.config.index_step.max(1), self.room.free_bytes());
        SearchBudget { step, index_bytes, made: None }
    }

    /// Takes a step for the request whose turn it is.
    pub(super) fn scan(&mut self, now: Time, out: &mut dyn Outbox) {
        if let Some((waiter, progress)) = self.scans.next() {
            self.search_for_waiter(now, waiter, progress, out);
        }
    }

    /// Makes a hidden tuple one that can be taken.
    pub(super) fn show(&mut self, place: Place) {
        let entries = self.stores[place.store].show(place.entry, &self.key);
        self.room.indexed(entries);
        self.await_expiry(place);
        if self.scans.current.is_some() {
            self.correct(place, true);
        }
    }

    /// Hides a tuple, if it is not hidden yet.
    pub(super) fn hide(&mut self, place: Place) {
        let Some(entries) = self.stores[place.store].hide(place.entry, &self.key) else { return };
        self.room.unindexed(entries);
        self.drop_expiry(place);
        if self.scans.current.is_some() {
            self.correct(place, false);
        }
    }

    /// Enters in the request that is worked on what changed behind its mark.
    #[cold]
    fn correct(&mut self, place: Place, is_shown: bool) {
        let Some((order, progress)) = &mut self.scans.current else { return };
        let (waiter, tuple) = (&self.waiters[self.scans.waiters[order]], self.stores.view(place));
        let age = self.stores.entry(place).order;
        if age >= progress.mark || !waiter.matches(&tuple) {
            return;
        }
        match (waiter.requester.operation, is_shown) {
            (Operation::Count, true) => progress.matching += 1,
            (Operation::Count, false) => progress.matching -= 1,
            (_, true) => progress.mark = age,
            (_, false) => {}
        }
    }
}

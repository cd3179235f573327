//! Which indexes the tuples of a signature have: made when a template needs one, paid for by the tuples, and built in steps.

use super::{Choice, Index, NewIndex, OrderedIndex, SearchBudget, Store};
use crate::keyed::HashKey;
use crate::space::index::{MAX_FURTHER_INDEXES, MAX_INDEXES};
use crate::space::room::INDEX_ENTRY_BYTES;
use crate::space::scan::STEP_BYTES;

impl Store {
    /// The index to use for templates with values in `fields`, if it is ready.
    pub(super) fn index(&mut self, fields: u64, budget: &mut SearchBudget, key: &HashKey) -> Option<usize> {
        let position = self.indexes.position(fields).unwrap_or_else(|| self.other_index(fields, budget, key));
        self.indexes[position].is_ready().then_some(position)
    }

    /// Another index to use where there is none of exactly these fields: a new one, if it may be made.
    #[cold]
    fn other_index(&mut self, fields: u64, budget: &mut SearchBudget, key: &HashKey) -> usize {
        let may_add = self.may_add(1, budget);
        match self.indexes.choose_within(fields, may_add) {
            Choice::Existing(position) => position,
            Choice::New(fields) => self.make_index(fields, budget, key),
        }
    }

    fn make_index(&mut self, fields: u64, budget: &mut SearchBudget, key: &HashKey) -> usize {
        let position = self.indexes.push(Index::unready(fields, self.shown));
        self.pay_for_indexes(budget);
        if self.entries.len() <= budget.step {
            self.build(position, budget.step, key);
        }
        position
    }

    /// Whether each tuple may have so many more entries in indexes.
    pub(super) fn may_add(&self, entries: u64, budget: &SearchBudget) -> bool {
        let bytes = self.shown as u64 * entries * INDEX_ENTRY_BYTES;
        let is_made = budget.made.map_or(0, |made| made.entries * INDEX_ENTRY_BYTES);
        bytes + is_made <= budget.index_bytes && self.further + entries <= MAX_FURTHER_INDEXES
    }

    /// Has the tuples pay for an index that was made. Those that were dropped for it were empty.
    pub(super) fn pay_for_indexes(&mut self, budget: &mut SearchBudget) {
        let further = self.indexes.further() + self.ordered.iter().map(OrderedIndex::weight).sum::<u64>();
        let entries = self.shown as u64 * further.saturating_sub(self.further);
        self.further = further;
        let before = budget.made.map_or(0, |made| made.entries);
        budget.made = Some(NewIndex { entries: before + entries, further });
    }

    /// Adds the next `step` tuples to an index that is not ready, fewer if they are long; how many it looked at.
    pub(in crate::space) fn build(&mut self, position: usize, step: usize, key: &HashKey) -> usize {
        if let Some(ordered) = position.checked_sub(MAX_INDEXES) {
            return self.build_ordered(ordered, step, key);
        }
        let index = &mut self.indexes[position];
        let Some(first) = index.built() else { return 0 };
        let mut entries = self.entries.iter_from(first);
        let (mut looked_at, mut bytes) = (0, 0);
        for (place, entry) in entries.by_ref() {
            looked_at += 1;
            if entry.shown {
                let hash = index.hash(&entry.view(&self.signature), key);
                index.insert(hash, entry.order, place);
                bytes += entry.bytes();
            }
            if looked_at == step || bytes >= STEP_BYTES {
                break;
            }
        }
        index.set_built(entries.next().map(|(place, _)| place));
        looked_at
    }

    /// The first index that is not ready: its position, or that of an ordered one behind [`MAX_INDEXES`].
    pub(in crate::space) fn unready(&self) -> Option<usize> {
        let ordered = || self.ordered.iter().position(|index| !index.is_ready()).map(|at| MAX_INDEXES + at);
        self.indexes.iter().position(|index| !index.is_ready()).or_else(ordered)
    }

    /// Whether the index at that position is ready.
    pub(in crate::space) fn is_ready(&self, position: usize) -> bool {
        match position.checked_sub(MAX_INDEXES) {
            Some(ordered) => self.ordered[ordered].is_ready(),
            None => self.indexes[position].is_ready(),
        }
    }

    /// As [`Store::build`] for an ordered index.
    pub(super) fn build_ordered(&mut self, position: usize, step: usize, key: &HashKey) -> usize {
        let index = &mut self.ordered[position];
        let Some(first) = index.built() else { return 0 };
        let mut entries = self.entries.iter_from(first);
        let (mut looked_at, mut bytes) = (0, 0);
        for (place, entry) in entries.by_ref() {
            looked_at += 1;
            if entry.shown {
                index.insert(&entry.view(&self.signature), entry.order, place, key);
                bytes += entry.bytes();
            }
            if looked_at == step || bytes >= STEP_BYTES {
                break;
            }
        }
        index.set_built(entries.next().map(|(place, _)| place));
        looked_at
    }
}

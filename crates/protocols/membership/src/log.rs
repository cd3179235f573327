//! The part of the log that is in memory: what is not committed, and a little of what is.

use crate::change::Entry;
use std::collections::VecDeque;

/// Entries behind a place up to which all are committed. Indices count from 1.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    /// The index and term of what lies before the first entry that is here.
    base: (u64, u64),
    entries: VecDeque<Entry>,
}

impl Log {
    /// An empty log behind an index and its term.
    pub(crate) fn behind(index: u64, term: u64) -> Log {
        Log { base: (index, term), entries: VecDeque::new() }
    }

    /// The index before the first entry that is here.
    pub(crate) fn base(&self) -> u64 {
        self.base.0
    }

    /// The last index.
    pub(crate) fn last(&self) -> u64 {
        self.base.0 + self.entries.len() as u64
    }

    /// The term of the last entry.
    pub(crate) fn last_term(&self) -> u64 {
        self.entries.back().map_or(self.base.1, |entry| entry.term)
    }

    fn place(&self, index: u64) -> Option<usize> {
        usize::try_from(index.checked_sub(self.base.0 + 1)?).ok()
    }

    /// The entry at an index, if it is here.
    pub(crate) fn get(&self, index: u64) -> Option<&Entry> {
        self.entries.get(self.place(index)?)
    }

    /// The term at an index, if that is known.
    pub(crate) fn term(&self, index: u64) -> Option<u64> {
        if index == self.base.0 { Some(self.base.1) } else { self.get(index).map(|entry| entry.term) }
    }

    /// The entries from an index on.
    pub(crate) fn from(&self, index: u64) -> impl Iterator<Item = &Entry> {
        let skipped = self.place(index).unwrap_or(0);
        self.entries.iter().skip(skipped)
    }

    /// Puts an entry at the end. Its index.
    pub(crate) fn push(&mut self, entry: Entry) -> u64 {
        self.entries.push_back(entry);
        self.last()
    }

    /// Drops the entries from an index on.
    pub(crate) fn cut(&mut self, index: u64) {
        if let Some(place) = self.place(index) {
            self.entries.truncate(place);
        }
    }

    /// Forgets the entries up to an index that is committed.
    pub(crate) fn forget_up_to(&mut self, index: u64) {
        while self.base.0 < index
            && let Some(entry) = self.entries.pop_front()
        {
            self.base = (self.base.0 + 1, entry.term);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Change;

    fn log(terms: &[u64]) -> Log {
        let mut log = Log::behind(4, 1);
        for term in terms {
            log.push(Entry { term: *term, change: Change::Nothing });
        }
        log
    }

    #[test]
    fn indices_go_on_behind_the_base() {
        let log = log(&[1, 2, 2]);
        assert_eq!((log.base(), log.last(), log.last_term()), (4, 7, 2));
        assert_eq!(
            [3, 4, 5, 6, 7, 8].map(|at| log.term(at)),
            [None, Some(1), Some(1), Some(2), Some(2), None]
        );
        assert_eq!((log.from(6).count(), log.from(8).count(), log.from(5).count()), (2, 0, 3));
        assert_eq!(Log::behind(4, 9).last_term(), 9);
    }

    #[test]
    fn what_is_cut_and_what_is_forgotten_is_gone_and_nothing_else() {
        let mut log = log(&[1, 2, 3]);
        log.cut(7);
        assert_eq!((log.last(), log.last_term()), (6, 2));
        log.forget_up_to(5);
        assert_eq!((log.base(), log.term(5), log.term(6), log.last()), (5, Some(1), Some(2), 6));
        log.cut(6);
        assert_eq!((log.last(), log.last_term()), (5, 1));
        log.forget_up_to(9);
        assert_eq!(log.last(), 5, "what is not there is not forgotten");
    }
}

//! The part of the log that is in memory: what is not committed, and a little of what is.

use crate::agreed::Entry;
use quintet_wire::Encode;
use std::collections::VecDeque;

/// Entries behind a place up to which all are committed. Indices count from 1.
#[derive(Clone, Debug)]
pub(crate) struct Log<C> {
    /// The index and term of what lies before the first entry that is here.
    base: (u64, u64),
    entries: VecDeque<Entry<C>>,
    /// How long they are together, as messages hold them.
    bytes: u64,
}

impl<C: Encode> Log<C> {
    /// An empty log behind an index and its term.
    pub(crate) fn behind(index: u64, term: u64) -> Log<C> {
        Log { base: (index, term), entries: VecDeque::new(), bytes: 0 }
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
    pub(crate) fn get(&self, index: u64) -> Option<&Entry<C>> {
        self.entries.get(self.place(index)?)
    }

    /// The term at an index, if that is known.
    pub(crate) fn term(&self, index: u64) -> Option<u64> {
        if index == self.base.0 { Some(self.base.1) } else { self.get(index).map(|entry| entry.term) }
    }

    /// The entries from an index on.
    pub(crate) fn from(&self, index: u64) -> impl Iterator<Item = &Entry<C>> {
        let skipped = self.place(index).unwrap_or(0);
        self.entries.iter().skip(skipped)
    }

    /// Puts an entry at the end. Its index.
    pub(crate) fn push(&mut self, entry: Entry<C>) -> u64 {
        self.bytes += entry.encoded_len() as u64;
        self.entries.push_back(entry);
        self.last()
    }

    /// Drops the entries from an index on.
    pub(crate) fn cut(&mut self, index: u64) {
        if let Some(place) = self.place(index) {
            let dropped = self.entries.drain(place.min(self.entries.len())..);
            self.bytes -= dropped.map(|entry| entry.encoded_len() as u64).sum::<u64>();
        }
    }

    /// How long the entries are together.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Forgets entries up to an index that is committed, the oldest first, until no more than so many bytes are left.
    pub(crate) fn lighten(&mut self, most: u64, up_to: u64) {
        while self.bytes > most && self.base.0 < up_to {
            self.forget_up_to(self.base.0 + 1);
        }
    }

    /// Forgets the entries up to an index that is committed.
    pub(crate) fn forget_up_to(&mut self, index: u64) {
        while self.base.0 < index
            && let Some(entry) = self.entries.pop_front()
        {
            self.base = (self.base.0 + 1, entry.term);
            self.bytes -= entry.encoded_len() as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_wire::Sink;

    struct Nothing;

    impl Encode for Nothing {
        fn encode(&self, _: &mut impl Sink) {}
    }

    fn log(terms: &[u64]) -> Log<Nothing> {
        let mut log = Log::behind(4, 1);
        for term in terms {
            log.push(Entry { term: *term, change: Nothing });
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
        assert_eq!(Log::<Nothing>::behind(4, 9).last_term(), 9);
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

    #[test]
    fn entries_are_forgotten_by_their_length_and_none_that_is_not_committed() {
        let mut log = log(&[1, 2, 3, 4]);
        assert_eq!(log.bytes(), 32);
        log.lighten(16, 5);
        assert_eq!((log.base(), log.bytes()), (5, 24));
        log.lighten(16, 8);
        assert_eq!((log.base(), log.bytes()), (6, 16));
        log.cut(8);
        assert_eq!((log.last(), log.bytes()), (7, 8));
    }
}

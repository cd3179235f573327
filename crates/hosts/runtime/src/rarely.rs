//! What strangers can make happen a thousand times a second is told of once a second, and counted in between.

use quintet_contract::{Span, Time};
use std::collections::VecDeque;

/// How long after one of them was told of the next ones are only counted.
pub(crate) const QUIET: Span = Span::from_secs(1);

/// Kinds that are told apart: one who knocks without end hides nobody else, and many of them are counted together.
pub(crate) const KINDS: usize = 32;

/// What was told of, by its kind: the one told of last at the end.
pub(crate) struct Rarely<K>(VecDeque<Told<K>>);

struct Told<K> {
    kind: K,
    quiet_until: Time,
    /// Those that nobody was told of.
    untold: u64,
}

impl<K> Default for Rarely<K> {
    fn default() -> Self {
        Rarely(VecDeque::new())
    }
}

impl<K: PartialEq> Rarely<K> {
    /// One more of a kind: if it is to be told, how many before it were not.
    pub(crate) fn count(&mut self, kind: K, now: Time) -> Option<u64> {
        let known = self.0.iter().position(|told| told.kind == kind);
        // Where there are too many to be told apart, one that is not told of any more makes room, or the next is counted with the last.
        let alike = known.or_else(|| {
            let is_full = self.0.len() == KINDS && self.0[0].quiet_until > now;
            is_full.then_some(KINDS - 1)
        });
        let before = match alike {
            Some(at) if now < self.0[at].quiet_until => {
                self.0[at].untold += 1;
                return None;
            }
            Some(at) => self.0.remove(at).map_or(0, |told| told.untold),
            None => {
                if self.0.len() == KINDS {
                    // What was counted of that kind is not of this one.
                    self.0.pop_front();
                }
                0
            }
        };
        self.0.push_back(Told { kind, quiet_until: now + QUIET, untold: 0 });
        Some(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_that_makes_room_leaves_its_count_to_no_other() {
        let mut rarely = Rarely::default();
        assert_eq!(
            (rarely.count(0, Time(0)), rarely.count(0, Time(1)), rarely.count(0, Time(2))),
            (Some(0), None, None)
        );
        let later = Time::ZERO + QUIET;
        for kind in 1..=KINDS {
            assert_eq!(rarely.count(kind, later), Some(0), "kind {kind} has come for the first time");
        }
        assert_eq!(rarely.count(KINDS, later), None);
        assert_eq!(rarely.count(KINDS, later + QUIET), Some(1));
    }
}

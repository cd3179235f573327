//! What of a member is under way: so it is known here whether its node takes one more.

use quintet_contract::Token;
use quintet_isotach::limits::{KEPT_FOR_VALUES, MAX_RANKS_APART, MAX_UNEXECUTED};
use std::collections::VecDeque;

/// What is asked of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What {
    /// An isochron.
    Isochron {
        /// It gives more reserved places their values than it reserves: some room is kept for those.
        gives_values: bool,
    },
    /// A plain message.
    Plain,
}

/// Isochrons and plain messages without an answer. Their node, which has those that have come to it and are not completed, has as many at most.
#[derive(Default)]
pub(super) struct UnderWay {
    /// Isochrons from the first without an answer on, ascending, and whether each has none.
    isochrons: VecDeque<(Token, bool)>,
    open: usize,
    plain: usize,
}

impl UnderWay {
    pub(super) fn is_empty(&self) -> bool {
        self.open + self.plain == 0
    }

    /// Whether the node takes one more.
    pub(super) fn has_room(&self, what: What) -> bool {
        let kept = match what {
            What::Plain => return self.plain < MAX_UNEXECUTED,
            What::Isochron { gives_values: true } => 0,
            What::Isochron { gives_values: false } => KEPT_FOR_VALUES,
        };
        let are_near = ((self.isochrons.len() + kept) as u64) < MAX_RANKS_APART;
        self.open + kept < MAX_UNEXECUTED && are_near
    }

    /// One more, the last so far.
    pub(super) fn begin(&mut self, what: What, token: Token) {
        match what {
            What::Isochron { .. } => {
                self.isochrons.push_back((token, true));
                self.open += 1;
            }
            What::Plain => self.plain += 1,
        }
    }

    /// It has its answer.
    pub(super) fn end(&mut self, token: Token) {
        match self.isochrons.binary_search_by_key(&token, |(token, _)| *token) {
            Ok(at) => {
                self.isochrons[at].1 = false;
                self.open -= 1;
            }
            Err(_) => self.plain -= 1,
        }
        while self.isochrons.pop_front_if(|(_, is_open)| !*is_open).is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READS: What = What::Isochron { gives_values: false };
    const GIVES: What = What::Isochron { gives_values: true };

    /// Begins as many as there is room for, from this token on; how many.
    fn fill(under_way: &mut UnderWay, what: What, from: u64) -> u64 {
        let tokens = (from..).take_while(|token| {
            let has_room = under_way.has_room(what);
            if has_room {
                under_way.begin(what, Token(*token));
            }
            has_room
        });
        tokens.count() as u64
    }

    #[test]
    fn there_is_room_for_as_many_as_a_node_takes_and_some_more_that_give_values() {
        let mut under_way = UnderWay::default();
        assert_eq!(fill(&mut under_way, READS, 1), 240);
        assert_eq!(fill(&mut under_way, GIVES, 1000), 16);
        assert_eq!(fill(&mut under_way, What::Plain, 2000), 256);
        (1..=240).chain(1000..1016).chain(2000..2256).for_each(|token| under_way.end(Token(token)));
        assert!(under_way.is_empty() && under_way.has_room(READS) && under_way.has_room(What::Plain));
    }

    #[test]
    fn what_is_too_far_behind_the_first_that_waits_has_no_room() {
        let mut under_way = UnderWay::default();
        under_way.begin(READS, Token(1));
        let begun = (2..).take_while(|token| {
            let has_room = under_way.has_room(READS);
            under_way.begin(READS, Token(*token));
            under_way.end(Token(*token));
            has_room
        });
        assert_eq!(begun.count() as u64, MAX_RANKS_APART - KEPT_FOR_VALUES as u64 - 1);
        under_way.end(Token(1));
        assert!(under_way.has_room(READS));
    }
}

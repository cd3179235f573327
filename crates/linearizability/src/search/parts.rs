//! Parts of an object that know nothing of each other.
//!
//! A history of several objects is linearizable exactly if that of each object is (Herlihy and Wing, theorem 1: linearizability is local), and so it is
//! with parts of one object (Horn and Kroening, "Faster Linearizability Checking via P-Compositionality", FORTE 2015). Their proof knows one order between
//! operations of different objects, that of answers and later questions. That an operation is not overtaken by what its client asks before the answer is
//! another one, so parts between which there is such a pair are searched together.

use super::{Event, Object};
use std::collections::BTreeMap;

/// The events of each part, by their places in the history.
pub(super) fn split<O: Object>(object: &O, history: &[Event<O::Act>]) -> Vec<Vec<usize>> {
    let mut sets = Sets((0..history.len()).collect());
    let mut first_of: BTreeMap<u64, usize> = BTreeMap::new();
    for (at, parts) in object.parts(history).into_iter().enumerate() {
        for part in parts {
            let first = *first_of.entry(part).or_insert(at);
            sets.join(first, at);
        }
    }
    let all: Vec<usize> = asked(history);
    for (first, second) in not_overtaken(object, history, &all) {
        sets.join(all[first], all[second]);
    }
    let mut events: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for at in 0..history.len() {
        events.entry(sets.root(at)).or_default().push(at);
    }
    events.into_values().collect()
}

/// The places of all events, in the order in which they were asked.
fn asked<A>(history: &[Event<A>]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..history.len()).collect();
    places.sort_by_key(|place| history[*place].asked);
    places
}

/// Pairs of one client whose first is not overtaken by the second, which was asked before it was answered: indexes of `places`, which are in the order in
/// which they were asked.
pub(super) fn not_overtaken<O: Object>(
    object: &O,
    history: &[Event<O::Act>],
    places: &[usize],
) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    for (first, place) in places.iter().enumerate() {
        let Event { client, act, answered, .. } = &history[*place];
        if !object.is_not_overtaken(act) {
            continue;
        }
        let meanwhile = places.iter().enumerate().skip(first + 1);
        let meanwhile = meanwhile
            .take_while(|(_, later)| answered.is_none_or(|answered| history[**later].asked <= answered));
        let own = meanwhile.filter(|(_, later)| history[**later].client == *client);
        pairs.extend(own.map(|(second, _)| (first, second)));
    }
    pairs
}

/// Disjoint sets of numbers: each names another of its set, or itself.
struct Sets(Vec<usize>);

impl Sets {
    fn root(&mut self, mut at: usize) -> usize {
        while self.0[at] != at {
            self.0[at] = self.0[self.0[at]];
            at = self.0[at];
        }
        at
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        self.0[one.max(other)] = one.min(other);
    }
}

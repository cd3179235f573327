//! The search of Wing and Gong ("Testing and Verifying Concurrent Objects", Journal of Parallel and Distributed Computing 17, 1993), with the memory of
//! states that Lowe added ("Testing for linearizability", Concurrency and Computation: Practice and Experience 29(4), 2017).
//!
//! Operations are tried in the order in which they were answered: where the object did what it was asked one after the other, as most do most of the time,
//! the first order that is tried is right, and the search is linear in the history. A history that is not linearizable may take exponential time: the
//! search ends after [`MAX_STATES`] states, and says that it did.
//!
//! What is about parts of the object that know nothing of each other is searched for each part alone (`parts.rs`): two parts with a
//! thousand states each are two thousand to look at, and a million together.

mod parts;

use core::fmt;
use std::collections::HashSet;
use std::hash::Hash;

/// States that are looked at in one search.
pub const MAX_STATES: usize = 1_000_000;

/// An object whose operations are done one after the other.
pub trait Object {
    /// What it remembers.
    type State: Clone + Default + Eq + Hash;
    /// An operation, with what it came to.
    type Act;

    /// What a state may become, if the operation can come to what it came to: several states where that is not told.
    fn apply(&self, state: &Self::State, act: &Self::Act) -> impl IntoIterator<Item = Self::State>;

    /// Whether what its client asks later is done later, though it is asked before the answer. Default: never. One that is never answered may not have
    /// happened at all; if it has, then before what its client asked later.
    fn is_not_overtaken(&self, _act: &Self::Act) -> bool {
        false
    }

    /// Which parts of the object each operation of a history is about, where no part knows of another: what an operation comes to, and what it does, is up
    /// to its parts alone. Default: all are about the same one.
    fn parts(&self, history: &[Event<Self::Act>]) -> Vec<Vec<u64>> {
        vec![vec![0]; history.len()]
    }
}

/// An operation of a client.
#[derive(Clone, Debug)]
pub struct Event<A> {
    /// Whose.
    pub client: u32,
    /// Which, and what it came to.
    pub act: A,
    /// When it was asked, in any unit.
    pub asked: u64,
    /// When it was answered; none: it was not, and may have had its effect or not.
    pub answered: Option<u64>,
}

/// Why no order was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fault {
    /// There is none. So many operations were put in order at most, and these could not follow: their places in the history.
    NotLinearizable {
        /// How many could.
        ordered: usize,
        /// Those of which one had to be next.
        stuck: Vec<usize>,
    },
    /// Whether there is one is open after so many states.
    Undecided(usize),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::NotLinearizable { ordered, stuck } => {
                write!(f, "{ordered} operations can be put in order, and none of these may follow: {stuck:?}")
            }
            Fault::Undecided(states) => write!(f, "undecided after {states} states"),
        }
    }
}

/// Whether the operations can be put in an order in which the object, done one after the other, comes to the same. Equal times overlap.
///
/// # Errors
/// [`Fault`]: they cannot, or that is open.
pub fn check<O: Object>(object: &O, history: &[Event<O::Act>]) -> Result<(), Fault> {
    check_within(object, history, MAX_STATES)
}

/// The same within so many states for each part of the object.
///
/// # Errors
/// As [`check`].
pub fn check_within<O: Object>(
    object: &O,
    history: &[Event<O::Act>],
    most_states: usize,
) -> Result<(), Fault> {
    let mut undecided = Ok(());
    for events in parts::split(object, history) {
        match Search::new(object, history, events).run(most_states) {
            Err(fault @ Fault::Undecided(_)) => undecided = Err(fault),
            Err(fault) => return Err(fault),
            Ok(()) => {}
        }
    }
    undecided
}

/// Which operations are in order: a bit each, in the order in which they were asked.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Ordered {
    /// All before this word are in order.
    first: usize,
    words: Vec<u64>,
}

impl Ordered {
    fn has(&self, place: usize) -> bool {
        let word = place / 64;
        word < self.first
            || self.words.get(word - self.first).is_some_and(|word| word >> (place % 64) & 1 == 1)
    }

    fn with(&self, place: usize) -> Ordered {
        let mut next = self.clone();
        let word = place / 64 - self.first;
        next.words.resize(next.words.len().max(word + 1), 0);
        next.words[word] |= 1 << (place % 64);
        let full = next.words.iter().take_while(|word| **word == u64::MAX).count();
        next.words.drain(..full);
        next.first += full;
        next
    }

    /// The first place that may not be in order.
    fn begin(&self) -> usize {
        self.first * 64
    }
}

/// A state on the way, and what may follow it that was not tried, the next to be tried last.
struct Step<S> {
    ordered: Ordered,
    /// How many are in order, and how many of these were answered.
    length: usize,
    answered: usize,
    state: S,
    untried: Vec<usize>,
}

struct Search<'a, O: Object> {
    object: &'a O,
    history: &'a [Event<O::Act>],
    /// The places of the events in the history, in the order in which they were asked.
    places: Vec<usize>,
    /// Of each those that are not to be in order before it: what its client asked before it that is not overtaken and was answered later, in `places`.
    behind: Vec<Vec<usize>>,
    /// Of each that was not answered and is not overtaken: what its client asked later. Once one of these is in order it has not happened.
    before: Vec<Vec<usize>>,
    answered: usize,
}

impl<'a, O: Object> Search<'a, O> {
    /// Of these events of the history.
    fn new(object: &'a O, history: &'a [Event<O::Act>], events: Vec<usize>) -> Self {
        let mut places = events;
        places.sort_by_key(|place| history[*place].asked);
        let (mut behind, mut before) = (vec![Vec::new(); places.len()], vec![Vec::new(); places.len()]);
        for (first, second) in parts::not_overtaken(object, history, &places) {
            match history[places[first]].answered {
                Some(_) => behind[second].push(first),
                None => before[first].push(second),
            }
        }
        let answered = places.iter().filter(|place| history[**place].answered.is_some()).count();
        Search { object, history, places, behind, before, answered }
    }

    fn event(&self, at: usize) -> &Event<O::Act> {
        &self.history[self.places[at]]
    }

    /// What may follow, the one that was answered first last.
    fn next(&self, ordered: &Ordered) -> Vec<usize> {
        let mut next = Vec::new();
        let mut first_answer = u64::MAX;
        for at in ordered.begin()..self.places.len() {
            let event = self.event(at);
            if event.asked > first_answer {
                break;
            }
            if !ordered.has(at) {
                next.push(at);
                first_answer = event.answered.map_or(first_answer, |answered| answered.min(first_answer));
            }
        }
        next.retain(|at| {
            let is_behind = self.behind[*at].iter().all(|first| ordered.has(*first));
            let is_too_late = self.before[*at].iter().any(|second| ordered.has(*second));
            is_behind && !is_too_late && self.event(*at).asked <= first_answer
        });
        next.sort_by_key(|at| core::cmp::Reverse((self.event(*at).answered.unwrap_or(u64::MAX), *at)));
        next
    }

    fn begin(&self) -> Step<O::State> {
        let ordered = Ordered { first: 0, words: Vec::new() };
        let untried = self.next(&ordered);
        Step { ordered, length: 0, answered: 0, state: O::State::default(), untried }
    }

    fn run(&self, most_states: usize) -> Result<(), Fault> {
        let mut way = vec![self.begin()];
        let mut seen = HashSet::new();
        let mut fault = Fault::NotLinearizable { ordered: 0, stuck: self.places_of(&way[0]) };
        while let Some(step) = way.last_mut() {
            if step.answered == self.answered {
                return Ok(());
            }
            let Some(at) = step.untried.pop() else {
                way.pop();
                continue;
            };
            let event = self.event(at);
            let ordered = step.ordered.with(at);
            let (length, answered) = (step.length + 1, step.answered + usize::from(event.answered.is_some()));
            let states: Vec<O::State> = self.object.apply(&step.state, &event.act).into_iter().collect();
            for state in states {
                if !seen.insert((ordered.clone(), state.clone())) {
                    continue;
                }
                if seen.len() > most_states {
                    return Err(Fault::Undecided(most_states));
                }
                let untried = self.next(&ordered);
                let step = Step { ordered: ordered.clone(), length, answered, state, untried };
                if matches!(&fault, Fault::NotLinearizable { ordered, .. } if length > *ordered) {
                    fault = Fault::NotLinearizable { ordered: length, stuck: self.places_of(&step) };
                }
                way.push(step);
            }
        }
        Err(fault)
    }

    /// Where in the history those are of which one has to be next.
    fn places_of(&self, step: &Step<O::State>) -> Vec<usize> {
        step.untried.iter().rev().map(|at| self.places[*at]).collect()
    }
}

#[cfg(test)]
mod tests;

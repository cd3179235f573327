//! The search of Wing and Gong ("Testing and Verifying Concurrent Objects", Journal of Parallel and Distributed Computing 17, 1993), with the memory of
//! states that Lowe added ("Testing for linearizability", Concurrency and Computation: Practice and Experience 29(4), 2017).
//!
//! Operations are tried in the order in which they were answered: where the object did what it was asked one after the other, as most do most of the time,
//! the first order that is tried is right, and the search is linear in the history. A history that is not linearizable may take exponential time: the
//! search ends after [`MAX_STATES`] states, and says that it did.

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

    /// What a state becomes, if the operation can come to what it came to.
    fn apply(&self, state: &Self::State, act: &Self::Act) -> Option<Self::State>;

    /// Whether what its client asks later is done later, though it is asked before the answer. Default: never.
    fn is_not_overtaken(&self, _act: &Self::Act) -> bool {
        false
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

/// The same within so many states.
///
/// # Errors
/// As [`check`].
pub fn check_within<O: Object>(
    object: &O,
    history: &[Event<O::Act>],
    most_states: usize,
) -> Result<(), Fault> {
    Search::new(object, history).run(most_states)
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
    state: S,
    untried: Vec<usize>,
}

struct Search<'a, O: Object> {
    object: &'a O,
    history: &'a [Event<O::Act>],
    /// The places of the events in the history, in the order in which they were asked.
    places: Vec<usize>,
    /// What each has to follow, of those of the same client: a place in `places`.
    follows: Vec<Option<usize>>,
    answered: usize,
}

impl<'a, O: Object> Search<'a, O> {
    fn new(object: &'a O, history: &'a [Event<O::Act>]) -> Self {
        let mut places: Vec<usize> = (0..history.len()).collect();
        places.sort_by_key(|place| history[*place].asked);
        let mut last_of: Vec<(u32, usize)> = Vec::new();
        let mut follows = Vec::with_capacity(places.len());
        for (at, place) in places.iter().enumerate() {
            let Event { client, act, .. } = &history[*place];
            let last = last_of.iter().position(|(whose, _)| whose == client);
            follows.push(last.map(|last| last_of[last].1));
            if object.is_not_overtaken(act) {
                match last {
                    Some(last) => last_of[last].1 = at,
                    None => last_of.push((*client, at)),
                }
            }
        }
        let answered = history.iter().filter(|event| event.answered.is_some()).count();
        Search { object, history, places, follows, answered }
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
            let follows = self.follows[*at].is_none_or(|before| ordered.has(before));
            follows && self.event(*at).asked <= first_answer
        });
        next.sort_by_key(|at| core::cmp::Reverse((self.event(*at).answered.unwrap_or(u64::MAX), *at)));
        next
    }

    fn step(&self, ordered: Ordered, state: O::State) -> Step<O::State> {
        let untried = self.next(&ordered);
        Step { ordered, state, untried }
    }

    fn run(&self, most_states: usize) -> Result<(), Fault> {
        let nothing = Ordered { first: 0, words: Vec::new() };
        let mut way = vec![(self.step(nothing, O::State::default()), 0)];
        let mut seen = HashSet::new();
        let mut fault = Fault::NotLinearizable { ordered: 0, stuck: Vec::new() };
        while let Some((step, answered)) = way.last_mut() {
            if *answered == self.answered {
                return Ok(());
            }
            let Some(at) = step.untried.pop() else {
                way.pop();
                continue;
            };
            let event = self.event(at);
            let Some(state) = self.object.apply(&step.state, &event.act) else { continue };
            let ordered = step.ordered.with(at);
            let answered = *answered + usize::from(event.answered.is_some());
            if !seen.insert((ordered.clone(), state.clone())) {
                continue;
            }
            if seen.len() > most_states {
                return Err(Fault::Undecided(most_states));
            }
            let step = self.step(ordered, state);
            let is_furthest =
                matches!(&fault, Fault::NotLinearizable { ordered, .. } if way.len() > *ordered);
            if is_furthest {
                let stuck = step.untried.iter().rev().map(|at| self.places[*at]).collect();
                fault = Fault::NotLinearizable { ordered: way.len(), stuck };
            }
            way.push((step, answered));
        }
        Err(fault)
    }
}

#[cfg(test)]
mod tests;

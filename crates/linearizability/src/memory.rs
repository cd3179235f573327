//! Variables that several programs share, and what they may be told of them in any order of their own steps: sequential consistency.
//!
//! A memory is **sequentially consistent** (Lamport, "How to Make a Multiprocessor Computer That Correctly Executes Multiprocess Programs", IEEE Transactions
//! on Computers C-28(9), 1979) if what programs were told is what one memory would have told that does one operation after the other, those of a program in
//! their order. When anything was asked or answered says nothing. It does not follow for all variables from holding for each: they are looked at together.

use crate::{Event, Object};
use core::hash::Hash;
use core::marker::PhantomData;
use std::collections::BTreeMap;

/// All answers are behind all questions: so nothing but the order of each program counts.
const ANSWERED: u64 = 1 << 32;

/// One memory, whose variables have the default value in the beginning. An operation is a list of [`Step`]s that are done at one instant.
#[derive(Clone, Copy, Debug)]
pub struct Memory<V, T>(PhantomData<(V, T)>);

/// What an operation does with a variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step<V, T> {
    /// It gives it this value.
    Write(V, T),
    /// It was told this value.
    Read(V, T),
}

/// An operation of a program that was answered, or was not.
#[derive(Clone, Debug)]
pub struct Told<A, R> {
    /// Whose: each program's are in its order.
    pub program: u32,
    /// Which, and what it came to.
    pub act: A,
    /// None: it was not answered, and may have been done or not. Of two that may follow the lesser is tried first, which proves nothing.
    pub answered: Option<R>,
}

impl<V, T> Default for Memory<V, T> {
    fn default() -> Memory<V, T> {
        Memory(PhantomData)
    }
}

impl<V: Clone + Ord + Hash, T: Clone + Default + Eq + Hash> Object for Memory<V, T> {
    type State = BTreeMap<V, T>;
    type Act = Vec<Step<V, T>>;

    fn apply(&self, state: &Self::State, steps: &Self::Act) -> impl IntoIterator<Item = Self::State> {
        let mut state = state.clone();
        for step in steps {
            match step {
                Step::Write(variable, value) => _ = state.insert(variable.clone(), value.clone()),
                Step::Read(variable, value) => {
                    if state.get(variable).unwrap_or(&T::default()) != value {
                        return None;
                    }
                }
            }
        }
        Some(state)
    }

    fn is_not_overtaken(&self, _: &Self::Act) -> bool {
        true
    }
}

/// The history of programs of which nothing counts but the order of each one's own operations, for [`check`](crate::check).
///
/// ```
/// use quintet_linearizability::{Memory, Step, Told, check, in_program_order};
///
/// let told = |program, step| Told { program, act: vec![step], answered: Some(()) };
/// let late = [told(0, Step::Write('x', 1)), told(1, Step::Read('x', 0)), told(1, Step::Read('x', 1))];
/// assert!(check(&Memory::default(), &in_program_order(late)).is_ok(), "as if it had been asked earlier");
/// let back = [told(0, Step::Write('x', 1)), told(1, Step::Read('x', 1)), told(1, Step::Read('x', 0))];
/// assert!(check(&Memory::default(), &in_program_order(back)).is_err());
/// ```
pub fn in_program_order<A, R: Ord>(told: impl IntoIterator<Item = Told<A, R>>) -> Vec<Event<A>> {
    let mut asked_so_far: BTreeMap<u32, u64> = BTreeMap::new();
    let mut told: Vec<(Option<R>, Event<A>)> = told
        .into_iter()
        .map(|Told { program, act, answered }| {
            let asked_so_far = asked_so_far.entry(program).or_default();
            let asked = *asked_so_far;
            *asked_so_far += 1;
            (answered, Event { client: program, act, asked, answered: None })
        })
        .collect();
    told.sort_by(|(one, _), (other, _)| one.cmp(other));
    let ranked = told.into_iter().zip(ANSWERED..);
    ranked.map(|((answered, event), rank)| Event { answered: answered.map(|_| rank), ..event }).collect()
}

#[cfg(test)]
mod tests;

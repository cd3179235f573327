//! A tuple space as simple as it can be: tuples in the order in which they were put.
//!
//! A tuple is a signature, a key and a number that no other has; templates name the signature and perhaps the key. More of matching has tests of its own.

use crate::search::Object;

/// A signature and a key: tuples that have both in common have one order.
pub type Partition = (u8, i64);

/// Which tuples a template matches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pattern {
    /// Those of this signature,
    pub signature: u8,
    /// with this key; none: with any.
    pub key: Option<i64>,
}

/// What is to happen to a tuple that is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// It is removed.
    Take,
    /// It stays.
    Read,
    /// It is hidden until its lease ends.
    Lease,
}

/// What a request does, and what it came to. Tuples are named by their numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Act {
    /// Puts tuples at one instant.
    Out(Vec<(Partition, u32)>),
    /// Takes, reads or leases the oldest that one of several patterns matches: its number, or that there was none.
    Query {
        /// The patterns.
        of: Vec<Pattern>,
        /// What for.
        purpose: Purpose,
        /// What was found.
        found: Option<u32>,
    },
    /// Takes the oldest and puts others, at one instant; if there is none, nothing happens.
    Replace {
        /// Of which.
        of: Pattern,
        /// What was found.
        found: Option<u32>,
        /// What is put.
        puts: Vec<(Partition, u32)>,
    },
    /// Ends leases for good and puts others, at one instant at which all that was read is there; or, if something of that is not, nothing happens.
    Commit {
        /// The tuples under these leases.
        leased: Vec<u32>,
        /// What was read.
        witnessed: Vec<u32>,
        /// What is put.
        puts: Vec<(Partition, u32)>,
        /// Whether it happened.
        happened: bool,
    },
    /// Ends leases; the tuples return to their places.
    Return(Vec<u32>),
    /// How many there are.
    Count(Pattern, u64),
}

/// What is the oldest of several.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// All tuples have one order: that of one manager.
    OfAll,
    /// Those of one [`Partition`] have, as where several managers have them.
    OfPartitions,
}

/// A tuple that is there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Stored {
    partition: Partition,
    number: u32,
    is_hidden: bool,
}

/// A tuple space. Its state is every tuple, in the order that they have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Space {
    /// What is the oldest.
    pub order: Order,
}

impl Pattern {
    /// All of a signature.
    #[must_use]
    pub fn of(signature: u8) -> Pattern {
        Pattern { signature, key: None }
    }

    /// All of a partition.
    #[must_use]
    pub fn keyed((signature, key): Partition) -> Pattern {
        Pattern { signature, key: Some(key) }
    }

    fn matches(self, stored: &Stored) -> bool {
        let (signature, key) = stored.partition;
        !stored.is_hidden && self.signature == signature && self.key.is_none_or(|wanted| wanted == key)
    }
}

impl Act {
    /// Puts one tuple.
    #[must_use]
    pub fn out(partition: Partition, number: u32) -> Act {
        Act::Out(vec![(partition, number)])
    }

    /// What it puts.
    #[must_use]
    pub fn puts(&self) -> &[(Partition, u32)] {
        match self {
            Act::Out(puts) | Act::Replace { puts, .. } | Act::Commit { puts, .. } => puts,
            Act::Query { .. } | Act::Return(_) | Act::Count(..) => &[],
        }
    }
}

impl Space {
    /// Where a tuple is that was found by one of these patterns; none if that must not be found.
    fn place(self, state: &[Stored], of: &[Pattern], number: u32) -> Option<usize> {
        let is_wanted = |stored: &Stored| of.iter().any(|pattern| pattern.matches(stored));
        let at =
            state.iter().position(|stored| stored.number == number).filter(|at| is_wanted(&state[*at]))?;
        let is_before =
            |older: &&Stored| self.order == Order::OfAll || older.partition == state[at].partition;
        let is_oldest = !state[..at].iter().filter(is_before).any(is_wanted);
        is_oldest.then_some(at)
    }

    /// The state after something was found, or if nothing is to be found.
    fn query(
        self,
        state: &[Stored],
        of: &[Pattern],
        purpose: Purpose,
        found: Option<u32>,
    ) -> Option<Vec<Stored>> {
        let mut next = state.to_vec();
        let Some(number) = found else {
            let is_none = !state.iter().any(|stored| of.iter().any(|pattern| pattern.matches(stored)));
            return is_none.then_some(next);
        };
        let at = self.place(state, of, number)?;
        match purpose {
            Purpose::Read => {}
            Purpose::Take => drop(next.remove(at)),
            Purpose::Lease => next[at].is_hidden = true,
        }
        Some(next)
    }

    /// Puts tuples behind all, or behind all of their partitions: what has no order among each other makes no two states.
    fn put(self, state: &mut Vec<Stored>, puts: &[(Partition, u32)]) {
        for (partition, number) in puts {
            let stored = Stored { partition: *partition, number: *number, is_hidden: false };
            let at = match self.order {
                Order::OfAll => state.len(),
                Order::OfPartitions => state.partition_point(|other| other.partition <= *partition),
            };
            state.insert(at, stored);
        }
    }
}

/// Whether what was read is there: shown, or taken by the same group.
fn is_there(state: &[Stored], number: u32, own: &[u32]) -> bool {
    state.iter().any(|stored| stored.number == number && (!stored.is_hidden || own.contains(&number)))
}

impl Object for Space {
    type State = Vec<Stored>;
    type Act = Act;

    fn apply(&self, state: &Vec<Stored>, act: &Act) -> Option<Vec<Stored>> {
        match act {
            Act::Out(puts) => {
                let mut next = state.clone();
                self.put(&mut next, puts);
                Some(next)
            }
            Act::Query { of, purpose, found } => self.query(state, of, *purpose, *found),
            Act::Replace { of, found, puts } => {
                let mut next = self.query(state, &[*of], Purpose::Take, *found)?;
                if found.is_some() {
                    self.put(&mut next, puts);
                }
                Some(next)
            }
            Act::Commit { leased, witnessed, puts, happened } => {
                let are_there = witnessed.iter().all(|number| is_there(state, *number, leased));
                let mut next = state.clone();
                if *happened {
                    next.retain(|stored| !leased.contains(&stored.number));
                    self.put(&mut next, puts);
                }
                (are_there == *happened).then_some(next)
            }
            Act::Return(leased) => {
                let mut next = state.clone();
                let returned = |stored: &&mut Stored| leased.contains(&stored.number);
                next.iter_mut().filter(returned).for_each(|stored| stored.is_hidden = false);
                Some(next)
            }
            Act::Count(of, count) => {
                let there = state.iter().filter(|stored| of.matches(stored)).count() as u64;
                (there == *count).then(|| state.clone())
            }
        }
    }

    /// A put is not overtaken by what its client asks later.
    fn is_not_overtaken(&self, act: &Act) -> bool {
        matches!(act, Act::Out(_) | Act::Commit { .. })
    }
}

#[cfg(test)]
mod tests;

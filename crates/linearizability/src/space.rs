//! A tuple space as simple as it can be: tuples in the order in which they were put.
//!
//! A tuple is a signature, a key and a number that no other has; templates name the signature and perhaps the key. More of matching has tests of its own.

use crate::search::{Event, Object};
use std::collections::{BTreeMap, BTreeSet};

/// A signature and a key: tuples that have both in common have one order.
pub type Partition = (u8, i64);

/// Which tuples a template matches.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Pattern {
    /// Those of this signature,
    pub signature: u8,
    /// with this key; none: with any,
    pub key: Option<i64>,
    /// and with a number from this one
    pub least: u32,
    /// to that one.
    pub most: u32,
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
    /// Takes or reads a page: of each partition that matches the oldest, or all.
    Collect {
        /// The pattern.
        of: Pattern,
        /// Whether they are taken.
        takes: bool,
        /// What was found, of each partition the oldest first.
        found: Vec<u32>,
        /// Whether no more matched.
        is_all: bool,
    },
    /// Moves all that match to another signature, behind what is there; their keys stay, and their order.
    Move {
        /// Of which, and of which they are then: two patterns of one key.
        of: [Pattern; 2],
        /// How many it was; none: nobody was told.
        count: Option<u64>,
    },
    /// Takes, leases or replaces the oldest that one of several patterns matches, for a client that was gone before it was told which.
    Untold {
        /// The patterns.
        of: Vec<Pattern>,
        /// What for.
        purpose: Purpose,
        /// Who leases it.
        holder: u32,
        /// What is put in its place.
        puts: Vec<(Partition, u32)>,
    },
    /// Ends the leases of a client that is gone: the tuples return to their places.
    End {
        /// The client: that of [`Act::Untold`].
        holder: u32,
        /// What it knew to have leased.
        leased: Vec<u32>,
    },
    /// How many there are.
    Count(Pattern, u64),
    /// The time of a tuple that is there has come: it leaves; one that is hidden when it would return.
    Expire(u32),
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
    hidden: Hidden,
    /// Whether its time has come while it is hidden.
    has_expired: bool,
}

/// Whether a tuple is hidden.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Hidden {
    No,
    /// By whoever was told so.
    Told,
    /// For a client that was gone before it was told so.
    Untold(u32),
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
        Pattern { signature, key: None, least: 0, most: u32::MAX }
    }

    /// All of a partition.
    #[must_use]
    pub fn keyed((signature, key): Partition) -> Pattern {
        Pattern { key: Some(key), ..Pattern::of(signature) }
    }

    /// Whether tuples of that partition with that number are among them.
    #[must_use]
    pub fn has(self, (signature, key): Partition, number: u32) -> bool {
        self.signature == signature
            && self.key.is_none_or(|wanted| wanted == key)
            && (self.least..=self.most).contains(&number)
    }

    fn matches(self, stored: &Stored) -> bool {
        stored.hidden == Hidden::No && self.has(stored.partition, stored.number)
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
            Act::Out(puts)
            | Act::Replace { puts, .. }
            | Act::Commit { puts, .. }
            | Act::Untold { puts, .. } => puts,
            Act::Query { .. }
            | Act::Return(_)
            | Act::Count(..)
            | Act::Collect { .. }
            | Act::Move { .. }
            | Act::End { .. }
            | Act::Expire(_) => &[],
        }
    }

    /// What it has put: nothing, if what it was to happen with was not there.
    #[must_use]
    pub fn added(&self) -> &[(Partition, u32)] {
        match self {
            Act::Replace { found: None, .. } | Act::Commit { happened: false, .. } => &[],
            act => act.puts(),
        }
    }

    /// The tuples that it has removed for good, as far as its client was told which.
    #[must_use]
    pub fn removed(&self) -> &[u32] {
        match self {
            Act::Query { purpose: Purpose::Take, found, .. } | Act::Replace { found, .. } => found.as_slice(),
            Act::Collect { takes: true, found, .. } => found,
            Act::Commit { leased, happened: true, .. } => leased,
            _ => &[],
        }
    }

    /// The tuples that it names without saying where they are.
    fn named(&self) -> impl Iterator<Item = u32> {
        let (one, other): (&[u32], &[u32]) = match self {
            Act::Commit { leased, witnessed, .. } => (leased, witnessed),
            Act::Return(leased) | Act::End { leased, .. } => (leased, &[]),
            Act::Expire(number) => (core::slice::from_ref(number), &[]),
            _ => (&[], &[]),
        };
        one.iter().chain(other).copied()
    }

    fn patterns(&self) -> &[Pattern] {
        match self {
            Act::Query { of, .. } | Act::Untold { of, .. } => of,
            Act::Move { of, .. } => of,
            Act::Replace { of, .. } | Act::Count(of, _) | Act::Collect { of, .. } => {
                core::slice::from_ref(of)
            }
            Act::Out(_) | Act::Commit { .. } | Act::Return(_) | Act::End { .. } | Act::Expire(_) => &[],
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
            Purpose::Lease => next[at].hidden = Hidden::Told,
        }
        Some(next)
    }

    /// The state after a page was collected, if it can be this one.
    fn collect(
        self,
        state: &[Stored],
        of: Pattern,
        takes: bool,
        found: &[u32],
        is_all: bool,
    ) -> Option<Vec<Stored>> {
        // What has one order, each by itself.
        let mut ordered: BTreeMap<Option<Partition>, Vec<u32>> = BTreeMap::new();
        for stored in state.iter().filter(|stored| of.matches(stored)) {
            let order = (self.order == Order::OfPartitions).then_some(stored.partition);
            ordered.entry(order).or_default().push(stored.number);
        }
        let are_oldest = |numbers: &Vec<u32>| {
            let given = found.iter().filter(|number| numbers.contains(number));
            given.zip(numbers).all(|(given, oldest)| given == oldest)
        };
        let is_there = |number: &u32| ordered.values().any(|numbers| numbers.contains(number));
        let matching: usize = ordered.values().map(Vec::len).sum();
        let is_right = ordered.values().all(are_oldest)
            && found.iter().all(is_there)
            && (!is_all || matching == found.len());
        let stays = |stored: &&Stored| !(takes && found.contains(&stored.number));
        is_right.then(|| state.iter().filter(stays).copied().collect())
    }

    /// The state after all that match have gone to another signature.
    fn move_all(self, state: &[Stored], [of, into]: [Pattern; 2], count: Option<u64>) -> Option<Vec<Stored>> {
        let (moved, mut next): (Vec<Stored>, Vec<Stored>) =
            state.iter().copied().partition(|stored| of.matches(stored));
        let puts = moved.iter().map(|stored| ((into.signature, stored.partition.1), stored.number));
        self.put(&mut next, &puts.collect::<Vec<_>>());
        count.is_none_or(|count| count == moved.len() as u64).then_some(next)
    }

    /// The states after something was found of which nobody was told.
    fn find(
        self,
        state: &[Stored],
        of: &[Pattern],
        purpose: Purpose,
        holder: u32,
        puts: &[(Partition, u32)],
    ) -> Vec<Vec<Stored>> {
        let is_wanted = |stored: &&Stored| of.iter().any(|pattern| pattern.matches(stored));
        let oldest =
            state.iter().filter(is_wanted).filter(|stored| self.place(state, of, stored.number).is_some());
        let next = |number: u32| {
            let mut next = self.query(state, of, purpose, Some(number))?;
            let held = next.iter_mut().filter(|stored| stored.number == number && purpose == Purpose::Lease);
            held.for_each(|stored| stored.hidden = Hidden::Untold(holder));
            self.put(&mut next, puts);
            Some(next)
        };
        oldest.filter_map(|stored| next(stored.number)).collect()
    }

    /// Puts tuples behind all, or behind all of their partitions: what has no order among each other makes no two states.
    fn put(self, state: &mut Vec<Stored>, puts: &[(Partition, u32)]) {
        for (partition, number) in puts {
            let (partition, number) = (*partition, *number);
            let stored = Stored { partition, number, hidden: Hidden::No, has_expired: false };
            let at = match self.order {
                Order::OfAll => state.len(),
                Order::OfPartitions => state.partition_point(|other| other.partition <= partition),
            };
            state.insert(at, stored);
        }
    }
}

/// Whether what was read is there: shown, or taken by the same group.
fn is_there(state: &[Stored], number: u32, own: &[u32]) -> bool {
    state
        .iter()
        .any(|stored| stored.number == number && (stored.hidden == Hidden::No || own.contains(&number)))
}

impl Object for Space {
    type State = Vec<Stored>;
    type Act = Act;

    fn apply(&self, state: &Vec<Stored>, act: &Act) -> impl IntoIterator<Item = Vec<Stored>> {
        let (one, several) = match act {
            Act::Untold { of, purpose, holder, puts } => {
                (None, self.find(state, of, *purpose, *holder, puts))
            }
            act => (self.told(state, act), Vec::new()),
        };
        one.into_iter().chain(several)
    }

    /// A put is not overtaken by what its client asks later.
    fn is_not_overtaken(&self, act: &Act) -> bool {
        matches!(act, Act::Out(_) | Act::Commit { .. } | Act::Move { .. })
    }

    /// Signatures know nothing of each other, nor do keys of a signature for which every pattern names one.
    fn parts(&self, history: &[Event<Act>]) -> Vec<Vec<u64>> {
        let patterns = || history.iter().flat_map(|event| event.act.patterns());
        let puts = || history.iter().flat_map(|event| event.act.puts());
        let whole: BTreeSet<u8> = patterns().filter(|of| of.key.is_none()).map(|of| of.signature).collect();
        let mut numbers: BTreeMap<(u8, Option<i64>), u64> = BTreeMap::new();
        let mut number = |signature: u8, key: Option<i64>| {
            let next = numbers.len() as u64;
            *numbers.entry((signature, key.filter(|_| !whole.contains(&signature)))).or_insert(next)
        };
        let places: BTreeMap<u32, Partition> =
            puts().map(|(partition, number)| (*number, *partition)).collect();
        let untold = || {
            history.iter().filter_map(|event| match &event.act {
                Act::Untold { of, holder, .. } => Some((*holder, of)),
                _ => None,
            })
        };
        let mut parts_of = |act: &Act| {
            let mut parts: Vec<u64> = act.patterns().iter().map(|of| number(of.signature, of.key)).collect();
            let named = act.named().filter_map(|number| places.get(&number));
            parts.extend(
                act.puts()
                    .iter()
                    .map(|(partition, _)| partition)
                    .chain(named)
                    .map(|of| number(of.0, Some(of.1))),
            );
            if let Act::End { holder, .. } = act {
                let own = untold().filter(|(whose, _)| whose == holder).flat_map(|(_, of)| of);
                parts.extend(own.map(|of| number(of.signature, of.key)));
            }
            parts
        };
        history.iter().map(|event| parts_of(&event.act)).collect()
    }
}

impl Space {
    /// The state after an operation that came to what its client was told.
    fn told(self, state: &[Stored], act: &Act) -> Option<Vec<Stored>> {
        match act {
            Act::Out(puts) => {
                let mut next = state.to_vec();
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
                let mut next = state.to_vec();
                if *happened {
                    next.retain(|stored| !leased.contains(&stored.number));
                    self.put(&mut next, puts);
                }
                (are_there == *happened).then_some(next)
            }
            Act::Return(leased) => Some(returned(state, |stored| leased.contains(&stored.number))),
            Act::End { holder, leased } => Some(returned(state, |stored| {
                stored.hidden == Hidden::Untold(*holder) || leased.contains(&stored.number)
            })),
            Act::Count(of, count) => {
                let there = state.iter().filter(|stored| of.matches(stored)).count() as u64;
                (there == *count).then(|| state.to_vec())
            }
            Act::Collect { of, takes, found, is_all } => self.collect(state, *of, *takes, found, *is_all),
            Act::Expire(number) => expired(state, *number),
            Act::Move { of, count } => self.move_all(state, *of, *count),
            Act::Untold { .. } => None,
        }
    }
}

/// The same with these tuples shown, without those whose time has come.
fn returned(state: &[Stored], is_returned: impl Fn(&Stored) -> bool) -> Vec<Stored> {
    let shown = |stored: &Stored| match is_returned(stored) {
        true if stored.has_expired => None,
        true => Some(Stored { hidden: Hidden::No, ..*stored }),
        false => Some(*stored),
    };
    state.iter().filter_map(shown).collect()
}

/// The same once the time of this tuple has come, if it is there.
fn expired(state: &[Stored], number: u32) -> Option<Vec<Stored>> {
    let at = state.iter().position(|stored| stored.number == number)?;
    let mut next = state.to_vec();
    match next[at].hidden {
        Hidden::No => drop(next.remove(at)),
        Hidden::Told | Hidden::Untold(_) => next[at].has_expired = true,
    }
    Some(next)
}

#[cfg(test)]
mod tests;

//! What happens at which time.

use super::room::ParkedKey;
use super::stores::Place;
use quintet_contract::Time;
use std::collections::BTreeMap;

/// Something that happens unless it is called off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Timer {
    /// A waiter's deadline passes.
    Waiter(u32),
    /// A parked request's deadline passes.
    Parked(ParkedKey),
    /// One who watches has waited as long as he wanted to, of this age.
    Watcher(u64),
    /// A lease ends.
    Lease(u64),
    /// A tuple that can be taken expires.
    Tuple(Place),
}

impl Timer {
    /// The number of the place of a tuple, from 1; 0 for anything else.
    fn place(self) -> u64 {
        if let Timer::Tuple(place) = self { place.number().saturating_add(1) } else { 0 }
    }
}

/// All of it, by time and then by age. Every operation is O(log n).
#[derive(Debug, Default)]
pub(super) struct Timers(BTreeMap<(Time, u64, u64), Timer>);

impl Timers {
    /// The time of the first thing.
    pub(super) fn first(&self) -> Option<Time> {
        self.0.first_key_value().map(|((time, ..), _)| *time)
    }

    /// `order` is the age of what happens: a number nothing else has.
    pub(super) fn add(&mut self, time: Time, order: u64, due: Timer) {
        self.0.insert((time, order, due.place()), due);
    }

    /// Calls it off.
    pub(super) fn remove(&mut self, time: Time, order: u64) {
        self.0.remove(&(time, order, 0));
    }

    /// The same of a tuple, at its place: another manager may have sent one of an age that is here already.
    pub(super) fn remove_tuple(&mut self, time: Time, order: u64, place: Place) {
        self.0.remove(&(time, order, Timer::Tuple(place).place()));
    }

    /// The leases that are due.
    pub(super) fn due_leases(&self, now: Time) -> Vec<u64> {
        self.leases_between(Time::ZERO, now).collect()
    }

    /// The leases that end then.
    pub(super) fn leases_at(&self, time: Time) -> impl Iterator<Item = u64> {
        self.leases_between(time, time)
    }

    fn leases_between(&self, first: Time, last: Time) -> impl Iterator<Item = u64> {
        let due = self.0.range((first, 0, 0)..=(last, u64::MAX, u64::MAX)).map(|(_, due)| due);
        due.filter_map(|due| if let Timer::Lease(lease) = due { Some(*lease) } else { None })
    }

    /// Whether this is to happen then.
    pub(super) fn has(&self, time: Time, order: u64, due: Timer) -> bool {
        self.0.get(&(time, order, due.place())) == Some(&due)
    }

    /// How much is to happen, but for tuples that expire. O(n).
    pub(super) fn of_requests_and_leases(&self) -> usize {
        self.0.values().filter(|due| !matches!(due, Timer::Tuple(_))).count()
    }

    /// Takes out the first thing that is due, and says when it was.
    pub(super) fn pop(&mut self, now: Time) -> Option<(Time, Timer)> {
        let first = self.0.first_entry()?;
        let at = first.key().0;
        (at <= now).then(|| (at, first.remove()))
    }
}

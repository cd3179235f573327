//! From a schedule that breaks a rule to a small one that breaks the same rule.
//!
//! Choices are left out and lowered, never the schedule itself: whatever is left is a schedule again. What counts is what the
//! run then chose, without zeros that mean nothing.

use crate::plan::streams;
use quintet_simulate::{Choices, Sequence};
use std::ops::Range;

/// Of so few groups any two are left out.
const FEW: usize = 40;

/// How much a sequence says. The smaller of two has fewer choices, then fewer that are not zero, then lower ones.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Weight(usize, usize, u128);

fn weight(sequence: &Sequence) -> Weight {
    let values = || sequence.values().flatten().flatten();
    let sum = values().map(|value| u128::from(*value)).sum();
    Weight(values().count(), values().filter(|value| **value != 0).count(), sum)
}

/// Which streams are changed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    All,
    /// All but the links'.
    Own,
}

/// What schedules are made smaller of. Streams of its own have names from [`streams::WORLD`] on, those of links lie below.
pub(crate) trait Target {
    /// What comes of a run.
    type Outcomes;
    /// A rule that is broken.
    type Rule: PartialEq;

    fn run(&self, choices: &Choices) -> Self::Outcomes;

    /// The one that a run broke.
    fn rule(&self, outcomes: &Self::Outcomes) -> Option<Self::Rule>;

    /// The number of the last of those that may be left out, a client or a node, if there are more than must be.
    fn last_member(&self, sequence: &Sequence) -> Option<u16>;

    /// The streams of one of them, and of its links to `others` and to who is none of them, in the same order for each.
    fn streams_of(&self, member: u16, others: &[u16]) -> Vec<u64>;

    /// Leaves out the one at `place`: `last` takes its place, with its faults.
    fn replace_member(&self, sequence: &mut Sequence, place: u16, last: u16) {
        let others: Vec<u16> = (1..last).filter(|other| *other != place).collect();
        for (to, from) in self.streams_of(place, &others).into_iter().zip(self.streams_of(last, &others)) {
            sequence.remove(&to);
            if let Some(groups) = sequence.remove(&from) {
                sequence.insert(to, groups);
            }
        }
        // How many there are is the first choice of all, and whom a fault strikes the second of its group.
        if let Some(count) = value_at(sequence, (streams::WORLD, 0, 0)) {
            *count = count.saturating_sub(1);
        }
        for stream in [streams::FAULTS, streams::BREAKS, streams::STEPS] {
            for fault in sequence.get_mut(&stream).into_iter().flatten() {
                if let Some(who) = fault.get_mut(1).filter(|who| **who + 1 == u64::from(last)) {
                    *who = u64::from(place) - 1;
                }
            }
        }
    }
}

/// A search for smaller schedules.
pub(crate) struct Shrinker<'a, T: Target> {
    target: &'a T,
    rule: T::Rule,
    /// The smallest so far.
    pub(crate) best: Sequence,
    pub(crate) outcomes: T::Outcomes,
    weight: Weight,
    pub(crate) attempts: u32,
    may_go_on: &'a mut dyn FnMut(u32) -> bool,
    is_stopped: bool,
}

impl<'a, T: Target> Shrinker<'a, T> {
    /// Begins with a sequence that breaks a rule. None if it breaks none. `may_go_on` is asked before each attempt.
    pub(crate) fn new(
        target: &'a T,
        sequence: Sequence,
        may_go_on: &'a mut dyn FnMut(u32) -> bool,
    ) -> Option<Shrinker<'a, T>> {
        let choices = Choices::replayed(sequence);
        let outcomes = target.run(&choices);
        let rule = target.rule(&outcomes)?;
        let best = choices.made();
        let weight = weight(&best);
        let (attempts, is_stopped) = (0, false);
        Some(Shrinker { target, rule, best, outcomes, weight, attempts, may_go_on, is_stopped })
    }

    /// Goes on until nothing gets smaller, or it may not.
    pub(crate) fn shrink(&mut self) {
        // What is decided about first: a frame's delay matters no more when its request is left out.
        self.until_nothing_changes(|shrinker| {
            shrinker.leave_out_streams();
            shrinker.leave_out_members();
            shrinker.change_groups(Reach::Own, |groups, which| drop(groups.drain(which)));
            shrinker.change_groups(Reach::Own, |groups, which| zero(groups, which));
        });
        self.until_nothing_changes(|shrinker| {
            shrinker.until_nothing_changes(|shrinker| {
                shrinker.leave_out_streams();
                shrinker.leave_out_members();
                shrinker.change_groups(Reach::All, |groups, which| drop(groups.drain(which)));
                shrinker.change_groups(Reach::All, |groups, which| zero(groups, which));
                shrinker.leave_out_values();
                shrinker.lower();
            });
            shrinker.leave_out_pairs();
        });
    }

    fn until_nothing_changes(&mut self, change: impl Fn(&mut Self)) {
        loop {
            let before = self.weight;
            change(self);
            if self.weight == before || self.is_stopped {
                return;
            }
        }
    }

    /// Runs what `change` makes of the best; it is the best from now on if it is smaller and breaks the same rule.
    fn attempt(&mut self, change: impl FnOnce(&mut Sequence)) -> bool {
        self.is_stopped = self.is_stopped || !(self.may_go_on)(self.attempts);
        if self.is_stopped {
            return false;
        }
        self.attempts += 1;
        let mut candidate = self.best.clone();
        change(&mut candidate);
        let choices = Choices::replayed(candidate);
        let outcomes = self.target.run(&choices);
        if self.target.rule(&outcomes).as_ref() != Some(&self.rule) {
            return false;
        }
        let made = choices.made();
        let weight = weight(&made);
        let is_smaller = weight < self.weight;
        if is_smaller {
            (self.best, self.outcomes, self.weight) = (made, outcomes, weight);
        }
        is_smaller
    }

    /// The streams, the links' last.
    fn streams(&self, reach: Reach) -> Vec<u64> {
        let names = self.best.keys().rev().copied();
        names.filter(|name| reach == Reach::All || *name >= streams::WORLD).collect()
    }

    fn leave_out_streams(&mut self) {
        for stream in self.streams(Reach::All) {
            self.attempt(|sequence| drop(sequence.remove(&stream)));
        }
    }

    /// Does without a client or a node: the last takes the place of another.
    fn leave_out_members(&mut self) {
        let target = self.target;
        while let Some(last) = target.last_member(&self.best) {
            let takes_place =
                |place| move |sequence: &mut Sequence| target.replace_member(sequence, place, last);
            if !(1..=last).any(|place| self.attempt(takes_place(place))) {
                return;
            }
        }
    }

    fn groups(&self, stream: u64) -> usize {
        self.best.get(&stream).map_or(0, Vec::len)
    }

    /// Changes what decides about whole requests, frames and faults: many at once first, the last first.
    fn change_groups(&mut self, reach: Reach, change: impl Fn(&mut Vec<Vec<u64>>, Range<usize>)) {
        for stream in self.streams(reach) {
            let mut at_once = self.groups(stream).next_power_of_two();
            while at_once > 0 {
                let mut end = self.groups(stream);
                while end > 0 && !self.is_stopped {
                    let begin = end.saturating_sub(at_once);
                    self.attempt(|sequence| {
                        if let Some(groups) = sequence.get_mut(&stream) {
                            change(groups, begin..end);
                        }
                    });
                    end = begin.min(self.groups(stream));
                }
                at_once /= 2;
            }
        }
    }

    /// Leaves out any two groups, where there are few: neither may go without the other.
    fn leave_out_pairs(&mut self) {
        let places = |shrinker: &Self| -> Vec<(u64, usize)> {
            let own = shrinker.streams(Reach::Own).into_iter();
            own.flat_map(|stream| (0..shrinker.groups(stream)).rev().map(move |at| (stream, at))).collect()
        };
        let mut all = places(self);
        let mut second = 1;
        while second < all.len() && all.len() <= FEW && !self.is_stopped {
            let pairs = (0..second).map(|first| [all[first], all[second]]);
            // The first of a pair comes after the second: to leave it out moves no other.
            let is_smaller = pairs.into_iter().any(|pair| {
                self.attempt(|sequence| {
                    for (stream, at) in pair {
                        sequence.get_mut(&stream).into_iter().for_each(|groups| drop(groups.remove(at)));
                    }
                })
            });
            if is_smaller {
                all = places(self);
            } else {
                second += 1;
            }
        }
    }

    /// The places of all values, the last first.
    fn places(&self) -> Vec<(u64, usize, usize)> {
        let mut places = Vec::new();
        for (stream, groups) in &self.best {
            for (group, values) in groups.iter().enumerate() {
                places.extend((0..values.len()).map(|value| (*stream, group, value)));
            }
        }
        places.reverse();
        places
    }

    fn leave_out_values(&mut self) {
        for (stream, group, value) in self.places() {
            let leave_out = |sequence: &mut Sequence| {
                if let Some(values) = sequence.get_mut(&stream).and_then(|groups| groups.get_mut(group))
                    && value < values.len()
                {
                    values.remove(value);
                }
            };
            if value < self.values(stream, group) {
                self.attempt(leave_out);
            }
        }
    }

    fn values(&self, stream: u64, group: usize) -> usize {
        self.best.get(&stream).and_then(|groups| groups.get(group)).map_or(0, Vec::len)
    }

    /// Lowers each value as far as it goes: to zero, or else by halves of the way there.
    fn lower(&mut self) {
        for place in self.places() {
            let Some(value) = self.value(place).filter(|value| *value > 0) else { continue };
            if self.attempt(|sequence| set(sequence, place, 0)) {
                continue;
            }
            let (mut fails, mut works) = (0, value);
            while works - fails > 1 && !self.is_stopped {
                let middle = fails + (works - fails) / 2;
                if self.attempt(|sequence| set(sequence, place, middle)) {
                    works = middle;
                } else {
                    fails = middle;
                }
            }
        }
    }

    fn value(&self, (stream, group, value): (u64, usize, usize)) -> Option<u64> {
        self.best.get(&stream)?.get(group)?.get(value).copied()
    }
}

fn zero(groups: &mut [Vec<u64>], which: Range<usize>) {
    groups[which].iter_mut().for_each(|values| values.fill(0));
}

fn value_at(sequence: &mut Sequence, (stream, group, value): (u64, usize, usize)) -> Option<&mut u64> {
    sequence.get_mut(&stream)?.get_mut(group)?.get_mut(value)
}

/// Gives a choice another value, if there is one.
fn set(sequence: &mut Sequence, place: (u64, usize, usize), to: u64) {
    if let Some(value) = value_at(sequence, place) {
        *value = to;
    }
}

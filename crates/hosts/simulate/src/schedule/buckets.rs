//! A monotone radix queue with a sorted front.
//!
//! Times are numbers of eleven digits to the base 64. `base` is a time not later than any pending one. A pending time
//! lies in the bucket (level, digit), where `level` is the highest place at which it differs from `base`, and `digit`
//! its digit there; the lower the level, and then the digit, the earlier the bucket. A bit mask a level, and one over
//! the levels, find the earliest bucket in two instructions.
//!
//! ```text
//! base  =  ... 0 5 2 7        level 0: [7, 8, 9, ... 63]   one time a bucket
//!                             level 1: [   3, 4, ... 63]   64 times a bucket
//!                             level 2: [   6, 7, ... 63]   64^2 times a bucket
//! ```
//!
//! `pop` takes the earliest bucket as the *front*. If it is small, it is sorted and then popped from; what is added to
//! it meanwhile is inserted in its place. If it is large, or grows so, `base` moves up to the earliest time in it, and
//! its times go to buckets of lower levels. So a time moves ten times at most, and in practice two or three times,
//! each time read and written in sequence.
//!
//! Equal times are always in the same bucket, and each move keeps their order; nothing else keeps it.
//!
//! Sources: Ahuja, Mehlhorn, Orlin and Tarjan, "Faster algorithms for the shortest path problem", J. ACM 37 (1990), for
//! the radix queue; Tang, Goh and Thng, "Ladder queue", ACM TOMACS 15 (2005), for sorting what is small.

/// Bits of a digit.
const DIGIT_BITS: u32 = 6;
/// Digits of one place.
const DIGITS: usize = 1 << DIGIT_BITS;
/// Places of a time of 64 bits.
const LEVELS: usize = u64::BITS.div_ceil(DIGIT_BITS) as usize;
/// A bucket of so many times is sorted; a larger one is spread over lower levels.
const SORTED_MAX: usize = 64;
/// A front that has grown to more times than these is spread.
const FRONT_MAX: usize = 2 * SORTED_MAX;
/// A bucket that is left empty keeps room for so many times; more is given back.
const KEPT_CAPACITY: usize = 1 << 12;

#[derive(Clone, Copy, Debug)]
struct Entry {
    at: u64,
    slot: u32,
}

#[derive(Debug)]
struct Bucket {
    /// The earliest time in it; `u64::MAX` if it is empty.
    earliest: u64,
    entries: Vec<Entry>,
}

/// The bucket that is being popped from.
#[derive(Debug)]
struct Front {
    /// Ascending from `taken` on; what is before was popped.
    entries: Vec<Entry>,
    taken: usize,
    /// The last time that belongs to its bucket.
    end: u64,
    /// Of its bucket. A front of level 0 holds one time only.
    level: usize,
}

#[derive(Debug)]
pub(super) struct Buckets {
    base: u64,
    /// The time popped last: from `base` on.
    now: u64,
    front: Front,
    /// A bit for each level that has a bucket in use.
    levels: u32,
    /// A bit for each bucket in use, by level.
    digits: [u64; LEVELS],
    /// By level, then digit.
    buckets: Box<[Bucket]>,
}

impl Buckets {
    pub(super) fn new() -> Self {
        let empty = || Bucket { earliest: u64::MAX, entries: Vec::new() };
        Buckets {
            base: 0,
            now: 0,
            front: Front { entries: Vec::new(), taken: 0, end: 0, level: 0 },
            levels: 0,
            digits: [0; LEVELS],
            buckets: std::iter::repeat_with(empty).take(LEVELS * DIGITS).collect(),
        }
    }

    pub(super) fn add(&mut self, at: u64, slot: u32) {
        let entry = Entry { at: at.max(self.now), slot };
        if self.levels == 0 {
            // All that is pending is in the front: as long as that is little, it needs no buckets.
            (self.front.end, self.front.level) = (u64::MAX, LEVELS);
        }
        if entry.at <= self.front.end && (self.levels == 0 || !self.front.is_empty()) {
            self.front.insert(entry);
            if self.front.level > 0 && self.front.len() > FRONT_MAX {
                self.spread_front();
            }
        } else {
            self.put(entry);
        }
    }

    pub(super) fn next_at(&self) -> Option<u64> {
        if let Some(entry) = self.front.first() {
            return Some(entry.at);
        }
        let (level, digit) = self.earliest()?;
        Some(self.buckets[level * DIGITS + digit].earliest)
    }

    pub(super) fn pop(&mut self) -> Option<(u64, u32)> {
        if self.front.is_empty() {
            self.open()?;
        }
        let entry = self.front.entries[self.front.taken];
        self.front.taken += 1;
        self.now = entry.at;
        Some((entry.at, entry.slot))
    }

    /// Makes the earliest bucket the front, in order. None if nothing is pending.
    fn open(&mut self) -> Option<()> {
        self.front.clear();
        loop {
            let (level, digit) = self.earliest()?;
            let bucket = &mut self.buckets[level * DIGITS + digit];
            if level > 0 && bucket.entries.len() > SORTED_MAX {
                self.base = bucket.earliest;
                let entries = self.remove(level, digit);
                self.spread(level, digit, entries);
                continue;
            }
            std::mem::swap(&mut self.front.entries, &mut bucket.entries);
            bucket.earliest = u64::MAX;
            self.mark_empty(level, digit);
            self.front.level = level;
            self.front.end = end_of(self.base, level, digit);
            if level > 0 {
                self.front.entries.sort_by_key(|entry| entry.at);
            }
            return Some(());
        }
    }

    /// Moves a front that has grown large to lower levels. All of it is at or after `now`, which lies in its bucket.
    #[cold]
    fn spread_front(&mut self) {
        self.base = self.now;
        for i in self.front.taken..self.front.entries.len() {
            self.put(self.front.entries[i]);
        }
        self.front.clear();
    }

    /// Puts the entries of a removed bucket where they belong by the new `base`; gives their room back to the bucket.
    fn spread(&mut self, level: usize, digit: usize, mut entries: Vec<Entry>) {
        for entry in &entries {
            self.put(*entry);
        }
        if entries.capacity() <= KEPT_CAPACITY {
            entries.clear();
            self.buckets[level * DIGITS + digit].entries = entries;
        }
    }

    fn put(&mut self, entry: Entry) {
        let (level, digit) = place(self.base, entry.at);
        self.levels |= 1 << level;
        self.digits[level] |= 1 << digit;
        let bucket = &mut self.buckets[level * DIGITS + digit];
        bucket.earliest = bucket.earliest.min(entry.at);
        bucket.entries.push(entry);
    }

    fn remove(&mut self, level: usize, digit: usize) -> Vec<Entry> {
        self.mark_empty(level, digit);
        let bucket = &mut self.buckets[level * DIGITS + digit];
        bucket.earliest = u64::MAX;
        std::mem::take(&mut bucket.entries)
    }

    fn mark_empty(&mut self, level: usize, digit: usize) {
        self.digits[level] &= !(1 << digit);
        if self.digits[level] == 0 {
            self.levels &= !(1 << level);
        }
    }

    /// Level and digit of the earliest bucket in use.
    fn earliest(&self) -> Option<(usize, usize)> {
        if self.levels == 0 {
            return None;
        }
        let level = self.levels.trailing_zeros() as usize;
        Some((level, self.digits[level].trailing_zeros() as usize))
    }
}

impl Front {
    fn is_empty(&self) -> bool {
        self.taken == self.entries.len()
    }

    fn len(&self) -> usize {
        self.entries.len() - self.taken
    }

    fn first(&self) -> Option<&Entry> {
        self.entries.get(self.taken)
    }

    fn clear(&mut self) {
        self.entries.clear();
        self.taken = 0;
    }

    /// Puts an entry behind those that are not later.
    #[inline]
    fn insert(&mut self, entry: Entry) {
        if self.entries.last().is_none_or(|last| last.at <= entry.at) {
            if self.taken >= FRONT_MAX {
                self.forget_taken();
            }
            self.entries.push(entry);
        } else if self.taken > 0 && entry.at < self.entries[self.taken].at {
            // The place of the entry popped last is free.
            self.taken -= 1;
            self.entries[self.taken] = entry;
        } else {
            self.insert_between(entry);
        }
    }

    #[inline(never)]
    fn insert_between(&mut self, entry: Entry) {
        self.forget_taken();
        let index = self.entries[self.taken..].partition_point(|other| other.at <= entry.at);
        self.entries.insert(self.taken + index, entry);
    }

    /// Gives the room of what was popped back, once that is much and no less than what is pending.
    #[cold]
    fn forget_taken(&mut self) {
        if self.taken >= FRONT_MAX && self.taken >= self.len() {
            self.entries.drain(..self.taken);
            self.taken = 0;
        }
    }
}

/// Level and digit of the bucket of `at`.
fn place(base: u64, at: u64) -> (usize, usize) {
    let level = (base ^ at).checked_ilog2().unwrap_or(0) / DIGIT_BITS;
    let digit = (at >> (level * DIGIT_BITS)) as usize % DIGITS;
    (level as usize, digit)
}

/// The last time that belongs to a bucket.
fn end_of(base: u64, level: usize, digit: usize) -> u64 {
    let shift = level as u32 * DIGIT_BITS;
    let above = if shift + DIGIT_BITS >= u64::BITS { 0 } else { base >> (shift + DIGIT_BITS) << DIGIT_BITS };
    let below = (1_u64 << shift) - 1;
    (above | digit as u64) << shift | below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_popped_takes_no_room_for_long() {
        let mut buckets = Buckets::new();
        buckets.add(u64::MAX, 0);
        buckets.add(1, 0);
        for now in 1..10_000 {
            // Neither the first nor the last of those that are pending.
            buckets.add(now + 1, 0);
            assert_eq!(buckets.pop(), Some((now, 0)));
            assert!(buckets.front.entries.len() <= FRONT_MAX + 3, "at {now}");
        }
    }
}

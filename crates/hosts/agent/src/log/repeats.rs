//! What is told, and what is only counted.

use super::Entry;
use core::time::Duration;
use std::collections::BTreeMap;
use std::time::Instant;

/// How long what was told once is only counted, at first.
const SHORTEST: Duration = Duration::from_secs(60);
/// And at most, for as long as it goes on.
const LONGEST: Duration = Duration::from_secs(60 * 60);
/// Entries that are told apart.
const KEYS: usize = 256;

/// What was told a while ago, and is counted since.
struct Told<E> {
    /// The last of them.
    last: E,
    untold: u64,
    pause: Duration,
    until: Instant,
}

/// Decides what is told.
pub(super) struct Repeats<E: Entry> {
    told: BTreeMap<E::Key, Told<E>>,
    /// Those that were not told apart, and when they are told of.
    others: u64,
    others_until: Option<Instant>,
}

impl<E: Entry> Default for Repeats<E> {
    fn default() -> Self {
        Repeats { told: BTreeMap::new(), others: 0, others_until: None }
    }
}

impl<E: Entry> Repeats<E> {
    /// Something is to be told: the line, if it is now.
    pub(super) fn take(&mut self, entry: E, now: Instant) -> Option<E::Line> {
        let Some(key) = entry.key() else { return Some(entry.line(entry.times())) };
        if let Some(told) = self.told.get_mut(&key) {
            told.untold += entry.times();
            told.last = entry;
            return None;
        }
        if self.told.len() >= KEYS {
            self.count_others(entry.times());
            return None;
        }
        let line = entry.line(entry.times());
        let told = Told { last: entry, untold: 0, pause: SHORTEST, until: now + SHORTEST };
        self.told.insert(key, told);
        Some(line)
    }

    /// So many more were not told apart.
    pub(super) fn count_others(&mut self, count: u64) {
        if count > 0 {
            self.others += count;
            self.others_until.get_or_insert(Instant::now() + SHORTEST);
        }
    }

    /// When [`Repeats::lines_due`] has something to do.
    pub(super) fn due(&self) -> Option<Instant> {
        self.told.values().map(|told| told.until).chain(self.others_until).min()
    }

    /// What is told now of what was counted. What has stopped is forgotten.
    pub(super) fn lines_due(&mut self, now: Instant) -> Vec<E::Line> {
        let mut lines = Vec::new();
        self.told.retain(|_, told| {
            if told.until > now {
                return true;
            }
            if told.untold == 0 {
                return false;
            }
            lines.push(told.last.line(std::mem::take(&mut told.untold)));
            told.pause = (told.pause * 2).min(LONGEST);
            told.until = now + told.pause;
            true
        });
        if self.others_until.is_some_and(|until| until <= now) {
            lines.push(E::line_of_others(std::mem::take(&mut self.others)));
            self.others_until = None;
        }
        lines
    }

    /// All that was counted and not told.
    pub(super) fn lines_left(&mut self) -> Vec<E::Line> {
        let told = std::mem::take(&mut self.told).into_values().filter(|told| told.untold > 0);
        let mut lines: Vec<E::Line> = told.map(|told| told.last.line(told.untold)).collect();
        lines.extend((self.others > 0).then(|| E::line_of_others(std::mem::take(&mut self.others))));
        lines
    }
}

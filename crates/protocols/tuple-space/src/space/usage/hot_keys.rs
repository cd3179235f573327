//! The values that are asked for most: the *space-saving* sketch (Metwally, Agrawal, El Abbadi, "Efficient computation of frequent and top-k
//! elements in data streams", 2005), of a few of the questions.
//!
//! A key that is asked for more often than one question in as many as there are places is among them, whatever else is asked: one that has
//! no place takes that of the least, with its count, which bounds by how much a count is too high.

use crate::codec::{View, write_fields};

/// Keys that are kept.
pub(super) const PLACES: usize = 16;
/// Of each field of a key so many bytes are kept: keys that differ behind them only are one.
const FIELD_BYTES: usize = 32;
/// When so many questions were looked at, all counts are halved: what was hot an hour ago gives way.
const HALVED_AT: u64 = 4096;

/// The keys of one space.
#[derive(Debug, Default)]
pub(in crate::space) struct HotKeys {
    pub(super) keys: Vec<Key>,
    /// Questions looked at since counts were halved, the halves of those before included.
    pub(super) seen: u64,
    /// Questions that pass before the next one is looked at, and what that was drawn from: not every sixteenth exactly, as programs ask in
    /// turns themselves.
    pub(super) passes: u32,
    pub(super) drawn: u64,
    /// Where the next one is written: memory that is used again.
    pub(super) next: Vec<u8>,
}

#[derive(Debug)]
pub(super) struct Key {
    pub(super) count: u64,
    pub(super) error: u64,
    /// As a listing shows it.
    pub(super) fields: Vec<u8>,
}

impl HotKeys {
    /// Somebody asks for values: one question in sixteen is looked at.
    #[inline]
    pub(in crate::space) fn pass(&mut self, template: &View<'_>) {
        match self.passes.checked_sub(1) {
            Some(passes) => self.passes = passes,
            None => self.see(template),
        }
    }

    /// Counts one question.
    #[cold]
    fn see(&mut self, template: &View<'_>) {
        // Knuth's generator of 64 bits; of its best ones, 0 to 31 questions pass.
        self.drawn =
            self.drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.passes = u32::try_from(self.drawn >> 59).expect("five bits are left");
        if self.seen >= HALVED_AT {
            self.halve();
        }
        self.seen += 1;
        self.next.clear();
        write_fields(template, FIELD_BYTES, &mut self.next);
        if let Some(known) = self.keys.iter_mut().find(|known| known.fields == self.next) {
            known.count += 1;
        } else if self.keys.len() < PLACES {
            self.keys.push(Key { count: 1, error: 0, fields: self.next.clone() });
        } else if let Some(least) = self.keys.iter_mut().min_by_key(|known| known.count) {
            (least.count, least.error) = (least.count + 1, least.count);
            core::mem::swap(&mut least.fields, &mut self.next);
        }
    }

    fn halve(&mut self) {
        self.seen /= 2;
        for key in &mut self.keys {
            (key.count, key.error) = (key.count / 2, key.error / 2);
        }
        self.keys.retain(|key| key.count > 0);
    }

    /// The hottest first.
    pub(super) fn sorted(&self) -> Vec<&Key> {
        let mut keys: Vec<&Key> = self.keys.iter().collect();
        keys.sort_by_key(|key| core::cmp::Reverse(key.count));
        keys
    }
}

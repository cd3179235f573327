//! What a node's disk holds, and what a crash leaves of it.
//!
//! The disk is one file that grows at its end in the order of the requests, or is replaced as a whole, as the live host's does. What a sync covers whose
//! completion was due when the node crashed is there for good, whether the protocol has heard of it or not. Of each other write
//! a whole number of sectors at its end is lost: none, so that it was complete though nobody was told, some, so that a
//! prefix is left, or all. Sectors are those of the disk, so that a write which shares its first one with the write before never
//! harms that. A write that failed, and what is lost in front of a write that is not, reads as zeros. What was cut off stays cut
//! off. Of a replacement that was not due, all is there or nothing: then what was there before, and what a crash leaves of that.

use crate::link::Luck;
use crate::picos::Picos;
use core::ops::Range;
use quintet_contract::{Frame, Span};

/// What a disk writes whole or not at all.
pub const SECTOR_BYTES: usize = 512;

/// A disk.
#[derive(Debug)]
pub(crate) struct Disk {
    bytes: Vec<u8>,
    /// Writes that may be lost, in the order of their places.
    open: Vec<Write>,
    /// What replacements have put aside that may be undone, the first of them first.
    replaced: Vec<Replaced>,
    /// The end of all that is durable.
    durable: usize,
    /// When it has done what it was asked.
    free_at: Picos,
    /// Decides what a crash leaves.
    luck: Luck,
}

/// What was there before a replacement that may be undone.
#[derive(Debug)]
struct Replaced {
    bytes: Vec<u8>,
    open: Vec<Write>,
    durable: usize,
    /// When the replacement is durable.
    durable_at: Picos,
}

/// A write that may be lost.
#[derive(Debug)]
struct Write {
    place: Range<usize>,
    /// When the first sync that covers it ends, if one was asked for.
    durable_at: Option<Picos>,
}

impl Disk {
    pub(crate) fn new(luck: Luck) -> Disk {
        Disk {
            bytes: Vec::new(),
            open: Vec::new(),
            replaced: Vec::new(),
            durable: 0,
            free_at: Picos::ZERO,
            luck,
        }
    }

    /// Lets this decide from now on what a crash leaves.
    pub(crate) fn set_luck(&mut self, luck: Luck) {
        self.luck = luck;
    }

    /// All that was written and not lost.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// When a request that comes now is done that takes so long: after all that came before.
    pub(crate) fn busy_until(&mut self, now: Picos, takes: Span) -> Picos {
        self.free_at = self.free_at.max(now).after(takes);
        self.free_at
    }

    /// Writes behind what is there, well or not.
    pub(crate) fn append(&mut self, request: &Frame<'_>, fails: bool) {
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(request.body);
        self.bytes.extend_from_slice(request.bulk);
        let place = begin..self.bytes.len();
        if fails {
            self.bytes[place.clone()].fill(0);
        }
        self.open.push(Write { place, durable_at: None });
    }

    /// Puts something else in the place of all that is there, durable at `ends`.
    pub(crate) fn replace(&mut self, now: Picos, request: &Frame<'_>, ends: Picos) {
        self.settle(now);
        let bytes = core::mem::replace(&mut self.bytes, [request.body, request.bulk].concat());
        let (open, durable) = (core::mem::take(&mut self.open), self.durable);
        self.replaced.push(Replaced { bytes, open, durable, durable_at: ends });
        self.durable = self.bytes.len();
    }

    /// All that was written before is durable at `ends`.
    pub(crate) fn sync(&mut self, now: Picos, ends: Picos) {
        self.settle(now);
        for write in &mut self.open {
            write.durable_at.get_or_insert(ends);
        }
    }

    /// The bytes that are there, of so many from a place on.
    pub(crate) fn read(&self, at: u64, len: u32) -> &[u8] {
        let at = usize::try_from(at).unwrap_or(usize::MAX).min(self.bytes.len());
        let end = at.saturating_add(len as usize).min(self.bytes.len());
        &self.bytes[at..end]
    }

    /// Cuts off what lies behind so many bytes.
    pub(crate) fn truncate(&mut self, length: u64) {
        let length = usize::try_from(length).unwrap_or(usize::MAX).min(self.bytes.len());
        self.bytes.truncate(length);
        self.durable = self.durable.min(length);
        self.open.retain_mut(|write| {
            write.place.end = write.place.end.min(length);
            !write.place.is_empty()
        });
    }

    /// What a sync has covered that has ended is durable.
    fn settle(&mut self, now: Picos) {
        self.replaced.retain(|replaced| replaced.durable_at > now);
        let durable = &mut self.durable;
        self.open.retain(|write| {
            let is_durable = write.durable_at.is_some_and(|at| at <= now);
            if is_durable {
                *durable = write.place.end.max(*durable);
            }
            !is_durable
        });
    }

    /// Undoes some of the replacements that were not due, the last ones.
    fn undo(&mut self, now: Picos) {
        let mut replaced = core::mem::take(&mut self.replaced);
        if replaced.is_empty() {
            return;
        }
        self.luck.begin();
        let undone = usize::try_from(self.luck.below(replaced.len() as u64 + 1)).unwrap_or(0);
        let first_undone = replaced.len() - undone;
        if let Some(before) = replaced.drain(first_undone..).next() {
            (self.bytes, self.open, self.durable) = (before.bytes, before.open, before.durable);
            self.settle(now);
        }
    }

    /// Loses all: another disk is in its place.
    pub(crate) fn lose(&mut self) {
        (self.bytes, self.open, self.replaced) = (Vec::new(), Vec::new(), Vec::new());
        self.durable = 0;
    }

    /// Loses what a crash loses. All replacements that may be undone are one group of the choices, and each write that may be lost is one; 0 loses
    /// nothing of it.
    pub(crate) fn crash(&mut self, now: Picos) {
        self.settle(now);
        self.free_at = now;
        self.undo(now);
        for Write { place, .. } in std::mem::take(&mut self.open) {
            let first = place.start / SECTOR_BYTES;
            let sectors = place.end.div_ceil(SECTOR_BYTES) - first;
            self.luck.begin();
            let lost = usize::try_from(self.luck.below(sectors as u64 + 1)).unwrap_or(sectors);
            let end = match lost {
                0 => place.end,
                _ => ((first + sectors - lost) * SECTOR_BYTES).clamp(place.start, place.end),
            };
            self.bytes[end..place.end].fill(0);
            if end > place.start {
                self.durable = end.max(self.durable);
            }
        }
        self.bytes.truncate(self.durable);
    }
}

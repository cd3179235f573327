//! What a node's disk holds, and what a crash leaves of it.
//!
//! The disk is one file to which writes are appended in the order in which they were begun, as the live host's is. A write
//! whose completion was due when the node crashed is there for good, whether the protocol has heard of it or not. Of each
//! other a whole number of sectors at its end is lost: none, so that it was complete though nobody was told, some, so that a
//! prefix is left, or all. Sectors are those of the disk, so that a write which shares its first one with the write before never
//! harms that. A write that failed, and what is lost in front of a write that is not, reads as zeros.

use crate::choices::Chooser;
use crate::picos::Picos;
use core::ops::Range;
use quintet_contract::Frame;

/// What a disk writes whole or not at all.
pub const SECTOR_BYTES: usize = 512;

/// A disk whose contents are kept.
#[derive(Debug)]
pub(crate) struct Disk {
    bytes: Vec<u8>,
    /// In the order of their places.
    open: Vec<Write>,
    /// The end of all that is durable.
    durable: usize,
    /// Decides what a crash leaves.
    luck: Chooser,
}

/// A write that may be under way.
#[derive(Debug)]
struct Write {
    place: Range<usize>,
    ends: Picos,
}

impl Disk {
    pub(crate) fn new(luck: Chooser) -> Disk {
        Disk { bytes: Vec::new(), open: Vec::new(), durable: 0, luck }
    }

    /// All that was written and not lost.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Begins a write that ends then, well or not.
    pub(crate) fn write(&mut self, now: Picos, request: &Frame<'_>, ends: Picos, fails: bool) {
        self.settle(now);
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(request.body);
        self.bytes.extend_from_slice(request.bulk);
        let place = begin..self.bytes.len();
        if fails {
            self.bytes[place.clone()].fill(0);
        }
        self.open.push(Write { place, ends });
    }

    /// What has ended is durable.
    fn settle(&mut self, now: Picos) {
        let durable = &mut self.durable;
        self.open.retain(|write| {
            let ended = write.ends <= now;
            if ended {
                *durable = write.place.end.max(*durable);
            }
            !ended
        });
    }

    /// Loses what a crash loses. Each write under way is one group of the choices; 0 loses nothing of it.
    pub(crate) fn crash(&mut self, now: Picos) {
        self.settle(now);
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

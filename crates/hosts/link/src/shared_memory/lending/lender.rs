//! The sending side: what is lent in which place.

use super::{Lent, PLACES, is_back};
use crate::shared_memory::descriptors;
use crate::shared_memory::layout::Lines;
use crate::shared_memory::segment::Segment;
use bytes::Bytes;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Bulk shorter than this is copied: to lend it would cost more.
const LEND_FROM: usize = 32 * 1024;

/// What one end has lent to its peer.
#[derive(Debug, Default)]
pub(crate) struct Lender {
    places: [Place; PLACES],
    /// Places with something out.
    out: usize,
}

/// What the peer knows under one number.
#[derive(Debug, Default)]
struct Place {
    /// The number of the segment; 0: none.
    segment: u64,
    /// Lends so far.
    lent: u32,
    /// The segment and one bulk of it, while a lend is out. The bulk keeps everybody from writing there.
    out: Option<(Arc<Segment>, Bytes)>,
}

impl Lender {
    /// The segment in which `bulk` can be lent. To lend less than half of one would keep more memory than it saves.
    pub(crate) fn segment_of(bulk: &Bytes) -> Option<Arc<Segment>> {
        if bulk.len() < LEND_FROM {
            return None;
        }
        Segment::that_begins_with(bulk).filter(|segment| segment.size() <= 2 * bulk.len())
    }

    /// Lends `bulk`, which lies in `segment`, to the peer whose lines these are; none if there is no place or no way for the
    /// descriptor. The frame is to be committed next.
    pub(crate) fn lend(
        &mut self,
        bulk: Bytes,
        segment: Arc<Segment>,
        peer: &Lines,
        socket: BorrowedFd<'_>,
    ) -> Option<Lent> {
        let (place, is_new) = self.place_for(&segment, peer)?;
        if is_new {
            descriptors::send(socket, segment.as_fd()).ok()?;
        }
        let len = bulk.len();
        let known = &mut self.places[place];
        known.segment = segment.number();
        known.lent = known.lent.wrapping_add(1);
        self.out += usize::from(known.out.replace((segment, bulk)).is_none());
        Some(Lent { len, place, is_new })
    }

    /// The place where the peer knows the segment, or one that can have it from now on.
    fn place_for(&self, segment: &Segment, peer: &Lines) -> Option<(usize, bool)> {
        let places = &self.places[..(peer.places.load(Ordering::Relaxed) as usize).min(PLACES)];
        if let Some(known) = places.iter().position(|place| place.segment == segment.number()) {
            return Some((known, false));
        }
        let unused = places.iter().position(|place| place.segment == 0);
        let free = unused.or_else(|| places.iter().position(|place| place.out.is_none()));
        free.map(|place| (place, true))
    }

    /// Lets go what came back.
    #[inline]
    pub(crate) fn collect(&mut self, peer: &Lines) {
        if self.out > 0 {
            self.collect_returned(peer);
        }
    }

    fn collect_returned(&mut self, peer: &Lines) {
        for (number, place) in self.places.iter_mut().enumerate() {
            if place.out.is_none() || !is_back(&peer.returned[number], place.lent) {
                continue;
            }
            if let Some((segment, _bulk)) = place.out.take()
                && peer.retired.load(Ordering::Relaxed) >> number & 1 == 1
            {
                segment.retire();
                place.segment = 0;
            }
            self.out -= 1;
        }
    }
}

/// The link ends. Nobody will learn when the peer has done with what is still out.
impl Drop for Lender {
    fn drop(&mut self) {
        for (segment, _) in self.places.iter().filter_map(|place| place.out.as_ref()) {
            segment.retire();
        }
    }
}

//! The sending side: what is lent in which place.

use super::{COPIED_BYTES, LENT_BYTES, Lent, PLACES, REMEMBERED_BYTES, SHORTEST_BYTES, is_back};
use crate::shared_memory::layout::Lines;
use crate::shared_memory::pool::Buffer;
use crate::shared_memory::segment::Segment;
use crate::shared_memory::{copied, descriptors};
use bytes::Bytes;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Bulk shorter than this goes through the ring. Measured, a pair of 4 KiB over a space is faster by a third where it is lent, one of 16 KiB
/// takes half the time; shorter bulk would leave most of a page unused.
const LEND_FROM: usize = SHORTEST_BYTES;
/// The most places with such copies out: the others are for what is not copied.
const COPIES: usize = PLACES / 2;

/// What one end has lent to its peer.
#[derive(Debug)]
pub(crate) struct Lender {
    places: [Place; PLACES],
    /// Places with something out.
    out: usize,
    /// Those of them with a copy out.
    copies: usize,
    /// Bytes of these.
    copied_bytes: usize,
    /// Bytes of all segments together, at most.
    pub(super) most: usize,
}

impl Default for Lender {
    fn default() -> Self {
        Lender { places: Default::default(), out: 0, copies: 0, copied_bytes: 0, most: LENT_BYTES }
    }
}

/// How bulk is lent.
#[derive(Debug)]
pub(crate) enum Way {
    /// Where it lies.
    InPlace(Arc<Segment>),
    /// In a copy.
    Copied,
}

/// What the peer knows under one number.
#[derive(Debug, Default)]
struct Place {
    /// The number of the segment; 0: none that the peer remembers.
    segment: u64,
    /// Bytes that the peer has mapped.
    size: usize,
    /// Lends so far.
    lent: u32,
    /// The segment and one bulk of it, while a lend is out. The bulk keeps everybody from writing there.
    out: Option<(Arc<Segment>, Bytes)>,
    /// That is a copy which this side made for the link alone.
    is_copy: bool,
}

impl Lender {
    /// How `bulk` may be lent to the peer whose lines these are. To lend less than half of a segment would keep more memory than it saves.
    pub(crate) fn way(&self, bulk: &Bytes, peer: &Lines) -> Option<Way> {
        if bulk.len() < LEND_FROM {
            return None;
        }
        if let Some(segment) = Segment::that_begins_with(bulk).filter(|known| known.size() <= 2 * bulk.len())
        {
            return Some(Way::InPlace(segment));
        }
        let has_room = self.copies < COPIES
            && self.out < places(peer)
            && self.copied_bytes + Buffer::size_for(bulk.len()) <= COPIED_BYTES;
        has_room.then_some(Way::Copied)
    }

    /// Lends `bulk` to the peer whose lines these are; none if there is no place, no memory, or no way for the descriptor. The frame is to
    /// be committed next.
    pub(crate) fn lend(
        &mut self,
        bulk: &Bytes,
        way: Way,
        peer: &Lines,
        socket: BorrowedFd<'_>,
    ) -> Option<Lent> {
        let is_copy = matches!(way, Way::Copied);
        let (segment, bulk) = match way {
            Way::InPlace(segment) => (segment, bulk.clone()),
            Way::Copied => copy(bulk)?,
        };
        let (place, is_new) = self.place_for(&segment, peer)?;
        if is_new {
            descriptors::send(socket, segment.as_fd()).ok()?;
        }
        let len = bulk.len();
        let (known, size) = (&mut self.places[place], segment.size());
        known.segment = if size > REMEMBERED_BYTES { 0 } else { segment.number() };
        known.size = size;
        known.lent = known.lent.wrapping_add(1);
        if known.out.replace((segment, bulk)).is_none() {
            known.is_copy = is_copy;
            self.out += 1;
            if is_copy {
                self.copies += 1;
                self.copied_bytes += size;
            }
        }
        Some(Lent { len, place, is_new })
    }

    /// The place where the peer knows the segment, or one that can have it from now on.
    fn place_for(&self, segment: &Segment, peer: &Lines) -> Option<(usize, bool)> {
        let places = &self.places[..places(peer)];
        if let Some(known) = places.iter().position(|place| place.segment == segment.number()) {
            return Some((known, false));
        }
        let mapped: usize = self.places.iter().map(|place| place.size).sum();
        let is_free =
            |place: &Place| place.out.is_none() && mapped - place.size + segment.size() <= self.most;
        let unused = places.iter().position(|place| place.size == 0 && is_free(place));
        let free = unused.or_else(|| places.iter().position(is_free));
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
            let Some((segment, _bulk)) = place.out.take() else { continue };
            if peer.retired.load(Ordering::Relaxed) >> number & 1 == 1 {
                segment.retire();
                place.segment = 0;
            }
            // One that is retired the peer still knows, if it is short.
            if place.size > REMEMBERED_BYTES {
                place.size = 0;
            }
            self.out -= 1;
            if place.is_copy {
                self.copies -= 1;
                self.copied_bytes -= segment.size();
            }
        }
    }
}

/// How many places the peer has, as it says.
fn places(peer: &Lines) -> usize {
    (peer.places.load(Ordering::Relaxed) as usize).min(PLACES)
}

/// A copy that can be lent.
fn copy(bulk: &[u8]) -> Option<(Arc<Segment>, Bytes)> {
    let mut buffer = Buffer::new(bulk.len())?;
    buffer.copy_from_slice(bulk);
    copied::count(bulk.len());
    let copy = buffer.freeze();
    Some((Segment::that_begins_with(&copy)?, copy))
}

/// The link ends. Nobody will learn when the peer has done with what is still out.
impl Drop for Lender {
    fn drop(&mut self) {
        for (segment, _) in self.places.iter().filter_map(|place| place.out.as_ref()) {
            segment.retire();
        }
    }
}

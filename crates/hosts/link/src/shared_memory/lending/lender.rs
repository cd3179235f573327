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

/// The number of none.
const NO_SEGMENT: u64 = u64::MAX;

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
    /// Lends in all places so far.
    lends: u64,
    /// Bytes of all segments together, at most.
    pub(super) most: usize,
}

impl Default for Lender {
    fn default() -> Self {
        let (places, most) = (Default::default(), LENT_BYTES);
        Lender { places, out: 0, copies: 0, copied_bytes: 0, lends: 0, most }
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
    /// How many there had been in all places with the last of them.
    last: u64,
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
            Way::Copied => {
                // Not to copy in vain.
                self.place_for((NO_SEGMENT, Buffer::size_for(bulk.len())), places(peer))?;
                copy(bulk)?
            }
        };
        let (number, size) = (segment.number(), segment.size());
        let (place, is_new) = self.place_for((number, size), places(peer))?;
        if is_new {
            descriptors::send(socket, segment.as_fd()).ok()?;
        }
        let len = bulk.len();
        self.note(place, number, size);
        let known = &mut self.places[place];
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

    /// Of the first so many places the one where the peer knows the segment of this number, or the one that is to have it from now on: the one that
    /// was of no use for longest, or segments in turn would take one place from each other, with a descriptor each time.
    fn place_for(&self, (segment, size): (u64, usize), among: usize) -> Option<(usize, bool)> {
        let places = || self.places[..among].iter().enumerate();
        if let Some((known, _)) = places().find(|(_, place)| place.segment == segment) {
            return Some((known, false));
        }
        let mapped: usize = self.places.iter().map(|place| place.size).sum();
        let fits = |place: &Place| mapped - place.size + size <= self.most;
        let free = places().filter(|(_, place)| place.out.is_none() && fits(place));
        free.min_by_key(|(_, place)| place.last).map(|(place, _)| (place, true))
    }

    /// A segment is lent in a place.
    fn note(&mut self, place: usize, segment: u64, size: usize) {
        self.lends += 1;
        let known = &mut self.places[place];
        known.segment = if size > REMEMBERED_BYTES { 0 } else { segment };
        known.size = size;
        known.lent = known.lent.wrapping_add(1);
        known.last = self.lends;
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
                (place.segment, place.last) = (0, 0);
            }
            // One that is retired the peer still knows, if it is short.
            if place.size > REMEMBERED_BYTES {
                (place.size, place.last) = (0, 0);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Lends a segment, which comes back at once. Whether the peer is told of it.
    fn lend(lender: &mut Lender, segment: u64) -> bool {
        let (place, is_new) = lender.place_for((segment, 4096), PLACES).expect("none is out");
        lender.note(place, segment, 4096);
        is_new
    }

    #[test]
    fn segments_in_turn_keep_their_places_among_others_that_are_of_no_use_any_more() {
        let mut lender = Lender::default();
        assert!((1..=PLACES as u64).all(|segment| lend(&mut lender, segment)));
        let turns = [20, 21, 22, 20, 21, 22, 20, 21, 22];
        let told = turns.map(|segment| lend(&mut lender, segment));
        assert_eq!(told, [true, true, true, false, false, false, false, false, false]);
        assert!(!lend(&mut lender, PLACES as u64), "the last of the others is still known");
        assert!(lend(&mut lender, 1), "the first is not");
    }
}

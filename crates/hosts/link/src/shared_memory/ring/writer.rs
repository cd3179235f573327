//! The writing side of a ring.

use super::{PADDING, extent};
use crate::Route;
use crate::shared_memory::store::{SLOT, WriteStore};
use crate::sync::{AtomicU64, Ordering, fence};
use quintet_contract::Time;
use quintet_contract::limits::HEADER_BYTES;
use quintet_wire::{Header, STAMP_BYTES};

/// Why a frame was not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refused {
    /// No room until the reader has read more.
    Full,
    /// The reader published a head that cannot be.
    Broken,
}

/// A frame to be written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outline {
    pub(crate) route: Route,
    /// Bytes after the header that lie in the ring, at most.
    pub(crate) inline_len: usize,
    /// Bytes of bulk that lie elsewhere and count in the header's length. 0: none.
    pub(crate) bulk_len: usize,
    /// They take no room in the ring of bulk.
    pub(crate) is_lent: bool,
}

impl Outline {
    /// Bytes it takes in the ring of bulk.
    pub(crate) fn in_bulk_ring(&self) -> usize {
        if self.is_lent { 0 } else { self.bulk_len }
    }
}

/// Writes frames.
#[derive(Debug)]
pub(crate) struct RingWriter<S> {
    pub(super) store: S,
    /// Bytes written since the ring began, padding included.
    tail: u64,
    /// The reader's head, as it was when the room last ran short.
    head: u64,
    /// The next frame's number.
    sequence: u32,
    begun: Option<Outline>,
    /// The words of all slots from the tail to here are zero. A frame's room lies among them: once begun, it is committed,
    /// or only the word at the tail still counts as zero.
    zeroed: u64,
}

/// Slots behind the tail whose words are zeroed after a commit, where nobody waits for it, so that the next commits need not.
const ZERO_AHEAD: usize = 8;
/// How many slots behind the tail [`RingWriter::fetch_ahead`] fetches.
const FETCH_AHEAD: usize = 16;

/// Where a frame goes.
struct Place {
    padding: usize,
    extent: usize,
}

impl<S: WriteStore> RingWriter<S> {
    /// Writes into an empty ring of zeros.
    pub(crate) fn new(store: S) -> Self {
        debug_assert!(store.size().is_power_of_two() && store.size() >= 2 * SLOT);
        let zeroed = store.size() as u64;
        RingWriter { store, tail: 0, head: 0, sequence: 0, begun: None, zeroed }
    }

    /// Reserves room for a frame. A frame begun before and not committed is abandoned.
    ///
    /// # Errors
    /// [`Refused`]; the frame begun before is abandoned all the same.
    #[inline]
    pub(crate) fn begin(&mut self, outline: Outline, head: &AtomicU64) -> Result<(), Refused> {
        self.abandon();
        let place = self.place(outline.inline_len);
        if !self.fits(&place, self.head) {
            self.head = self.read_head(head)?;
            if !self.fits(&place, self.head) {
                return Err(Refused::Full);
            }
        }
        if place.padding > 0 {
            self.pad(place.padding);
        }
        self.begun = Some(outline);
        Ok(())
    }

    /// The bytes behind the header of the frame begun last.
    ///
    /// # Panics
    /// If none was begun.
    #[inline]
    pub(crate) fn room(&mut self) -> &mut [u8] {
        let len = self.begun.expect("room follows begin").inline_len;
        let at = self.offset() + HEADER_BYTES;
        self.store.room(at, len)
    }

    /// Publishes the frame begun last, with the first `len` bytes of its room, and behind them the time at which it departs, if it is
    /// to tell that. The next frame lies behind these.
    ///
    /// # Panics
    /// If none was begun, or with less room.
    #[inline]
    pub(crate) fn commit(&mut self, len: usize, departed: Option<Time>) {
        if let Some(departed) = departed {
            self.room()[len..][..STAMP_BYTES].copy_from_slice(&departed.0.to_le_bytes());
        }
        let Outline { route, inline_len, bulk_len, .. } = self.begun.take().expect("commit follows begin");
        let len = len + if departed.is_some() { STAMP_BYTES } else { 0 };
        assert!(len <= inline_len, "{len} bytes were written into room for {inline_len}");
        let length = u32::try_from(HEADER_BYTES + len + bulk_len).expect("limits lie below 4 GiB");
        let header = Header {
            length,
            kind: route.kind,
            has_bulk: bulk_len > 0,
            is_stamped: departed.is_some(),
            token: route.token,
            from: route.from,
            to: route.to,
            sequence: self.sequence,
            check: 0,
        };
        let at = self.offset();
        let next = self.tail + extent(HEADER_BYTES + len) as u64;
        self.zero_again(next, self.tail + extent(HEADER_BYTES + inline_len) as u64);
        self.store.finish();
        self.zero_between(next, next + SLOT as u64);
        self.store.write(at + 4, &header.to_bytes()[4..]);
        self.store.word(at).store(length, Ordering::Release);
        self.tail = next;
        self.sequence = self.sequence.wrapping_add(1);
        self.store.prefetch(self.offset());
        let free_until = self.head + self.store.size() as u64;
        self.zero_between(next, free_until.min(next + (ZERO_AHEAD * SLOT) as u64));
    }

    /// Fetches slots for writing that later frames of a burst will need, so that several of them are on their way from the
    /// reader's processor at a time. The only frame of a burst has no use for it.
    #[inline]
    pub(crate) fn fetch_ahead(&self) {
        let distance = FETCH_AHEAD * SLOT;
        if self.tail + (distance as u64) < self.head + self.store.size() as u64 {
            self.store.prefetch((self.offset() + distance) & (self.store.size() - 1));
        }
    }

    /// Abandons the frame begun last, if there is one.
    #[inline]
    pub(crate) fn abandon(&mut self) {
        if self.begun.take().is_some() {
            self.zeroed = self.tail + SLOT as u64;
        }
    }

    /// Zeroes the words of the slots from `start` to `end`, all free, as far as they are not zero yet. The words of slots
    /// before `start` are part of a frame or of padding.
    #[inline]
    fn zero_between(&mut self, start: u64, end: u64) {
        let mask = self.store.size() as u64 - 1;
        self.zeroed = self.zeroed.max(start);
        while self.zeroed < end {
            self.store.word((self.zeroed & mask) as usize).store(0, Ordering::Relaxed);
            self.zeroed += SLOT as u64;
        }
    }

    /// Zeroes the words of slots that were zeroed ahead and have been room of a frame since, and may have been written to: it became
    /// shorter, and they lie behind it.
    #[inline]
    fn zero_again(&self, start: u64, end: u64) {
        let (mut at, mask) = (start, self.store.size() as u64 - 1);
        while at < end.min(self.zeroed) {
            self.store.word((at & mask) as usize).store(0, Ordering::Relaxed);
            at += SLOT as u64;
        }
    }

    /// Whether `inline_len` bytes would fit now.
    ///
    /// # Errors
    /// [`Refused::Broken`].
    pub(crate) fn has_room(&self, inline_len: usize, head: &AtomicU64) -> Result<bool, Refused> {
        Ok(self.fits(&self.place(inline_len), self.read_head(head)?))
    }

    fn place(&self, inline_len: usize) -> Place {
        let extent = extent(HEADER_BYTES + inline_len);
        let to_end = self.store.size() - self.offset();
        Place { padding: if extent > to_end { to_end } else { 0 }, extent }
    }

    fn fits(&self, place: &Place, head: u64) -> bool {
        let used = (self.tail - head) as usize;
        used + place.padding + place.extent + SLOT <= self.store.size()
    }

    /// The reader's head, copied and checked: it only grows, and never beyond what was written.
    fn read_head(&self, head: &AtomicU64) -> Result<u64, Refused> {
        let value = head.load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        if (self.head..=self.tail).contains(&value) { Ok(value) } else { Err(Refused::Broken) }
    }

    /// Sends the reader to the ring's start. The word there is zeroed first, as before every commit.
    fn pad(&mut self, padding: usize) {
        let at = self.offset();
        self.tail += padding as u64;
        self.zero_between(self.tail, self.tail + SLOT as u64);
        self.store.word(at).store(PADDING, Ordering::Release);
    }

    fn offset(&self) -> usize {
        self.tail as usize & (self.store.size() - 1)
    }
}

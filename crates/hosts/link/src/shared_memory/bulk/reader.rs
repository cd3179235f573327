//! The reading side of the ring of bulk. Its writer may be hostile.

use super::{BulkOutline, Place};
use crate::shared_memory::store::{ReadStore, SLOT};
use crate::sync::{AtomicU64, Ordering, fence};
use bytes::Bytes;

/// The share of the ring that is read before the writer is told.
const PUBLISH_SHARE: u64 = 8;
/// The share of the ring that is copied before the next look whether to tell the writer.
const COPY_SHARE: usize = 32;

/// Reads bulk.
#[derive(Debug)]
pub(crate) struct BulkReader<S> {
    store: S,
    /// All before it was read, and what the frame read last brought so far.
    position: u64,
    published: u64,
    /// What is being read.
    incoming: Option<Incoming>,
}

/// Bulk of which not everything was read.
#[derive(Debug)]
struct Incoming {
    place: Place,
    len: usize,
    /// Bytes that are known to be there.
    there: usize,
    /// Those that were read; room for all.
    copy: Vec<u8>,
}

/// What a step of reading came to.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Progress {
    /// All of it.
    Whole(Bytes),
    /// A piece was copied.
    Piece,
    /// The next piece is not written yet.
    Nothing,
}

impl Incoming {
    /// Bytes that are there, looking at the tail only if those known of were read.
    #[inline]
    fn there(&self, tail: &AtomicU64) -> usize {
        if self.copy.len() < self.there {
            return self.there;
        }
        let told = tail.load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        let told = told.saturating_sub(self.place.start).min(self.len as u64) as usize;
        told.max(self.there)
    }
}

impl<S: ReadStore> BulkReader<S> {
    pub(crate) fn new(store: S) -> Self {
        BulkReader { store, position: 0, published: 0, incoming: None }
    }

    /// Begins to read what a frame outlined: its length was checked against the limit of a frame's bulk, and its lead against
    /// its length.
    pub(crate) fn begin(&mut self, outline: BulkOutline) {
        let BulkOutline { len, lead } = outline;
        let place = Place::new(self.position, len, self.store.size());
        self.incoming = Some(Incoming { place, len, there: lead, copy: Vec::with_capacity(len) });
    }

    /// Whether [`BulkReader::step`] would do anything.
    #[inline]
    pub(crate) fn can_step(&self, tail: &AtomicU64) -> bool {
        self.incoming.as_ref().is_some_and(|incoming| incoming.copy.len() < incoming.there(tail))
    }

    /// Copies what is there of the bulk begun last, but not more than a share of the ring.
    ///
    /// # Panics
    /// If all of it was read before.
    pub(crate) fn step(&mut self, tail: &AtomicU64) -> Progress {
        let incoming = self.incoming.as_mut().expect("a step follows begin, until all was read");
        incoming.there = incoming.there(tail);
        let size = self.store.size();
        let done = incoming.copy.len();
        let piece = (incoming.there - done).min((size / COPY_SHARE).max(SLOT));
        if piece == 0 {
            return Progress::Nothing;
        }
        self.store.append(incoming.place.offset(done, size), piece, &mut incoming.copy);
        if done + piece < incoming.len {
            self.position = incoming.place.start + (done + piece) as u64;
            return Progress::Piece;
        }
        self.position = incoming.place.next;
        Progress::Whole(core::mem::take(&mut self.incoming).expect("it was there above").copy.into())
    }

    /// Tells the writer how far everything was read, if that is worth it. True if it was told.
    #[inline]
    pub(crate) fn publish(&mut self, head: &AtomicU64) -> bool {
        let worth = self.position - self.published >= self.store.size() as u64 / PUBLISH_SHARE;
        if worth {
            self.published = self.position;
            head.store(self.position, Ordering::Release);
        }
        worth
    }
}

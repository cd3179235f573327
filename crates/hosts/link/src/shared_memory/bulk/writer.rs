//! The writing side of the ring of bulk.

use super::{BulkOutline, Place};
use crate::shared_memory::store::WriteStore;
use crate::sync::{AtomicU64, Ordering, fence};

/// Writes bulk.
#[derive(Debug)]
pub(crate) struct BulkWriter<S> {
    store: S,
    /// Where the next bulk may begin.
    position: u64,
    /// The bulk begun last, and how much of it is written.
    place: Place,
    written: usize,
}

impl<S: WriteStore> BulkWriter<S> {
    /// Writes into an empty ring.
    pub(crate) fn new(store: S) -> Self {
        BulkWriter { store, position: 0, place: Place { start: 0, next: 0 }, written: 0 }
    }

    /// Whether `len` bytes fit. A head that cannot be leaves no room: the reader harms itself.
    pub(crate) fn has_room(&self, len: usize, head: &AtomicU64) -> bool {
        let place = Place::new(self.position, len, self.store.size());
        let head = head.load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        head <= self.position && place.next - head <= self.store.size() as u64
    }

    /// Reserves `len` bytes that [`BulkWriter::has_room`] for, and outlines them for the frame; `lead` is how much of them will
    /// be written before it is committed.
    pub(crate) fn begin(&mut self, len: usize, lead: usize) -> BulkOutline {
        self.place = Place::new(self.position, len, self.store.size());
        self.position = self.place.next;
        self.written = 0;
        BulkOutline { len, lead }
    }

    /// Where the bulk begun last ends in the ring.
    pub(crate) fn end(&self, len: usize) -> usize {
        self.place.offset(len, self.store.size())
    }

    /// Writes the next piece of the bulk begun last. Seen with the next commit of a frame, or by [`BulkWriter::publish`].
    pub(crate) fn write(&mut self, piece: &[u8]) {
        self.store.write(self.place.offset(self.written, self.store.size()), piece);
        self.written += piece.len();
    }

    /// Tells the reader how far the bulk begun last is written.
    pub(crate) fn publish(&self, tail: &AtomicU64) {
        tail.store(self.place.start + self.written as u64, Ordering::Release);
    }
}

//! Bulk data on its way: a second ring beside the frames, without headers.
//!
//! Each frame that carries bulk tells its length; where it lies follows from what came before, by the same rule on both
//! sides, so no offset crosses that a peer could forge. Bulk begins at a multiple of 64 and does not wrap: what does not
//! fit before the end begins at the start.

use super::store::{ReadStore, SLOT, WriteStore};
use crate::sync::{AtomicU64, Ordering, fence};
use bytes::Bytes;

/// The share of the ring that is read before the writer is told.
const PUBLISH_SHARE: u64 = 8;

/// Where the next bulk of `len` bytes lies in a ring of `size` bytes, and where the ring stands after it.
fn place(position: u64, len: usize, size: usize) -> (usize, u64) {
    let offset = position as usize & (size - 1);
    let start = if offset + len > size { position + (size - offset) as u64 } else { position };
    (start as usize & (size - 1), start + len.next_multiple_of(SLOT) as u64)
}

/// Writes bulk.
#[derive(Debug)]
pub(crate) struct BulkWriter<S> {
    store: S,
    tail: u64,
}

impl<S: WriteStore> BulkWriter<S> {
    pub(crate) fn new(store: S) -> Self {
        BulkWriter { store, tail: 0 }
    }

    /// Whether `len` bytes fit. A head that cannot be leaves no room: the reader harms itself.
    pub(crate) fn has_room(&self, len: usize, head: &AtomicU64) -> bool {
        let (_, next) = place(self.tail, len, self.store.size());
        let head = head.load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        head <= self.tail && next - head <= self.store.size() as u64
    }

    /// Writes bytes that [`BulkWriter::has_room`] for. Seen with the next commit of a frame.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        let (at, next) = place(self.tail, bytes.len(), self.store.size());
        self.store.write(at, bytes);
        self.tail = next;
    }
}

/// Reads bulk.
#[derive(Debug)]
pub(crate) struct BulkReader<S> {
    store: S,
    position: u64,
    published: u64,
}

impl<S: ReadStore> BulkReader<S> {
    pub(crate) fn new(store: S) -> Self {
        BulkReader { store, position: 0, published: 0 }
    }

    /// The next `len` bytes, checked against the limit of a frame's bulk before.
    pub(crate) fn read(&mut self, len: usize) -> Bytes {
        let (at, next) = place(self.position, len, self.store.size());
        self.position = next;
        self.store.read_new(at, len).into()
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::shared_memory::heap::areas;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    const SIZE: usize = 4096;

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: if cfg!(miri) { 3 } else { 256 }, failure_persistence: None, ..ProptestConfig::default()
        })]

        #[test]
        fn it_is_a_queue(steps in proptest::collection::vec((any::<bool>(), 1..=SIZE / 4), 1..200)) {
            let (own, peer) = areas(SIZE);
            let (mut writer, mut reader, head) = (BulkWriter::new(own), BulkReader::new(peer), AtomicU64::new(0));
            let mut queue = VecDeque::new();
            for (n, (writes, len)) in steps.into_iter().enumerate() {
                if writes && writer.has_room(len, &head) {
                    writer.write(&vec![n as u8; len]);
                    queue.push_back(vec![n as u8; len]);
                } else if writes {
                    prop_assert!(!queue.is_empty(), "an empty ring refused {} bytes", len);
                } else if let Some(expected) = queue.pop_front() {
                    prop_assert_eq!(reader.read(expected.len()), expected);
                    reader.publish(&head);
                }
            }
        }
    }

    #[test]
    fn a_head_that_cannot_be_leaves_no_room() {
        let (own, _) = areas(SIZE);
        assert!(!BulkWriter::new(own).has_room(1, &AtomicU64::new(64)));
    }
}

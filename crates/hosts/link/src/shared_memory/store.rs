//! Where a ring's bytes lie. Two implementations: mapped memory (`area.rs`) and, under loom, a model of it.

use crate::sync::AtomicU32;
use quintet_contract::limits::HEADER_BYTES;

/// Bytes between two places where a frame may begin: a cache line.
pub(crate) const SLOT: usize = 64;

/// Memory that one side writes and the other reads. Offsets are multiples of [`SLOT`] where a frame begins.
pub(crate) trait Store {
    /// Bytes; a power of two.
    fn size(&self) -> usize;
    /// The commit word of a frame that begins at `at`.
    fn word(&self, at: usize) -> &AtomicU32;
}

/// The writer's side.
pub(crate) trait WriteStore: Store {
    /// Room for `len` bytes from `at`.
    fn room(&mut self, at: usize, len: usize) -> &mut [u8];
    /// Says that what was written to [`WriteStore::room`] is complete. Nothing to do where the room is the memory itself.
    fn finish(&mut self) {}
    /// Writes `bytes` from `at`.
    fn write(&mut self, at: usize, bytes: &[u8]);
    /// Says that the slots from `at` are written next.
    fn prefetch(&self, at: usize);
}

/// The reader's side. The writer may be hostile: bytes may change at any time, so each is read once.
pub(crate) trait ReadStore: Store {
    /// Says that the slot at `at` is read next.
    fn prefetch(&self, at: usize);

    /// The header of the frame at `at`, whose commit word was read as `word`.
    fn header(&self, at: usize, word: u32) -> [u8; HEADER_BYTES];

    /// Copies the bytes from `at`, a multiple of 8.
    fn read(&self, at: usize, into: &mut [u8]);

    /// Appends the `len` bytes from `at` to a vector.
    fn append(&self, at: usize, len: usize, to: &mut Vec<u8>);
}

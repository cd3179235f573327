//! A ring of frames with one writer and one reader.
//!
//! ```text
//!        released by the reader    committed                    free
//!  ...-------------------------+---------------------------+----------------...
//!                            head                          tail: its word is 0
//!
//!  frame   | length: commit word | rest of the header | body | unused, to the next multiple of 64 |
//!  padding | 0xffffffff          | unused, to the ring's end                                      |
//! ```
//!
//! - A frame begins at a multiple of 64 and never wraps: where it does not fit before the end, padding fills the rest.
//! - Order of a commit: body, zero in the word of the *next* frame, rest of the header, then the length into the word
//!   with release order. A reader that sees a word other than zero therefore sees the whole frame, and finds zero or a
//!   whole frame behind it. A writer that dies leaves whole frames only.
//! - One slot stays free, because the next word is zeroed before it is used. Words are zeroed some slots ahead, after a
//!   commit, so that a commit rarely waits for the line of the next one.
//! - The head is published seldom: once an eighth of the ring was read. A frame is at most a quarter of the ring and a slot, padding is
//!   shorter than a frame, so the room that is visible in a ring read empty fits any frame.
//! - The reader trusts nothing: it copies the header before it checks it, and the body before anybody sees it.

mod reader;
#[cfg(all(test, not(loom)))]
mod tests;
mod writer;

use super::store::SLOT;
pub(crate) use reader::RingReader;
pub(crate) use writer::{Outline, Refused, RingWriter};

/// In the commit word: the rest of the ring is padding.
const PADDING: u32 = u32::MAX;

/// What may lie in a ring.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RingLimits {
    /// Bytes after the header that lie in the ring.
    pub(crate) inline_bytes: usize,
    /// Bytes of bulk in the ring of bulk.
    pub(crate) bulk_bytes: usize,
    /// Bytes of bulk that is lent, no fewer.
    pub(crate) lent_bytes: usize,
}

/// The share of the ring that is read before the head is published.
const PUBLISH_SHARE: usize = 8;

/// Bytes in the ring that `len` bytes take.
const fn extent(len: usize) -> usize {
    len.next_multiple_of(SLOT)
}

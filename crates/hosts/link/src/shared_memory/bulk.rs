//! Bulk data on its way: a second ring beside the frames, without headers. (Long bulk, and what lies in memory of its own, is lent
//! instead, and comes here only if there is no place for it: `lending.rs`.)
//!
//! Each frame that carries bulk tells its length; where it lies follows from what came before, by the same rule on both
//! sides, so no offset crosses that a peer could forge. Bulk begins at a multiple of 64 and does not wrap: what does not
//! fit before the end begins at the start.
//!
//! ```text
//!   sender     writes the lead | commits the frame | writes a piece, moves the tail | writes the last piece, moves the tail
//!   receiver                     takes the frame, copies the lead | copies a piece | copies the last one: delivers
//! ```
//!
//! - Long bulk is written in pieces, so that the receiver copies one, while it lies in a near cache, as the next is written.
//!   The room for all of it is reserved before the first. How long a piece is, is the sender's affair: the frame tells the
//!   bytes that were there with it (the lead), and the tail, a word of the sender's, how far it has written since.
//! - The receiver makes room for the whole once, after checking the length, and puts each piece in its place. Until the
//!   last is there it looks at no other frame; so nothing comes in between, and a sender that dies leaves nothing torn.
//! - The tail is compared with what was announced and never added to anything: one that is too far or moves back gives no more
//!   bytes than the frame has, and one that stands still is a peer that is silent.

mod reader;
#[cfg(all(test, not(loom)))]
mod tests;
mod writer;

use super::lending::Lent;
use super::store::SLOT;
pub(crate) use reader::{BulkReader, Progress};
pub(crate) use writer::BulkWriter;

/// Bytes in front of a body that tell what bulk comes with it.
pub(crate) const BULK_OUTLINE_BYTES: usize = 8;

/// What a frame tells of bulk in the ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BulkOutline {
    /// All of its bytes.
    pub(crate) len: usize,
    /// Bytes that are there when the frame is.
    pub(crate) lead: usize,
}

/// Where a frame's bulk lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Bulk {
    /// In the ring.
    InRing(BulkOutline),
    /// In memory of its own.
    Lent(Lent),
}

impl Bulk {
    /// All of its bytes.
    pub(crate) fn len(self) -> usize {
        match self {
            Bulk::InRing(outline) => outline.len,
            Bulk::Lent(lent) => lent.len,
        }
    }

    /// What a peer wrote. Nothing is checked.
    pub(crate) fn from_bytes([a, b, c, d, e, f, g, h]: [u8; BULK_OUTLINE_BYTES]) -> Self {
        let (len, word) = (u32::from_le_bytes([a, b, c, d]) as usize, u32::from_le_bytes([e, f, g, h]));
        Lent::from_word(len, word).map_or(Bulk::InRing(BulkOutline { len, lead: word as usize }), Bulk::Lent)
    }

    /// For the frame.
    pub(crate) fn to_bytes(self) -> [u8; BULK_OUTLINE_BYTES] {
        let short = |len: usize| u32::try_from(len).expect("limits lie below 2 GiB");
        let word = match self {
            Bulk::InRing(outline) => short(outline.lead),
            Bulk::Lent(lent) => lent.to_word(),
        };
        let mut bytes = [0; BULK_OUTLINE_BYTES];
        bytes[..4].copy_from_slice(&short(self.len()).to_le_bytes());
        bytes[4..].copy_from_slice(&word.to_le_bytes());
        bytes
    }
}

/// Where bulk lies in the ring.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Bytes before it since the ring began, skipped ones included.
    start: u64,
    /// Where the ring stands after it.
    next: u64,
}

impl Place {
    /// The place of `len` bytes in a ring of `size` bytes that stands at `position`.
    fn new(position: u64, len: usize, size: usize) -> Place {
        let offset = position as usize & (size - 1);
        let start = if offset + len > size { position + (size - offset) as u64 } else { position };
        Place { start, next: start + len.next_multiple_of(SLOT) as u64 }
    }

    /// Where in the ring its byte number `done` lies.
    fn offset(self, done: usize, size: usize) -> usize {
        (self.start as usize & (size - 1)) + done
    }
}

//! What lies where in the memory that each side of a connection writes and its peer reads.
//!
//! ```text
//!       0  Lines: this side's heads, bells, farewell, tail, returns   one page
//!    4096  ring of frames this side sends                       CONTROL_RING_BYTES
//!  266240  ring of bulk this side sends                         BULK_RING_BYTES, no pages before its first use
//! ```

use super::bulk::BULK_OUTLINE_BYTES;
use super::lending::{PLACES, SEGMENT_BYTES};
use super::ring::RingLimits;
use super::store::SLOT;
use core::sync::atomic::{AtomicU32, AtomicU64};
use quintet_contract::limits::{BULK_RING_BYTES, CONTROL_RING_BYTES, MAX_BODY_BYTES, MAX_FRAME_BYTES};

/// Where the ring of frames begins.
pub(crate) const RING_AT: usize = 4096;
/// Where the ring of bulk begins.
pub(crate) const BULK_AT: usize = RING_AT + CONTROL_RING_BYTES;
/// All of it.
pub(crate) const MEMORY_BYTES: usize = BULK_AT + BULK_RING_BYTES;

/// The bulk of one frame that is not lent: a quarter of the ring, so that some can be written while some is read. What fits is copied
/// in once and out once; what is larger comes in fragments, which are copied together.
pub(crate) const FRAME_BULK_BYTES: usize = BULK_RING_BYTES / 4;

/// What is written of a frame's bulk before the receiver is told: it copies the one piece while the next is written.
pub(crate) const PIECE_BYTES: usize = 16 * 1024;

/// Bulk of at least so many bytes wakes a sleeping receiver after its first piece: the rest takes longer to write than a thread
/// takes to wake up.
pub(crate) const EARLY_WAKE_BYTES: usize = 128 * 1024;

/// What a frame may hold.
pub(crate) const RING_LIMITS: RingLimits = RingLimits {
    inline_bytes: MAX_BODY_BYTES + BULK_OUTLINE_BYTES,
    bulk_bytes: FRAME_BULK_BYTES,
    lent_bytes: SEGMENT_BYTES,
};

/// In [`Lines::left`]: this side sends no more.
pub(crate) const SENDER_LEFT: u32 = 1;
/// In [`Lines::left`]: this side receives no more.
pub(crate) const RECEIVER_LEFT: u32 = 2;

/// The words that one side writes and the other reads. Four lines: the first changes as this side receives, the second with
/// sleeping and waking, the third as it sends long bulk, the fourth as it gives back what was lent to it. All of it is atomic, what has no use yet as well: a peer may write any of
/// its bytes at any time.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Lines {
    /// How far this side has read the peer's frames.
    pub(crate) head: AtomicU64,
    /// How far this side has read the peer's bulk.
    pub(crate) bulk_head: AtomicU64,
    _first_line: [AtomicU64; 6],
    /// Odd while this side's receiver sleeps (`bell.rs`).
    pub(crate) frames_bell: AtomicU32,
    /// Odd while this side's sender waits for room.
    pub(crate) room_bell: AtomicU32,
    /// [`SENDER_LEFT`] and [`RECEIVER_LEFT`].
    pub(crate) left: AtomicU32,
    /// How many places this side has for segments that are lent to it (`lending.rs`).
    pub(crate) places: AtomicU32,
    /// The places whose segments may never be written again, one bit each.
    pub(crate) retired: AtomicU32,
    _second_line: [AtomicU32; 11],
    /// How far this side has written bulk, told while a frame's bulk is written in pieces.
    pub(crate) bulk_tail: AtomicU64,
    _third_line: [AtomicU64; 7],
    /// How many lends of each place came back.
    pub(crate) returned: [AtomicU32; PLACES],
}

const _: () = {
    assert!(size_of::<Lines>() == 4 * SLOT && size_of::<Lines>() <= RING_AT);
    assert!(
        RING_AT.is_multiple_of(4096) && BULK_AT.is_multiple_of(4096) && MEMORY_BYTES.is_multiple_of(4096)
    );
    // The room that is visible in a ring read empty fits the longest frame behind the longest padding.
    assert!(2 * (MAX_FRAME_BYTES + SLOT) + CONTROL_RING_BYTES / 8 + SLOT <= CONTROL_RING_BYTES);
    assert!(2 * FRAME_BULK_BYTES + BULK_RING_BYTES / 8 <= BULK_RING_BYTES);
};

#[cfg(test)]
mod tests {
    use super::*;

    trait Atomic {}
    impl Atomic for AtomicU32 {}
    impl Atomic for AtomicU64 {}
    impl<T: Atomic, const N: usize> Atomic for [T; N] {}

    fn bytes<T: Atomic>(_: &T) -> usize {
        size_of::<T>()
    }

    /// It does not compile where a field is not.
    #[test]
    fn every_byte_that_a_peer_may_write_is_atomic() {
        let none = [const { AtomicU64::new(0) }; 4 * SLOT / 8];
        // SAFETY: as many bytes, all of them zero.
        let lines: Lines = unsafe { core::mem::transmute(none) };
        let Lines { head, bulk_head, _first_line, .. } = &lines;
        assert_eq!(bytes(head) + bytes(bulk_head) + bytes(_first_line), SLOT);
        let Lines { frames_bell, room_bell, left, places, retired, _second_line, .. } = &lines;
        let words = [frames_bell, room_bell, left, places, retired].map(bytes);
        assert_eq!(words.iter().sum::<usize>() + bytes(_second_line), SLOT);
        let Lines { bulk_tail, _third_line, returned, .. } = &lines;
        assert_eq!(bytes(bulk_tail) + bytes(_third_line), SLOT);
        assert_eq!(bytes(returned), SLOT);
    }
}

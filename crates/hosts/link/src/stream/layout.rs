//! How frames lie in a stream of bytes, and the limits of a link.

use quintet_contract::limits::{BULK_RING_BYTES, CONTROL_RING_BYTES, HEADER_BYTES, MAX_BODY_BYTES};

/// The first word in place of a frame's length: the sender sends no more. A stream that ends without it was cut.
pub(super) const SENDER_LEFT: u32 = 0;
/// The same: who says it receives no more.
pub(super) const RECEIVER_LEFT: u32 = 1;
/// In place of [`SENDER_LEFT`]: the sender sends no more, because it does not let the peer in.
pub(super) const SENDER_REFUSES: u32 = 2;
/// Bytes of that word.
pub(super) const WORD_BYTES: usize = 4;
/// Bytes in front of a body that tell how long the bulk is.
pub(super) const BULK_LENGTH_BYTES: usize = 4;
/// The longest bulk of one frame, as over shared memory.
pub(super) const FRAME_BULK_BYTES: usize = BULK_RING_BYTES / 4;
/// The longest frame without its bulk.
pub(super) const MAX_INLINE_BYTES: usize = HEADER_BYTES + BULK_LENGTH_BYTES + MAX_BODY_BYTES;
/// The longest frame.
pub(super) const MAX_FRAME_BYTES: usize = MAX_INLINE_BYTES + FRAME_BULK_BYTES;
/// Bytes of frames without their bulk that wait to be sent, at most.
pub(super) const SEND_BYTES: usize = CONTROL_RING_BYTES;
/// Bytes of bulk that wait to be sent, at most.
pub(super) const SEND_BULK_BYTES: usize = BULK_RING_BYTES;
/// Bytes that one read asks for.
pub(super) const READ_BYTES: usize = 64 * 1024;
/// Bytes that one read asks for behind bulk. More bulk is likely to come; what is read of it here must be copied.
pub(super) const READ_BEHIND_BULK_BYTES: usize = 4 * 1024;
/// Bulk that must have come before there is room made for more than as much again.
pub(super) const EARNEST_BYTES: usize = 128 * 1024;

const _: () = {
    assert!(MAX_FRAME_BYTES <= u32::MAX as usize, "a frame's length travels as u32");
    assert!(SENDER_REFUSES < HEADER_BYTES as u32, "no frame is that short");
    assert!(MAX_INLINE_BYTES + WORD_BYTES <= SEND_BYTES && FRAME_BULK_BYTES <= SEND_BULK_BYTES);
};

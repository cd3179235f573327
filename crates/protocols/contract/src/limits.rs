//! Every size limit in one place. The relations between them are proved when this file compiles.

/// Bytes of the frame header that every link carries (layout in `wire`).
pub const HEADER_BYTES: usize = 32;
/// Bytes of a link's ring for control frames, one direction.
pub const CONTROL_RING_BYTES: usize = 256 * 1024;
/// Bytes of a link's ring for bulk data, one direction, made at first use.
pub const BULK_RING_BYTES: usize = 4 * 1024 * 1024;
/// A frame on the control ring, header included. A quarter of the ring, so that a lazily published head cannot
/// leave a sender waiting for space that never comes.
pub const MAX_FRAME_BYTES: usize = CONTROL_RING_BYTES / 4;
/// The body of a frame.
pub const MAX_BODY_BYTES: usize = MAX_FRAME_BYTES - HEADER_BYTES;
/// What sessions may add in front of a body.
pub const SESSION_PREFIX_BYTES: usize = 24;
/// What says which instances a frame is between.
pub const PORTS_PREFIX_BYTES: usize = 4;
/// What messaging may add.
pub const MESSAGING_PREFIX_BYTES: usize = 16;
/// What the layers between a protocol and the link may add in front of a body, all together.
pub const LAYER_BYTES: usize = 64;
/// The body a protocol above those layers may send.
pub const MAX_PAYLOAD_BYTES: usize = MAX_BODY_BYTES - LAYER_BYTES;
/// A piece of bulk data as it crosses a link that cannot share memory.
pub const FRAGMENT_BYTES: usize = 64 * 1024;
/// The bulk data of one message.
pub const MAX_BULK_BYTES: usize = 2 * 1024 * 1024 * 1024;
/// Bodies up to this size are copied out of shared memory before they are decoded.
pub const COPY_BEFORE_DECODE_BYTES: usize = 256;
/// Fields of a tuple.
pub const MAX_FIELDS: usize = 64;
/// Dimensions of an array.
pub const MAX_DIMENSIONS: usize = 32;

const _: () = {
    assert!(CONTROL_RING_BYTES.is_power_of_two() && BULK_RING_BYTES.is_power_of_two());
    assert!(MAX_FRAME_BYTES * 4 <= CONTROL_RING_BYTES, "a frame is at most a quarter of its ring");
    assert!((FRAGMENT_BYTES + HEADER_BYTES + LAYER_BYTES) * 4 <= BULK_RING_BYTES, "and so is a fragment");
    assert!(
        SESSION_PREFIX_BYTES + PORTS_PREFIX_BYTES + MESSAGING_PREFIX_BYTES <= LAYER_BYTES,
        "each layer proves that it adds no more"
    );
    assert!(MAX_PAYLOAD_BYTES > COPY_BEFORE_DECODE_BYTES);
    assert!(MAX_BULK_BYTES <= u32::MAX as usize, "lengths travel as u32");
    assert!(MAX_FIELDS <= u8::MAX as usize, "field counts travel as u8");
    assert!(MAX_DIMENSIONS <= u8::MAX as usize, "and so do dimensions");
    assert!(HEADER_BYTES * 2 == 64, "two headers fill a cache line");
};

#[cfg(test)]
mod tests {
    use super::*;

    /// Both sides of a link, and recordings, rely on them: who changes one changes the layout.
    #[test]
    fn the_sizes_that_nodes_share_are_these() {
        assert_eq!((HEADER_BYTES, LAYER_BYTES, FRAGMENT_BYTES), (32, 64, 65_536));
        assert_eq!((MAX_FRAME_BYTES, MAX_BODY_BYTES, MAX_PAYLOAD_BYTES), (65_536, 65_504, 65_440));
        assert_eq!((CONTROL_RING_BYTES, BULK_RING_BYTES), (262_144, 4_194_304));
        assert_eq!(MAX_BULK_BYTES, 2_147_483_648);
    }
}

//! Every limit of a broker. What is above one is refused before anything is kept of it.

/// Bytes of a handler's name.
pub const MAX_NAME_BYTES: usize = 128;
/// Bytes of a request or a reply of a handler.
pub const MAX_MESSAGE_BYTES: usize = 64 * 1024 * 1024;
/// Calls that may wait for the handlers of one name.
pub const MAX_WAITING: u32 = 65_536;
/// Handlers of one peer.
pub const MAX_HANDLERS_OF_PEER: usize = 256;
/// Handlers of all peers together.
pub const MAX_HANDLERS: usize = 4096;
/// Requests and replies up to this size go in a frame's body; longer ones as its bulk.
pub const MAX_INLINE_BYTES: usize = 4096;
/// What a call counts beside the bytes of its request: more than its entries in the books take, its name shared.
pub const CALL_BYTES: u64 = 512;
/// Answers that wait for room in one link, where the layer below reserves none for them.
pub const MAX_UNSENT: usize = 1024;

const _: () = {
    assert!(MAX_MESSAGE_BYTES <= quintet_contract::limits::MAX_BULK_BYTES, "one message carries it");
    let fixed = 64 + MAX_NAME_BYTES;
    assert!(fixed + MAX_INLINE_BYTES <= quintet_contract::limits::MAX_PAYLOAD_BYTES, "it is one frame");
    assert!(MAX_HANDLERS_OF_PEER * 4 <= MAX_HANDLERS, "a few peers leave room for others");
};

//! The entry points.

use quintet_contract::limits::{HEADER_BYTES, MAX_FRAME_BYTES};
use quintet_wire::journal::Entry;
use quintet_wire::{Decode, Header, encode_to_vec};

/// One entry point.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name: of the fuzz target and of the folder in `fuzz/corpus`.
    pub name: &'static str,
    /// Takes any bytes; panics only if there is a defect.
    pub run: fn(&[u8]),
}

/// Every entry point.
pub const TARGETS: [Target; 6] = [
    Target { name: "header", run: header },
    Target { name: "journal_entry", run: journal_entry },
    Target { name: "tuple", run: quintet_tuple_space::fuzzing::tuple },
    Target { name: "space_requests", run: quintet_tuple_space::fuzzing::requests },
    Target { name: "session", run: quintet_session::fuzzing::drive },
    Target { name: "messaging", run: quintet_messaging::fuzzing::drive },
];

/// Reads the first bytes as a frame header. What can be read is the same when written again.
///
/// # Panics
/// If it is not: a defect of the codec.
pub fn header(bytes: &[u8]) {
    let Some((front, _)) = bytes.split_first_chunk::<HEADER_BYTES>() else { return };
    let limit = u32::try_from(MAX_FRAME_BYTES).expect("a frame's length travels as u32");
    if let Ok(header) = Header::from_bytes(front, limit) {
        assert_eq!(&header.to_bytes(), front);
    }
}

/// Reads the bytes as an entry of a recording. What can be read is the same after it was written and read again.
///
/// # Panics
/// If it is not: a defect of the codec.
pub fn journal_entry(bytes: &[u8]) {
    if let Ok(entry) = Entry::decode_all(bytes) {
        let again = encode_to_vec(&entry);
        assert_eq!(Entry::decode_all(&again), Ok(entry));
    }
}

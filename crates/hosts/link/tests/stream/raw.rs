//! What goes over a stream, written by hand.

use quintet_contract::{Address, Kind, Token};
use quintet_link::{Checksums, End, over_stream};
use quintet_wire::Header;
use std::os::unix::net::UnixStream;

/// The word that says farewell.
pub(crate) const FAREWELL: [u8; 4] = [0; 4];

/// What a dialler says that is accepted; `checks`: 1 for checksums, 0 for none.
pub(crate) fn preamble(checks: u8) -> [u8; 16] {
    let [a, b, c, d] = (1u32 << 20).to_le_bytes();
    [b'Q', b'N', b'S', b'T', 1, 0, 0, 0, 1, checks, 0, 0, a, b, c, d]
}

/// An end, and the other side's socket.
pub(crate) fn beside(checksums: Checksums) -> (End, UnixStream) {
    let (ours, theirs) = UnixStream::pair().expect("two sockets");
    (over_stream(ours.into(), checksums).expect("descriptors"), theirs)
}

pub(crate) fn header(length: usize, sequence: u32, has_bulk: bool) -> Header {
    Header {
        length: u32::try_from(length).expect("short"),
        kind: Kind(0xf0),
        has_bulk,
        is_stamped: false,
        token: Token(sequence.into()),
        from: Address::new(1, 1),
        to: Address::new(2, 2),
        sequence,
        check: 0,
    }
}

/// A frame without a checksum.
pub(crate) fn frame(sequence: u32, body: &[u8]) -> Vec<u8> {
    [&header(32 + body.len(), sequence, false).to_bytes()[..], body].concat()
}

/// The same with bulk.
pub(crate) fn frame_with_bulk(sequence: u32, body: &[u8], bulk: &[u8]) -> Vec<u8> {
    let length = 36 + body.len() + bulk.len();
    let told = u32::try_from(bulk.len()).expect("short").to_le_bytes();
    [&header(length, sequence, true).to_bytes()[..], &told, body, bulk].concat()
}

/// A frame with the checksum that is right for it.
pub(crate) fn checked(mut frame: Vec<u8>) -> Vec<u8> {
    frame[28..32].fill(0);
    let check = crc32c::crc32c(&frame);
    frame[28..32].copy_from_slice(&check.to_le_bytes());
    frame
}

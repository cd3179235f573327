//! Streams of frames, as links over sockets carry them.

use super::{Seed, named};
use quintet_contract::{Address, Kind, Token};
use quintet_wire::Header;

/// The first byte of an input: no checksums, pieces of three bytes.
const PLAIN: u8 = 2 << 1;
/// The same with checksums.
const CHECKED: u8 = PLAIN | 1;

/// A frame of a stream.
fn frame(choice: u8, sequence: u32, body: &[u8], bulk: &[u8]) -> Vec<u8> {
    let mut inline = Vec::new();
    if !bulk.is_empty() {
        inline.extend((bulk.len() as u32).to_le_bytes());
    }
    inline.extend(body);
    let mut header = Header {
        length: (32 + inline.len() + bulk.len()) as u32,
        kind: Kind(0x20),
        has_bulk: !bulk.is_empty(),
        is_stamped: false,
        token: Token(7),
        from: Address::new(1, 16),
        to: Address::new(2, 16),
        sequence,
        check: 0,
    };
    let bytes = |header: Header| [&header.to_bytes()[..], &inline, bulk].concat();
    if choice == CHECKED {
        header.check = crc32c::crc32c(&bytes(header));
    }
    bytes(header)
}

fn stream(choice: u8, parts: &[&[u8]]) -> Vec<u8> {
    let mut bytes = vec![choice];
    bytes.extend(parts.concat());
    bytes
}

pub(super) fn frames() -> Vec<Seed> {
    let [first, second, third] = [(0, &b""[..]), (1, &b"bulk data"[..]), (2, &b""[..])];
    let three = |choice| {
        [first, second, third].map(|(sequence, bulk)| frame(choice, sequence, b"body", bulk)).concat()
    };
    let farewell = 0u32.to_le_bytes();
    named(
        "stream",
        vec![
            ("plain", stream(PLAIN, &[&three(PLAIN), &farewell])),
            ("checked", stream(CHECKED, &[&three(CHECKED), &farewell])),
            ("refused", stream(PLAIN, &[&three(PLAIN), &2u32.to_le_bytes()])),
            ("receiver-left", stream(PLAIN, &[&1u32.to_le_bytes(), &three(PLAIN)])),
            ("wrong-number", stream(PLAIN, &[&frame(PLAIN, 3, b"body", b"")])),
            ("wrong-checksum", stream(CHECKED, &[&frame(PLAIN, 0, b"body", b"bulk")])),
            ("cut", stream(PLAIN, &[&three(PLAIN)[..60]])),
            ("short-length", stream(PLAIN, &[&9u32.to_le_bytes()])),
        ],
    )
}

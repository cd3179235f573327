//! What is said before anybody has proved who they are, and identities that are none.

use super::{Seed, named};

/// A record of the handshake, with these bytes of it.
fn handshake(bytes: &[u8]) -> Vec<u8> {
    let len = u16::try_from(bytes.len()).expect("short").to_be_bytes();
    [&[0x16, 3, 1], &len[..], bytes].concat()
}

/// An extension of a hello.
fn extension(kind: u16, bytes: &[u8]) -> Vec<u8> {
    let len = u16::try_from(bytes.len()).expect("short").to_be_bytes();
    [&kind.to_be_bytes(), &len[..], bytes].concat()
}

/// A message that begins TLS 1.3 with X25519, for the protocol of that name (RFC 8446, section 4.1.2).
fn hello(protocol: &[u8]) -> Vec<u8> {
    let name = [&[protocol.len() as u8], protocol].concat();
    let extensions = [
        extension(43, &[2, 3, 4]),
        extension(10, &[0, 2, 0, 29]),
        extension(13, &[0, 2, 4, 3]),
        extension(51, &[&[0, 36, 0, 29, 0, 32][..], &[9; 32]].concat()),
        extension(16, &[&[0, name.len() as u8], &name[..]].concat()),
    ]
    .concat();
    let front = [&[3, 3][..], &[7; 32], &[0, 0, 2, 0x13, 1, 1, 0]].concat();
    let len = u16::try_from(extensions.len()).expect("short").to_be_bytes();
    let body = [&front[..], &len, &extensions].concat();
    [&[1, 0, 0, u8::try_from(body.len()).expect("short")], &body[..]].concat()
}

/// The first byte of an input: pieces of 17 bytes, and of 4,081.
const SMALL: u8 = 1;
const LARGE: u8 = 255;

pub(super) fn greetings() -> Vec<Seed> {
    let said = |choice: u8, records: &[&[u8]]| [&[choice], &records.concat()[..]].concat();
    let (ours, others) = (hello(b"quintet/1"), hello(b"h2"));
    let (first, second) = ours.split_at(50);
    // What a client says next, encrypted with keys that nobody has.
    let sealed = [&[0x17, 3, 3, 0, 60][..], &[5; 60]].concat();
    named(
        "tls",
        vec![
            ("hello", said(SMALL, &[&handshake(&ours)])),
            ("hello-in-two-records", said(LARGE, &[&handshake(first), &handshake(second)])),
            ("hello-and-nonsense", said(LARGE, &[&handshake(&ours), &sealed])),
            ("hello-and-a-part", said(LARGE, &[&handshake(&ours), &handshake(first)])),
            ("another-protocol", said(LARGE, &[&handshake(&others)])),
            ("alert", said(LARGE, &[&[0x15, 3, 3, 0, 2, 2, 40]])),
            ("plain", said(LARGE, &[b"QNST\x01\0\0\0\x01\0\0\0\0\0\x10\0"])),
        ],
    )
}

pub(super) fn identities() -> Vec<Seed> {
    let section = |kind: &str, text: &str| format!("-----BEGIN {kind}-----\n{text}\n-----END {kind}-----\n");
    let certificate = section("CERTIFICATE", "MIIBAKADAgECAgEB");
    let key = section("PRIVATE KEY", "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg");
    named(
        "identity",
        vec![
            ("three-parts", [&*certificate, &certificate, &key].concat().into()),
            ("one-certificate", [&*certificate, &key].concat().into()),
            ("no-end", certificate[..40].into()),
            ("no-base64", section("CERTIFICATE", "?!").into()),
        ],
    )
}

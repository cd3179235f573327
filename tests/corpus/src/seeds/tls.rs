//! What is said before anybody has proved who they are, and identities that are none.

use super::{Seed, named};
use quintet_identity::Token;

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
            ("a-tokens", token().key().expect("a key").into()),
        ],
    )
}

/// A token of the cluster 0x00112233445566778899aabbccddeeff.
const TOKEN: &str = "aeabci-rtirkw-m54itg-vlxtg5-537qab-iaaeba-gbafay-dqqcik-bmga2d-qpyeja";
/// What asks for a certificate: a key, and its signature for the identity of 32 sevens.
const KEY: &str = "04fe9d8f0fb45273fb30b7b844a7764de42d8184baebdd6898501e4729fd0a0c3684f500a80d2f0502e6a36ac2a0d45b802f\
     79ba50790e6a6624b066602fb4b287";
const SIGNATURE: &str = "304602210096a0d54035e965336388aa95b96763789f363e761198449d262e6e55a3cbb004022100d473a7458c4e7c6b99cb\
     27913976b8519ea1137602237bb98233f3b14136a135";

/// The same token each time, and so the same key and certificate.
fn token() -> Token {
    TOKEN.parse().expect("it is one")
}

pub(super) fn enrolments() -> Vec<Seed> {
    let own = token().key().expect("a key");
    let (certificate, _) = own.split_at(own.find("-----BEGIN PRIVATE").expect("it has a key"));
    let request = format!("quintet-request-1 {KEY} {SIGNATURE}");
    named(
        "enrolment",
        vec![
            ("token", TOKEN.into()),
            ("mistyped", TOKEN.replace("rkw", "rkv").into()),
            ("request", request.clone().into()),
            ("another-version", request.replace("-1 ", "-2 ").into()),
            ("certificate", certificate.into()),
        ],
    )
}

//! Entry points for fuzzers.

use super::connection::Checksums;
use super::preamble::{Preamble, Role};
use super::reader::{BUFFER_BYTES, Farewell, Faulty, FrameReader, Item, Room};
use super::tls::greeting::Greeting;
use crate::pages::Pages;
use crate::{Credentials, LinkAddress, LinkError, Route};
use quintet_contract::limits::MAX_BODY_BYTES;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

/// Reads the bytes as what somebody says who connects over TLS, in pieces; the first byte chooses how long they are. Nobody is let in.
///
/// # Panics
/// If somebody was, or the system refuses a pair of sockets.
pub fn greeting(credentials: &Credentials, bytes: &[u8]) {
    let Some((choice, said)) = bytes.split_first() else { return };
    let address = LinkAddress::Tls { host: "fuzzing".to_owned(), port: 1, credentials: None };
    let ours = Preamble { role: Role::Listened, checksums: Checksums::Without };
    let mut greeting = Greeting::new(credentials, Role::Listened, &address).expect("it is configured");
    let (near, mut far) = UnixStream::pair().expect("descriptors");
    for piece in said.chunks(1 + usize::from(*choice) * 16) {
        far.write_all(piece).expect("there is room for a piece");
        match greeting.hear(near.as_fd(), ours, &address) {
            Ok(is_whole) => assert!(!is_whole, "it has proved nothing"),
            Err(error) => return greeting.refuse(near.as_fd(), ours, error.code()),
        }
    }
}

/// What a stream came to: its frames, and how it ended.
type Told = (Vec<(Route, Vec<u8>, Vec<u8>)>, Option<LinkError>, Option<Farewell>);

/// Reads the bytes as a stream of frames, once in large pieces and once in pieces of a few bytes. The first byte chooses the
/// pieces and whether frames carry checksums.
///
/// # Panics
/// If the pieces made a difference: a defect of the reader.
pub fn frames(bytes: &[u8]) {
    let Some((choice, stream)) = bytes.split_first() else { return };
    let is_checked = choice & 1 == 1;
    let whole = read(stream, stream.len().max(1), is_checked);
    let pieces = read(stream, 1 + usize::from(choice >> 1), is_checked);
    assert!(whole == pieces, "pieces make a difference: {:?} and {:?}", whole.1, pieces.1);
}

fn read(stream: &[u8], piece: usize, is_checked: bool) -> Told {
    let mut reader = FrameReader::new(Pages::new(BUFFER_BYTES).expect("there is memory"), is_checked);
    let mut told: Told = (Vec::new(), None, None);
    for mut piece in stream.chunks(piece) {
        while told.1.is_none() {
            take(&mut reader, &mut told);
            let Some(count) = give(&mut reader, piece) else { break };
            piece = &piece[count..];
            if piece.is_empty() {
                break;
            }
        }
    }
    if told.1.is_none() {
        take(&mut reader, &mut told);
    }
    told.2 = if told.1.is_none() { reader.farewell() } else { None };
    told
}

/// Has the reader receive the front of these bytes. How many; none if it wants no more.
fn give(reader: &mut FrameReader, bytes: &[u8]) -> Option<usize> {
    let count = match reader.room()? {
        Room::Bulk(room) => {
            for (slot, byte) in room.iter_mut().zip(bytes) {
                slot.write(*byte);
            }
            room.len().min(bytes.len())
        }
        Room::Buffer(room) => {
            let count = room.len().min(bytes.len());
            room[..count].copy_from_slice(&bytes[..count]);
            count
        }
    };
    reader.received(count);
    Some(count)
}

fn take(reader: &mut FrameReader, told: &mut Told) {
    loop {
        match reader.next() {
            Ok(Some(Item::Frame { route, body, .. })) => {
                assert!(body.len() <= MAX_BODY_BYTES, "a body beyond its limit");
                told.0.push((route, body.to_vec(), Vec::new()));
            }
            Ok(Some(Item::FrameWithBulk { route, body, bulk })) => {
                assert!(body.len() <= MAX_BODY_BYTES, "a body beyond its limit");
                told.0.push((route, body.to_vec(), bulk.to_vec()));
            }
            Ok(Some(Item::ReceiverLeft)) => {}
            Ok(None) => return,
            Err(Faulty) => {
                told.1 = Some(reader.error());
                return;
            }
        }
    }
}

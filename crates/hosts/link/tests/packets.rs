//! What goes into a socket with each write, where a frame is one packet or two.
#![cfg(not(loom))]

use bytes::Bytes;
use proptest::prelude::*;
use quintet_contract::limits::HEADER_BYTES;
use quintet_contract::{Address, Kind, Token};
use quintet_link::{Checksums, End, Packets, Route, over_stream};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, recv, socketpair};
use std::os::fd::OwnedFd;

const ROUTE: Route =
    Route { from: Address::new(1, 2), to: Address::new(3, 4), kind: Kind(0xf0), token: Token(5) };
/// Of the length of bulk, in front of a body that has some.
const BULK_LENGTH_BYTES: usize = 4;

/// An end over a socket that keeps writes apart, and where they come out.
fn end_with(packets: Packets) -> (End, OwnedFd) {
    let (ours, theirs) =
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).expect("a pair");
    let mut end = over_stream(ours, Checksums::Without).expect("the system gives descriptors");
    end.sender.set_packets(packets);
    (end, theirs)
}

/// What was written so far, a write an element.
fn writes(socket: &OwnedFd) -> Vec<Vec<u8>> {
    let mut writes = Vec::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match recv(socket, &mut buffer[..], RecvFlags::DONTWAIT) {
            Ok((_, count)) => writes.push(buffer[..count].to_vec()),
            Err(Errno::AGAIN) => return writes,
            Err(errno) => panic!("{errno}"),
        }
    }
}

fn send(end: &mut End, body: usize, bulk: usize) {
    let (body, bulk) = (vec![7; body], Bytes::from(vec![9; bulk]));
    end.sender.send_bulk(ROUTE, &body, bulk).expect("there is room");
}

#[test]
fn a_burst_is_one_write() {
    let (mut end, socket) = end_with(Packets::One);
    send(&mut end, 10, 0);
    send(&mut end, 20, 0);
    send(&mut end, 5, 100);
    end.sender.flush().expect("the other side is there");
    let lengths: Vec<usize> = writes(&socket).iter().map(Vec::len).collect();
    assert_eq!(lengths, [3 * HEADER_BYTES + 10 + 20 + BULK_LENGTH_BYTES + 5 + 100]);
}

#[test]
fn in_two_packets_each_header_is_a_write_and_what_follows_another() {
    let (mut end, socket) = end_with(Packets::Two);
    send(&mut end, 10, 0);
    send(&mut end, 0, 0);
    send(&mut end, 5, 100);
    end.sender.flush().expect("the other side is there");
    send(&mut end, 1, 0);
    end.sender.flush().expect("the other side is there");
    let lengths: Vec<usize> = writes(&socket).iter().map(Vec::len).collect();
    // A frame without a body has nothing for a second one.
    let expected =
        [HEADER_BYTES, 10, HEADER_BYTES, HEADER_BYTES, BULK_LENGTH_BYTES + 5 + 100, HEADER_BYTES, 1];
    assert_eq!(lengths, expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// However a burst is cut, the same bytes go, and each frame of it is one write or two.
    #[test]
    fn both_ways_write_the_same_bytes(frames in proptest::collection::vec((0..300usize, prop_oneof![Just(0), 1..2_000usize]), 1..20)) {
        let [one, two] = [Packets::One, Packets::Two].map(|packets| {
            let (mut end, socket) = end_with(packets);
            frames.iter().for_each(|(body, bulk)| send(&mut end, *body, *bulk));
            end.sender.flush().expect("the other side is there");
            writes(&socket)
        });
        prop_assert_eq!(one.concat(), two.concat());
        let packets = frames.iter().map(|(body, bulk)| if body + bulk == 0 { 1 } else { 2 }).sum::<usize>();
        prop_assert_eq!(two.len(), packets);
    }
}

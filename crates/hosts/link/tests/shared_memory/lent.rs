//! A peer that says it lends: what it names is checked, and it can neither fault the reader nor have it wait.

use crate::raw_peer::{RING_AT, RawPeer, SEALS, hear, memfd, pair, say};
use quintet_contract::limits::HEADER_BYTES;
use quintet_contract::{Address, Kind, Token};
use quintet_link::{Buffer, End, LinkError, Route, SharedMemoryListener};
use quintet_testbed::TempDir;
use quintet_wire::Header;
use rustix::fs::{FallocateFlags, SealFlags, fallocate, fcntl_add_seals};
use rustix::io::pread;
use rustix::net::SocketType;
use std::os::fd::{AsFd, OwnedFd};

/// In the outline of a frame: its bulk is lent.
const IS_LENT: u32 = 1 << 31;
/// In a place whose descriptor was sent.
const IS_NEW: u32 = IS_LENT | 1 << 30;
/// Where this side's places are told, where those that are retired, and where returns are counted.
const PLACES_AT: usize = 76;
const RETIRED_AT: usize = 80;
const RETURNED_AT: usize = 192;
const LEN: usize = 64 * 1024;
const MOST: usize = 2 * 1024 * 1024 * 1024;

fn connected() -> (End, RawPeer) {
    let folder = TempDir::new().expect("a folder");
    let mut listener = SharedMemoryListener::bind(folder.join("socket")).expect("bound");
    let peer = RawPeer::offer(listener.path());
    let end = listener.accept().expect("an acceptable offer").expect("it has spoken");
    (end, peer)
}

/// A segment as honest peers make it: with memory, and with these seals.
fn segment(size: usize, provided: usize, seals: SealFlags) -> OwnedFd {
    let fd = memfd(size, SealFlags::empty());
    if provided > 0 {
        fallocate(&fd, FallocateFlags::empty(), 0, provided as u64).expect("memory");
    }
    fcntl_add_seals(&fd, seals).expect("sealed");
    fd
}

fn good() -> OwnedFd {
    segment(LEN, LEN, SEALS | SealFlags::FUTURE_WRITE)
}

/// Writes a frame of `len` bytes of bulk, lent as the word says.
fn frame(peer: &RawPeer, sequence: u32, len: usize, word: u32) {
    let header = Header {
        length: u32::try_from(HEADER_BYTES + 8 + len).expect("short"),
        kind: Kind(0xf0),
        has_bulk: true,
        is_stamped: false,
        token: Token(0),
        from: Address::new(1, 1),
        to: Address::new(2, 2),
        sequence,
        check: 0,
    };
    let at = RING_AT + sequence as usize * 64;
    peer.write(at + HEADER_BYTES, &u32::try_from(len).expect("short").to_le_bytes());
    peer.write(at + HEADER_BYTES + 4, &word.to_le_bytes());
    peer.write(at, &header.to_bytes());
}

/// What comes of a frame that says so, after these messages of descriptors.
fn fault(len: usize, word: u32, messages: &[&[&OwnedFd]]) -> LinkError {
    let (mut end, peer) = connected();
    for fds in messages {
        let fds: Vec<_> = fds.iter().map(|fd| fd.as_fd()).collect();
        say(&peer.socket, &[0], &fds);
    }
    frame(&peer, 0, len, word);
    end.receiver.poll(9, &mut |_, _| panic!("it was delivered")).expect_err("nothing of it is right")
}

fn says(error: &LinkError, what: &str) {
    assert!(matches!(error, LinkError::Malformed(text) if text.contains(what)), "{error:?}, not {what}");
}

#[test]
fn what_is_lent_by_hand_arrives_and_goes_back() {
    let (mut end, peer) = connected();
    say(&peer.socket, &[0], &[good().as_fd()]);
    frame(&peer, 0, LEN, IS_NEW);
    frame(&peer, 1, 100, IS_LENT);
    let mut views = Vec::new();
    assert_eq!(end.receiver.poll(9, &mut |_, frame| views.push(frame.bulk.clone())), Ok(2));
    assert!(views[0].len() == LEN && *views[1] == [0; 100]);
}

#[test]
fn a_place_has_another_segment_only_when_all_views_of_the_last_have_gone() {
    for keeps in [false, true] {
        let (mut end, peer) = connected();
        let mut kept = Vec::new();
        for sequence in 0..2 {
            say(&peer.socket, &[0], &[good().as_fd()]);
            frame(&peer, sequence, LEN, IS_NEW);
            let polled = end.receiver.poll(9, &mut |_, frame| kept.extend(keeps.then(|| frame.bulk.clone())));
            match polled {
                Ok(count) => assert!(count == 1 && (sequence == 0 || !keeps)),
                Err(error) => {
                    assert!(sequence == 1 && keeps);
                    says(&error, "place 0: another segment, while views");
                }
            }
        }
    }
}

#[test]
fn each_forgery_is_a_fault_that_says_what() {
    let good = good();
    says(&fault(LEN, IS_LENT, &[]), "place 0: nothing is there");
    says(&fault(LEN, IS_NEW | 1, &[&[&good]]), "place 1: there are 1");
    says(&fault(LEN, IS_NEW | 0x3fff_ffff, &[&[&good]]), "there are 1");
    says(&fault(LEN, IS_NEW, &[]), "no descriptor came");
    says(&fault(LEN, IS_NEW, &[&[]]), "more or less than one descriptor");
    says(&fault(LEN, IS_NEW, &[&[&good, &good]]), "more or less than one descriptor");
    says(&fault(LEN + 1, IS_NEW, &[&[&good]]), "65537 bytes of a segment of 65536");
    says(&fault(MOST, IS_NEW, &[&[&good]]), "2147483648 bytes of a segment of 65536");
    says(&fault(MOST + 1, IS_NEW, &[&[&good]]), "bulk of 2147483649 bytes, where 2147483648 are possible");
    says(&fault(0, IS_NEW, &[&[&good]]), "bulk of 0 bytes");
}

#[test]
fn what_could_fault_or_block_a_reader_is_not_mapped() {
    let sealed = SEALS | SealFlags::FUTURE_WRITE;
    let refused = |fd: OwnedFd| fault(LEN, IS_NEW, &[&[&fd]]);
    says(&refused(segment(LEN, LEN, SealFlags::GROW)), "lacks seals");
    // Its pages could be taken out.
    says(&refused(segment(LEN, LEN, SEALS)), "lacks seals");
    says(&refused(segment(LEN, 0, sealed)), "without memory");
    says(&refused(segment(LEN, LEN - 4096, sealed)), "without memory");
    says(&refused(segment(MOST + 4096, 0, sealed)), "a segment of 2147487744 bytes");
    says(&refused(segment(MOST, LEN, sealed)), "without memory");
    says(&refused(segment(0, 0, sealed)), "a segment of 0 bytes");
    says(&refused(pair(SocketType::STREAM).0), "no memfd");
}

#[test]
fn a_place_more_is_told_of_as_the_last_is_used() {
    let (mut end, peer) = connected();
    let (_, fds) = hear(&peer.socket);
    let told = || {
        let mut word = [0; 4];
        assert_eq!(pread(&fds[0], &mut word, PLACES_AT as u64), Ok(4));
        u32::from_le_bytes(word)
    };
    assert_eq!(told(), 1);
    let mut kept = Vec::new();
    let expected = [2, 4, 4, 8, 8, 8, 8, 16, 16, 16, 16, 16, 16, 16, 16, 16];
    for (place, places) in (0u32..).zip(expected) {
        say(&peer.socket, &[0], &[good().as_fd()]);
        frame(&peer, place, LEN, IS_NEW | place);
        assert_eq!(end.receiver.poll(9, &mut |_, frame| kept.push(frame.bulk.clone())), Ok(1));
        assert_eq!(told(), places, "with place {place} used");
    }
    say(&peer.socket, &[0], &[good().as_fd()]);
    frame(&peer, 16, LEN, IS_NEW | 16);
    says(&end.receiver.poll(9, &mut |_, _| ()).expect_err("there is none"), "place 16: there are 16");
}

#[test]
fn a_long_segment_is_forgotten_with_its_lend() {
    for (len, is_remembered) in [(4 << 20, true), ((4 << 20) + 4096, false)] {
        let (mut end, peer) = connected();
        let fd = segment(len, len, SEALS | SealFlags::FUTURE_WRITE);
        say(&peer.socket, &[0], &[fd.as_fd()]);
        frame(&peer, 0, len, IS_NEW);
        frame(&peer, 1, len, IS_LENT);
        let mut views = Vec::new();
        let mut poll = || end.receiver.poll(1, &mut |_, frame| views.push(frame.bulk.clone()));
        assert_eq!(poll(), Ok(1));
        match poll() {
            Ok(count) => assert!(count == 1 && is_remembered),
            Err(error) => {
                assert!(!is_remembered);
                says(&error, "place 0: nothing is there");
            }
        }
        assert!(views.iter().all(|view| view.len() == len));
    }
}

#[test]
fn words_of_returns_that_cannot_be_cost_the_peer_its_places() {
    let (mut end, peer) = connected();
    peer.write(PLACES_AT, &u32::MAX.to_le_bytes());
    peer.write(RETIRED_AT, &u32::MAX.to_le_bytes());
    let route = Route { from: Address::new(1, 1), to: Address::new(2, 2), kind: Kind(0xf0), token: Token(1) };
    for round in 0u32..40 {
        // Another test of this process may have lowered its limits for a moment.
        let mut buffer = loop {
            match Buffer::new(LEN) {
                Some(buffer) => break buffer,
                None => std::thread::yield_now(),
            }
        };
        buffer.fill(1);
        if end.sender.send_bulk(route, &[], buffer.freeze()).is_err() {
            break;
        }
        peer.write(RETURNED_AT + round as usize % 16 * 4, &round.wrapping_mul(0x0fff_fff1).to_le_bytes());
        end.sender.flush().expect("the peer is there");
    }
}

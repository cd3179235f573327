//! A peer that writes what it likes into the stream: the reader sees frames or a fault, and lives.

use crate::raw::{FAREWELL, beside, checked, frame, frame_with_bulk, header};
use quintet_contract::limits::MAX_BODY_BYTES;
use quintet_contract::{Address, Kind, SendError, Token};
use quintet_link::{Checksums, End, LinkError, Route};
use std::io::{Read, Write};

/// The bodies and bulk of frames.
type Parts = Vec<(Vec<u8>, Vec<u8>)>;

/// Everything that comes until the end, and the end.
fn read(end: &mut End) -> (Parts, LinkError) {
    let mut frames = Vec::new();
    loop {
        let polled =
            end.receiver.poll(9, &mut |_, frame| frames.push((frame.body.to_vec(), frame.bulk.to_vec())));
        match polled {
            Ok(0) => end.receiver.wait(None),
            Ok(_) => {}
            Err(error) => return (frames, error),
        }
    }
}

fn told(checksums: Checksums, bytes: &[u8]) -> (Parts, LinkError) {
    let (mut end, mut peer) = beside(checksums);
    peer.write_all(bytes).expect("it fits");
    drop(peer);
    let told = read(&mut end);
    assert_eq!(read(&mut end), (vec![], told.1.clone()), "an end is for good");
    let route = Route { from: Address::new(1, 1), to: Address::new(2, 2), kind: Kind(0xf0), token: Token(1) };
    assert_eq!(end.sender.begin(route, 1).map(|_| ()), Err(SendError::Unreachable));
    told
}

fn fault(bytes: &[u8]) -> String {
    match told(Checksums::Without, bytes) {
        (frames, LinkError::Malformed(what)) if frames.is_empty() => what,
        other => panic!("{other:?}"),
    }
}

#[test]
fn frames_written_by_hand_arrive_and_a_farewell_is_no_cut() {
    let frames = [frame(0, b"one"), frame_with_bulk(1, b"two", b"bulk"), frame(2, b"")].concat();
    let expected = vec![(b"one".to_vec(), vec![]), (b"two".to_vec(), b"bulk".to_vec()), (vec![], vec![])];
    assert_eq!(told(Checksums::Without, &frames), (expected.clone(), LinkError::PeerDied));
    let closed = [&frames[..], &FAREWELL].concat();
    assert_eq!(told(Checksums::Without, &closed), (expected.clone(), LinkError::Closed));
    let refused = [&frames[..], &2u32.to_le_bytes()].concat();
    assert_eq!(told(Checksums::Without, &refused), (expected, LinkError::Refused));
}

#[test]
fn who_is_refused_is_told_so_once_behind_all_that_was_sent() {
    let (mut end, mut peer) = beside(Checksums::Without);
    let route = Route { from: Address::new(1, 1), to: Address::new(2, 2), kind: Kind(0xf0), token: Token(1) };
    end.sender.begin(route, 4).expect("there is room").copy_from_slice(b"last");
    end.sender.commit(4);
    end.sender.refuse();
    drop(end);
    let mut said = Vec::new();
    peer.read_to_end(&mut said).expect("it has ended");
    assert_eq!(said.len(), 32 + 4 + 4, "a frame and a word");
    assert_eq!(said[36..], 2u32.to_le_bytes());
}

#[test]
fn each_forgery_is_a_fault_that_says_where() {
    assert!(fault(&header(31, 0, false).to_bytes()).contains("frame length 31"));
    assert!(fault(&9u32.to_le_bytes()).contains("frame length 9"));
    assert!(fault(&header(1 << 30, 0, false).to_bytes()).contains("frame length"));
    assert!(fault(&header(33 + MAX_BODY_BYTES, 0, false).to_bytes()).contains("its body of"));
    assert!(fault(&header(64, 1, false).to_bytes()).contains("its number is 1 instead of 0"));
    assert!(fault(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").contains("frame length 542393671"));
    assert!(fault(&[40; 1].into_iter().chain([0; 40]).collect::<Vec<u8>>()).contains("not a Quintet frame"));
    let with_bulk = |length, bulk: u32| {
        fault(&[&header(length, 0, true).to_bytes()[..], &bulk.to_le_bytes(), &[0; 8]].concat())
    };
    assert!(with_bulk(200, 0).contains("bulk of 0 bytes, where 164 are possible"));
    assert!(with_bulk(200, 165).contains("bulk of 165 bytes, where 164 are possible"));
    assert!(with_bulk(200, u32::MAX).contains("bulk of 4294967295 bytes"));
    assert!(with_bulk(34, 1).contains("bulk, and 2 bytes behind its header"));
    assert!(with_bulk(36, 1).contains("bulk of 1 bytes, where 0 are possible"));
    assert!(with_bulk(36 + (1 << 20) + 1, (1 << 20) + 1).contains("where 1048576 are possible"));
    assert!(with_bulk(37 + MAX_BODY_BYTES + 1, 1).contains("its body of"));
}

#[test]
fn good_frames_before_a_fault_are_delivered_first() {
    let bytes = [frame(0, b"good"), frame(7, b"bad")].concat();
    let (frames, error) = told(Checksums::Without, &bytes);
    assert_eq!(frames, [(b"good".to_vec(), vec![])]);
    assert!(matches!(error, LinkError::Malformed(what) if what.starts_with("frame 1 of the stream")));
}

#[test]
fn a_stream_cut_anywhere_leaves_whole_frames_only() {
    let frames = [frame(0, b"first"), frame_with_bulk(1, b"second", &[7; 100])].concat();
    for cut in 0..frames.len() {
        let (got, error) = told(Checksums::Without, &frames[..cut]);
        assert_eq!(error, LinkError::PeerDied, "cut after {cut} bytes");
        assert_eq!(got.len(), usize::from(cut >= 37), "cut after {cut} bytes");
    }
}

#[test]
fn bytes_that_come_one_by_one_make_the_same_frames() {
    let frames =
        [frame(0, b"first"), frame_with_bulk(1, b"second", &[7; 100]), frame(2, b"x"), FAREWELL.to_vec()]
            .concat();
    let (mut end, mut peer) = beside(Checksums::Without);
    let mut got = Vec::new();
    for byte in frames {
        peer.write_all(&[byte]).expect("room");
        let polled = end.receiver.poll(9, &mut |_, frame| got.push((frame.body.to_vec(), frame.bulk.len())));
        if let Err(end) = polled {
            assert_eq!((end, got.len()), (LinkError::Closed, 3), "the farewell is the last of it");
        }
    }
    assert_eq!(read(&mut end), (vec![], LinkError::Closed));
    assert_eq!(got, [(b"first".to_vec(), 0), (b"second".to_vec(), 100), (b"x".to_vec(), 0)]);
}

#[test]
fn a_frame_changed_on_its_way_is_noticed_where_there_are_checksums() {
    // Made by an end of the same kind, then changed a bit at a time.
    let bytes = recorded();
    assert_eq!(told(Checksums::Crc32c, &bytes).0.len(), 2);
    let mut checksums = 0;
    for at in 0..bytes.len() - FAREWELL.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 0x10;
        let (frames, error) = told(Checksums::Crc32c, &changed);
        assert!(frames.len() < 2, "a change at {at} went unnoticed");
        assert!(matches!(error, LinkError::Damaged(_) | LinkError::PeerDied), "nobody is blamed: {error}");
        checksums += usize::from(matches!(error, LinkError::Damaged(what) if what.contains("checksum")));
    }
    assert!(checksums > 100, "only {checksums} changes were told by the checksum");
    assert!(fault(&bytes).contains("where none is used"));
}

#[test]
fn a_forgery_with_the_right_checksum_was_made_by_its_sender() {
    let of_length = |length: usize| {
        let mut frame = header(length, 0, true).to_bytes().to_vec();
        frame.resize(length, 7);
        frame
    };
    let forgeries = [
        (frame(1, b"body"), "its number is 1 instead of 0"),
        (frame(0, &[7; MAX_BODY_BYTES + 1]), "its body of"),
        (of_length(90), "bulk of 117901063 bytes"),
        // More than is ever kept of it.
        (of_length(150_000), "bulk of 117901063 bytes"),
        ([&[40][..], &[0; 39]].concat(), "not a Quintet frame"),
    ];
    for (forgery, expected) in forgeries {
        let forgery = checked(forgery);
        let (frames, error) = told(Checksums::Crc32c, &[&forgery[..], b"more"].concat());
        assert!(frames.is_empty());
        assert!(matches!(&error, LinkError::Malformed(what) if what.contains(expected)), "{error}");
        let mut changed = forgery.clone();
        *changed.last_mut().expect("a byte") ^= 1;
        let (frames, error) = told(Checksums::Crc32c, &changed);
        assert!(frames.is_empty());
        assert!(matches!(&error, LinkError::Damaged(what) if what.contains(expected)), "{error}");
        let (_, error) = told(Checksums::Crc32c, &forgery[..forgery.len() - 1]);
        assert_eq!(error, LinkError::PeerDied, "it was cut, so that nobody is to blame");
    }
    let (_, error) = told(Checksums::Crc32c, &9u32.to_le_bytes());
    assert!(matches!(&error, LinkError::Damaged(what) if what.contains("frame length 9")), "{error}");
}

#[test]
fn bulk_whose_length_has_no_room_in_its_frame_is_a_fault_at_once() {
    let (mut end, mut peer) = beside(Checksums::Without);
    let frame = [&header(34, 0, true).to_bytes()[..], &[0; 2]].concat();
    peer.write_all(&frame).expect("room");
    let polled = (0..9).find_map(|_| end.receiver.poll(9, &mut |_, _| ()).err());
    let Some(LinkError::Malformed(what)) = polled else { panic!("{polled:?}") };
    assert!(what.contains("and 2 bytes behind its header"), "{what}");
}

/// What an end with checksums sends: a frame, one with bulk, and its farewell.
fn recorded() -> Vec<u8> {
    let (mut end, mut peer) = beside(Checksums::Crc32c);
    let route = Route { from: Address::new(1, 1), to: Address::new(2, 2), kind: Kind(0xf0), token: Token(1) };
    end.sender.begin(route, 40).expect("room").fill(5);
    end.sender.commit(40);
    end.sender.send_bulk(route, b"body", bytes::Bytes::from_static(&[3; 50])).expect("room");
    drop(end);
    let mut bytes = Vec::new();
    peer.read_to_end(&mut bytes).expect("it closed");
    bytes
}

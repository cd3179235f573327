//! A peer that writes what it likes into its memory: the reader sees frames or a fault, and lives.

use crate::raw_peer::{BULK_AT, BULK_TAIL_AT, RING_AT, RawPeer};
use quintet_contract::limits::{BULK_RING_BYTES, CONTROL_RING_BYTES, HEADER_BYTES, MAX_BODY_BYTES};
use quintet_contract::{Address, Kind, Random, SendError, Token};
use quintet_link::{End, LinkError, Route, SharedMemoryListener};
use quintet_testbed::TempDir;
use quintet_wire::Header;
use std::sync::atomic::{AtomicBool, Ordering};

fn connected() -> (End, RawPeer) {
    let folder = TempDir::new().expect("a folder");
    let mut listener = SharedMemoryListener::bind(folder.join("socket")).expect("bound");
    let peer = RawPeer::offer(listener.path());
    let end = listener.accept().expect("an acceptable offer").expect("it has spoken");
    (end, peer)
}

fn header(length: usize, sequence: u32, has_bulk: bool) -> [u8; HEADER_BYTES] {
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
    .to_bytes()
}

/// Polls until there is nothing or a fault.
fn drain(end: &mut End) -> Result<usize, LinkError> {
    let mut total = 0;
    loop {
        let count = end.receiver.poll(usize::MAX, &mut |_, frame| {
            assert!(frame.body.len() <= MAX_BODY_BYTES && frame.bulk.len() <= BULK_RING_BYTES / 4);
        })?;
        total += count;
        if count == 0 {
            return Ok(total);
        }
    }
}

fn fault(written: &[(usize, Vec<u8>)]) -> String {
    let (mut end, peer) = connected();
    for (at, bytes) in written {
        peer.write(RING_AT + at, bytes);
    }
    match drain(&mut end) {
        Err(LinkError::Malformed(what)) => {
            assert_eq!(drain(&mut end), Err(LinkError::Malformed(what.clone())), "a fault is for good");
            what
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_frame_written_by_hand_arrives() {
    let (mut end, peer) = connected();
    peer.write(RING_AT, &header(36, 0, false));
    assert_eq!(drain(&mut end), Ok(1));
    assert_eq!(drain(&mut end), Ok(0));
}

#[test]
fn each_forgery_is_a_fault_that_says_where() {
    let frame = |length, sequence, has_bulk| vec![(0, header(length, sequence, has_bulk).to_vec())];
    assert!(fault(&frame(31, 0, false)).contains("frame length 31"));
    assert!(fault(&frame(3 << 30, 0, false)).contains("frame length"));
    assert!(fault(&frame(HEADER_BYTES + MAX_BODY_BYTES + 9, 0, false)).contains("does not fit"));
    assert!(fault(&frame(64, 1, false)).contains("frame number 1 instead of 0"));
    assert!(fault(&frame(34, 0, true)).contains("bulk of 0 bytes"));
    assert!(fault(&[(0, vec![0xff; 4])]).contains("padding at the ring's start"));
    assert!(fault(&[(0, vec![7; 64])]).contains("not a Quintet frame"));
    let mut second = header(40, 0, false).to_vec();
    second.resize(64, 0);
    second.extend(header(200, 7, false));
    assert!(fault(&[(0, second)]).starts_with("at byte 64 of the ring"));
    assert!(fault(&[(0, with_bulk(200, 0, u32::MAX, 0))]).contains("bulk of 4294967295 bytes"));
    assert!(fault(&[(0, with_bulk(200, 0, 161, 161))]).contains("bulk of 161 bytes, where 160 are possible"));
    assert!(fault(&[(0, with_bulk(200, 0, 0, 0))]).contains("bulk of 0 bytes"));
    assert!(fault(&[(0, with_bulk(200, 0, 100, 101))]).contains("101 bytes that lead a bulk of 100"));
    let longer = BULK_RING_BYTES / 4 + 1;
    let too_long = with_bulk(HEADER_BYTES + 8 + longer, 0, longer as u32, 0);
    assert!(fault(&[(0, too_long)]).contains("bulk of 1048577 bytes, where 1048576 are possible"));
}

/// A frame's header and outline: `len` bytes of bulk, of which `lead` are there.
fn with_bulk(length: usize, sequence: u32, len: u32, lead: u32) -> Vec<u8> {
    let mut bytes = header(length, sequence, true).to_vec();
    bytes.extend(len.to_le_bytes());
    bytes.extend(lead.to_le_bytes());
    bytes
}

/// Two frames: 1,000 bytes of bulk of which 100 are there, and behind it one without bulk.
fn unfinished() -> (End, RawPeer) {
    let (end, peer) = connected();
    peer.write(BULK_AT, &[6; 1_000]);
    peer.write(RING_AT + 64, &header(40, 1, false));
    peer.write(RING_AT, &with_bulk(HEADER_BYTES + 8 + 1_000, 0, 1_000, 100));
    (end, peer)
}

#[test]
fn nothing_comes_in_between_pieces_and_no_tail_gives_more_than_was_announced() {
    let (mut end, peer) = unfinished();
    for tail in [0u64, 99, 500, 3, 999] {
        peer.write(BULK_TAIL_AT, &tail.to_le_bytes());
        assert_eq!(drain(&mut end), Ok(0), "a frame came before its end, or another in between");
        assert!(!end.receiver.has_frames());
    }
    peer.write(BULK_TAIL_AT, &u64::MAX.to_le_bytes());
    assert!(end.receiver.has_frames());
    let mut seen = Vec::new();
    let polled = end.receiver.poll(9, &mut |route, frame| seen.push((route.token.0, frame.bulk.to_vec())));
    assert_eq!((polled, seen), (Ok(2), vec![(0, vec![6; 1_000]), (1, vec![])]));
}

#[test]
fn a_peer_that_dies_between_pieces_leaves_nothing() {
    let (mut end, peer) = unfinished();
    assert_eq!(drain(&mut end), Ok(0));
    peer.write(BULK_TAIL_AT, &999u64.to_le_bytes());
    drop(peer);
    let error = loop {
        match drain(&mut end) {
            Ok(count) => assert_eq!(count, 0, "a torn frame was delivered"),
            Err(error) => break error,
        }
        end.receiver.wait(None);
    };
    assert_eq!(error, LinkError::PeerDied);
}

#[test]
fn good_frames_before_a_fault_are_delivered_first() {
    let (mut end, peer) = connected();
    peer.write(RING_AT, &header(40, 0, false));
    peer.write(RING_AT + 64, &[9; 64]);
    assert_eq!(end.receiver.poll(10, &mut |_, _| {}), Ok(1));
    assert!(matches!(end.receiver.poll(10, &mut |_, _| {}), Err(LinkError::Malformed(_))));
    end.receiver.wait(None);
    assert!(!end.receiver.has_frames());
}

#[test]
fn garbage_ends_in_frames_or_a_fault() {
    let mut random = Random::new(11, 1);
    for _ in 0..40 {
        let (mut end, peer) = connected();
        for sequence in 0..random.below(4) as u32 {
            peer.write(RING_AT + sequence as usize * 128, &header(100, sequence, false));
        }
        for _ in 0..random.below(200) {
            // Half of it near the start, where it is read.
            let span = if random.below(2) == 0 { 1_024 } else { CONTROL_RING_BYTES - 8 };
            let at = RING_AT + random.below(span as u64) as usize;
            let value = if random.below(3) == 0 { random.below(300) } else { random.bits() };
            peer.write(at, &value.to_le_bytes()[..1 + random.below(8) as usize]);
        }
        let _ = drain(&mut end);
        // Heads, bells, farewell and tail.
        for _ in 0..20 {
            peer.write(random.below(192) as usize * 8, &random.bits().to_le_bytes());
        }
        let route =
            Route { from: Address::new(1, 1), to: Address::new(2, 2), kind: Kind(0xf0), token: Token(1) };
        for _ in 0..20 {
            match end.sender.begin(route, 60_000) {
                Ok(room) => room.fill(1),
                Err(_) => continue,
            }
            end.sender.commit(60_000);
            let _ = end.sender.flush();
        }
        let _ = drain(&mut end);
    }
}

#[test]
fn a_head_that_cannot_be_fails_the_link() {
    let (mut end, peer) = connected();
    let route = Route { from: Address::new(1, 1), to: Address::new(2, 2), kind: Kind(0xf0), token: Token(1) };
    peer.write(0, &u64::MAX.to_le_bytes());
    let error = loop {
        match end.sender.begin(route, 60_000) {
            Ok(_) => end.sender.commit(60_000),
            Err(error) => break error,
        }
    };
    assert_eq!(error, SendError::Unreachable);
    end.receiver.wait(None);
    assert!(matches!(drain(&mut end), Err(LinkError::Malformed(_))));
}

/// The peer changes lengths, flags and bulk lengths while they are read.
#[test]
fn lengths_that_change_under_the_reader_are_copied_before_they_are_checked() {
    let stop = AtomicBool::new(false);
    for seed in 0..10 {
        let (mut end, peer) = connected();
        let mut random = Random::new(seed, 4);
        let mut frames = Vec::new();
        for sequence in 0..1_000 {
            let mut frame = with_bulk(HEADER_BYTES + 8 + 20, sequence, 20, 20);
            frame.resize(64, 0);
            frames.extend(frame);
        }
        peer.write(RING_AT, &frames);
        peer.write(BULK_AT, &vec![5; BULK_RING_BYTES]);
        stop.store(false, Ordering::Relaxed);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let at = RING_AT + random.below(1_000) as usize * 64;
                    let lengths = [0u32, 36, 60, 61, 4_000, 66_000, 1 << 20 | 1, 1 << 31, u32::MAX];
                    peer.write(at, &lengths[random.below(9) as usize].to_le_bytes());
                    for told in [0, 4] {
                        let length = lengths[random.below(9) as usize];
                        peer.write(at + HEADER_BYTES + told, &length.to_le_bytes());
                    }
                    peer.write(BULK_TAIL_AT, &u64::from(lengths[random.below(9) as usize]).to_le_bytes());
                    peer.write(at + 7, &[random.below(2) as u8]);
                }
            });
            for _ in 0..2_000 {
                if drain(&mut end).is_err() {
                    break;
                }
            }
            stop.store(true, Ordering::Relaxed);
        });
    }
}

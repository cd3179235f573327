use super::*;
use crate::Route;
use crate::shared_memory::area::{OwnArea, PeerArea};
use crate::shared_memory::heap::areas;
use crate::shared_memory::store::{ReadStore, Store, WriteStore};
use crate::sync::{AtomicU64, Ordering};
use proptest::prelude::*;
use quintet_contract::limits::HEADER_BYTES;
use quintet_contract::{Address, Kind, Time, Token};
use quintet_wire::STAMP_BYTES;
use std::collections::VecDeque;
use std::sync::Arc;

const SIZE: usize = 4096;
/// A quarter of the ring, as in `layout.rs`.
const LIMITS: RingLimits =
    RingLimits { inline_bytes: SIZE / 4 - HEADER_BYTES, bulk_bytes: 1024, lent_bytes: 2048 };
const CASES: u32 = if cfg!(miri) { 3 } else { 256 };

struct Pair {
    writer: RingWriter<OwnArea>,
    reader: RingReader<PeerArea>,
    head: AtomicU64,
}

fn pair() -> Pair {
    let (own, peer) = areas(SIZE);
    Pair { writer: RingWriter::new(own), reader: RingReader::new(peer, LIMITS), head: AtomicU64::new(0) }
}

fn outline(token: u64, inline_len: usize) -> Outline {
    let route =
        Route { from: Address::new(1, 2), to: Address::new(3, 4), kind: Kind(5), token: Token(token) };
    Outline { route, inline_len, bulk_len: 0, is_lent: false }
}

fn pattern(token: u64, len: usize) -> Vec<u8> {
    (0..len).map(|i| (i as u64 * 7 + token * 13) as u8).collect()
}

impl Pair {
    fn send(&mut self, token: u64, len: usize) -> Result<(), Refused> {
        self.send_in_room(token, len, len)
    }

    /// All of the room is written to.
    fn send_in_room(&mut self, token: u64, len: usize, room: usize) -> Result<(), Refused> {
        self.writer.begin(outline(token, room), &self.head)?;
        self.writer.room().copy_from_slice(&pattern(token, room));
        self.writer.commit(len, None);
        Ok(())
    }

    /// The next frame's token, after checking its body.
    fn receive(&mut self) -> Option<u64> {
        let token = self.reader.next().expect("the writer is honest").map(|frame| {
            let token = frame.header.token.0;
            assert_eq!(frame.header.to, Address::new(3, 4));
            assert_eq!(frame.body, pattern(token, frame.body.len()));
            token
        });
        self.reader.publish(&self.head);
        token
    }
}

#[test]
fn the_longest_frames_never_wait_for_room_in_a_ring_read_empty() {
    let mut pair = pair();
    for token in 0..200 {
        let len =
            if token % 3 == 0 { LIMITS.inline_bytes } else { (token as usize * 37) % LIMITS.inline_bytes };
        pair.send(token, len).expect("an empty ring has room");
        assert_eq!(pair.receive(), Some(token));
    }
}

#[test]
fn a_full_ring_refuses_and_loses_nothing() {
    let mut pair = pair();
    let mut sent = 0;
    while pair.send(sent, 64).is_ok() {
        sent += 1;
    }
    assert!(sent as usize * 128 > SIZE - 256, "{sent} frames are too few");
    assert_eq!(pair.send(sent, 64), Err(Refused::Full));
    assert_eq!(pair.writer.has_room(64, &pair.head), Ok(false));
    for token in 0..sent {
        assert_eq!(pair.receive(), Some(token));
    }
    assert_eq!(pair.receive(), None);
    assert_eq!(pair.writer.has_room(LIMITS.inline_bytes, &pair.head), Ok(true));
}

#[test]
fn an_abandoned_frame_is_never_seen() {
    let mut pair = pair();
    for token in 0..100 {
        pair.writer.begin(outline(99, LIMITS.inline_bytes), &pair.head).expect("room");
        pair.writer.room().fill(0xff);
        assert!(!pair.reader.has_frame());
        assert_eq!(pair.receive(), None);
        pair.send(token, 10).expect("room");
        assert!(pair.reader.has_frame());
        assert_eq!(pair.receive(), Some(token));
    }
}

#[test]
fn a_frame_ends_where_its_body_does_and_nothing_of_its_room_is_seen() {
    let mut pair = pair();
    let mut waiting = VecDeque::new();
    for token in 0..if cfg!(miri) { 60 } else { 3_000u64 } {
        let room = token as usize * 37 % LIMITS.inline_bytes;
        let len = room * (token as usize % 4) / 3 % (room + 1);
        while pair.send_in_room(token, len, room).is_err() {
            assert_eq!(pair.receive(), waiting.pop_front());
        }
        waiting.push_back(token);
        if token % 3 == 0 {
            // Read empty, the ring ends where the rest of a room begins.
            waiting.drain(..).for_each(|token| assert_eq!(pair.receive(), Some(token)));
            assert_eq!(pair.receive(), None);
        }
    }
    while let Some(token) = waiting.pop_front() {
        assert_eq!(pair.receive(), Some(token));
    }
    assert_eq!(pair.receive(), None);
    // Each of them takes one slot, however much room was asked for.
    let fits = (0..).find(|n| pair.send_in_room(*n, 1, 64).is_err());
    assert!(fits.is_some_and(|fits| fits >= SIZE as u64 / 64 - 4), "{fits:?}");
}

#[test]
fn a_stamp_lies_behind_the_body_and_is_no_part_of_it() {
    let mut pair = pair();
    for (len, departed) in [(0, Some(Time(1))), (23, None), (24, Some(Time(u64::MAX))), (300, Some(Time(3)))]
    {
        pair.writer.begin(outline(7, len + STAMP_BYTES), &pair.head).expect("room");
        pair.writer.room()[..len].copy_from_slice(&pattern(7, len));
        pair.writer.commit(len, departed);
        let frame = pair.reader.next().expect("the writer is honest").expect("it was committed");
        assert_eq!((frame.body, frame.departed), (&pattern(7, len)[..], departed));
    }
}

#[test]
fn a_head_that_cannot_be_is_noticed() {
    for wrong in [4096, u64::MAX] {
        let mut pair = pair();
        while pair.send(1, 900).is_ok() {}
        let tail = 4 * 960;
        assert!(wrong > tail);
        pair.head.store(wrong, Ordering::Relaxed);
        assert_eq!(pair.send(2, 900), Err(Refused::Broken));
        assert_eq!(pair.writer.has_room(900, &pair.head), Err(Refused::Broken));
    }
    let mut pair = pair();
    while pair.send(1, 900).is_ok() {}
    while pair.receive().is_some() {}
    pair.send(1, 900).expect("the head has moved");
    pair.head.store(0, Ordering::Relaxed);
    while let Ok(()) = pair.send(1, 900) {}
    assert_eq!(pair.send(2, 900), Err(Refused::Broken), "a head does not move back");
}

/// A frame of 40 bytes as its writer would write it, then `spoil`ed by a hostile writer.
fn spoiled(spoil: impl FnOnce(&mut OwnArea)) -> Result<Option<u64>, String> {
    let (own, peer) = areas(SIZE);
    let mut writer = RingWriter::new(own);
    writer.begin(outline(1, 40), &AtomicU64::new(0)).expect("room");
    writer.room().fill(1);
    writer.commit(40, None);
    let RingWriter { mut store, .. } = writer;
    spoil(&mut store);
    RingReader::new(peer, LIMITS).next().map(|frame| frame.map(|frame| frame.header.token.0))
}

#[test]
fn what_a_hostile_writer_writes_is_named() {
    let set_word = |value: u32| move |store: &mut OwnArea| store.word(0).store(value, Ordering::Relaxed);
    let set_byte = |at: usize, value: u8| move |store: &mut OwnArea| store.write(at, &[value]);
    let complaint = |result: Result<Option<u64>, String>| result.expect_err("it is no frame");
    assert_eq!(spoiled(|_| {}), Ok(Some(1)));
    assert!(complaint(spoiled(set_word(31))).contains("frame length 31"));
    assert!(complaint(spoiled(set_word(1 << 20))).contains("frame length 1048576"));
    assert!(complaint(spoiled(set_word(PADDING))).contains("padding at the ring's start"));
    assert!(complaint(spoiled(set_word(LIMITS.inline_bytes as u32 + 33))).contains("does not fit"));
    assert!(complaint(spoiled(set_byte(4, 0))).contains("not a Quintet frame"));
    assert!(complaint(spoiled(set_byte(5, 9))).contains("version 9"));
    assert!(complaint(spoiled(set_byte(7, 4))).contains("flags"));
    assert!(complaint(spoiled(set_byte(24, 3))).contains("frame number 3 instead of 0"));
    assert!(complaint(spoiled(set_byte(7, 3))).contains("flags"), "bulk and a stamp");
    let stamped_without_room = |store: &mut OwnArea| {
        set_byte(7, 2)(store);
        set_word(39)(store);
    };
    assert!(complaint(spoiled(stamped_without_room)).contains("frame length 39"));
    // The flag says bulk; the body's first bytes then say 0x01010101 bytes of it.
    assert!(complaint(spoiled(set_byte(7, 1))).contains("bulk of 16843009 bytes, where 32 are possible"));
    let bulk_without_length = |store: &mut OwnArea| {
        set_byte(7, 1)(store);
        set_word(33)(store);
    };
    assert!(complaint(spoiled(bulk_without_length)).contains("bulk of"));
}

#[test]
fn a_frame_across_the_end_is_refused() {
    let (own, peer) = areas(SIZE);
    let (mut writer, mut reader) = (RingWriter::new(own), RingReader::new(peer, LIMITS));
    let head = AtomicU64::new(0);
    // Up to 64 bytes before the end.
    for token in 0..9 {
        let len = 448 - HEADER_BYTES;
        writer.begin(outline(token, len), &head).expect("room");
        writer.commit(len, None);
        assert!(reader.next().expect("honest").is_some());
    }
    let at = 9 * 448;
    writer.begin(outline(9, 10), &AtomicU64::new(at as u64)).expect("room");
    writer.commit(10, None);
    writer.store.word(at).store(200, Ordering::Relaxed);
    assert!(reader.next().expect_err("it wraps").contains("does not fit there"));
}

#[test]
fn two_threads_hand_over_everything_in_order() {
    let frames = if cfg!(miri) { 60 } else { 200_000 };
    let Pair { mut writer, mut reader, head } = pair();
    let head = Arc::new(head);
    let published = Arc::clone(&head);
    let writing = std::thread::spawn(move || {
        for token in 0..frames {
            let len = (token as usize * 29) % 300;
            while writer.begin(outline(token, len), &published).is_err() {
                std::thread::yield_now();
            }
            writer.room().copy_from_slice(&pattern(token, len));
            writer.commit(len, None);
        }
    });
    let mut expected = 0;
    while expected < frames {
        match reader.next().expect("the writer is honest") {
            Some(frame) => {
                assert_eq!(frame.header.token.0, expected);
                assert_eq!(frame.body, pattern(expected, (expected as usize * 29) % 300));
                expected += 1;
            }
            None => std::thread::yield_now(),
        }
        reader.publish(&head);
    }
    writing.join().expect("it does not panic");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]

    /// Against a queue: what was taken comes out, once, in order.
    #[test]
    fn it_is_a_queue(steps in proptest::collection::vec((any::<bool>(), 0..=LIMITS.inline_bytes), 1..200)) {
        let mut pair = pair();
        let mut queue = VecDeque::new();
        for (token, (sends, len)) in steps.into_iter().enumerate() {
            if sends {
                if pair.send(token as u64, len).is_ok() {
                    queue.push_back(token as u64);
                } else {
                    prop_assert!(!queue.is_empty(), "an empty ring refused {} bytes", len);
                }
            } else {
                prop_assert_eq!(pair.reader.has_frame(), !queue.is_empty());
                prop_assert_eq!(pair.receive(), queue.pop_front());
            }
        }
        while let Some(token) = queue.pop_front() {
            prop_assert_eq!(pair.receive(), Some(token));
        }
        prop_assert_eq!(pair.receive(), None);
    }

    /// Whatever a hostile writer writes, the reader ends: with frames, nothing, or a complaint.
    #[test]
    fn garbage_is_read_or_refused(
        writes in proptest::collection::vec((0..SIZE / 4, prop_oneof![any::<u32>(), 0u32..1200, Just(PADDING)]), 0..60),
        frames in 0u64..5,
    ) {
        let (own, peer) = areas(SIZE);
        let mut writer = RingWriter::new(own);
        for token in 0..frames {
            writer.begin(outline(token, 100), &AtomicU64::new(0)).expect("room");
            writer.commit(100, None);
        }
        for (word, value) in writes {
            writer.store.write(word * 4, &value.to_le_bytes());
        }
        let mut reader = RingReader::new(peer, LIMITS);
        for _ in 0..frames {
            if !matches!(reader.next(), Ok(Some(_))) {
                break;
            }
        }
    }

    /// Reads of any place and length give what was written there.
    #[test]
    fn areas_read_what_was_written(at in 0..SIZE / 8, len in 0..SIZE, seed: u64) {
        let (mut own, peer) = areas(SIZE);
        let (at, len) = (at * 8, len.min(SIZE - at * 8));
        let bytes = pattern(seed % 251, len);
        own.write(at, &bytes);
        let mut copy = vec![0; len];
        peer.read(at, &mut copy);
        prop_assert_eq!(&copy, &bytes);
        let mut appended = vec![7];
        peer.append(at, len, &mut appended);
        prop_assert_eq!((appended[0], &appended[1..]), (7, &bytes[..]));
        if let Some(header) = bytes.first_chunk::<HEADER_BYTES>() {
            let word = u32::from_le_bytes([header[0], header[1], header[2], header[3]]);
            prop_assert_eq!(&peer.header(at, word), header);
        }
    }
}

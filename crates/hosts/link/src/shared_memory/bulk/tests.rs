use super::*;
use crate::shared_memory::area::{OwnArea, PeerArea};
use crate::shared_memory::heap::areas;
use crate::sync::{AtomicU64, Ordering};
use bytes::Bytes;
use proptest::prelude::*;
use std::collections::VecDeque;

const SIZE: usize = 4096;

struct Pair {
    writer: BulkWriter<OwnArea>,
    reader: BulkReader<PeerArea>,
    head: AtomicU64,
    tail: AtomicU64,
}

fn pair() -> Pair {
    let (own, peer) = areas(SIZE);
    Pair {
        writer: BulkWriter::new(own),
        reader: BulkReader::new(peer),
        head: AtomicU64::new(0),
        tail: AtomicU64::new(0),
    }
}

fn pattern(number: usize, len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 7 + number * 13) as u8).collect()
}

impl Pair {
    /// Writes all of it in pieces of these lengths, the last one as long as it takes; what its frame would tell.
    fn write(&mut self, bytes: &[u8], pieces: &[usize]) -> BulkOutline {
        let mut left = bytes;
        let mut outline = None;
        for piece in pieces.iter().copied().chain([bytes.len()]) {
            let (piece, rest) = left.split_at(piece.min(left.len()));
            left = rest;
            outline = outline.or_else(|| Some(self.writer.begin(bytes.len(), piece.len())));
            self.writer.write(piece);
            self.writer.publish(&self.tail);
        }
        outline.expect("there is one piece at least")
    }

    /// All of the bulk begun last, which is there.
    fn whole(&mut self) -> Bytes {
        loop {
            let progress = self.reader.step(&self.tail);
            self.reader.publish(&self.head);
            match progress {
                Progress::Whole(bytes) => return bytes,
                Progress::Piece => {}
                Progress::Nothing => panic!("all of it was written"),
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 3 } else { 256 }, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn it_is_a_queue(
        steps in proptest::collection::vec(
            (any::<bool>(), 1..=SIZE / 4, proptest::collection::vec(1..400usize, 0..4)), 1..200),
    ) {
        let mut pair = pair();
        let mut queue = VecDeque::new();
        for (number, (writes, len, pieces)) in steps.into_iter().enumerate() {
            if writes && pair.writer.has_room(len, &pair.head) {
                let bytes = pattern(number, len);
                queue.push_back((pair.write(&bytes, &pieces), bytes));
            } else if writes {
                prop_assert!(!queue.is_empty(), "an empty ring refused {} bytes", len);
            } else if let Some((outline, expected)) = queue.pop_front() {
                pair.reader.begin(outline);
                prop_assert_eq!(pair.whole(), expected);
            }
        }
    }

    /// Whatever a hostile writer outlines and however it moves its tail: as many bytes as the frame has, or none yet.
    #[test]
    fn forged_outlines_and_tails_give_no_more_than_was_announced(
        frames in proptest::collection::vec(
            (1..=SIZE / 4, 0..=SIZE / 4,
                proptest::collection::vec(prop_oneof![any::<u64>(), 0..20_000u64], 0..6)), 1..40),
    ) {
        let mut pair = pair();
        for (len, lead, tails) in frames {
            pair.reader.begin(BulkOutline { len, lead: lead.min(len) });
            let mut whole = None;
            for tail in tails.into_iter().chain([u64::MAX; 10]) {
                pair.tail.store(tail, Ordering::Relaxed);
                if whole.is_none() && let Progress::Whole(bytes) = pair.reader.step(&pair.tail) {
                    whole = Some(bytes.len());
                }
                pair.reader.publish(&pair.head);
            }
            prop_assert_eq!(whole, Some(len));
        }
    }

    #[test]
    fn outlines_read_as_they_were_written(
        len in 0..1usize << 31, lead in 0..1usize << 31, place in 0..1usize << 30, is_new: bool,
    ) {
        for bulk in [Bulk::InRing(BulkOutline { len, lead }), Bulk::Lent(Lent { len, place, is_new })] {
            prop_assert_eq!(Bulk::from_bytes(bulk.to_bytes()), bulk);
        }
    }
}

#[test]
fn a_head_that_cannot_be_leaves_no_room() {
    assert!(!pair().writer.has_room(1, &AtomicU64::new(64)));
}

#[test]
fn a_piece_is_read_as_soon_as_it_is_written_and_the_whole_with_the_last() {
    let mut pair = pair();
    let bytes = pattern(1, 300);
    let outline = pair.writer.begin(300, 100);
    pair.writer.write(&bytes[..100]);
    pair.reader.begin(outline);
    assert!(pair.reader.can_step(&pair.tail), "the lead is there");
    while pair.reader.step(&pair.tail) == Progress::Piece {}
    assert!(!pair.reader.can_step(&pair.tail));
    pair.writer.write(&bytes[100..200]);
    assert!(!pair.reader.can_step(&pair.tail), "it was not published");
    pair.writer.publish(&pair.tail);
    assert!(pair.reader.can_step(&pair.tail));
    while pair.reader.step(&pair.tail) == Progress::Piece {}
    pair.tail.store(0, Ordering::Relaxed);
    assert_eq!(pair.reader.step(&pair.tail), Progress::Nothing, "a tail that moves back takes nothing away");
    pair.writer.write(&bytes[200..]);
    pair.writer.publish(&pair.tail);
    assert_eq!(pair.whole(), bytes);
    assert!(!pair.reader.can_step(&pair.tail));
}

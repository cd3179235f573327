//! The orderings of the ring and of the bell, tried in every interleaving:
//! `RUSTFLAGS="--cfg loom" cargo test -p quintet-link --release loom`.

use super::bell::{Ringer, announce, withdraw};
use super::bulk::{BulkOutline, BulkReader, BulkWriter, Progress};
use super::lending::{give_back, is_back};
use super::ring::{Outline, Refused, RingLimits, RingReader, RingWriter};
use super::store::{ReadStore, SLOT, Store, WriteStore};
use crate::Route;
use crate::sync::{AtomicU32, AtomicU64, Ordering, fence};
use loom::cell::UnsafeCell;
use loom::model::Builder;
use loom::sync::Arc;
use loom::thread;
use quintet_contract::limits::HEADER_BYTES;
use quintet_contract::{Address, Kind, Token};

/// A slot: its commit word, and its bytes in a cell in which loom finds every access that is not ordered.
struct Slot {
    word: AtomicU32,
    bytes: UnsafeCell<[u8; SLOT]>,
}

struct Slots(Vec<Slot>);

// SAFETY: the cells are what the model checks; loom panics where two threads would race in one.
unsafe impl Sync for Slots {}
// SAFETY: as above.
unsafe impl Send for Slots {}

struct ModelWriter {
    slots: Arc<Slots>,
    staged: Vec<u8>,
    staged_at: usize,
}

struct ModelReader(Arc<Slots>);

fn model(slots: usize) -> (ModelWriter, ModelReader) {
    let slot = |_| Slot { word: AtomicU32::new(0), bytes: UnsafeCell::new([0; SLOT]) };
    let slots = Arc::new(Slots((0..slots).map(slot).collect()));
    (ModelWriter { slots: Arc::clone(&slots), staged: vec![], staged_at: 0 }, ModelReader(slots))
}

impl Slots {
    fn each(&self, at: usize, len: usize, mut with: impl FnMut(&Slot, usize, usize)) {
        for i in at..at + len {
            with(&self.0[i / SLOT], i % SLOT, i - at);
        }
    }
}

impl Store for ModelWriter {
    fn size(&self) -> usize {
        self.slots.0.len() * SLOT
    }
    fn word(&self, at: usize) -> &AtomicU32 {
        &self.slots.0[at / SLOT].word
    }
}

impl WriteStore for ModelWriter {
    fn room(&mut self, at: usize, len: usize) -> &mut [u8] {
        self.staged_at = at;
        self.staged.resize(len, 0);
        &mut self.staged
    }
    fn finish(&mut self) {
        let staged = core::mem::take(&mut self.staged);
        self.write(self.staged_at, &staged);
    }
    fn write(&mut self, at: usize, bytes: &[u8]) {
        self.slots.each(at, bytes.len(), |slot, to, from| {
            // SAFETY: the pointer is valid for the closure; loom checks that nobody else uses the cell.
            slot.bytes.with_mut(|cell| unsafe { (*cell)[to] = bytes[from] });
        });
    }
    fn prefetch(&self, _at: usize) {}
}

impl Store for ModelReader {
    fn size(&self) -> usize {
        self.0.0.len() * SLOT
    }
    fn word(&self, at: usize) -> &AtomicU32 {
        &self.0.0[at / SLOT].word
    }
}

impl ReadStore for ModelReader {
    fn prefetch(&self, _at: usize) {}
    fn header(&self, at: usize, word: u32) -> [u8; HEADER_BYTES] {
        let mut header = [0; HEADER_BYTES];
        header[..4].copy_from_slice(&word.to_le_bytes());
        self.read(at + 4, &mut header[4..]);
        header
    }
    fn read(&self, at: usize, into: &mut [u8]) {
        self.0.each(at, into.len(), |slot, from, to| {
            // SAFETY: the pointer is valid for the closure; loom checks that nobody writes the cell.
            slot.bytes.with(|cell| into[to] = unsafe { (*cell)[from] });
        });
    }
    fn append(&self, at: usize, len: usize, to: &mut Vec<u8>) {
        let before = to.len();
        to.resize(before + len, 0);
        self.read(at, &mut to[before..]);
    }
}

const LIMITS: RingLimits = RingLimits { inline_bytes: 128, bulk_bytes: 0, lent_bytes: 0 };

fn outline(token: u64, inline_len: usize) -> Outline {
    let route =
        Route { from: Address::new(1, 2), to: Address::new(3, 4), kind: Kind(5), token: Token(token) };
    Outline { route, inline_len, bulk_len: 0, is_lent: false }
}

fn ring(slots: usize) -> (RingWriter<ModelWriter>, RingReader<ModelReader>) {
    let (writer, reader) = model(slots);
    (RingWriter::new(writer), RingReader::new(reader, LIMITS))
}

fn send(
    writer: &mut RingWriter<ModelWriter>,
    token: u64,
    len: usize,
    head: &AtomicU64,
) -> Result<(), Refused> {
    writer.begin(outline(token, len), head)?;
    writer.room().fill(token as u8);
    writer.commit(len, None);
    Ok(())
}

fn check(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

/// Sends frames of these lengths through a ring of four slots, as fast as there is room, while another thread reads.
fn hand_over(lens: &'static [usize]) {
    check(move || {
        let (mut writer, mut reader) = ring(4);
        let head = Arc::new(AtomicU64::new(0));
        let published = Arc::clone(&head);
        let reading = thread::spawn(move || {
            for (token, len) in lens.iter().enumerate() {
                let frame = loop {
                    if reader.has_frame() {
                        break reader.next().expect("the writer is honest").expect("it said so");
                    }
                    thread::yield_now();
                };
                assert_eq!(frame.header.token.0, token as u64);
                assert_eq!(frame.body, vec![token as u8; *len]);
                reader.publish(&published);
            }
            assert_eq!(reader.next().map(|frame| frame.is_some()), Ok(false));
        });
        for (token, len) in lens.iter().enumerate() {
            while let Err(refused) = send(&mut writer, token as u64, *len, &head) {
                assert_eq!(refused, Refused::Full);
                thread::yield_now();
            }
        }
        reading.join().expect("it does not panic");
    });
}

#[test]
fn loom_frames_are_seen_whole_and_in_order_round_the_ring() {
    hand_over(&[4, 4, 4, 4, 4]);
}

#[test]
fn loom_padding_and_long_frames_are_seen_in_order() {
    const TWO_SLOTS: usize = 2 * SLOT - HEADER_BYTES;
    hand_over(&[4, 4, 4, TWO_SLOTS, 4]);
}

/// Bulk in three pieces is read piece by piece or later, whole, and its room is used again only after it was read.
#[test]
fn loom_pieces_are_seen_in_order_and_their_room_is_used_again() {
    const BULK: usize = 3 * SLOT;
    check(|| {
        let (mut frames, mut inbound) = ring(4);
        let (writer, reader) = model(4);
        let (mut writer, mut reader) = (BulkWriter::new(writer), BulkReader::new(reader));
        let words = Arc::new([const { 0 }; 3].map(AtomicU64::new));
        let shared = Arc::clone(&words);
        let reading = thread::spawn(move || {
            let [head, bulk_head, tail] = &*shared;
            for number in 1..=2 {
                while inbound.next().expect("the writer is honest").is_none() {
                    thread::yield_now();
                }
                inbound.publish(head);
                reader.begin(BulkOutline { len: BULK, lead: SLOT });
                let bulk = loop {
                    while !reader.can_step(tail) {
                        thread::yield_now();
                    }
                    match reader.step(tail) {
                        Progress::Whole(bulk) => break bulk,
                        other => assert_eq!(other, Progress::Piece, "it said there was more"),
                    }
                };
                reader.publish(bulk_head);
                assert_eq!(*bulk, [number; BULK]);
            }
        });
        let [head, bulk_head, tail] = &*words;
        for number in 1..=2 {
            while !writer.has_room(BULK, bulk_head) {
                thread::yield_now();
            }
            writer.begin(BULK, SLOT);
            writer.write(&[number; SLOT]);
            send(&mut frames, number.into(), 4, head).expect("room");
            for _ in 1..3 {
                writer.write(&[number; SLOT]);
                writer.publish(tail);
            }
        }
        reading.join().expect("it does not panic");
    });
}

#[test]
fn loom_a_sleeper_is_woken() {
    check(|| {
        let (mut writer, reader) = ring(4);
        let bell = Arc::new(AtomicU32::new(0));
        let sleepers = Arc::clone(&bell);
        let sleeper = thread::spawn(move || {
            announce(&sleepers);
            !reader.has_frame()
        });
        send(&mut writer, 0, 4, &AtomicU64::new(0)).expect("room");
        let woke = Ringer::default().is_wanted(&bell);
        let sleeps = sleeper.join().expect("it does not panic");
        assert!(woke || !sleeps, "a lost wake-up");
    });
}

/// A sleeper that woke by itself and sleeps again is woken for the second frame.
#[test]
fn loom_a_sleeper_is_woken_a_second_time() {
    check(|| {
        let (mut writer, mut reader) = ring(4);
        let bell = Arc::new(AtomicU32::new(0));
        let sleepers = Arc::clone(&bell);
        let sleeper = thread::spawn(move || {
            announce(&sleepers);
            withdraw(&sleepers);
            let _ = reader.next().expect("the writer is honest");
            announce(&sleepers);
            !reader.has_frame()
        });
        let mut ringer = Ringer::default();
        for token in 0..2 {
            send(&mut writer, token, 4, &AtomicU64::new(0)).expect("room");
            ringer.is_wanted(&bell);
        }
        let sleeps = sleeper.join().expect("it does not panic");
        // It read one frame or none, so another one came after it looked.
        assert!(!sleeps || ringer.answered == bell.load(Ordering::Relaxed), "a lost wake-up");
    });
}

#[test]
fn loom_a_sender_that_waits_for_room_is_woken() {
    check(|| {
        let (mut writer, mut reader) = ring(4);
        let head = Arc::new(AtomicU64::new(0));
        for token in 0..3 {
            send(&mut writer, token, 4, &head).expect("room");
        }
        let bell = Arc::new(AtomicU32::new(0));
        let (published, senders) = (Arc::clone(&head), Arc::clone(&bell));
        let reading = thread::spawn(move || {
            assert_eq!(reader.next().map(|frame| frame.is_some()), Ok(true));
            assert!(reader.publish(&published));
            Ringer::default().is_wanted(&senders)
        });
        announce(&bell);
        let refused = send(&mut writer, 3, 4, &head).is_err();
        let woke = reading.join().expect("it does not panic");
        assert!(woke || !refused, "a lost wake-up");
    });
}

/// Two views of one segment are dropped by two threads, and only then it is written again.
#[test]
fn loom_lent_memory_is_written_only_after_every_return() {
    check(|| {
        let memory =
            Arc::new(Slots(vec![Slot { word: AtomicU32::new(0), bytes: UnsafeCell::new([7; SLOT]) }]));
        let returned = Arc::new(AtomicU32::new(0));
        let views = [0, 1].map(|_| {
            let (memory, returned) = (Arc::clone(&memory), Arc::clone(&returned));
            thread::spawn(move || {
                let mut seen = 0;
                // SAFETY: the pointer is valid for the closure; loom checks that nobody writes the cell.
                memory.each(3, 1, |slot, at, _| slot.bytes.with(|cell| seen = unsafe { (*cell)[at] }));
                give_back(&returned);
                seen
            })
        });
        if is_back(&returned, 2) {
            // SAFETY: as above; loom checks that nobody reads it.
            memory.each(3, 1, |slot, at, _| slot.bytes.with_mut(|cell| unsafe { (*cell)[at] = 9 }));
        }
        for view in views {
            assert_eq!(view.join().expect("it does not panic"), 7);
        }
    });
}

/// The reader that sees the farewell sees the last frame too.
#[test]
fn loom_the_last_frame_is_seen_before_the_farewell() {
    check(|| {
        let (mut writer, reader) = ring(4);
        let left = Arc::new(AtomicU32::new(0));
        let farewell = Arc::clone(&left);
        let writing = thread::spawn(move || {
            send(&mut writer, 0, 4, &AtomicU64::new(0)).expect("room");
            farewell.fetch_or(1, Ordering::Release);
        });
        let has_left = left.load(Ordering::Relaxed) == 1;
        fence(Ordering::Acquire);
        assert!(!has_left || reader.has_frame(), "the last frame was missed");
        writing.join().expect("it does not panic");
    });
}

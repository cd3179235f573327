use super::*;
use quintet_contract::{Disconnect, Effects};

const LIMITS: WindowLimits = WindowLimits { frames: 3, bytes: 100 };

fn keep(retention: &mut Retention, byte: u8) {
    let mut room = retention.room(20);
    room[crate::codec::PREFIX_BYTES..].fill(byte);
    retention.keep(Kept { len: 20, ..Kept::new(Kind(0xf0), Token(byte.into()), room, Bytes::new()) });
}

/// What goes to the link: the sequence number and the last byte of each frame.
fn waiting(retention: &mut Retention, expected: u32) -> Vec<(u32, u8)> {
    let (mut out, mut counters) = (Effects::default(), Counters::default());
    let mut exit = Exit { to: Address::new(2, 16), now: Time(5), counters: &mut counters, out: &mut out };
    retention.send_waiting(&mut exit.departure(Sequence(expected), None));
    let read = |(_, frame): (_, quintet_contract::OwnedFrame)| {
        let prefix = Prefix::read(&frame.body, false).expect("a prefix");
        assert_eq!(prefix.acknowledged, Sequence(expected));
        (prefix.sequence.0, frame.body[19])
    };
    out.frames().into_iter().map(read).collect()
}

#[test]
fn a_new_link_is_given_again_what_was_not_acknowledged_and_nothing_else() {
    let mut retention = Retention::new(LIMITS);
    (0..3).for_each(|byte| keep(&mut retention, byte));
    assert_eq!(waiting(&mut retention, 7), [(0, 0), (1, 1), (2, 2)]);
    assert_eq!(waiting(&mut retention, 7), [], "once a link");
    assert_eq!(retention.release(Sequence(2)), Some(2));
    retention.rewind();
    keep(&mut retention, 3);
    assert_eq!(waiting(&mut retention, 9), [(2, 2), (3, 3)], "with the acknowledgement of now");
    assert_eq!(retention.release(Sequence(1)), Some(0), "an old one");
    assert_eq!(retention.release(Sequence(5)), None, "of what was never sent");
    assert_eq!(retention.release(Sequence(4)), Some(2));
    assert!(retention.is_empty());
}

#[test]
fn its_frames_are_bounded_and_a_refusal_is_remembered_once() {
    let mut retention = Retention::new(LIMITS);
    (0..3).for_each(|byte| keep(&mut retention, byte));
    assert!(!retention.has_room(|_, _| true));
    assert_eq!([retention.take_blocked(), retention.take_blocked()], [true, false]);
    retention.release(Sequence(1));
    assert!(retention.has_room(|kept, limit| (kept, limit) == (40, 100)));
    assert!(!retention.has_room(|_, _| false), "by bytes");
    retention.release(Sequence(3));
    assert!(retention.has_room(|_, _| false), "alone, any frame goes");
}

#[test]
fn frames_after_an_acknowledgement_lie_where_earlier_ones_lay() {
    let mut retention = Retention::new(LIMITS);
    keep(&mut retention, 1);
    let place = retention.frames[0].room.as_ptr();
    retention.release(Sequence(1));
    keep(&mut retention, 2);
    assert_eq!(retention.frames[0].room.as_ptr(), place, "nothing is allocated");
    // A longer one leaves its room to shorter ones.
    retention.release(Sequence(2));
    drop(retention.room(500));
    assert_eq!((retention.spare.len(), retention.spare_bytes), (0, 0));
}

#[test]
fn a_frame_that_was_given_much_room_keeps_little() {
    let mut retention = Retention::new(LIMITS);
    let room = retention.room(60_000);
    retention.keep(Kept { len: 30, ..Kept::new(Kind(0xf0), Token(1), room, Bytes::new()) });
    assert_eq!((retention.frames[0].len, retention.bytes), (30, 30));
    assert!(retention.frames[0].room.capacity() < 2_000);
    assert_eq!(retention.room(40_000).len(), 60_000, "the next is given it");
}

#[test]
fn a_long_frame_that_fills_most_of_its_room_stays_there() {
    let mut retention = Retention::new(LIMITS);
    let room = retention.room(9_000);
    let place = room.as_ptr();
    retention.keep(Kept { len: 4_500, ..Kept::new(Kind(0xf0), Token(1), room, Bytes::new()) });
    assert_eq!(retention.frames[0].room.as_ptr(), place);
}

#[test]
fn the_room_of_frames_that_are_gone_is_bounded() {
    let mut retention = Retention::new(WindowLimits { frames: 1000, bytes: 1 << 30 });
    for n in 0..100 {
        retention.keep(Kept::new(Kind(0xf0), Token(n), vec![0; 50_000], Bytes::new()));
    }
    retention.release(Sequence(100));
    assert_eq!(retention.spare_bytes, 250_000);
    assert_eq!(retention.spare.iter().map(Vec::capacity).sum::<usize>(), 250_000);
}

/// A link that is full at times, and counts the frames that it is to stamp.
#[derive(Default)]
struct Stamping {
    full: bool,
    stamped: usize,
    frames: Effects,
}

impl Outbox for Stamping {
    fn begin(&mut self, to: Address, kind: Kind, token: Token, len: usize) -> Result<&mut [u8], SendError> {
        if self.full { Err(SendError::Full) } else { self.frames.begin(to, kind, token, len) }
    }

    fn commit(&mut self, len: usize) {
        self.frames.commit(len);
    }

    fn stamp(&mut self) {
        self.stamped += 1;
    }

    fn send_bulk(&mut self, _: Address, _: Kind, _: Token, _: &[u8], _: Bytes) -> Result<(), SendError> {
        Err(SendError::Full)
    }

    fn disconnect(&mut self, _: Address, _: Disconnect) {}
}

#[test]
fn a_frame_is_stamped_at_its_first_try_and_at_no_other() {
    for (full, stamped) in [(false, 1), (true, 0)] {
        let mut retention = Retention::new(LIMITS);
        let room = retention.room(20);
        retention.keep(Kept { stamp: true, ..Kept::new(Kind(0xf0), Token(1), room, Bytes::new()) });
        let (mut out, mut counters) = (Stamping { full, ..Stamping::default() }, Counters::default());
        for _ in 0..3 {
            let mut exit =
                Exit { to: Address::new(2, 16), now: Time(5), counters: &mut counters, out: &mut out };
            retention.send_waiting(&mut exit.departure(Sequence(0), None));
            retention.rewind();
            out.full = false;
        }
        assert_eq!(out.stamped, stamped);
    }
}

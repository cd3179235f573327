use super::*;
use crate::codec::{Fence, Prefix};
use crate::counters::Counters;
use crate::retention::Kept;
use quintet_contract::{Address, Bytes, Effects, Kind, Token};

const TO: Address = Address::new(2, 16);

fn window(frames: u32) -> Window {
    Window::new(Span::from_millis(10), WindowLimits { frames, bytes: 1000 })
}

fn frame(bytes: usize) -> Kept {
    Kept::new(Kind(0xf0), Token(1), vec![0; crate::codec::FENCED_PREFIX_BYTES + bytes], Bytes::new())
}

/// Runs `act` at `now` and gives the sequence numbers that departed.
fn departed(now: Time, act: impl FnOnce(&mut Departure<'_>)) -> Vec<u32> {
    let mut out = Effects::default();
    let expected = Sequence(7);
    act(&mut Departure {
        to: TO,
        now,
        expected,
        fence: Some(Fence { session: 9, departed: Stamp::of(now), echo: Stamp::NONE }),
        counters: &mut Counters::default(),
        out: &mut out,
    });
    let sequence = |body: &[u8]| Prefix::read(body, true).expect("a prefix").sequence.0;
    out.frames().iter().map(|(_, frame)| sequence(&frame.body)).collect()
}

#[test]
fn full_by_frames_and_by_bytes_but_never_when_empty() {
    let mut by_frames = window(2);
    (0..2).for_each(|_| by_frames.frames_mut().keep(frame(1)));
    assert!(!by_frames.has_room(1) && by_frames.frames_mut().take_blocked());
    let mut by_bytes = window(100);
    assert!(by_bytes.has_room(5000), "alone, a frame above the limit goes");
    by_bytes.frames_mut().keep(frame(890));
    assert!(!by_bytes.has_room(100) && by_bytes.has_room(50));
}

#[test]
fn time_out_resends_the_oldest_and_waits_twice_as_long_until_an_answer() {
    let mut window = window(10);
    (0..3).for_each(|_| window.frames_mut().keep(frame(1)));
    assert_eq!(departed(Time(0), |d| assert!(window.send_waiting(d))), [0, 1, 2]);
    let due = window.deadline().expect("running");
    assert_eq!(due, Time::ZERO + Span::from_millis(10));
    assert_eq!(departed(due, |d| assert!(window.time_out(d))), [0]);
    assert_eq!(window.deadline(), Some(due + Span::from_millis(20)));
    // A partial acknowledgement names the next loss at once.
    let later = due + Span::from_millis(1);
    assert_eq!(window.acknowledge(Sequence(1), Stamp::of(due), true, later), Progress::Lost);
    assert_eq!(departed(later, |d| assert!(window.resend(d))), [1, 2], "one answered, two allowed");
    assert_eq!(window.deadline(), Some(later + Span::from_millis(3)), "the answer has ended the back-off");
    assert_eq!(window.acknowledge(Sequence(3), Stamp::NONE, true, later), Progress::Released);
    assert_eq!(window.deadline(), None);
}

#[test]
fn three_repeated_acknowledgements_mean_loss() {
    let mut window = window(10);
    (0..5).for_each(|_| window.frames_mut().keep(frame(1)));
    departed(Time(0), |d| assert!(window.send_waiting(d)));
    let again = |window: &mut Window| window.acknowledge(Sequence(0), Stamp::NONE, true, Time(5));
    assert_eq!([again(&mut window), again(&mut window)], [Progress::None; 2]);
    assert_eq!(again(&mut window), Progress::Lost);
    assert_eq!(again(&mut window), Progress::None, "once");
}

#[test]
fn an_acknowledgement_of_frames_never_sent_is_impossible() {
    let mut window = window(10);
    window.frames_mut().keep(frame(1));
    assert_eq!(window.acknowledge(Sequence(2), Stamp::NONE, true, Time(0)), Progress::Impossible);
    assert_eq!(
        window.acknowledge(Sequence(u32::MAX), Stamp::NONE, true, Time(0)),
        Progress::None,
        "an old one"
    );
    assert_eq!(window.acknowledge(Sequence(1), Stamp::NONE, true, Time(0)), Progress::Released);
}

#[test]
fn a_new_link_is_given_everything_again() {
    let mut window = window(10);
    (0..3).for_each(|_| window.frames_mut().keep(frame(1)));
    departed(Time(0), |d| assert!(window.send_waiting(d)));
    window.rewind();
    assert_eq!(window.deadline(), None);
    assert_eq!(window.acknowledge(Sequence(1), Stamp::NONE, true, Time(1)), Progress::Released);
    assert_eq!(departed(Time(2), |d| assert!(window.send_waiting(d))), [1, 2]);
}

#[test]
fn an_answer_to_the_first_transmission_shows_that_the_others_were_needless() {
    let start = Time::ZERO + Span::from_millis(1);
    let mut window = window(10);
    (0..3).for_each(|_| window.frames_mut().keep(frame(1)));
    departed(start, |d| assert!(window.send_waiting(d)));
    let due = window.deadline().expect("running");
    assert_eq!(departed(due, |d| assert!(window.time_out(d))), [0]);
    let answered = start + Span::from_millis(25);
    assert_eq!(window.acknowledge(Sequence(1), Stamp::of(start), true, answered), Progress::Released);
    assert_eq!(window.deadline(), Some(answered + Span::from_millis(75)), "three times the round trip");
}

#[test]
fn an_echo_of_what_never_departed_is_no_sample() {
    let mut window = window(10);
    let start = Time::ZERO + Span::from_secs(9);
    (0..2).for_each(|_| window.frames_mut().keep(frame(1)));
    departed(start, |d| assert!(window.send_waiting(d)));
    let now = start + Span::from_micros(5);
    for (sequence, forged) in [(1, Stamp::of(Time(0))), (2, Stamp(u32::MAX))] {
        window.acknowledge(Sequence(sequence), forged, true, now);
    }
    window.frames_mut().keep(frame(1));
    departed(now, |d| assert!(window.send_waiting(d)));
    assert_eq!(window.deadline(), Some(now + Span::from_millis(10)), "as at the start");
}

/// What was sent before a cut and again after it gives no sample (Karn's rule); that it arrives is sign enough.
#[test]
fn progress_without_a_sample_ends_the_back_off() {
    let mut window = window(10);
    (0..3).for_each(|_| window.frames_mut().keep(frame(1)));
    departed(Time(0), |d| assert!(window.send_waiting(d)));
    let mut now = Time(0);
    for _ in 0..12 {
        now = window.deadline().expect("running");
        departed(now, |d| assert!(window.time_out(d)));
    }
    assert_eq!(window.deadline(), Some(now + Span::from_secs(4)), "the longest");
    assert_eq!(window.acknowledge(Sequence(1), Stamp::NONE, true, now), Progress::Lost);
    departed(now, |d| assert!(window.resend(d)));
    assert_eq!(window.deadline(), Some(now + Span::from_millis(10)), "as at the start");
}

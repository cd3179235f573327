use super::*;
use crate::retention::Kept;
use quintet_contract::{Bytes, Kind, Token};

fn retained(frames: u32, bytes: u64) -> Retained {
    Retained::new(WindowLimits { frames, bytes })
}

fn keep(retained: &mut Retained, bytes: usize) {
    retained.frames.keep(Kept::new(Kind(0xf0), Token(1), vec![0; bytes], Bytes::new()));
}

#[test]
fn half_a_window_is_acknowledged_and_less_is_not() {
    for (frames, bytes, due_after) in [(8, 1000, 4), (7, 1000, 4), (100, 60, 3), (1, 1000, 1), (100, 0, 1)] {
        let mut retained = retained(frames, bytes);
        for n in 1..=due_after {
            assert!(!retained.is_due(), "{n} of {due_after}");
            retained.arrived(10);
        }
        assert!(retained.is_due(), "{frames} frames, {bytes} bytes");
        retained.acknowledged();
        assert!(!retained.is_due());
    }
}

#[test]
fn who_is_asked_acknowledges_what_there_is() {
    let mut retained = retained(100, 1000);
    retained.ask();
    retained.arrived(1);
    assert!(!retained.is_due(), "there was nothing when it was asked");
    retained.ask();
    assert!(retained.is_due());
}

/// Whatever the lengths: when everything sent has arrived, either there is room or an acknowledgement is due.
#[test]
fn a_sender_never_waits_for_an_acknowledgement_that_is_not_due() {
    for limit in [0, 1, 40, 99, 100, 101] {
        for frames in [1, 2, 3, 50] {
            let (mut sender, mut receiver) = (retained(frames, limit), retained(frames, limit));
            for (n, bytes) in (0..200u32).map(|n| (n, 1 + (n as usize * 37) % 150)) {
                if !sender.has_room(bytes) {
                    assert!(receiver.is_due(), "frame {n} of {bytes} bytes, {frames} frames, {limit} bytes");
                    receiver.acknowledged();
                    assert_eq!(sender.acknowledge(Sequence(n)), Progress::Released);
                    assert!(sender.has_room(bytes));
                }
                keep(&mut sender, bytes);
                receiver.arrived(bytes);
            }
        }
    }
}

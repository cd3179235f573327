use super::*;
use crate::{Address, Frame, Kind, Token};

/// What is wrong with a counter's snapshots.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Flaw {
    None,
    /// They are no state.
    Unreadable,
    /// One that was restored counts from zero: it answers otherwise, or has another state, or wakes at another time.
    Forgets,
    /// One that was restored has another state.
    Differs,
    /// One that was restored wakes at another time.
    Sleeps,
}

/// Counts its inputs; tells the count where a frame asks for it.
struct Counter {
    count: u8,
    extra: u8,
    wakes: bool,
}

impl Protocol for Counter {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        self.count += 1;
        if let Input::Frame(from, frame) = input {
            out.send(from, frame.kind, frame.token, &[self.count]).expect("nothing is refused");
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.wakes.then_some(Time(u64::from(self.count)))
    }
}

impl Snapshot for Counter {
    type Config = Flaw;

    const BEHAVIOUR: u32 = 1;

    fn save(&self, bytes: &mut Vec<u8>) {
        bytes.extend([self.count, self.extra]);
    }

    fn restore(flaw: &Flaw, bytes: &[u8]) -> Result<Self, SnapshotError> {
        if *flaw == Flaw::Unreadable {
            return Err(SnapshotError("no state".into()));
        }
        let count = if *flaw == Flaw::Forgets { 0 } else { bytes[0] };
        let extra = u8::from(*flaw == Flaw::Differs);
        Ok(Counter { count, extra, wakes: *flaw != Flaw::Sleeps })
    }
}

fn counter(_flaw: &Flaw) -> Counter {
    Counter { count: 0, extra: 0, wakes: true }
}

#[test]
fn every_sort_of_difference_is_found() {
    let ask = Input::Frame(Address::new(1, 2), Frame::new(Kind(3), Token(4), &[]));
    let history = [(Time(1), Input::Started), (Time(2), Input::Wake), (Time(3), ask)];
    let found = |flaw| check_snapshots(&flaw, counter, &history);
    assert_eq!(found(Flaw::None), Ok(()));
    for (flaw, input, text) in [
        (Flaw::Unreadable, "input 0", "no state"),
        (Flaw::Forgets, "input 1", "another state"),
        (Flaw::Differs, "input 0", "another state"),
        (Flaw::Sleeps, "input 0", "another state"),
    ] {
        let error = found(flaw).expect_err("the flaw shows");
        assert!(error.contains(input) && error.contains(text), "{flaw:?}: {error}");
    }
    let answered = check_snapshots(&Flaw::Forgets, counter, &[(Time(1), ask), (Time(2), ask)]);
    assert!(answered.expect_err("the second answer differs").contains("and, moved"));
}

/// The digests of FNV-1a, 64 bits, as its authors print them.
#[test]
fn a_digest_is_that_of_the_bytes() {
    let digest = |count, extra| Counter { count, extra, ..counter(&Flaw::None) }.digest();
    assert_eq!(digest(b'f', b'o'), 0x0898_5907_b541_d342);
    assert_ne!(digest(1, 2), digest(2, 1));
}

//! The ring can be moved: whatever its history, what is moved at every step does the same.

use proptest::prelude::*;
use quintet_contract::{
    Address, Effects, Frame, Input, Outbox, Protocol, Snapshot, SnapshotError, Span, Time, Token,
    check_snapshots,
};
use quintet_tests_hosts::{ASK, Ring, RingConfig, TOKEN};

#[derive(Clone, Copy, Debug)]
enum Step {
    Wait(u64),
    Wake,
    Token(u64),
    Ask(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        (0u64..20_000).prop_map(Step::Wait),
        Just(Step::Wake),
        (0u64..100).prop_map(Step::Token),
        (0u64..100).prop_map(Step::Ask),
    ];
    proptest::collection::vec(step, 0..60)
}

fn history(steps: &[Step]) -> Vec<(Time, Input<'static>)> {
    let (mut now, peer) = (Time::ZERO, Address::new(2, 1024));
    let inputs = steps.iter().filter_map(|step| {
        let input = match *step {
            Step::Wait(nanos) => {
                now += Span(nanos);
                return None;
            }
            Step::Wake => Input::Wake,
            Step::Token(round) => Input::Frame(peer, Frame::new(TOKEN, Token(round), &[])),
            Step::Ask(round) => Input::Frame(peer, Frame::new(ASK, Token(round), &[])),
        };
        Some((now, input))
    });
    [(Time::ZERO, Input::Started)].into_iter().chain(inputs).collect()
}

fn make<P>(new: impl Fn(Address, Span, bool) -> P) -> impl Fn(&RingConfig) -> P {
    move |(next, hold, first)| new(*next, *hold, *first)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_ring_goes_on_wherever_it_is_moved_to(steps in steps(), first: bool) {
        let config = (Address::new(2, 1024), Span::from_micros(10), first);
        prop_assert_eq!(check_snapshots(&config, make(Ring::new), &history(&steps)), Ok(()));
    }

    #[test]
    fn any_bytes_are_a_state_or_refused(bytes: Vec<u8>) {
        let config = (Address::new(2, 1024), Span::from_micros(10), false);
        if let Ok(ring) = Ring::restore(&config, &bytes) {
            let mut again = Vec::new();
            ring.save(&mut again);
            prop_assert_eq!(again, bytes);
        }
    }
}

/// A ring that forgets who asked when it is moved.
struct Forgetful(Ring);

impl Protocol for Forgetful {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        self.0.handle(now, input, out);
    }
    fn deadline(&self) -> Option<Time> {
        self.0.deadline()
    }
}

impl Snapshot for Forgetful {
    type Config = RingConfig;
    const BEHAVIOUR: u32 = 1;
    fn save(&self, bytes: &mut Vec<u8>) {
        let mut whole = Vec::new();
        self.0.save(&mut whole);
        match whole[0] {
            2 => bytes.push(0),
            _ => bytes.extend(whole),
        }
    }
    fn restore(config: &RingConfig, bytes: &[u8]) -> Result<Self, SnapshotError> {
        Ring::restore(config, bytes).map(Forgetful)
    }
}

#[test]
fn what_forgets_is_found_out() {
    let config = (Address::new(2, 1024), Span::from_micros(10), false);
    let history = history(&[Step::Ask(1), Step::Token(5)]);
    let forgetful = make(|next, hold, first| Forgetful(Ring::new(next, hold, first)));
    let found = check_snapshots(&config, forgetful, &history).expect_err("the answer is missing");
    assert!(found.starts_with("after input 2"), "{found}");
    let mut out = Effects::default();
    let mut ring = Ring::new(config.0, config.1, true);
    let before = ring.digest();
    ring.handle(Time::ZERO, Input::Started, &mut out);
    assert_ne!(ring.digest(), before);
}

use super::Schedule;
use crate::picos::Picos;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// The queue as it is specified: a map ordered by time, then by the order of scheduling.
#[derive(Default)]
struct Model {
    pending: BTreeMap<(u64, u64), u64>,
    scheduled: u64,
    now: u64,
}

impl Model {
    fn add(&mut self, at: u64, event: u64) {
        self.scheduled += 1;
        self.pending.insert((at.max(self.now), self.scheduled), event);
    }

    fn next_at(&self) -> Option<Picos> {
        self.pending.keys().next().map(|(at, _)| Picos(*at))
    }

    fn pop(&mut self) -> Option<(Picos, u64)> {
        let ((at, _), event) = self.pending.pop_first()?;
        self.now = at;
        Some((Picos(at), event))
    }
}

/// The queue beside its model; every answer is compared.
#[derive(Default)]
struct Both {
    schedule: Schedule<u64>,
    model: Model,
    added: u64,
}

impl Both {
    fn add(&mut self, at: u64) {
        self.added += 1;
        self.schedule.add(Picos(at), self.added);
        self.model.add(at, self.added);
    }

    fn add_in(&mut self, increment: u64) {
        self.add(self.model.now.saturating_add(increment));
    }

    fn pop(&mut self) -> bool {
        assert_eq!(self.schedule.next_at(), self.model.next_at());
        let popped = self.schedule.pop();
        assert_eq!(popped, self.model.pop());
        assert_eq!(self.schedule.len(), self.model.pending.len());
        popped.is_some()
    }

    fn drain(&mut self) {
        while self.pop() {}
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// An event after a length of time of so many bits.
    In(u64),
    /// An event at a point in time, past or future.
    At(u64),
    /// So many events at one time.
    Burst(u64, u8),
    /// So many events over a length of time.
    Fill(u64, u8),
    /// So many holds, each after a part of a length of time.
    Hold(u64, u8),
    Pop(u8),
    Drain,
}

fn length() -> impl Strategy<Value = u64> {
    (any::<u64>(), 0_u32..64).prop_map(|(bits, shift)| bits >> shift)
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => length().prop_map(Step::In),
        1 => prop_oneof![Just(0), Just(u64::MAX), length()].prop_map(Step::At),
        2 => (length(), any::<u8>()).prop_map(|(at, count)| Step::Burst(at, count)),
        2 => (length(), any::<u8>()).prop_map(|(span, count)| Step::Fill(span, count)),
        2 => (length(), any::<u8>()).prop_map(|(span, count)| Step::Hold(span, count)),
        4 => any::<u8>().prop_map(Step::Pop),
        1 => Just(Step::Drain),
    ]
}

fn apply(both: &mut Both, step: &Step) {
    // A fixed odd multiplier spreads the events of a step over its span, out of order.
    let part = |span: u64, i: u8| ((u128::from(span) * u128::from(i.wrapping_mul(151))) >> 8) as u64;
    match *step {
        Step::In(increment) => both.add_in(increment),
        Step::At(at) => both.add(at),
        Step::Burst(increment, count) => (0..count).for_each(|_| both.add_in(increment)),
        Step::Fill(span, count) => (0..count).for_each(|i| both.add_in(part(span, i))),
        Step::Hold(span, count) => (0..count).for_each(|i| {
            both.pop();
            both.add_in(part(span, i));
        }),
        Step::Pop(count) => (0..count).for_each(|_| {
            both.pop();
        }),
        Step::Drain => both.drain(),
    }
}

proptest! {
    #[test]
    fn every_answer_is_the_models(steps in prop::collection::vec(step(), 1..60)) {
        let mut both = Both::default();
        for step in &steps {
            apply(&mut both, step);
        }
        both.drain();
        prop_assert!(both.schedule.is_empty());
    }
}

#[test]
fn what_is_too_late_takes_place_now_behind_what_is_due_now() {
    let mut schedule = Schedule::new();
    schedule.add(Picos(10), 'a');
    schedule.add(Picos(10), 'b');
    assert_eq!(schedule.pop(), Some((Picos(10), 'a')));
    schedule.add(Picos(3), 'c');
    assert_eq!(schedule.pop(), Some((Picos(10), 'b')));
    assert_eq!(schedule.pop(), Some((Picos(10), 'c')));
    assert_eq!(schedule.pop(), None);
}

#[test]
fn looking_at_a_far_event_leaves_room_for_near_ones() {
    let mut both = Both::default();
    both.add(u64::MAX);
    assert_eq!(both.schedule.next_at(), Some(Picos::NEVER));
    (0..1_000).rev().for_each(|at| both.add(at));
    both.drain();
}

#[test]
fn an_opened_bucket_that_fills_up_is_spread_in_order() {
    let mut both = Both::default();
    (0..10).for_each(|i| both.add(1_000_000 + 1_000 * i));
    both.pop();
    (0..2_000).for_each(|i| both.add_in(i * 37 % 10_000));
    (0..500).for_each(|_| both.add_in(0));
    both.drain();
}

#[test]
fn events_at_one_time_that_schedule_one_another_keep_their_order() {
    let mut both = Both::default();
    (0..1_000).for_each(|_| both.add(5));
    for _ in 0..10_000 {
        both.pop();
        both.add_in(0);
    }
    both.add_in(1);
    both.drain();
}

#[test]
fn many_events_are_popped_in_order_after_long_idle_times() {
    let mut both = Both::default();
    for gap in [1, 1 << 20, 1 << 41, 1 << 62] {
        both.add_in(gap);
        both.pop();
        (0..5_000_u64).for_each(|i| both.add_in(i.wrapping_mul(0x9e37_79b9) % 1_000_003));
        both.drain();
    }
}

#[test]
fn events_that_are_never_taken_are_dropped_once() {
    let token = std::rc::Rc::new(());
    let mut schedule = Schedule::new();
    (0..10).for_each(|at| schedule.add(Picos(at), std::rc::Rc::clone(&token)));
    drop(schedule.pop());
    assert_eq!(std::rc::Rc::strong_count(&token), 10);
    drop(schedule);
    assert_eq!(std::rc::Rc::strong_count(&token), 1);
}

//! An index over many tuples that are there already.

use super::bench::{Bench, plain, sender};
use crate::space::{BETWEEN_STEPS, stages};
use crate::{Answer, Request, SpaceConfig, Wait, template, tuple};
use quintet_contract::{Effect, Effects, Input, Protocol, Span, Stage, Token};

const TUPLES: i64 = 5_000;
const STEP: usize = 64;

/// A manager with [`TUPLES`] tuples that it knows by name.
fn filled() -> Bench {
    let mut bench = Bench::new(SpaceConfig { index_step: STEP, ..SpaceConfig::default() });
    bench.verifies = false;
    assert_eq!(bench.read(1, 1, Wait::AtOnce, &template!["a", ?i64]), [(1, 1, Answer::NoMatch)]);
    for n in 0..10i64 {
        bench.put(&tuple!["a", n]);
    }
    // The index by name is made over ten tuples; the others join it one by one.
    assert_eq!(bench.read(1, 2, Wait::AtOnce, &template!["a", ?i64]).len(), 1);
    for n in 10..TUPLES {
        bench.put(&tuple!["a", n]);
    }
    bench
}

/// The units of a stage that the manager declares at its next wake, and what it answers.
fn wake(bench: &mut Bench, stage: Stage) -> (u32, usize) {
    bench.now = bench.space.deadline().expect("an index is being built");
    let mut out = Effects::default();
    bench.space.handle(bench.now, Input::Wake, &mut out);
    let effects: Vec<_> = out.drain().collect();
    let units = effects.iter().map(|effect| match effect {
        Effect::Work(declared, units) if *declared == stage => *units,
        _ => 0,
    });
    let frames = effects.iter().filter(|effect| matches!(effect, Effect::Sent(..))).count();
    (units.sum(), frames)
}

#[test]
fn no_turn_looks_at_more_tuples_than_a_step() {
    let mut bench = filled();
    let wanted = template![?str, TUPLES - 1];
    assert_eq!(bench.take(2, 1, Wait::AtOnce, &wanted), [], "it waits for the index");
    let mut steps = 0;
    loop {
        steps += 1;
        bench.space.verify();
        let (looked_at, answers) = wake(&mut bench, stages::STORE);
        assert!(looked_at <= STEP as u32);
        if answers > 0 {
            break;
        }
    }
    assert_eq!(steps, (TUPLES as usize).div_ceil(STEP));
    assert_eq!(bench.space.deadline(), None, "nothing is left to do");
    assert_eq!(bench.take(2, 2, Wait::AtOnce, &wanted), [(2, 2, Answer::NoMatch)], "and it was taken");
}

#[test]
fn no_turn_looks_at_places_whose_tuples_are_gone() {
    let mut bench = filled();
    for token in 0..TUPLES as u64 - 100 {
        let take = Request::Take { wait: Wait::AtOnce, lease: None, template: &template!["a", ?i64] };
        assert_eq!(bench.ask_settled(2, token, token, take).len(), 1);
    }
    bench.ask_settled(2, u64::MAX, u64::MAX, Request::Status);
    assert_eq!(bench.read(3, 1, Wait::AtOnce, &template![?str, TUPLES - 1]), []);
    assert_eq!(wake(&mut bench, stages::STORE), (STEP as u32, 0));
    assert_eq!(wake(&mut bench, stages::STORE), (100 - STEP as u32, 1));
    bench.space.verify();
}

#[test]
fn a_request_for_it_compares_nothing_and_others_are_served_meanwhile() {
    let mut bench = filled();
    let mut requests = Effects::default();
    let wanted = template![?str, 4_000i64];
    let take = Request::Take { wait: Wait::AtOnce, lease: None, template: &wanted };
    take.send(&mut requests, sender(0), Token(1), Token(0)).expect("it fits");
    let (_, frame) = requests.frames().pop().expect("one frame");
    let mut out = Effects::default();
    bench.space.handle(bench.now, Input::Frame(sender(2), frame.borrow()), &mut out);
    assert_eq!(out.drain().collect::<Vec<_>>(), [Effect::Work(stages::MATCH, 1)]);

    wake(&mut bench, stages::STORE);
    assert_eq!(bench.take(3, 1, Wait::AtOnce, &template!["a", ?i64]), [(3, 1, plain(tuple!["a", 0i64]))]);
    // The oldest that matches is still found: one that is put now is younger.
    bench.put(&tuple!["b", 4_000i64]);
    bench.space.verify();
    let found = bench.pass(Span(BETWEEN_STEPS.0 * 100));
    assert_eq!(found, [(2, 1, plain(tuple!["a", 4_000i64]))]);
}

#[test]
fn who_waits_for_an_index_can_time_out_cancel_and_leave() {
    let mut bench = filled();
    bench.verifies = true;
    let short = Wait::For(Span(BETWEEN_STEPS.0 * 2));
    assert_eq!(bench.take(2, 1, short, &template![?str, 7i64]), []);
    assert_eq!(bench.take(3, 1, Wait::Forever, &template![?str, 7i64]), []);
    assert_eq!(bench.take(4, 1, Wait::Forever, &template![?str, 7i64]), []);
    assert_eq!(bench.ask(3, 1, Request::Cancel).len(), 1);
    bench.down(4);
    let sent = bench.pass(Span(BETWEEN_STEPS.0 * 100));
    assert!(matches!(sent.as_slice(), [(2, 1, Answer::Error(_))]), "{sent:?}");
    assert_eq!(bench.take(5, 1, Wait::AtOnce, &template![?str, 7i64]), [(5, 1, plain(tuple!["a", 7i64]))]);
}

#[test]
fn a_count_waits_as_well() {
    let mut bench = filled();
    assert_eq!(bench.ask(2, 1, Request::Count { template: &template![?str, 7i64] }), []);
    assert_eq!(bench.pass(Span(BETWEEN_STEPS.0 * 100)), [(2, 1, Answer::Count(1))]);
    assert_eq!(bench.count(&template![?str, 8i64]), 1);
    assert_eq!(bench.space.deadline(), None);
}

#[test]
fn who_cannot_be_answered_when_it_is_ready_waits_for_the_link() {
    let mut bench = filled();
    assert_eq!(bench.take(2, 1, Wait::AtOnce, &template![?str, 7i64]), []);
    bench.link.full.insert(2);
    assert_eq!(bench.pass(Span(BETWEEN_STEPS.0 * 100)), []);
    assert_eq!(bench.writable(2), [(2, 1, plain(tuple!["a", 7i64]))]);
}

/// Whoever waits for the second is tried in vain when the first is ready, and keeps nobody from building on.
#[test]
fn indexes_of_two_signatures_become_ready_one_after_the_other() {
    let mut bench = Bench::new(SpaceConfig { index_step: 1, ..SpaceConfig::default() });
    for n in 0..3i64 {
        bench.put(&tuple!["a", n]);
        bench.put(&tuple![n, "a"]);
    }
    assert_eq!(bench.take(2, 1, Wait::AtOnce, &template![?str, 2i64]), []);
    assert_eq!(bench.take(3, 1, Wait::AtOnce, &template![2i64, ?str]), []);
    assert_eq!(bench.take(4, 1, Wait::AtOnce, &template![?str, 1i64]), []);
    let found = bench.pass(Span(BETWEEN_STEPS.0 * 100));
    let expected = [(2, 1, tuple!["a", 2i64]), (4, 1, tuple!["a", 1i64]), (3, 1, tuple![2i64, "a"])];
    assert_eq!(found, expected.map(|(to, token, tuple)| (to, token, plain(tuple))));
    assert_eq!(bench.space.deadline(), None, "nothing is left to do");
}

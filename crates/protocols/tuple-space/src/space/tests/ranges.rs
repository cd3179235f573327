//! Templates with ranges: the oldest tuple in one is found, and how many are compared for that.

use super::bench::{Bench, Sent, plain};
use crate::space::{BETWEEN_STEPS, Space, stages};
use crate::{Answer, Array, ArrayOf, Field, Request, SpaceConfig, Template, Tuple, Wait, template, tuple};
use quintet_contract::{Effect, Effects, Input, Protocol, Snapshot, Span};

const TUPLES: i64 = 5_000;
const STEP: usize = 64;
/// As many candidates as a search compares that finds its tuple by an ordered index, and one for the question itself.
const FOUND: u32 = 2;

/// A manager with [`TUPLES`] tuples of a name and a number, the numbers growing with age.
fn filled() -> Bench {
    filled_with(SpaceConfig { index_step: STEP, ..SpaceConfig::default() }, |n| tuple!["a", n])
}

fn filled_with(config: SpaceConfig, tuple: impl Fn(i64) -> Tuple) -> Bench {
    let mut bench = Bench::new(config);
    bench.verifies = false;
    (0..TUPLES).for_each(|n| bench.put(&tuple(n)));
    bench
}

/// Asks, and wakes the manager until it has answered; in no turn it looks at more than a step.
fn answer(bench: &mut Bench, token: u64, request: Request<'_>) -> Vec<Sent> {
    let mut sent = bench.ask(1, token, request);
    for _ in 0..1_000 {
        if !sent.is_empty() {
            bench.space.verify();
            return sent;
        }
        bench.now = bench.space.deadline().expect("it goes on");
        sent = bench.give(Input::Wake);
        assert!(bench.link.matching <= STEP as u32 + 1, "{} compared in one turn", bench.link.matching);
    }
    panic!("nobody is answered")
}

fn take(bench: &mut Bench, token: u64, template: &Template) -> Answer {
    answer(bench, token, Request::Take { wait: Wait::AtOnce, lease: None, template })
        .pop()
        .expect("one answer")
        .2
}

fn count(bench: &mut Bench, token: u64, template: &Template) -> Answer {
    answer(bench, token, Request::Count { template }).pop().expect("one answer").2
}

#[test]
fn the_oldest_in_a_range_is_taken_and_not_the_smallest() {
    let mut bench = Bench::new(SpaceConfig::default());
    [9, 5, 3, 4].iter().for_each(|n| bench.put(&tuple!["a", *n]));
    let wanted = template!["a", Field::range(3..=5)];
    for n in [5, 3, 4] {
        assert_eq!(take(&mut bench, n as u64, &wanted), plain(tuple!["a", n]));
    }
    assert_eq!(take(&mut bench, 9, &wanted), Answer::NoMatch);
}

/// No tuple contradicts a signature of which none is left.
#[test]
fn an_ordered_index_without_tuples_is_not_restored_from_changed_bytes() {
    let mut bench = Bench::new(SpaceConfig::default());
    let numbers = 0..100i64;
    let elements = Array::from_elements(&[2], &[0u8; 2]).unwrap();
    numbers.clone().for_each(|n| bench.put(&tuple!["a", n, elements.clone()]));
    for n in numbers.rev() {
        let wanted = template!["a", Field::range(n..=n + 1), ?ArrayOf<u8, 1>];
        assert_ne!(take(&mut bench, n as u64, &wanted), Answer::NoMatch);
    }
    bench.ask_settled(1, 100, 100, Request::Status);
    let mut bytes = Vec::new();
    bench.space.save(&mut bytes);
    for bit in 0..8 * bytes.len() {
        bytes[bit / 8] ^= 1 << (bit % 8);
        if let Ok(space) = Space::restore(&SpaceConfig::default(), &bytes) {
            space.verify();
        }
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
}

#[test]
fn who_waits_for_a_range_gets_what_lies_in_it() {
    let mut bench = Bench::new(SpaceConfig::default());
    assert_eq!(bench.take(1, 1, Wait::Forever, &template![Field::prefix("b"), Field::range(..3.0)]), []);
    for other in [tuple!["a", 1.0], tuple!["b", 3.0], tuple!["b", f64::NAN], tuple!["b", 1]] {
        bench.put(&other);
    }
    let fitting = tuple!["bc", -0.5];
    let sent = bench.ask(
        9,
        9,
        Request::Out { deadline: None, tuples: std::slice::from_ref(&fitting), expiries: &[] },
    );
    assert!(sent.contains(&(1, 1, plain(fitting))), "{sent:?}");
}

#[test]
fn a_range_is_found_by_an_index_that_is_built_in_steps() {
    let mut bench = filled();
    let wanted = template!["a", Field::range(TUPLES - 10..)];
    let mut looked_at = vec![];
    let mut sent = bench.take(1, 1, Wait::AtOnce, &wanted);
    while sent.is_empty() {
        bench.now = bench.space.deadline().expect("an index is being built");
        let mut out = Effects::default();
        bench.space.handle(bench.now, Input::Wake, &mut out);
        let effects: Vec<_> = out.drain().collect();
        let units = effects.iter().map(|effect| match effect {
            Effect::Work(stage, units) if *stage == stages::STORE => *units,
            _ => 0,
        });
        looked_at.push(units.sum::<u32>());
        if effects.iter().any(|effect| matches!(effect, Effect::Sent(..))) {
            break;
        }
        sent.clear();
    }
    assert!(looked_at.iter().all(|units| *units <= STEP as u32), "{looked_at:?}");
    let steps = (TUPLES as usize).div_ceil(STEP);
    assert!(looked_at.len() >= 2 * steps, "both the values' index and the ordered one are built");
    // From now on it is found at once, wherever it lies.
    for (token, (from, to)) in (2..).zip([(TUPLES - 9, TUPLES), (0, 1), (17, TUPLES), (100, 101)]) {
        let wanted = template!["a", Field::range(from..to)];
        assert_eq!(bench.take(2, token, Wait::AtOnce, &wanted), [(2, token, plain(tuple!["a", from]))]);
        assert!(bench.link.matching <= FOUND, "{} compared", bench.link.matching);
    }
    let nothing = template!["a", Field::range(TUPLES..)];
    assert_eq!(bench.take(3, 1, Wait::AtOnce, &nothing), [(3, 1, Answer::NoMatch)]);
    assert!(bench.link.matching <= FOUND);
    bench.space.verify();
}

#[test]
fn a_range_alone_needs_no_other_index() {
    let mut bench =
        filled_with(SpaceConfig { index_step: STEP, ..SpaceConfig::default() }, |n| tuple![n, -n]);
    let wanted = template![?i64, Field::range(..=1 - TUPLES)];
    assert_eq!(take(&mut bench, 1, &wanted), plain(tuple![TUPLES - 1, 1 - TUPLES]));
    assert_eq!(bench.take(2, 1, Wait::AtOnce, &wanted), [(2, 1, Answer::NoMatch)]);
    assert!(bench.link.matching <= FOUND, "{} compared", bench.link.matching);
}

#[test]
fn a_second_range_is_compared_and_goes_on_in_steps() {
    let mut bench =
        filled_with(SpaceConfig { index_step: STEP, ..SpaceConfig::default() }, |n| tuple![n, -n]);
    let wanted = template![Field::range(0..TUPLES), Field::range(..=10 - TUPLES)];
    assert_eq!(take(&mut bench, 1, &wanted), plain(tuple![TUPLES - 10, 10 - TUPLES]));
    assert_eq!(count(&mut bench, 2, &wanted), Answer::Count(9));
    let halves = template![Field::range(TUPLES / 2..), Field::range(..0i64)];
    assert_eq!(count(&mut bench, 3, &halves), Answer::Count(TUPLES as u64 / 2 - 1));
}

#[test]
fn long_text_that_begins_alike_is_told_apart() {
    let name = |n: i64| format!("{}{n:04}", "x".repeat(40));
    let mut bench =
        filled_with(SpaceConfig { index_step: STEP, ..SpaceConfig::default() }, |n| tuple![name(n)]);
    let wanted = template![Field::range(name(4_000)..name(4_002))];
    assert_eq!(count(&mut bench, 1, &wanted), Answer::Count(2));
    assert_eq!(take(&mut bench, 2, &wanted), plain(tuple![name(4_000)]));
    assert_eq!(count(&mut bench, 3, &template![Field::prefix(name(12))]), Answer::Count(1));
    assert_eq!(
        count(&mut bench, 4, &template![Field::prefix(&*"x".repeat(20))]),
        Answer::Count(TUPLES as u64 - 1)
    );
}

#[test]
fn a_collection_of_a_range_goes_on_where_its_page_ended() {
    let mut bench = filled();
    let wanted = template!["a", Field::range(2_000..2_300i64)];
    let (mut from, mut below, mut found) = (0, None, vec![]);
    for _ in 0..1_000 {
        let request = Request::Collect { takes: true, from, below, most: 50, template: &wanted };
        let Some((_, _, Answer::Collected(page))) = bench.ask_settled(1, from + 1, from + 1, request).pop()
        else {
            panic!("a page is answered at once")
        };
        found.extend(page.tuples);
        below = Some(page.below);
        let Some(next) = page.next else { break };
        from = next;
    }
    assert_eq!(found, (2_000..2_300i64).map(|n| tuple!["a", n]).collect::<Vec<_>>());
    bench.space.verify();
}

#[test]
fn where_no_ordered_index_may_be_made_the_tuples_are_compared_in_steps() {
    let used = TUPLES as u64 * (crate::TUPLE_BYTES + 40);
    let config = SpaceConfig { index_step: STEP, max_bytes: used, ..SpaceConfig::default() };
    let mut bench = filled_with(config, |n| tuple!["a", n]);
    let wanted = template!["a", Field::range(TUPLES - 1..)];
    assert_eq!(take(&mut bench, 1, &wanted), plain(tuple!["a", TUPLES - 1]));
    assert_eq!(count(&mut bench, 2, &template!["a", Field::range(..100i64)]), Answer::Count(100));
}

#[test]
fn an_error_tells_of_a_range_that_nothing_lies_in() {
    let mut bench = Bench::new(SpaceConfig::default());
    bench.put(&tuple!["a", 9i64]);
    assert_eq!(bench.take(1, 1, Wait::For(Span(5)), &template!["a", Field::range(..9i64)]), []);
    let sent = bench.pass(Span(BETWEEN_STEPS.0));
    let [(1, 1, Answer::Error(refusal))] = &sent[..] else { panic!("{sent:?}") };
    assert!(refusal.text.ends_with("1 tuple has this signature; none has field 1 = ..9"), "{}", refusal.text);
}

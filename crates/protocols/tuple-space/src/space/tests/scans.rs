//! Searches and counts that compare more tuples than one turn may.

use super::bench::{Bench, Sent, plain};
use crate::space::BETWEEN_STEPS;
use crate::{
    Answer, Array, ArrayOf, ElementType, Request, SpaceConfig, Template, Tuple, Type, Wait, template, tuple,
};
use quintet_contract::{Input, Protocol, Span};

const TUPLES: u64 = 1_000;
const STEP: usize = 64;
const LONG: Span = Span(BETWEEN_STEPS.0 * 100);

/// An array of so many elements, all of that value.
fn array(elements: usize, value: u8) -> Tuple {
    tuple![Array::from_elements(&[elements as u64], &vec![value; elements]).expect("a short array")]
}

fn any() -> Template {
    template![?ArrayOf<u8, 1>]
}

/// Arrays of so many elements, which no index tells from others.
fn of_shape(elements: u64) -> Template {
    template![Type::Array { element: ElementType::U8, dimensions: vec![Some(elements)] }]
}

/// A manager with an array of nine elements and [`TUPLES`] younger ones of up to seven.
fn filled() -> Bench {
    let mut bench = Bench::new(SpaceConfig { index_step: STEP, ..SpaceConfig::default() });
    bench.put(&array(9, 1));
    assert_eq!(bench.read(1, 1, Wait::AtOnce, &any()).len(), 1, "an index of all is made");
    bench.verifies = false;
    (0..TUPLES as usize).for_each(|n| bench.put(&array(n % 8, 0)));
    bench
}

/// Takes one more step; the answers.
fn wake(bench: &mut Bench) -> Vec<Sent> {
    bench.now = bench.space.deadline().expect("it goes on");
    let sent = bench.give(Input::Wake);
    bench.space.verify();
    assert!(bench.link.matching <= STEP as u32 + 1, "{} compared in one turn", bench.link.matching);
    sent
}

/// Wakes the manager until somebody is answered; how often, and the answers.
fn wake_until_answered(bench: &mut Bench) -> (usize, Vec<Sent>) {
    for turn in 1..100 {
        let sent = wake(bench);
        if !sent.is_empty() {
            return (turn, sent);
        }
    }
    panic!("nobody is answered")
}

fn count_of(elements: u64, bench: &mut Bench, from: u16) -> Vec<Sent> {
    let sent = bench.ask(from, 1, Request::Count { template: &of_shape(elements) });
    assert!(bench.link.matching <= STEP as u32 + 1, "{} compared in one turn", bench.link.matching);
    sent
}

#[test]
fn a_long_count_goes_in_steps_and_others_are_served_meanwhile() {
    let mut bench = filled();
    assert_eq!(count_of(3, &mut bench, 2), []);
    assert_eq!(wake(&mut bench), []);
    assert_eq!(bench.take(3, 1, Wait::AtOnce, &any()), [(3, 1, plain(array(9, 1)))]);
    let steps = (TUPLES as usize + 1).div_ceil(STEP);
    assert_eq!(wake_until_answered(&mut bench), (steps - 2, vec![(2, 1, Answer::Count(TUPLES / 8))]));
    assert_eq!(bench.space.deadline(), None, "nothing is left to do");
}

#[test]
fn a_count_is_that_of_the_instant_at_which_it_is_answered() {
    let mut bench = filled();
    assert_eq!(count_of(3, &mut bench, 2), []);
    assert_eq!(wake(&mut bench), []);
    // Two behind the mark go, and one of them comes back; one that does not match goes, and one is put.
    assert_eq!(bench.take(3, 1, Wait::AtOnce, &of_shape(3)).len(), 1);
    assert_eq!(bench.take(3, 2, Wait::AtOnce, &of_shape(3)).len(), 1);
    assert_eq!(bench.take(3, 3, Wait::AtOnce, &of_shape(4)).len(), 1);
    bench.ask(3, 2, Request::Return);
    bench.put(&array(3, 0));
    assert_eq!(wake_until_answered(&mut bench).1, [(2, 1, Answer::Count(TUPLES / 8))]);
}

#[test]
fn a_long_search_finds_the_oldest_that_matches_also_one_that_returned_meanwhile() {
    let mut bench = filled();
    bench.put(&array(9, 2));
    let nine = of_shape(9);
    assert_eq!(bench.take(2, 1, Wait::AtOnce, &nine), [(2, 1, plain(array(9, 1)))]);
    assert_eq!(bench.read(3, 1, Wait::AtOnce, &nine), [], "the other is the last of all");
    assert_eq!(wake(&mut bench), []);
    bench.ask(2, 1, Request::Return);
    assert_eq!(wake(&mut bench), [(3, 1, plain(array(9, 1)))]);
    assert_eq!(bench.take(2, 2, Wait::AtOnce, &nine).len(), 1);
    assert_eq!(bench.take(3, 2, Wait::AtOnce, &nine), []);
    assert_eq!(wake_until_answered(&mut bench).1, [(3, 2, plain(array(9, 2)))]);
}

#[test]
fn a_long_search_in_vain_ends_as_a_short_one() {
    let mut bench = filled();
    assert_eq!(bench.take(2, 1, Wait::AtOnce, &of_shape(8)), []);
    assert_eq!(bench.take(3, 1, Wait::Forever, &of_shape(8)), []);
    assert_eq!(bench.pass(LONG), [(2, 1, Answer::NoMatch)]);
    assert_eq!(bench.out(4, 1, &array(8, 3)), [(3, 1, plain(array(8, 3))), (4, 1, Answer::Done)]);
}

#[test]
fn requests_with_much_to_compare_take_turns_and_can_leave() {
    let mut bench = filled();
    for from in 2..6u16 {
        assert_eq!(count_of(3, &mut bench, from), []);
    }
    assert_eq!(bench.ask(2, 1, Request::Cancel).len(), 1);
    bench.down(3);
    let expected: Vec<Sent> = [4, 5].map(|from| (from, 1, Answer::Count(TUPLES / 8))).into();
    assert_eq!(bench.pass(LONG), expected);
    bench.space.verify();
}

#[test]
fn a_long_template_is_compared_with_fewer_tuples_in_a_turn() {
    let mut bench = Bench::new(SpaceConfig::default());
    bench.verifies = false;
    let long = vec![1u8; 1 << 20];
    let one = Array::from_elements(&[1], &[0u8]).expect("one element");
    (0..20).for_each(|_| bench.put(&tuple![long.clone(), one.clone()]));
    let two = Type::Array { element: ElementType::U8, dimensions: vec![Some(2)] };
    let wanted = template![long, two];
    assert_eq!(bench.read(1, 1, Wait::AtOnce, &wanted), [], "twenty times a mebibyte are to be hashed");
    assert_eq!(bench.pass(LONG), [(1, 1, Answer::NoMatch)]);
    assert_eq!(bench.read(1, 2, Wait::AtOnce, &wanted), [], "and compared");
    assert!(bench.link.matching < 10, "{} compared in one turn", bench.link.matching);
    assert_eq!(bench.pass(LONG), [(1, 2, Answer::NoMatch)]);
}

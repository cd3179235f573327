//! What multiprocessors do that keep no one order is refused, and what no clock would allow is not.

use super::*;
use crate::{Fault, check};
use Step::{Read, Write};

type Steps = Vec<Step<char, u8>>;

/// What each program was told, one operation a step.
fn programs(programs: &[&[Step<char, u8>]]) -> Vec<Told<Steps, ()>> {
    let of = |(program, steps): (usize, &&[Step<char, u8>])| {
        let program = u32::try_from(program).expect("few");
        let told = |step: &Step<char, u8>| Told { program, act: vec![step.clone()], answered: Some(()) };
        steps.iter().map(told).collect::<Vec<_>>()
    };
    programs.iter().enumerate().flat_map(of).collect()
}

fn holds(told: Vec<Told<Steps, ()>>) -> bool {
    match check(&Memory::default(), &in_program_order(told)) {
        Ok(()) => true,
        Err(Fault::NotLinearizable { .. }) => false,
        Err(undecided) => panic!("{undecided}"),
    }
}

#[test]
fn two_that_both_read_before_the_other_has_written_are_refused() {
    let told = |of_first, of_second| {
        holds(programs(&[&[Write('x', 1), Read('y', of_first)], &[Write('y', 1), Read('x', of_second)]]))
    };
    assert!(!told(0, 0), "a store buffer");
    assert!(told(0, 1) && told(1, 0) && told(1, 1));
}

#[test]
fn two_that_see_writes_of_others_in_two_orders_are_refused() {
    let told = |of_second| {
        let readers: [&[_]; 2] = [&[Read('x', 1), Read('y', 0)], &[Read('y', 1), Read('x', of_second)]];
        holds(programs(&[&[Write('x', 1)], &[Write('y', 1)], readers[0], readers[1]]))
    };
    assert!(!told(0), "independent reads of independent writes; each variable alone is in order");
    assert!(told(1));
}

#[test]
fn an_operation_is_done_at_one_instant() {
    let both = Told { program: 0, act: vec![Write('x', 1), Write('y', 1)], answered: Some(()) };
    let look = |x, y| Told { program: 1, act: vec![Read('x', x), Read('y', y)], answered: Some(()) };
    assert!(holds(vec![both.clone(), look(0, 0), look(1, 1)]));
    assert!(!holds(vec![both.clone(), look(1, 0)]));
    assert!(!holds(vec![both, look(1, 1), look(0, 0)]));
}

#[test]
fn what_was_not_answered_may_have_been_done_or_not_and_in_its_order() {
    let told = |looks: &[(u8, u8)]| {
        let open = |step| Told { program: 0, act: vec![step], answered: None };
        let look = |(x, y): &(u8, u8)| Told {
            program: 1,
            act: vec![Read('x', *x), Read('y', *y)],
            answered: Some(()),
        };
        [open(Write('x', 1)), open(Write('y', 1))].into_iter().chain(looks.iter().map(look)).collect()
    };
    for right in [&[(0, 0)][..], &[(1, 0)], &[(1, 1)], &[(0, 0), (1, 1)], &[(0, 1)]] {
        assert!(holds(told(right)), "{right:?}");
    }
    assert!(!holds(told(&[(0, 1), (1, 1)])), "the second, and then the first");
}

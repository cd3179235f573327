//! Right histories of a space, and wrong ones.

use super::*;
use crate::search::{Event, check};

const SPACE: Space = Space { order: Order::OfAll };

fn one_after_the_other(space: Space, acts: &[Act]) -> bool {
    let event = |(at, act): (usize, &Act)| {
        let asked = 2 * at as u64;
        Event { client: 0, act: act.clone(), asked, answered: Some(asked + 1) }
    };
    check(&space, &acts.iter().enumerate().map(event).collect::<Vec<_>>()).is_ok()
}

fn is_right(acts: &[Act]) -> bool {
    one_after_the_other(SPACE, acts)
}

fn out(number: u32) -> Act {
    Act::out((0, 1), number)
}

fn query(purpose: Purpose, found: Option<u32>) -> Act {
    Act::Query { of: vec![Pattern::of(0)], purpose, found }
}

fn take(found: Option<u32>) -> Act {
    query(Purpose::Take, found)
}

fn commit(leased: &[u32], witnessed: &[u32], puts: &[u32], happened: bool) -> Act {
    let puts = puts.iter().map(|number| ((0, 1), *number)).collect();
    Act::Commit { leased: leased.to_vec(), witnessed: witnessed.to_vec(), puts, happened }
}

#[test]
fn what_was_put_is_taken_once_and_the_oldest_first() {
    assert!(is_right(&[out(1), out(2), take(Some(1)), take(Some(2)), take(None)]));
    assert!(!is_right(&[out(1), take(None)]), "it was there");
    assert!(!is_right(&[out(1), take(Some(1)), take(Some(1))]), "taken twice");
    assert!(!is_right(&[out(1), out(2), take(Some(2))]), "not the oldest");
    assert!(!is_right(&[take(Some(1))]), "nobody has put it");
    assert!(is_right(&[out(1), query(Purpose::Read, Some(1)), take(Some(1))]));
    assert!(!is_right(&[out(1), take(Some(1)), query(Purpose::Read, Some(1))]), "it was taken");
    assert!(is_right(&[out(1), Act::Count(Pattern::of(0), 1), Act::Count(Pattern::of(1), 0)]));
    assert!(!is_right(&[out(1), Act::Count(Pattern::of(0), 2)]));
}

#[test]
fn which_is_the_oldest_of_two_keys_is_known_to_one_manager() {
    let acts = [Act::out((0, 1), 1), Act::out((0, 2), 2), take(Some(2))];
    assert!(!is_right(&acts));
    assert!(one_after_the_other(Space { order: Order::OfPartitions }, &acts));
    let keyed = Act::Query { of: vec![Pattern::keyed((0, 2))], purpose: Purpose::Take, found: Some(2) };
    assert!(is_right(&[acts[0].clone(), acts[1].clone(), keyed]));
}

#[test]
fn what_is_leased_is_hidden_until_it_returns_or_is_gone() {
    let lease = query(Purpose::Lease, Some(1));
    assert!(is_right(&[out(1), lease.clone(), take(None), Act::Return(vec![1]), take(Some(1))]));
    assert!(is_right(&[out(1), lease.clone(), commit(&[1], &[], &[2], true), take(Some(2)), take(None)]));
    assert!(!is_right(&[out(1), lease, take(Some(1))]), "it is hidden");
}

#[test]
fn a_group_happens_while_all_that_it_read_is_there() {
    let read = query(Purpose::Read, Some(1));
    assert!(is_right(&[out(1), read.clone(), commit(&[], &[1], &[2], true), take(Some(1)), take(Some(2))]));
    assert!(is_right(&[out(1), read.clone(), take(Some(1)), commit(&[], &[1], &[2], false), take(None)]));
    assert!(!is_right(&[out(1), read.clone(), take(Some(1)), commit(&[], &[1], &[2], true)]), "it is gone");
    assert!(!is_right(&[out(1), read, commit(&[], &[1], &[2], false)]), "nothing was in its way");
    let lease = query(Purpose::Lease, Some(1));
    assert!(is_right(&[out(1), lease, commit(&[1], &[1], &[], true), take(None)]), "it has it itself");
}

#[test]
fn a_replacement_takes_and_puts_at_one_instant_and_a_select_takes_the_oldest_of_several() {
    let replace = |found| Act::Replace { of: Pattern::of(0), found, puts: vec![((0, 1), 5)] };
    assert!(is_right(&[out(1), replace(Some(1)), take(Some(5)), take(None)]));
    assert!(is_right(&[replace(None), take(None)]));
    assert!(!is_right(&[out(1), replace(Some(1)), take(None)]));
    assert!(!is_right(&[out(1), replace(None)]));
    let of = vec![Pattern::of(1), Pattern::of(0)];
    let select = |found| Act::Query { of: of.clone(), purpose: Purpose::Take, found };
    assert!(is_right(&[out(1), Act::out((1, 0), 2), select(Some(1)), select(Some(2)), select(None)]));
    assert!(!is_right(&[out(1), Act::out((1, 0), 2), select(Some(2))]), "not the oldest");
}

#[test]
fn what_was_not_answered_may_have_happened_and_a_put_is_not_overtaken() {
    let event = |client, act, asked, answered| Event { client, act, asked, answered };
    let open = event(1, out(1), 1, None);
    assert!(check(&SPACE, &[open.clone(), event(2, take(Some(1)), 3, Some(4))]).is_ok());
    assert!(check(&SPACE, &[open.clone(), event(2, take(None), 3, Some(4))]).is_ok());
    assert!(
        check(&SPACE, &[event(1, out(1), 1, Some(4)), event(2, take(None), 2, Some(3))]).is_ok(),
        "at the same time"
    );
    let later = event(1, out(2), 2, Some(4));
    assert!(check(&SPACE, &[open, later, event(2, take(Some(2)), 5, Some(6))]).is_err(), "overtaken");
}

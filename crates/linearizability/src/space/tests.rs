//! Right histories of a space, and wrong ones.

use super::*;
use crate::search::{Event, Fault, check, check_within};

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
fn what_has_expired_is_not_there_any_more() {
    assert!(is_right(&[out(1), take(Some(1))]), "nothing has expired");
    assert!(is_right(&[out(1), out(2), Act::Expire(1), take(Some(2)), take(None)]));
    assert!(!is_right(&[out(1), Act::Expire(1), query(Purpose::Read, Some(1))]));
    assert!(!is_right(&[Act::Expire(1), out(1)]), "it was not there");
    assert!(!is_right(&[out(1), Act::Expire(1), commit(&[], &[1], &[2], true)]), "what was read is gone");
}

#[test]
fn what_expires_under_a_lease_is_his_who_has_it_and_does_not_return() {
    let lease = query(Purpose::Lease, Some(1));
    assert!(is_right(&[out(1), lease.clone(), Act::Expire(1), commit(&[1], &[], &[2], true), take(Some(2))]));
    assert!(is_right(&[out(1), lease.clone(), Act::Expire(1), Act::Return(vec![1]), take(None)]));
    assert!(!is_right(&[out(1), lease.clone(), Act::Expire(1), Act::Return(vec![1]), take(Some(1))]));
    let gone = Act::End { holder: 7, leased: vec![1] };
    assert!(is_right(&[out(1), lease, Act::Expire(1), gone, take(None)]));
}

/// It may have left at any time from then on, and it does not have to.
#[test]
fn when_a_tuple_has_expired_is_open() {
    let event = |act, asked, answered| Event { client: 0, act, asked, answered };
    let expires = |asked| Event { client: 9, act: Act::Expire(1), asked, answered: None };
    let read = query(Purpose::Read, Some(1));
    let acts = [event(out(1), 1, Some(2)), event(read, 5, Some(6)), event(take(None), 7, Some(8))];
    let with = |asked: u64| acts.iter().cloned().chain([expires(asked)]).collect::<Vec<_>>();
    assert!(check(&SPACE, &with(3)).is_ok());
    assert!(check(&SPACE, &with(9)).is_err(), "its time had not come when it was missed");
    assert!(check(&SPACE, &acts[..2].iter().cloned().chain([expires(3)]).collect::<Vec<_>>()).is_ok());
}

#[test]
fn the_oldest_of_a_range_is_found() {
    let of = |least, most| vec![Pattern { least, most, ..Pattern::of(0) }];
    let take = |of, found| Act::Query { of, purpose: Purpose::Take, found };
    let puts = [out(3), out(1), out(2)];
    let right = |act: Act| is_right(&[&puts[..], &[act]].concat());
    assert!(right(take(of(1, 2), Some(1))), "the oldest, not the smallest");
    assert!(
        !right(take(of(1, 2), Some(2))) && !right(take(of(1, 2), Some(3))) && !right(take(of(1, 2), None))
    );
    assert!(right(take(of(4, 9), None)) && right(take(of(2, u32::MAX), Some(3))));
    assert!(right(Act::Count(of(1, 2)[0], 2)) && !right(Act::Count(of(1, 2)[0], 3)));
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
    let takes = [event(2, take(Some(2)), 5, Some(6)), event(2, take(Some(1)), 7, Some(8))];
    let history = |of: &[Event<Act>]| [&[open.clone(), later.clone()], of].concat();
    assert!(check(&SPACE, &history(&takes[..1])).is_ok(), "it never came");
    assert!(check(&SPACE, &history(&takes)).is_err(), "overtaken");
    assert!(check(&SPACE, &history(&[takes[1].clone(), event(2, take(Some(2)), 9, Some(10))])).is_ok());
}

#[test]
fn a_page_is_the_oldest_or_all() {
    let page = |found: &[u32], is_all| Act::Collect {
        of: Pattern::of(0),
        takes: true,
        found: found.to_vec(),
        is_all,
    };
    let put = [out(1), out(2), Act::out((0, 2), 3)];
    let then = |acts: &[Act]| [&put[..], acts].concat();
    assert!(is_right(&then(&[page(&[1, 2], false), take(Some(3)), page(&[], true)])));
    assert!(is_right(&then(&[page(&[], false), page(&[1, 2, 3], true), take(None)])));
    assert!(!is_right(&then(&[page(&[2], false)])), "not the oldest");
    assert!(!is_right(&then(&[page(&[1, 3], false)])), "not the oldest");
    assert!(!is_right(&then(&[page(&[1, 2], true)])), "there was one more");
    assert!(!is_right(&then(&[page(&[1], false), take(Some(1))])), "it was taken");
    let parts = |acts: &[Act]| one_after_the_other(Space { order: Order::OfPartitions }, &then(acts));
    assert!(parts(&[page(&[3, 1], false), take(Some(2))]));
    assert!(!parts(&[page(&[3, 2], false)]), "not the oldest of its key");
    assert!(!parts(&[page(&[1, 2], true)]), "there was one more");
    assert!(!parts(&[page(&[4], false)]), "nobody has put it");
}

#[test]
fn all_that_match_move_at_one_instant_behind_what_is_there() {
    let put = [out(1), Act::out((0, 2), 2), Act::out((0, 1), 3), Act::out((1, 1), 9)];
    let then = |acts: &[Act]| [&put[..], acts].concat();
    let all = |count| Act::Move { of: [Pattern::of(0), Pattern::of(1)], count };
    let keyed = [Pattern::keyed((0, 1)), Pattern::keyed((1, 1))];
    let of_key = |count| Act::Move { of: keyed, count };
    let take =
        |signature, found| Act::Query { of: vec![Pattern::of(signature)], purpose: Purpose::Take, found };
    let taken = [9, 1, 2, 3].map(|number| take(1, Some(number)));
    assert!(is_right(&then(&[&[all(Some(3)), take(0, None)], &taken[..]].concat())));
    assert!(is_right(&then(&[&[all(None), take(0, None)], &taken[..]].concat())), "nobody was told");
    assert!(!is_right(&then(&[all(Some(2))])), "there were more");
    assert!(!is_right(&then(&[all(Some(3)), take(0, Some(1))])), "it is there no more");
    assert!(!is_right(&then(&[all(Some(3)), take(1, Some(1))])), "not the oldest");
    assert!(is_right(&then(&[of_key(Some(2)), take(0, Some(2)), take(1, Some(9)), take(1, Some(1))])));
    let lease = Act::Query { of: vec![keyed[0]], purpose: Purpose::Lease, found: Some(1) };
    assert!(
        is_right(&then(&[lease, of_key(Some(1)), Act::Return(vec![1]), take(0, Some(1))])),
        "it was hidden"
    );
    let event = |act: &Act| Event { client: 0, act: act.clone(), asked: 1, answered: Some(2) };
    let parts = |act: Act| SPACE.parts(&then(&[act]).iter().map(event).collect::<Vec<_>>());
    assert_eq!(parts(of_key(Some(2))), [vec![0], vec![1], vec![0], vec![2], vec![0, 2]]);
}

#[test]
fn what_a_client_was_not_told_before_its_end_is_one_of_what_it_may_be() {
    let event = |client, act, asked, answered| Event { client, act, asked, answered };
    let untold = |purpose, puts: &[u32]| {
        let puts = puts.iter().map(|number| ((0, 1), *number)).collect();
        event(1, Act::Untold { of: vec![Pattern::of(0)], purpose, holder: 7, puts }, 3, None)
    };
    let end = |leased: &[u32]| event(2, Act::End { holder: 7, leased: leased.to_vec() }, 4, Some(20));
    let later = |act, asked| event(3, act, asked, Some(asked + 1));
    let is_right = |events: &[Event<Act>]| {
        let mut history = vec![event(3, out(1), 1, Some(2))];
        history.extend_from_slice(events);
        check(&SPACE, &history).is_ok()
    };
    let seen = |found: &[Option<u32>]| -> Vec<Event<Act>> {
        (5..).step_by(2).zip(found).map(|(asked, found)| later(take(*found), asked)).collect()
    };
    let with = |events: &[Event<Act>], found: &[Option<u32>]| is_right(&[events, &seen(found)].concat());
    assert!(with(&[untold(Purpose::Take, &[])], &[None]), "it is lost with the client");
    assert!(with(&[untold(Purpose::Take, &[])], &[Some(1), None]), "or it was not taken");
    assert!(!with(&[], &[None]));
    let lease = untold(Purpose::Lease, &[]);
    assert!(with(&[lease.clone(), end(&[])], &[None, Some(1), None]), "it comes back");
    assert!(!with(std::slice::from_ref(&lease), &[None, Some(1)]), "nothing brings it back");
    assert!(!with(&[lease, end(&[])], &[None, Some(1), Some(1)]));
    assert!(with(&[untold(Purpose::Take, &[5])], &[Some(5), None]), "replaced");
    assert!(!with(&[untold(Purpose::Take, &[5])], &[Some(5), Some(1)]), "replaced, and there as well");
    let known = event(1, query(Purpose::Lease, Some(1)), 3, Some(4));
    assert!(with(&[known.clone(), end(&[1])], &[None, Some(1), None]));
    assert!(!with(&[known, end(&[])], &[None, Some(1)]), "it was not known to have it");
}

#[test]
fn signatures_and_keys_that_only_their_own_patterns_ask_for_are_parts() {
    let event = |act: &Act| Event { client: 0, act: act.clone(), asked: 1, answered: Some(2) };
    let parts = |acts: &[Act]| SPACE.parts(&acts.iter().map(event).collect::<Vec<_>>());
    let keyed = |key| Act::Query { of: vec![Pattern::keyed((0, key))], purpose: Purpose::Take, found: None };
    let apart = parts(&[Act::out((0, 1), 1), Act::out((0, 2), 2), keyed(1), keyed(2), Act::Return(vec![2])]);
    assert_eq!(apart, [[0], [1], [0], [1], [1]]);
    let together =
        parts(&[Act::out((0, 1), 1), Act::out((0, 2), 2), keyed(1), take(None), Act::out((1, 1), 3)]);
    assert_eq!(together, [[0], [0], [0], [0], [1]]);
}

/// Puts of several clients at once, whose order only later takes tell: 24 orders for each of three signatures, and their product together.
#[test]
fn states_of_parts_add_up() {
    let mut history = Vec::new();
    let numbers = |signature: u8| (0..4).map(move |at| u32::from(signature) * 10 + at);
    for signature in 0..3 {
        for number in numbers(signature) {
            let act = Act::out((signature, 1), number);
            history.push(Event { client: number, act, asked: 1, answered: Some(2) });
        }
        for (at, number) in (0..).zip(numbers(signature).rev()) {
            let act =
                Act::Query { of: vec![Pattern::of(signature)], purpose: Purpose::Take, found: Some(number) };
            history.push(Event { client: 99, act, asked: 10 + 2 * at, answered: Some(11 + 2 * at) });
        }
    }
    assert_eq!(check_within(&SPACE, &history, 200), Ok(()));
    // Whoever asks for all three at once makes one part of them.
    let all = vec![Pattern::of(0), Pattern::of(1), Pattern::of(2)];
    let act = Act::Query { of: all, purpose: Purpose::Take, found: None };
    history.push(Event { client: 99, act, asked: 50, answered: Some(51) });
    assert_eq!(check_within(&SPACE, &history, 200), Err(Fault::Undecided(200)));
}

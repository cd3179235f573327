//! Tuples that expire, as clients see it.

use super::bench::{Bench, Sent, error, plain};
use crate::codec::MovedTuple;
use crate::{
    Answer, Change, EXPIRY_BYTES, PageSize, Request, SpaceConfig, Subject, TUPLE_BYTES, Tuple, Wait, Witness,
    template, tuple,
};
use quintet_contract::{Effects, Input, Protocol, Span};
use quintet_errors::Code;

const LIFE: Span = Span::from_millis(10);
const TTL: Span = Span::from_secs(1);

fn bench() -> Bench {
    Bench::new(SpaceConfig { max_attempts: 1, ..SpaceConfig::default() })
}

/// Puts a tuple that expires, without waiting for room.
fn put(bench: &mut Bench, tuple: &Tuple, expires_in: Span) -> Vec<Sent> {
    let (tuples, expiries) = (core::slice::from_ref(tuple), &[Some(expires_in)]);
    bench.ask(100, 1, Request::Out { deadline: Some(Span::ZERO), tuples, expiries })
}

#[test]
fn a_tuple_is_there_until_its_time_and_not_an_instant_longer() {
    let (mut bench, wanted) = (bench(), template!["here", ?i64]);
    put(&mut bench, &tuple!["here", 1i64], LIFE);
    assert_eq!(bench.space.deadline(), Some(bench.now + LIFE));
    bench.now += Span(LIFE.0 - 1);
    assert_eq!(bench.read(1, 1, Wait::AtOnce, &wanted), [(1, 1, plain(tuple!["here", 1i64]))]);
    // Nobody has woken it: whoever asks at that instant sees nothing all the same.
    bench.now += Span(1);
    assert_eq!(bench.read(1, 2, Wait::AtOnce, &wanted), [(1, 2, Answer::NoMatch)]);
    assert_eq!(bench.space.deadline(), None);
}

#[test]
fn its_room_is_free_again_and_who_waits_for_it_gets_it() {
    let small = tuple!["here", 1i64];
    let bytes = small.encode().unwrap().0.len() as u64 + TUPLE_BYTES;
    let mut bench = Bench::new(SpaceConfig { max_tuples: 1, ..SpaceConfig::default() });
    put(&mut bench, &small, LIFE);
    assert_eq!(bench.status().bytes, bytes + EXPIRY_BYTES);
    let second = [tuple!["here", 2i64]];
    let later = Request::Out { deadline: None, tuples: &second, expiries: &[Some(LIFE)] };
    assert_eq!(bench.ask(1, 1, later), []);
    assert_eq!(bench.pass(LIFE), [(1, 1, Answer::Done)]);
    // Its own time began when it had room.
    assert_eq!(bench.pass(Span(LIFE.0 - 1)), []);
    assert_eq!(bench.count(&template!["here", ?i64]), 1);
    bench.pass(Span(1));
    assert_eq!((bench.status().tuples, bench.status().bytes), (0, 0));
    assert_eq!(bench.space.expired, 2);
}

#[test]
fn one_that_is_taken_is_its_takers_and_leaves_where_it_would_return() {
    let wanted = template!["task", ?i64];
    for gives_up in [
        |bench: &mut Bench, lease| bench.ask(1, 9, Request::Release { lease }),
        |bench: &mut Bench, _| bench.down(1),
        |bench: &mut Bench, _| bench.pass(TTL),
    ] {
        let mut bench = bench();
        put(&mut bench, &tuple!["task", 1i64], LIFE);
        let sent = bench.lease(1, 1, TTL, &wanted);
        let [(1, 1, Answer::Tuple(_, Some(attempt)))] = &sent[..] else { panic!("a lease: {sent:?}") };
        bench.pass(LIFE);
        assert_eq!(bench.status().leases, 1, "it is still its taker's");
        gives_up(&mut bench, attempt.lease);
        assert_eq!(bench.take(2, 1, Wait::AtOnce, &wanted), [(2, 1, Answer::NoMatch)]);
        assert_eq!(bench.status().dead_letters, 0, "nobody wants it any more");
        assert_eq!(bench.space.expired, 1);
    }
}

#[test]
fn one_that_is_taken_may_be_acknowledged_after_its_time() {
    let mut bench = bench();
    put(&mut bench, &tuple!["task", 1i64], LIFE);
    let sent = bench.lease(1, 1, TTL, &template!["task", ?i64]);
    let [(1, 1, Answer::Tuple(_, Some(attempt)))] = &sent[..] else { panic!("a lease: {sent:?}") };
    bench.pass(LIFE);
    let (lease, tuples, expiries) = (attempt.lease, [tuple!["result", 1i64]], [Some(LIFE)]);
    let done = Request::Ack { lease, deadline: None, tuples: &tuples, expiries: &expiries };
    assert_eq!(bench.ask(1, 2, done), [(1, 2, Answer::Done)]);
    assert_eq!(bench.space.expired, 0);
    bench.pass(LIFE);
    assert_eq!(bench.count(&template!["result", ?i64]), 0, "results expire as well");
}

#[test]
fn a_take_that_is_undone_before_the_time_brings_it_back_and_one_after_it_does_not() {
    let (mut bench, wanted) = (bench(), template!["here", ?i64]);
    put(&mut bench, &tuple!["here", 1i64], LIFE);
    for (token, left) in [(1, 1), (2, 0)] {
        bench.take(1, token, Wait::AtOnce, &wanted);
        assert_eq!(bench.space.deadline(), None, "what is hidden is not waited for");
        bench.now += Span(LIFE.0 / 2);
        bench.ask(1, token, Request::Return);
        assert_eq!(bench.count(&wanted), left);
    }
}

#[test]
fn what_a_group_puts_counts_from_its_end_and_what_it_has_read_may_expire_before() {
    let mut bench = bench();
    put(&mut bench, &tuple!["seen", 1i64], LIFE);
    let sent = bench.ask(1, 1, Request::Witness { wait: Wait::AtOnce, template: &template!["seen", ?i64] });
    let [(1, 1, Answer::Witnessed(_, witness))] = &sent[..] else { panic!("a witness: {sent:?}") };
    let (tuples, expiries) = ([tuple!["put", 1i64], tuple!["put", 2i64]], [None, Some(LIFE)]);
    let commit = |bench: &mut Bench, token, witnesses: &[Witness]| {
        let (tuples, expiries) = (&tuples, &expiries);
        bench.ask(1, token, Request::Commit { leases: &[], witnesses, deadline: None, tuples, expiries })
    };
    bench.pass(LIFE);
    let (code, text) = error(&commit(&mut bench, 2, &[*witness]), 1, 2);
    assert_eq!(code, Code::Conflict);
    assert!(text.contains("has expired"), "{text}");
    assert_eq!(commit(&mut bench, 3, &[]), [(1, 3, Answer::Done)]);
    bench.pass(LIFE);
    assert_eq!(bench.count(&template!["put", 1i64]), 1);
    assert_eq!(bench.count(&template!["put", 2i64]), 0);
}

#[test]
fn who_watches_is_told_and_a_listing_says_in_how_long() {
    let mut bench = bench();
    put(&mut bench, &tuple!["here", 1i64], LIFE);
    bench.now += Span(LIFE.0 / 4);
    let list = Request::List {
        subject: Subject::Tuples,
        from: crate::Cursor::default(),
        size: PageSize::default(),
        template: None,
    };
    let sent = bench.ask(1, 1, list);
    let [(1, 1, Answer::Page(page))] = &sent[..] else { panic!("a page: {sent:?}") };
    let crate::Rows::Tuples(rows) = &page.rows else { panic!("tuples: {page:?}") };
    assert_eq!(rows[0].expires_in, Some(Span(LIFE.0 * 3 / 4)));
    let watch = |since| Request::Watch { since, most: 9, wait: Wait::Forever, template: None };
    let sent = bench.ask(1, 2, watch(None));
    let [(1, 2, Answer::Events(events))] = &sent[..] else { panic!("a number: {sent:?}") };
    assert_eq!(bench.ask(1, 3, watch(Some(events.number))), []);
    let sent = bench.pass(LIFE);
    let [(1, 3, Answer::Events(events))] = &sent[..] else { panic!("an event: {sent:?}") };
    assert_eq!(events.events[0].change, Change::Expired);
    assert_eq!(events.events[0].tuple, tuple!["here", 1i64]);
}

#[test]
fn a_space_that_is_moved_has_its_tuples_for_as_long_as_before() {
    let mut bench = bench();
    bench.moves = true;
    put(&mut bench, &tuple!["here", 1i64], LIFE);
    bench.now += Span(LIFE.0 - 1);
    assert_eq!(bench.count(&template!["here", ?i64]), 1);
    bench.now += Span(1);
    assert_eq!(bench.give(Input::Wake), []);
    assert_eq!(bench.status().tuples, 0);
}

#[test]
fn what_expires_at_once_goes_to_who_waits_and_else_to_nobody() {
    let (mut bench, wanted) = (bench(), template!["now", ?i64]);
    bench.take(1, 1, Wait::Forever, &wanted);
    let sent = put(&mut bench, &tuple!["now", 1i64], Span::ZERO);
    assert_eq!(sent, [(1, 1, plain(tuple!["now", 1i64])), (100, 1, Answer::Done)]);
    put(&mut bench, &tuple!["now", 2i64], Span::ZERO);
    bench.now += Span(1);
    assert_eq!(bench.take(1, 2, Wait::AtOnce, &wanted), [(1, 2, Answer::NoMatch)]);
}

#[test]
fn one_whose_time_has_come_on_its_way_from_another_manager_is_given_to_nobody() {
    let (mut bench, wanted) = (bench(), template!["here", ?i64]);
    let moved = |number: i64, expires_in: Span| {
        let (head, bulk) = tuple!["here", number].encode().unwrap();
        MovedTuple {
            age: 0,
            failed: 0,
            is_reserve: false,
            expires_in: Some(expires_in),
            change: Some(Change::Put),
            number: 0,
            head: head.into(),
            bulk,
        }
    };
    let mut sent = Effects::default();
    bench.space.adopt(bench.now, &[moved(1, Span::ZERO), moved(2, LIFE)], &mut sent);
    assert_eq!(bench.take(1, 1, Wait::Forever, &wanted), [(1, 1, plain(tuple!["here", 2i64]))]);
    assert_eq!(bench.take(1, 2, Wait::Forever, &wanted), []);
    bench.space.adopt(bench.now, &[moved(3, Span::ZERO)], &mut sent);
    assert!(sent.frames().is_empty(), "who waits is not given what nobody may see");
    assert_eq!(bench.space.expired, 2);
}

#[test]
fn a_put_finds_the_room_that_a_tuple_left_before_its_deadline_also_in_a_late_turn() {
    let mut bench = Bench::new(SpaceConfig { max_tuples: 1, ..SpaceConfig::default() });
    put(&mut bench, &tuple!["here", 1i64], LIFE);
    let second = [tuple!["here", 2i64]];
    let later = Request::Out { deadline: Some(Span(LIFE.0 + 1)), tuples: &second, expiries: &[] };
    assert_eq!(bench.ask(1, 1, later), []);
    bench.now += Span(LIFE.0 * 3);
    assert_eq!(bench.give(Input::Wake), [(1, 1, Answer::Done)]);
}

#[test]
fn a_lease_that_ended_before_the_time_of_its_tuple_leaves_a_dead_letter_also_in_a_late_turn() {
    let (ttl, wanted) = (Span(LIFE.0 - 1), template!["task", ?i64]);
    for lateness in [Span::ZERO, Span(1), Span::from_micros(900)] {
        let mut bench = bench();
        put(&mut bench, &tuple!["task", 1i64], LIFE);
        bench.lease(1, 1, ttl, &wanted);
        bench.now = bench.now + ttl + lateness;
        bench.give(Input::Wake);
        assert_eq!(bench.status().dead_letters, 1, "{lateness} late");
    }
}

#[test]
fn a_tuple_that_returned_before_its_time_is_given_to_who_waits_also_in_a_late_turn() {
    let wanted = template!["task", ?i64];
    let mut bench = Bench::new(SpaceConfig { max_attempts: 9, ..SpaceConfig::default() });
    put(&mut bench, &tuple!["task", 1i64], LIFE);
    bench.lease(1, 1, Span(LIFE.0 - 2), &wanted);
    assert_eq!(bench.take(2, 1, Wait::For(Span(LIFE.0 - 1)), &wanted), []);
    bench.now += Span(LIFE.0 + 1);
    assert_eq!(bench.give(Input::Wake), [(2, 1, plain(tuple!["task", 1i64]))]);
}

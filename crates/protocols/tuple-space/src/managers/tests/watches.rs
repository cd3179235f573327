//! Watches of what several managers have, and of what moves between them.

use super::network::Network;
use super::rules::{network, out, spread};
use crate::codec::{Route, View};
use crate::{
    Answer, Change, Events, Request, Signature, SpaceConfig, Template, TupleEvent, Wait, template, tuple,
};
use quintet_contract::{Random, Span};
use quintet_errors::Code;

fn watch(template: &Template, since: Option<u64>, wait: Wait) -> Request<'_> {
    Request::Watch { since, most: 100, wait, template: Some(template) }
}

fn events(answer: Option<Answer>) -> Events {
    match answer {
        Some(Answer::Events(events)) => events,
        other => panic!("it tells of nothing: {other:?}"),
    }
}

/// What has happened behind a number, and behind which number it goes on.
fn told(network: &mut Network, template: &Template, since: &mut u64) -> Vec<(Change, i64)> {
    let (mut all, mut since_before) = (Vec::new(), u64::MAX);
    while *since != since_before {
        since_before = *since;
        let more = events(network.call(1, &watch(template, Some(*since), Wait::AtOnce)));
        *since = more.number;
        all.extend(more.events.iter().map(|event| (event.change, number_of(event))));
    }
    all
}

fn number_of(event: &TupleEvent) -> i64 {
    match event.tuple.values().last() {
        Some(crate::Value::I64(number)) => *number,
        other => panic!("it has no number: {other:?}"),
    }
}

fn now(network: &mut Network, template: &Template) -> u64 {
    events(network.call(1, &watch(template, None, Wait::AtOnce))).number
}

fn take(network: &mut Network, template: &Template) {
    let take = Request::Take { wait: Wait::AtOnce, lease: None, template };
    assert!(matches!(network.call(0, &take), Some(Answer::Tuple(..))));
}

/// Spreads the signature without a put.
fn spread_by_hand(network: &mut Network) {
    let (head, bulk) = tuple!["task", 0i64, 0i64].encode().expect("it is small");
    let signature = Signature(View::checked_tuple(&head, &bulk).signature().into());
    network.ask_directory(0, &Route::Spread(signature, 1));
    network.settle(&mut Random::new(1, 1));
    network.answers.clear();
}

fn of_key(key: i64) -> Template {
    template!["task", key, ?i64]
}

#[test]
fn a_watch_goes_on_where_its_tuples_have_moved_to_and_misses_nothing() {
    for key in 0..4i64 {
        let mut network = network(2);
        let of_key = of_key(key);
        let mut since = now(&mut network, &of_key);
        out(&mut network, tuple!["task", key, 1i64]);
        // Each key has a put of 0 in it.
        spread(&mut network);
        out(&mut network, tuple!["task", key, 2i64]);
        network.heat(0, &tuple!["task", key, 0i64], 1);
        network.settle(&mut Random::new(1, 1));
        take(&mut network, &of_key);
        // It is gathered.
        take(&mut network, &template!["task", ?i64, 2i64]);
        let told = told(&mut network, &of_key, &mut since);
        let all =
            [(Change::Put, 1), (Change::Put, 0), (Change::Put, 2), (Change::Taken, 1), (Change::Taken, 2)];
        assert_eq!(told, all);
        assert!(network.measured("quintet_manager_migrations") == 2);
    }
}

#[test]
fn who_waits_for_an_event_goes_on_where_his_tuples_are() {
    let mut network = network(2);
    let of_key = of_key(9);
    let since = now(&mut network, &of_key);
    let waits = network.ask(1, &watch(&of_key, Some(since), Wait::Forever));
    let for_a_while = network.ask(1, &watch(&of_key, Some(since), Wait::For(Span::from_millis(5))));
    spread(&mut network);
    let up_to = events(network.take_answer(1, waits));
    assert!(up_to.events.is_empty() && up_to.number > since, "others were put: {up_to:?}");
    assert!(events(network.take_answer(1, for_a_while)).events.is_empty());
    let waits = network.ask(1, &watch(&of_key, Some(up_to.number), Wait::Forever));
    network.settle(&mut Random::new(1, 1));
    out(&mut network, tuple!["task", 9i64, 7i64]);
    let told = events(network.take_answer(1, waits));
    assert_eq!(told.events.iter().map(|event| event.change).collect::<Vec<_>>(), [Change::Put]);
}

#[test]
fn a_watch_without_the_key_gathers_what_is_spread() {
    let mut network = network(2);
    spread(&mut network);
    let all = template!["task", ?i64, ?i64];
    let mut since = now(&mut network, &all);
    assert_eq!(network.measured("quintet_manager_migrations"), 2);
    for number in 1..6i64 {
        out(&mut network, tuple!["task", number, number]);
    }
    let puts: Vec<_> = (1..6i64).map(|number| (Change::Put, number)).collect();
    assert_eq!(told(&mut network, &all, &mut since), puts, "in the order in which they were put");
}

#[test]
fn what_becomes_of_a_tuple_that_was_leased_when_it_would_have_moved_is_told() {
    for change in [Change::Done, Change::Returned] {
        for key in 10..14i64 {
            let mut network = network(2);
            let of_key = of_key(key);
            let mut since = now(&mut network, &of_key);
            out(&mut network, tuple!["task", key, 1i64]);
            let lease = Some(Span::from_secs(9));
            let held = network.call(0, &Request::Take { wait: Wait::AtOnce, lease, template: &of_key });
            let Some(Answer::Tuple(_, Some(attempt))) = held else { panic!("it is there: {held:?}") };
            spread(&mut network);
            let lease = attempt.lease;
            let end = match change {
                Change::Done => Request::Ack { lease, deadline: None, tuples: &[], expiries: &[] },
                _ => Request::Release { lease },
            };
            assert_eq!(network.call(0, &end), Some(Answer::Done));
            let told = told(&mut network, &of_key, &mut since);
            assert_eq!(told, [(Change::Put, 1), (Change::Leased, 1), (change, 1)], "key {key}");
        }
    }
}

#[test]
fn a_tuple_that_expires_when_it_would_return_to_another_manager_is_told_as_that() {
    for key in 10..14i64 {
        let mut network = network(2);
        let of_key = of_key(key);
        let mut since = now(&mut network, &of_key);
        let tuples = [tuple!["task", key, 1i64]];
        let expiries = [Some(Span::from_millis(5))];
        let put = Request::Out { deadline: None, tuples: &tuples, expiries: &expiries };
        assert_eq!(network.call(0, &put), Some(Answer::Done));
        let lease = Some(Span::from_secs(9));
        let held = network.call(0, &Request::Take { wait: Wait::AtOnce, lease, template: &of_key });
        let Some(Answer::Tuple(_, Some(attempt))) = held else { panic!("it is there: {held:?}") };
        spread(&mut network);
        network.turn_to(Span::from_millis(6));
        let release = Request::Release { lease: attempt.lease };
        assert_eq!(network.call(0, &release), Some(Answer::Done));
        let told = told(&mut network, &of_key, &mut since);
        assert_eq!(told, [(Change::Put, 1), (Change::Leased, 1), (Change::Expired, 1)], "key {key}");
    }
}

#[test]
fn who_asks_for_what_nobody_has_kept_is_told_so() {
    let mut network = network(2);
    let of_key = of_key(9);
    let since = now(&mut network, &of_key);
    network.turn_to(Span::from_secs(601));
    // Nobody has watched for long: this one is not kept, and none is where it goes.
    out(&mut network, tuple!["task", 9i64, 1i64]);
    spread(&mut network);
    let late = network.call(1, &watch(&of_key, Some(since), Wait::AtOnce));
    let Some(Answer::TooOld { oldest, .. }) = late else { panic!("it is too old: {late:?}") };
    assert!(since < oldest);
    out(&mut network, tuple!["task", 9i64, 2i64]);
    let mut since = oldest;
    assert_eq!(told(&mut network, &of_key, &mut since), [(Change::Put, 2)]);
}

#[test]
fn events_that_are_given_up_are_too_old_where_they_have_gone_and_others_are_not() {
    // Room for a few events.
    let space = SpaceConfig { max_bytes: 16 * 1_000, ..SpaceConfig::default() };
    let mut network = Network::new(3, 2, space);
    network.settle(&mut Random::new(1, 1));
    let (rare, busy) = (of_key(9), of_key(1));
    let first = now(&mut network, &busy);
    for number in 0..20i64 {
        out(&mut network, tuple!["task", 1i64, number]);
    }
    let mut since = now(&mut network, &rare);
    spread_by_hand(&mut network);
    out(&mut network, tuple!["task", 9i64, 2i64]);
    assert_eq!(told(&mut network, &rare, &mut since), [(Change::Put, 2)]);
    let late = network.call(1, &watch(&busy, Some(first), Wait::AtOnce));
    assert!(matches!(late, Some(Answer::TooOld { .. })), "{late:?}");
}

#[test]
fn a_space_with_several_managers_is_not_watched_as_a_whole() {
    let mut network = network(1);
    for request in [
        Request::Watch { since: None, most: 1, wait: Wait::AtOnce, template: None },
        Request::Look { from: 0, most: 1, template: None },
    ] {
        let Some(Answer::Error(refusal)) = network.call(0, &request) else { panic!("it is refused") };
        assert_eq!(refusal.code, Code::BadValue, "{refusal}");
        assert!(refusal.text.contains("one template"), "{refusal}");
    }
}

/// Pages that were begun before tuples moved, and go on after that.
#[test]
fn a_look_at_what_is_there_begins_anew_where_its_tuples_have_moved_to() {
    let mut network = network(2);
    for number in 0..12i64 {
        out(&mut network, tuple!["task", 99i64, number]);
    }
    let of_key = of_key(99);
    let look = |from| Request::Look { from, most: 5, template: Some(&of_key) };
    let first = events(network.call(1, &look(0)));
    assert_eq!(first.events.len(), 5);
    spread(&mut network);
    let (mut next, mut ages) = (first.next, std::collections::BTreeSet::new());
    while let Some(from) = next {
        let page = events(network.call(1, &look(from)));
        ages.extend(page.events.iter().map(|event| event.age));
        next = page.next;
    }
    assert_eq!(ages.len(), 12);
}

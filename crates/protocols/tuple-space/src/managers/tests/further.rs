//! Selects, replacements and collections, at managers that have what they are about and at others.

use super::network::Network;
use super::rules::{network, out, spread};
use crate::{
    Answer, Cursor, Operation, Page, PageSize, Request, Rows, Subject, Template, Wait, WaitingRequest,
    template, tuple,
};
use quintet_contract::{Random, Span};
use quintet_errors::Code;

fn select(templates: &[Template], wait: Wait) -> Request<'_> {
    Request::Select { takes: true, wait, lease: None, templates }
}

#[test]
fn a_select_that_is_asked_again_ends_when_it_would_have_ended() {
    let mut network = network(2);
    let templates = [template!["task", 99i64, ?i64]];
    let token = network.ask(1, &select(&templates, Wait::For(Span::from_millis(10))));
    network.settle(&mut Random::new(1, 1));
    network.turn_to(Span::from_millis(6));
    spread(&mut network);
    assert!(network.measured("quintet_router_moved") > 0);
    assert_eq!(network.take_answer(1, token), None);
    network.turn_to(Span::from_millis(4));
    network.settle(&mut Random::new(1, 1));
    let Some(Answer::Error(refusal)) = network.take_answer(1, token) else { panic!("it timed out") };
    assert_eq!(refusal.code, Code::TimedOut);
}

/// Some of these signatures are at the manager at which tasks are, as the seed is, and others are not.
#[test]
fn a_select_goes_after_the_signature_of_any_of_its_templates() {
    let beside = [template![?i8], template![?i16], template![?f32], template![?bool], template![?str]];
    for first in beside {
        let mut network = network(2);
        let waiting = network.ask(1, &select(&[first, template!["task", 99i64, ?i64]], Wait::Forever));
        network.settle(&mut Random::new(1, 1));
        spread(&mut network);
        let task = tuple!["task", 99i64, 7i64];
        out(&mut network, task.clone());
        network.settle(&mut Random::new(1, 1));
        assert_eq!(network.take_answer(1, waiting), Some(Answer::Selected(1, task, None)));
    }
}

#[test]
fn a_select_that_took_is_undone_where_it_took() {
    let mut network = network(1);
    for number in 0..6i64 {
        out(&mut network, tuple!["a", number]);
        out(&mut network, tuple![number]);
        for templates in [[template!["a", number]], [template![number]]] {
            let token = network.ask(0, &select(&templates, Wait::AtOnce));
            network.settle(&mut Random::new(1, 1));
            assert!(matches!(network.take_answer(0, token), Some(Answer::Selected(0, _, None))));
            network.send(0, token, &Request::Return);
            network.settle(&mut Random::new(1, 1));
            let count = Request::Count { template: &templates[0] };
            assert_eq!(network.call(0, &count), Some(Answer::Count(1)), "it is there again");
        }
    }
}

#[test]
fn a_replacement_takes_and_puts_wherever_that_is() {
    let mut network = network(1);
    out(&mut network, tuple!["counter", 1i64]);
    let (template, tuples) = (template!["counter", 1i64], [tuple!["counter", 2i64]]);
    let replace =
        Request::Replace { wait: Wait::AtOnce, template: &template, tuples: &tuples, expiries: &[] };
    assert_eq!(network.call(0, &replace), Some(Answer::Tuple(tuple!["counter", 1i64], None)));
    assert_eq!(network.call(0, &replace), Some(Answer::NoMatch));
    // What is put belongs to other managers as well: all of it is there at once, or nothing happens.
    let others = [tuple![1i8], tuple![1i16], tuple![1f32], tuple![1f64], tuple![true], tuple!["x"]];
    for (number, other) in (2i64..).zip(others) {
        let template = template!["counter", number];
        let tuples = [tuple!["counter", number + 1], other];
        let replace =
            Request::Replace { wait: Wait::AtOnce, template: &template, tuples: &tuples, expiries: &[] };
        assert_eq!(network.call(0, &replace), Some(Answer::Tuple(tuple!["counter", number], None)));
        assert_eq!(network.call(0, &replace), Some(Answer::NoMatch));
    }
    assert!(network.measured("quintet_router_asked_of_several") > 0, "some belong to other managers");
    let Some(Answer::State(state)) = network.call(0, &Request::Status) else { panic!("a state") };
    assert_eq!((state.tuples, state.waiters, state.hidden), (7, 0, 0));
}

/// Three signatures, which are at several managers.
fn alternatives() -> [Template; 3] {
    [template!["a", ?i64], template![?i64], template![?f64]]
}

#[test]
fn a_select_at_several_managers_takes_one_of_the_lowest_age_and_says_which() {
    let mut network = network(2);
    let templates = alternatives();
    assert_eq!(network.call(1, &select(&templates, Wait::AtOnce)), Some(Answer::NoMatch));
    assert!(network.measured("quintet_router_asked_of_several") > 0, "they are at several");
    let tuples = [tuple!["a", 1i64], tuple![1i64], tuple![1f64]];
    for (which, tuple) in tuples.into_iter().enumerate() {
        out(&mut network, tuple.clone());
        let selected = Answer::Selected(which, tuple.clone(), None);
        assert_eq!(network.call(1, &select(&templates, Wait::AtOnce)), Some(selected));
        // One who waits gets what comes, and counts as one.
        let waits = network.ask(1, &select(&templates, Wait::Forever));
        network.settle(&mut Random::new(1, 1));
        let Some(Answer::State(state)) = network.call(0, &Request::Status) else { panic!("a state") };
        assert_eq!((state.tuples, state.waiters), (0, 1));
        out(&mut network, tuple.clone());
        network.settle(&mut Random::new(1, 1));
        assert_eq!(network.take_answer(1, waits), Some(Answer::Selected(which, tuple, None)));
    }
    let Some(Answer::State(state)) = network.call(0, &Request::Status) else { panic!("a state") };
    assert_eq!((state.tuples, state.waiters), (0, 0), "nothing is left of them");
}

#[test]
fn a_select_at_several_managers_is_undone_cancelled_and_ended_by_its_time_or_its_client() {
    let mut network = network(2);
    let templates = alternatives();
    for tuple in [tuple!["a", 1i64], tuple![1i64], tuple![1f64]] {
        out(&mut network, tuple);
        let token = network.ask(1, &select(&templates, Wait::AtOnce));
        network.settle(&mut Random::new(1, 1));
        assert!(matches!(network.take_answer(1, token), Some(Answer::Selected(..))));
        network.send(1, token, &Request::Return);
        // Undone before it was answered: whichever manager took it has it back.
        let token = network.ask(1, &select(&templates, Wait::AtOnce));
        network.send(1, token, &Request::Cancel);
        network.send(1, token, &Request::Return);
        network.settle(&mut Random::new(1, 1));
        network.take_answer(1, token).expect("it is answered");
        assert!(matches!(network.call(1, &select(&templates, Wait::AtOnce)), Some(Answer::Selected(..))));
    }
    let code = |answer| if let Some(Answer::Error(refusal)) = answer { Some(refusal.code) } else { None };
    let cancelled = network.ask(1, &select(&templates, Wait::Forever));
    let late = network.ask(1, &select(&templates, Wait::For(Span::from_millis(5))));
    network.settle(&mut Random::new(1, 1));
    network.send(1, cancelled, &Request::Cancel);
    network.turn_to(Span::from_millis(5));
    network.settle(&mut Random::new(1, 1));
    assert_eq!(code(network.take_answer(1, cancelled)), Some(Code::Cancelled));
    assert_eq!(code(network.take_answer(1, late)), Some(Code::TimedOut));
    network.ask(1, &select(&templates, Wait::Forever));
    network.settle(&mut Random::new(1, 1));
    network.kill(1);
    network.settle(&mut Random::new(1, 1));
    let tuples = [tuple!["a", 1i64], tuple![1i64], tuple![1f64]];
    tuples.into_iter().for_each(|tuple| out(&mut network, tuple));
    let Some(Answer::State(state)) = network.call(0, &Request::Status) else { panic!("a state") };
    assert_eq!((state.tuples, state.waiters, state.hidden), (3, 0, 0));
    assert_eq!((0..3).map(|manager| network.waiting_at(manager)).sum::<u64>(), 0, "no part is left");
}

#[test]
fn a_replacement_at_several_managers_without_room_leaves_everything_as_it_was() {
    let space = crate::SpaceConfig { max_tuples: 2, ..crate::SpaceConfig::default() };
    let mut network = super::network::Network::new(3, 1, space);
    network.settle(&mut Random::new(1, 1));
    let templates = alternatives();
    let tuples = [tuple!["a", 1i64], tuple![1i64], tuple![1f64]];
    tuples.iter().chain(&tuples).for_each(|tuple| {
        let tuples = core::slice::from_ref(tuple);
        let put = Request::Out { deadline: Some(Span(0)), tuples, expiries: &[] };
        network.call(0, &put).expect("it is answered");
    });
    let before = network.call(0, &Request::Status);
    let refused = templates.iter().filter(|template| {
        let replace = Request::Replace { wait: Wait::AtOnce, template, tuples: &tuples, expiries: &[] };
        matches!(network.call(0, &replace), Some(Answer::Error(refusal)) if refusal.code == Code::SpaceFull)
    });
    assert!(refused.count() > 0, "one of them is there");
    assert_eq!(network.call(0, &Request::Status), before);
}

fn page<'a>(takes: bool, from: u64, below: Option<u64>, template: &'a Template) -> Request<'a> {
    Request::Collect { takes, from, below, most: 3, template }
}

fn collected(answer: Option<Answer>) -> crate::Collected {
    match answer {
        Some(Answer::Collected(page)) => page,
        other => panic!("it is no page: {other:?}"),
    }
}

/// The signature moves between two pages, and with the ages by which they go on. Ages are of one manager's remainder, odd ones among them.
#[test]
fn pages_go_on_where_the_signature_has_moved_to() {
    let mut network = network(2);
    for key in 0..8i64 {
        out(&mut network, tuple!["task", key, 0i64]);
    }
    let all = template!["task", ?i64, ?i64];
    let mut first = collected(network.call(1, &page(false, 0, None, &all)));
    let mut tuples = first.tuples.clone();
    spread(&mut network);
    out(&mut network, tuple!["task", 99i64, 0i64]);
    while let Some(next) = first.next {
        first = collected(network.call(1, &page(false, next, Some(first.below), &all)));
        tuples.append(&mut first.tuples);
    }
    let old: Vec<_> = (0..8i64).map(|key| tuple!["task", key, 0i64]).collect();
    assert_eq!(tuples, old, "what came later is not among them");
    assert!(network.measured("quintet_router_moved") > 0);
    assert_eq!(network.call(0, &Request::Count { template: &all }), Some(Answer::Count(17)));
}

#[test]
fn a_page_that_was_taken_is_undone_where_it_was_taken() {
    let mut network = network(1);
    for number in 0..6i64 {
        out(&mut network, tuple!["a", number]);
        out(&mut network, tuple![number]);
    }
    for template in [template!["a", ?i64], template![?i64]] {
        let token = network.ask(0, &page(true, 0, None, &template));
        network.settle(&mut Random::new(1, 1));
        assert_eq!(collected(network.take_answer(0, token)).tuples.len(), 3);
        network.send(0, token, &Request::Return);
        network.settle(&mut Random::new(1, 1));
        assert_eq!(network.call(0, &Request::Count { template: &template }), Some(Answer::Count(6)));
    }
}

/// Who waits, at all managers: what for.
fn listed(network: &mut Network) -> Vec<(Operation, String)> {
    let (mut listed, mut from) = (Vec::new(), Some(Cursor::default()));
    while let Some(at) = from {
        let list =
            Request::List { subject: Subject::Waiting, from: at, size: PageSize::default(), template: None };
        let Some(Answer::Page(Page { rows: Rows::Waiting(rows), next })) = network.call(0, &list) else {
            panic!("a page")
        };
        let wanted = |row: &WaitingRequest| {
            let fields = row.template.as_deref().unwrap_or_default().iter().map(ToString::to_string);
            (row.operation, fields.collect::<Vec<_>>().join(", "))
        };
        listed.extend(rows.iter().map(wanted));
        from = next;
    }
    listed
}

#[test]
fn what_waits_at_several_managers_is_listed_once_as_one_manager_lists_it() {
    let mut network = network(2);
    let named = ["\"a\", ?i64", "?i64", "?f64"];
    for (first, named) in named.into_iter().enumerate() {
        let mut templates = alternatives();
        templates.rotate_left(first);
        let token = network.ask(1, &select(&templates, Wait::Forever));
        network.settle(&mut Random::new(1, 1));
        assert_eq!(listed(&mut network), [(Operation::Take, named.to_owned())]);
        network.send(1, token, &Request::Cancel);
        network.settle(&mut Random::new(1, 1));
        network.take_answer(1, token).expect("it is cancelled");
        let tuples = [tuple!["a", 1i64], tuple![1i64], tuple![1f64]];
        let replace =
            Request::Replace { wait: Wait::Forever, template: &templates[0], tuples: &tuples, expiries: &[] };
        let token = network.ask(1, &replace);
        network.settle(&mut Random::new(1, 1));
        assert_eq!(listed(&mut network), [(Operation::Take, named.to_owned())]);
        network.send(1, token, &Request::Cancel);
        network.settle(&mut Random::new(1, 1));
        network.take_answer(1, token).expect("it is cancelled");
    }
    assert_eq!(listed(&mut network), []);
    assert!(network.measured("quintet_router_asked_of_several") > 5, "they are at several");
}

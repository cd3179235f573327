//! Selects, replacements and collections, at managers that have what they are about and at others.

use super::rules::{network, out, spread};
use crate::{Answer, Request, Template, Wait, template, tuple};
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

/// One of these signatures is at the manager at which tasks are, as the seed is.
#[test]
fn a_select_goes_after_the_signature_of_any_of_its_templates() {
    let mut network = network(2);
    let beside = [
        template![?i8],
        template![?i16],
        template![?f32],
        template![?f64],
        template![?bool],
        template![?str],
    ];
    let waiting = beside.into_iter().find_map(|first| {
        let token = network.ask(1, &select(&[first, template!["task", 99i64, ?i64]], Wait::Forever));
        network.settle(&mut Random::new(1, 1));
        network.take_answer(1, token).is_none().then_some(token)
    });
    let waiting = waiting.expect("three managers have six signatures and that of tasks");
    spread(&mut network);
    out(&mut network, tuple!["task", 99i64, 7i64]);
    network.settle(&mut Random::new(1, 1));
    match network.take_answer(1, waiting) {
        Some(Answer::Selected(1, tuple, None)) => assert_eq!(tuple, tuple!["task", 99i64, 7i64]),
        Some(Answer::Error(refusal)) => assert_eq!(refusal.code, Code::BadValue, "{refusal}"),
        other => panic!("it was left behind: {other:?}"),
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
fn a_replacement_is_one_managers() {
    let mut network = network(1);
    out(&mut network, tuple!["counter", 1i64]);
    let (template, tuples) = (template!["counter", 1i64], [tuple!["counter", 2i64]]);
    let replace =
        Request::Replace { wait: Wait::AtOnce, template: &template, tuples: &tuples, expiries: &[] };
    assert_eq!(network.call(0, &replace), Some(Answer::Tuple(tuple!["counter", 1i64], None)));
    assert_eq!(network.call(0, &replace), Some(Answer::NoMatch));
    let template = template!["counter", 2i64];
    let others = [tuple![1i8], tuple![1i16], tuple![1f32], tuple![1f64], tuple![true], tuple!["x"]];
    let refused = others.into_iter().filter(|other| {
        let tuples = [tuple!["counter", 3i64], other.clone()];
        let replace =
            Request::Replace { wait: Wait::AtOnce, template: &template, tuples: &tuples, expiries: &[] };
        match network.call(0, &replace) {
            Some(Answer::Error(refusal)) => refusal.code == Code::BadValue,
            _ => {
                out(&mut network, tuple!["counter", 2i64]);
                false
            }
        }
    });
    assert!(refused.count() > 0, "some belong to other managers");
    assert_eq!(network.call(0, &Request::Count { template: &template }), Some(Answer::Count(1)));
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

#[test]
fn one_of_several_managers_is_not_one_of_two_spaces() {
    let mut network = network(1);
    let rows = template!["a", ?i64];
    let into = Request::CollectInto { takes: true, into: crate::SpaceNumber(1), template: &rows };
    let Some(Answer::Error(refusal)) = network.call(0, &into) else { panic!("it is refused") };
    assert_eq!(refusal.code, Code::BadValue, "{refusal}");
    assert!(refusal.text.contains("several managers"), "{refusal}");
}

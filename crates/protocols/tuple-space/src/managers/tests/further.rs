//! Selects and replacements, at managers that have what they are about and at others.

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
    let replace = Request::Replace { wait: Wait::AtOnce, template: &template, tuples: &tuples };
    assert_eq!(network.call(0, &replace), Some(Answer::Tuple(tuple!["counter", 1i64], None)));
    assert_eq!(network.call(0, &replace), Some(Answer::NoMatch));
    let template = template!["counter", 2i64];
    let others = [tuple![1i8], tuple![1i16], tuple![1f32], tuple![1f64], tuple![true], tuple!["x"]];
    let refused = others.into_iter().filter(|other| {
        let tuples = [tuple!["counter", 3i64], other.clone()];
        let replace = Request::Replace { wait: Wait::AtOnce, template: &template, tuples: &tuples };
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

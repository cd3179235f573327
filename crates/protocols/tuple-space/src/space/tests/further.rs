//! Selects and replacements, one rule each.

use super::bench::{Bench, Sent, error, plain};
use crate::codec::FURTHER;
use crate::{
    Answer, CodeGrants, LeaseId, MAX_SELECT_TEMPLATES, Request, SpaceConfig, Template, Tuple, Wait, template,
    tuple,
};
use quintet_contract::{Identity, Incarnation, Input, LinkClass, LinkInfo, PeerChange, Span};
use quintet_errors::Code;

const NEVER: Wait = Wait::AtOnce;

fn bench() -> Bench {
    Bench::new(SpaceConfig::default())
}

fn select(bench: &mut Bench, from: u16, token: u64, wait: Wait, templates: &[Template]) -> Vec<Sent> {
    bench.ask(from, token, Request::Select { takes: true, wait, lease: None, templates })
}

fn replace(bench: &mut Bench, from: u16, wait: Wait, template: &Template, tuples: &[Tuple]) -> Vec<Sent> {
    bench.ask(from, 1, Request::Replace { wait, template, tuples, expiries: &[] })
}

#[test]
fn a_select_gets_the_oldest_of_all_and_says_which_template_it_matches() {
    let mut bench = bench();
    bench.put(&tuple!["b", 1i64]);
    bench.put(&tuple!["a", 2.5f64]);
    let templates = [template!["a", ?f64], template!["b", ?i64], template![?str, 1i64]];
    let first = select(&mut bench, 1, 1, NEVER, &templates);
    assert_eq!(first, [(1, 1, Answer::Selected(1, tuple!["b", 1i64], None))]);
    let second = select(&mut bench, 1, 2, NEVER, &templates);
    assert_eq!(second, [(1, 2, Answer::Selected(0, tuple!["a", 2.5f64], None))]);
    assert_eq!(select(&mut bench, 1, 3, NEVER, &templates), [(1, 3, Answer::NoMatch)]);
}

#[test]
fn a_select_waits_for_each_of_its_templates_and_for_none_once_one_has_come() {
    let mut bench = bench();
    let templates =
        [template!["stop"], template!["job", ?i64], template!["job", 7i64], template!["job", ?i64]];
    assert_eq!(select(&mut bench, 1, 1, Wait::Forever, &templates), []);
    assert_eq!(bench.status().waiters, 1, "it is one request");
    assert_eq!(
        bench.out(2, 1, &tuple!["job", 7i64]),
        [(1, 1, Answer::Selected(1, tuple!["job", 7i64], None)), (2, 1, Answer::Done)]
    );
    bench.put(&tuple!["stop"]);
    assert_eq!(bench.count(&template!["stop"]), 1, "it does not wait any more");
}

#[test]
fn a_select_that_was_undone_leaves_its_tuple_in_its_place() {
    let mut bench = bench();
    [1i64, 2].iter().for_each(|n| bench.put(&tuple!["row", *n]));
    let templates = [template!["none"], template!["row", ?i64]];
    select(&mut bench, 1, 5, NEVER, &templates);
    assert_eq!(bench.ask(1, 5, Request::Return), []);
    assert_eq!(bench.take(2, 1, NEVER, &template!["row", ?i64]), [(2, 1, plain(tuple!["row", 1i64]))]);
}

#[test]
fn a_select_leases_and_reads_and_says_in_vain_what_was_missing() {
    let mut bench = bench();
    let templates = [template!["none", ?i64], template!["row", ?i64]];
    let (takes, wait) = (true, Wait::For(Span::from_millis(1)));
    let lease = Some(Span::from_secs(1));
    assert_eq!(bench.ask(1, 1, Request::Select { takes, wait, lease, templates: &templates }), []);
    let (code, text) = error(&bench.pass(Span::from_millis(2)), 1, 1);
    assert_eq!(code, Code::TimedOut);
    assert!(
        text.contains(r#"nothing matched ("none", ?i64)"#)
            && text.contains(r#"or: nothing matched ("row", ?i64)"#),
        "{text}"
    );
    bench.put(&tuple!["row", 4i64]);
    let read = bench.ask(1, 2, Request::Select { takes: false, wait, lease: None, templates: &templates });
    assert_eq!(read, [(1, 2, Answer::Selected(1, tuple!["row", 4i64], None))]);
    let leased = bench.ask(1, 3, Request::Select { takes, wait, lease, templates: &templates });
    let [(1, 3, Answer::Selected(1, _, Some(attempt)))] = &leased[..] else { panic!("{leased:?}") };
    assert_eq!(bench.count(&templates[1]), 0);
    bench.ask(1, 4, Request::Release { lease: LeaseId(attempt.lease.0) });
    assert_eq!(bench.count(&templates[1]), 1);
}

#[test]
fn long_templates_and_tuples_arrive_as_they_are() {
    let mut bench = bench();
    let long = |n: u8| vec![n; 3000];
    bench.put(&tuple!["x", long(2), long(3)]);
    let templates = [template!["x", long(1), long(3)], template!["x", long(2), long(3)], template!["short"]];
    let puts = [tuple!["y", 1i64], tuple!["y", long(5), long(6)], tuple![long(7)]];
    let sent = replace(&mut bench, 1, NEVER, &templates[1], &puts);
    assert_eq!(sent, [(1, 1, plain(tuple!["x", long(2), long(3)]))]);
    let taken = bench.take(1, 2, NEVER, &template!["y", long(5), ?[u8]]);
    assert_eq!(taken, [(1, 2, plain(puts[1].clone()))]);
    let many: Vec<_> = (0..40).map(|n| template!["x".repeat(1000), n]).chain(templates.clone()).collect();
    let sent = select(&mut bench, 1, 3, NEVER, &many[20..]);
    assert_eq!(sent, [(1, 3, Answer::NoMatch)]);
    bench.put(&puts[2]);
    let heads: Vec<_> =
        (0..31).map(|n| template!["x".repeat(1000), vec![7u8; 900], "y".repeat(900), n]).collect();
    let heads = [heads, vec![template![long(7)]]].concat();
    let sent = select(&mut bench, 1, 4, NEVER, &heads);
    assert_eq!(sent, [(1, 4, Answer::Selected(31, puts[2].clone(), None))]);
}

#[test]
fn a_replacement_takes_the_oldest_and_wakes_who_waits_for_what_it_puts() {
    let mut bench = bench();
    let counter = template!["counter", ?i64];
    assert_eq!(
        replace(&mut bench, 1, NEVER, &counter, &[tuple!["counter", 1i64]]),
        [(1, 1, Answer::NoMatch)]
    );
    assert_eq!(bench.read(2, 1, Wait::Forever, &template!["counter", 5i64]), []);
    bench.put(&tuple!["counter", 4i64]);
    let wrong = replace(&mut bench, 1, NEVER, &template!["counter", 3i64], &[tuple!["counter", 5i64]]);
    assert_eq!(wrong, [(1, 1, Answer::NoMatch)], "it compares");
    let sent = replace(&mut bench, 1, NEVER, &template!["counter", 4i64], &[tuple!["counter", 5i64]]);
    assert_eq!(sent, [(1, 1, plain(tuple!["counter", 4i64])), (2, 1, plain(tuple!["counter", 5i64]))]);
    assert_eq!(bench.ask(1, 1, Request::Return), [], "it cannot be undone");
    assert_eq!(bench.count(&counter), 1);
}

/// Each takes what the one before it has put: as many in one turn as wait.
#[test]
fn any_number_of_replacements_that_wait_for_each_other_end_in_one_turn() {
    let mut bench = bench();
    bench.verifies = false;
    for n in 0..30_000i64 {
        let template = template!["step", n];
        let tuples = [tuple!["step", n + 1]];
        let request =
            Request::Replace { wait: Wait::Forever, template: &template, tuples: &tuples, expiries: &[] };
        assert_eq!(bench.ask(1, 10 + n.unsigned_abs(), request), []);
    }
    assert_eq!(bench.out(2, 1, &tuple!["step", 0i64]).len(), 30_001);
    assert_eq!(bench.count(&template!["step", 30_000i64]), 1);
}

#[test]
fn a_replacement_finds_room_as_a_result_does_or_is_refused_with_nothing_changed() {
    let limits = SpaceConfig { max_bytes: 2_000, max_tuples: 4, ..SpaceConfig::default() };
    let mut bench = Bench::new(limits);
    (0..4i64).for_each(|n| bench.put(&tuple!["task", n]));
    let task = template!["task", ?i64];
    let same = replace(&mut bench, 1, NEVER, &task, &[tuple!["done", 0i64]]);
    assert_eq!(same, [(1, 1, plain(tuple!["task", 0i64]))], "it takes the room of what it replaces");
    let three = [0i64, 1, 2].map(|n| tuple!["more", n]);
    let reserve = replace(&mut bench, 1, NEVER, &task, &three);
    assert_eq!(reserve, [(1, 1, plain(tuple!["task", 1i64]))], "an empty reserve takes any");
    let refused = error(&replace(&mut bench, 1, NEVER, &task, &three), 1, 1);
    assert_eq!(refused.0, Code::SpaceFull);
    assert!(refused.1.contains("which stays"), "{}", refused.1);
    assert_eq!(bench.count(&task), 2);
    let never = replace(&mut bench, 1, NEVER, &task, &[tuple![vec![0u8; 2_000]]]);
    assert_eq!(error(&never, 1, 1).0, Code::TooLarge);
}

#[test]
fn what_others_run_is_put_in_the_place_of_something_by_those_alone_who_may() {
    let mut bench = bench();
    let link = LinkInfo { identity: Some(Identity([2; 32])), ..LinkInfo::new(LinkClass::Network, 1 << 20) };
    let up = PeerChange::Up { incarnation: Incarnation(0), link };
    bench.give(Input::Peer(super::bench::sender(2), &up));
    let (template, code) = (template!["row"], [tuple!["quintet.task", 1i64]]);
    let waits = Request::Replace { wait: Wait::Forever, template: &template, tuples: &code, expiries: &[] };
    assert_eq!(bench.ask(2, 1, waits), []);
    let grants = CodeGrants { own_machine: true, identities: Default::default() };
    let sent = bench.ask(1, 1, Request::Grant { grants: &grants });
    let refused: Vec<_> = sent.into_iter().filter(|sent| sent.0 == 2).collect();
    assert_eq!(error(&refused, 2, 1).0, Code::NotAllowed, "who waits with it is refused as well");
    assert_eq!(error(&bench.ask(2, 2, waits), 2, 2).0, Code::NotAllowed);
    let (takes, wait) = (true, Wait::AtOnce);
    let templates = [template!["row"], template!["quintet.task", ?i64]];
    let leased = Request::Select { takes, wait, lease: Some(Span::from_secs(1)), templates: &templates };
    assert_eq!(error(&bench.ask(2, 3, leased), 2, 3).0, Code::NotAllowed);
    assert_eq!(select(&mut bench, 2, 4, wait, &templates), [(2, 4, Answer::NoMatch)]);
}

#[test]
fn requests_of_too_many_or_too_few_parts_and_unknown_operations_are_malformed() {
    let mut bench = bench();
    let settled = [0; 8];
    let mut bodies: Vec<Vec<u8>> = vec![[&settled[..], &[99]].concat(), settled.to_vec()];
    for (operation, count) in [(0u8, 1u32), (1, 0), (1, MAX_SELECT_TEMPLATES as u32 + 1), (2, u32::MAX)] {
        let front = if operation == 0 { 9 } else { 17 };
        bodies.push([&settled[..], &[operation], &vec![0; front], &count.to_le_bytes(), &[0; 9]].concat());
    }
    for body in bodies {
        assert_eq!(error(&bench.ask_raw(1, 1, FURTHER, &body), 1, 1).0, Code::Malformed, "{body:?}");
    }
}

#[test]
fn what_replaces_one_of_several_that_replaced_something_is_younger_than_all_of_them() {
    let mut bench = bench();
    let replaces = [tuple!["row", 2i64, "new"]];
    assert_eq!(replace(&mut bench, 1, Wait::Forever, &template!["row", 1i64, ?str], &replaces), []);
    bench.put(&tuple!["row", 0i64, "old"]);
    let rows = [tuple!["row", 1i64, "put"], tuple!["row", 2i64, "put"]];
    replace(&mut bench, 2, NEVER, &template!["row", 0i64, ?str], &rows);
    let take = Request::Take { wait: NEVER, lease: None, template: &template!["row", 2i64, ?str] };
    assert_eq!(
        bench.ask(2, 2, take),
        [(2, 2, plain(rows[1].clone()))],
        "it was there at the instant of the put"
    );
}

#[test]
fn what_replaces_one_of_several_that_were_put_is_younger_than_all_of_them() {
    let mut bench = bench();
    assert_eq!(
        replace(&mut bench, 1, Wait::Forever, &template!["row", 1i64, ?str], &[tuple!["row", 2i64, "new"]]),
        []
    );
    let rows = [tuple!["row", 1i64, "put"], tuple!["row", 2i64, "put"]];
    let sent = bench.ask(2, 1, Request::Out { deadline: None, tuples: &rows, expiries: &[] });
    assert_eq!(sent[0], (1, 1, Answer::Tuple(rows[0].clone(), None)));
    let take = Request::Take { wait: NEVER, lease: None, template: &template!["row", 2i64, ?str] };
    assert_eq!(
        bench.ask(2, 2, take),
        [(2, 2, plain(rows[1].clone()))],
        "it was there at the instant of the put"
    );
}

//! Leases, acknowledgements and dead letters.

use super::bench::{Bench, Sent, error, plain};
use crate::{Answer, Attempt, DEAD_LETTER, LeaseId, Request, SpaceConfig, Tuple, Wait, template, tuple};
use quintet_contract::{Input, Protocol, Span};
use quintet_errors::Code;

const TTL: Span = Span::from_secs(1);

fn bench() -> Bench {
    let mut bench = Bench::new(SpaceConfig { max_attempts: 2, ..SpaceConfig::default() });
    bench.put(&tuple!["task", 1i64]);
    bench.put(&tuple!["task", 2i64]);
    bench
}

/// The lease in the only answer.
fn attempt(sent: &[Sent]) -> Attempt {
    match sent {
        [(_, _, Answer::Tuple(_, Some(attempt)))] => *attempt,
        other => panic!("not a leased tuple: {other:?}"),
    }
}

fn ack(lease: LeaseId, tuples: &[Tuple]) -> Request<'_> {
    Request::Ack { lease, deadline: None, tuples, expiries: &[] }
}

#[test]
fn an_acknowledged_lease_is_exchanged_for_its_results() {
    let mut bench = bench();
    let wanted = template!["task", ?i64];
    let held = attempt(&bench.lease(1, 1, TTL, &wanted));
    assert_eq!(held.attempt, 1);
    bench.take(2, 1, Wait::Forever, &template!["result", ?f64]);
    let results = [tuple!["result", 0.5], tuple!["log", "done"]];
    assert_eq!(
        bench.ask(1, 2, ack(held.lease, &results)),
        [(2, 1, plain(results[0].clone())), (1, 2, Answer::Done)]
    );
    assert_eq!(bench.count(&wanted), 1);
    assert_eq!(error(&bench.ask(1, 3, ack(held.lease, &results)), 1, 3).0, Code::LeaseLost);
    assert_eq!(bench.pass(TTL), []);
    assert_eq!((bench.status().leases, bench.status().redone), (0, 0));
}

#[test]
fn a_released_tuple_returns_to_its_old_place_and_is_counted() {
    let mut bench = bench();
    let wanted = template!["task", ?i64];
    let held = attempt(&bench.lease(1, 1, TTL, &wanted));
    assert_eq!(bench.ask(1, 2, Request::Release { lease: held.lease }), [(1, 2, Answer::Done)]);
    let sent = bench.lease(1, 3, TTL, &wanted);
    assert_eq!(attempt(&sent).attempt, 2);
    assert_ne!(attempt(&sent).lease, held.lease);
    assert!(matches!(&sent[..], [(1, 3, Answer::Tuple(tuple, _))] if *tuple == tuple!["task", 1i64]));
    assert_eq!(error(&bench.ask(1, 4, Request::Release { lease: held.lease }), 1, 4).0, Code::LeaseLost);
}

#[test]
fn a_lease_that_is_not_renewed_ends() {
    let mut bench = bench();
    let wanted = template!["task", 1i64];
    let held = attempt(&bench.lease(1, 1, TTL, &wanted));
    bench.take(2, 1, Wait::Forever, &wanted);
    assert_eq!(bench.pass(Span(TTL.0 - 1)), []);
    assert_eq!(bench.ask(1, 0, Request::Renew), []);
    assert_eq!(bench.pass(Span(TTL.0 - 1)), []);
    assert_eq!(bench.pass(Span(1)), [(2, 1, plain(tuple!["task", 1i64]))]);
    assert_eq!(error(&bench.ask(1, 2, ack(held.lease, &[])), 1, 2).0, Code::LeaseLost);
}

#[test]
fn a_lease_lives_on_for_the_renewals_that_a_manager_could_not_read() {
    let mut bench = bench();
    let wanted = template!["task", ?i64];
    let held = attempt(&bench.lease(1, 1, TTL, &wanted));
    bench.lease(2, 1, TTL, &wanted);
    bench.take(3, 1, Wait::For(TTL), &wanted);
    bench.now = bench.now + TTL + Span::from_millis(600);
    let (code, _) = error(&bench.give(Input::Wake), 3, 1);
    assert_eq!(code, Code::TimedOut, "a request that waits has its deadline all the same");
    bench.ask(1, 0, Request::Renew);
    assert_eq!(bench.pass(Span::from_millis(599)), []);
    assert_eq!(bench.count(&wanted), 0);
    bench.pass(Span::from_millis(1));
    assert_eq!(bench.count(&wanted), 1, "the other was not renewed");
    assert_eq!(bench.ask(1, 2, ack(held.lease, &[])), [(1, 2, Answer::Done)]);
}

#[test]
fn a_lease_that_is_not_renewed_ends_however_late_the_manager_is() {
    let mut bench = bench();
    let wanted = template!["task", 1i64];
    bench.lease(1, 1, TTL, &wanted);
    bench.now = bench.now + TTL + Span::from_millis(1);
    bench.give(Input::Wake);
    assert_eq!(bench.count(&wanted), 1, "a millisecond is no delay");
    bench.lease(1, 2, TTL, &wanted);
    bench.now += Span::from_secs(3600);
    bench.give(Input::Wake);
    assert_eq!(bench.space.deadline(), Some(bench.now + TTL), "it lives once more, as if it began now");
    bench.now += Span::from_secs(3600);
    bench.give(Input::Wake);
    assert_eq!(bench.status().dead_letters, 1, "it failed for the second time");
}

#[test]
fn the_leases_of_a_dead_peer_return_at_once() {
    let mut bench = bench();
    let wanted = template!["task", ?i64];
    bench.lease(1, 1, TTL, &wanted);
    bench.lease(1, 2, Span(u64::MAX), &wanted);
    bench.read(2, 1, Wait::Forever, &wanted);
    assert_eq!(bench.down(1), [(2, 1, plain(tuple!["task", 1i64]))]);
    assert_eq!(bench.count(&wanted), 2);
    assert_eq!(bench.space.deadline(), None, "no lease is left to end");
}

#[test]
fn a_stranger_cannot_end_a_lease() {
    let mut bench = bench();
    let held = attempt(&bench.lease(1, 1, TTL, &template!["task", 1i64]));
    assert_eq!(error(&bench.ask(2, 1, ack(held.lease, &[])), 2, 1).0, Code::LeaseLost);
    assert_eq!(error(&bench.ask(2, 1, Request::Release { lease: held.lease }), 2, 1).0, Code::LeaseLost);
    assert_eq!(bench.ask(1, 2, ack(held.lease, &[])), [(1, 2, Answer::Done)]);
}

#[test]
fn a_tuple_that_failed_too_often_becomes_a_dead_letter() {
    let mut bench = bench();
    let wanted = template!["task", 1i64];
    let dead = template![DEAD_LETTER, ?str, ?i64, ?str, ?i64];
    bench.take(2, 1, Wait::Forever, &dead);
    bench.lease(1, 1, TTL, &wanted);
    bench.down(1);
    let held = attempt(&bench.lease(1, 2, TTL, &wanted));
    let sent = bench.ask(1, 3, Request::Release { lease: held.lease });
    let letter = tuple![DEAD_LETTER, "released by its holder", 2i64, "task", 1i64];
    assert_eq!(sent, [(2, 1, plain(letter)), (1, 3, Answer::Done)]);
    assert_eq!(bench.count(&wanted), 0);
    assert_eq!((bench.status().redone, bench.status().dead_letters), (2, 1));
}

#[test]
fn a_dead_letter_keeps_long_fields_and_stays_a_dead_letter() {
    let mut bench = Bench::new(SpaceConfig { max_attempts: 1, ..SpaceConfig::default() });
    let mut values: Vec<crate::Value> = vec![vec![1u8; 3000].into(), vec![2u8; 5000].into()];
    values.extend((2..61i64).map(crate::Value::from));
    bench.put(&Tuple::new(values.clone()).unwrap());
    let types = |values: &[crate::Value]| {
        crate::Template::new(values.iter().map(|v| v.value_type().into()).collect()).unwrap()
    };
    bench.lease(1, 1, TTL, &types(&values));
    bench.pass(TTL);
    let mut letter: Vec<crate::Value> =
        vec![DEAD_LETTER.into(), "the lease was not renewed in time".into(), 1i64.into()];
    letter.extend(values);
    for token in 2..4 {
        let sent = bench.lease(1, token, TTL, &types(&letter));
        assert!(matches!(&sent[..], [(_, _, Answer::Tuple(tuple, Some(_)))] if tuple.values() == letter));
        bench.pass(TTL);
    }
    assert_eq!(bench.status().dead_letters, 1);
}

#[test]
fn a_leased_tuple_reaches_a_waiter_with_its_lease() {
    let mut bench = Bench::new(SpaceConfig::default());
    let wanted = template![?i64];
    bench.ask(1, 1, Request::Take { wait: Wait::Forever, lease: Some(TTL), template: &wanted });
    let sent = bench.out(9, 1, &tuple![1i64]);
    assert_eq!(attempt(&sent[..1]).attempt, 1);
    bench.pass(TTL);
    assert_eq!(bench.count(&wanted), 1);
}

#[test]
fn who_waits_gets_the_oldest_of_all_that_a_lost_client_had() {
    for is_down in [true, false] {
        let mut bench = bench();
        // The younger tuple is under the older lease.
        bench.lease(1, 1, TTL, &template!["task", 2i64]);
        bench.lease(1, 2, TTL, &template!["task", 1i64]);
        assert_eq!(bench.take(2, 1, Wait::Forever, &template!["task", ?i64]), []);
        let sent = if is_down { bench.down(1) } else { bench.pass(TTL) };
        assert_eq!(sent, [(2, 1, plain(tuple!["task", 1i64]))]);
        assert_eq!(bench.count(&template!["task", 2i64]), 1);
    }
}

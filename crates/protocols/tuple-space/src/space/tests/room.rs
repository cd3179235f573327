//! The quota and those who wait for room.

use super::bench::{Bench, error, plain, sender};
use crate::{Answer, Attempt, LeaseId, Request, SpaceConfig, Tuple, Wait, template, tuple};
use bytes::Bytes;
use quintet_contract::{Effects, Input, OwnedFrame, Span, Token};
use quintet_errors::Code;

fn bench(max_tuples: u64) -> Bench {
    Bench::new(SpaceConfig { max_tuples, max_bytes: 400, ..SpaceConfig::default() })
}

fn waiting(tuples: &[Tuple]) -> Request<'_> {
    Request::Out { deadline: None, tuples }
}

fn leased(bench: &mut Bench, from: u16, token: u64) -> LeaseId {
    match bench.lease(from, token, Span::from_secs(1), &template![?i64]).as_slice() {
        [(_, _, Answer::Tuple(_, Some(Attempt { lease, .. })))] => *lease,
        other => panic!("no lease: {other:?}"),
    }
}

#[test]
fn an_out_waits_for_room_oldest_first() {
    let mut bench = bench(2);
    bench.put(&tuple![1i64]);
    assert_eq!(bench.ask(1, 1, waiting(&[tuple![2i64], tuple![3i64]])), []);
    assert_eq!(bench.ask(2, 1, waiting(&[tuple![4i64]])), [], "it would fit, but must not overtake");
    assert_eq!(bench.status().parked, 2);
    let wanted = template![?i64];
    assert_eq!(bench.take(3, 1, Wait::AtOnce, &wanted), [(3, 1, plain(tuple![1i64])), (1, 1, Answer::Done)]);
    assert_eq!(bench.take(3, 2, Wait::AtOnce, &wanted), [(3, 2, plain(tuple![2i64])), (2, 1, Answer::Done)]);
    assert_eq!(bench.count(&wanted), 2);
}

#[test]
fn an_out_gives_up_at_its_deadline_and_says_how_full_it_is() {
    let mut bench = bench(1);
    bench.put(&tuple![1i64]);
    let (code, text) = error(&bench.out(1, 1, &tuple![2i64]), 1, 1);
    assert_eq!(code, Code::SpaceFull);
    assert_eq!(text, "no room for 10 bytes now: it holds 10 of 400 bytes and 1 of 1 tuples");
    bench.ask(1, 2, Request::Out { deadline: Some(Span::from_millis(5)), tuples: &[tuple![2i64]] });
    let (code, text) = error(&bench.pass(Span::from_millis(5)), 1, 2);
    assert_eq!(code, Code::SpaceFull);
    assert_eq!(text, "no room for 10 bytes within 5.000 ms: it holds 10 of 400 bytes and 1 of 1 tuples");
}

#[test]
fn what_never_fits_is_refused_at_once() {
    let mut bench = bench(2);
    assert_eq!(error(&bench.ask(1, 1, waiting(&[tuple![vec![0u8; 500]]])), 1, 1).0, Code::TooLarge);
    let three = [tuple![1i64], tuple![2i64], tuple![3i64]];
    assert_eq!(error(&bench.ask(1, 2, waiting(&three)), 1, 2).0, Code::TooLarge);
    assert_eq!(bench.status(), crate::State::default());
}

#[test]
fn a_plain_take_gives_its_room_back_at_once_and_takes_it_again_when_undone() {
    let mut bench = bench(1);
    bench.put(&tuple![1i64]);
    bench.take(1, 1, Wait::AtOnce, &template![?i64]);
    bench.put(&tuple![2i64]);
    bench.ask(1, 1, Request::Return);
    assert_eq!(bench.status().tuples, 2, "it was there before");
    assert_eq!(error(&bench.out(9, 1, &tuple![3i64]), 9, 1).0, Code::SpaceFull);
}

#[test]
fn a_leased_tuple_keeps_its_room_and_leaves_it_to_its_results() {
    let mut bench = bench(1);
    bench.put(&tuple![1i64]);
    let lease = leased(&mut bench, 1, 1);
    assert_eq!(bench.ask(2, 1, waiting(&[tuple![5i64]])), []);
    let results = [tuple![2i64]];
    assert_eq!(
        bench.ask(1, 2, Request::Ack { lease, deadline: None, tuples: &results }),
        [(1, 2, Answer::Done)]
    );
    let lease = leased(&mut bench, 1, 3);
    assert_eq!(
        bench.ask(1, 4, Request::Ack { lease, deadline: None, tuples: &[] }),
        [(1, 4, Answer::Done), (2, 1, Answer::Done)]
    );
}

#[test]
fn an_acknowledgement_waits_for_room_before_any_out_and_keeps_its_lease() {
    let mut bench = bench(2);
    bench.put(&tuple![1i64]);
    bench.put(&tuple!["x"]);
    let lease = leased(&mut bench, 1, 1);
    assert_eq!(bench.ask(2, 1, waiting(&[tuple!["y"]])), []);
    let results = [tuple![2i64], tuple![3i64]];
    assert_eq!(bench.ask(1, 2, Request::Ack { lease, deadline: None, tuples: &results }), []);
    assert_eq!(bench.pass(Span::from_secs(5)), [], "the work is done: the lease does not end meanwhile");
    assert_eq!(error(&bench.ask(1, 3, Request::Release { lease }), 1, 3).0, Code::LeaseLost);
    assert_eq!(
        bench.take(3, 1, Wait::AtOnce, &template!["x"]),
        [(3, 1, plain(tuple!["x"])), (1, 2, Answer::Done)]
    );
    assert_eq!(bench.status().parked, 1);
    assert_eq!(bench.take(3, 2, Wait::AtOnce, &template![2i64]).len(), 2);
    assert_eq!(bench.status().parked, 0);
}

#[test]
fn no_out_takes_the_room_for_which_an_acknowledgement_waits() {
    let mut bench = bench(4);
    bench.put(&tuple![1i64]);
    for _ in 0..3 {
        bench.put(&tuple!["x"]);
    }
    let lease = leased(&mut bench, 1, 1);
    let results = [tuple![2i64], tuple![3i64], tuple![4i64]];
    assert_eq!(bench.ask(1, 2, Request::Ack { lease, deadline: None, tuples: &results }), []);
    assert_eq!(bench.take(3, 1, Wait::AtOnce, &template!["x"]).len(), 1);
    assert_eq!(bench.ask(2, 1, waiting(&[tuple!["x"]])), [], "it would fit, but must not overtake");
    assert_eq!(
        bench.take(3, 2, Wait::AtOnce, &template!["x"]),
        [(3, 2, plain(tuple!["x"])), (1, 2, Answer::Done)]
    );
    assert_eq!(bench.take(3, 3, Wait::AtOnce, &template!["x"]).last(), Some(&(2, 1, Answer::Done)));
}

#[test]
fn a_cancelled_acknowledgement_leaves_the_lease_alive() {
    let mut bench = bench(2);
    bench.put(&tuple![1i64]);
    bench.put(&tuple!["x"]);
    let lease = leased(&mut bench, 1, 1);
    let results = [tuple![2i64], tuple![3i64]];
    assert_eq!(bench.ask(1, 2, Request::Ack { lease, deadline: None, tuples: &results }), []);
    assert_eq!(error(&bench.ask(1, 2, Request::Cancel), 1, 2).0, Code::Cancelled);
    assert_eq!(bench.pass(Span::from_secs(1)), []);
    assert_eq!(bench.count(&template![?i64]), 1, "it ends as if renewed by the cancel");
}

#[test]
fn the_parked_requests_of_a_dead_peer_are_dropped() {
    let mut bench = bench(1);
    bench.put(&tuple![1i64]);
    bench.ask(1, 1, waiting(&[tuple![2i64]]));
    bench.ask(2, 1, waiting(&[tuple![3i64]]));
    bench.down(1);
    let sent = bench.take(3, 1, Wait::AtOnce, &template![?i64]);
    assert_eq!(sent, [(3, 1, plain(tuple![1i64])), (2, 1, Answer::Done)]);
}

#[test]
fn a_parked_out_wakes_a_waiter_and_makes_room_for_the_next() {
    let mut bench = bench(1);
    bench.put(&tuple!["full"]);
    for from in 1..=3u16 {
        bench.ask(from, 1, waiting(&[tuple![i64::from(from)]]));
    }
    bench.take(7, 1, Wait::Forever, &template![?i64]);
    bench.take(7, 2, Wait::Forever, &template![?i64]);
    let sent = bench.take(8, 1, Wait::AtOnce, &template!["full"]);
    let expected = [
        (8, 1, plain(tuple!["full"])),
        (7, 1, plain(tuple![1i64])),
        (1, 1, Answer::Done),
        (7, 2, plain(tuple![2i64])),
        (2, 1, Answer::Done),
        (3, 1, Answer::Done),
    ];
    assert_eq!(sent, expected);
}

/// A request to put these, as a link gives it.
fn frame(tuples: &[Tuple]) -> OwnedFrame {
    let mut requests = Effects::default();
    waiting(tuples).send(&mut requests, sender(0), Token(1), Token(0)).expect("it fits");
    requests.frames().pop().expect("one frame").1
}

#[test]
fn a_tuple_keeps_at_most_twice_its_own_memory() {
    let mut bench = Bench::new(SpaceConfig::default());
    let frame = frame(&[tuple!["small", vec![1u8; 2_000]], tuple!["large", vec![2u8; 10_000]]]);
    bench.give(Input::Frame(sender(1), frame.borrow()));
    assert!(!frame.bulk.is_unique(), "the larger part is shared");
    assert_eq!(bench.take(2, 1, Wait::AtOnce, &template!["large", ?Bytes]).len(), 1);
    bench.ask_settled(2, 2, 2, Request::Status);
    assert!(frame.bulk.is_unique(), "the smaller part was copied");
    let left = plain(tuple!["small", vec![1u8; 2_000]]);
    assert_eq!(bench.take(2, 3, Wait::AtOnce, &template!["small", ?Bytes]), [(2, 3, left)]);
}

#[test]
fn what_waits_for_room_is_counted_as_it_is_kept() {
    let config = SpaceConfig { max_tuples: 8, max_waiting_bytes: 80, ..SpaceConfig::default() };
    let mut bench = Bench::new(config);
    bench.put(&tuple![0u8]);
    bench.put(&tuple![1u8]);
    let tuples = vec![tuple![2u8]; 8];
    assert_eq!(
        bench.ask(1, 1, waiting(&tuples[..7])),
        [],
        "77 bytes: three of a tuple, eight for its lengths"
    );
    bench.ask(1, 1, Request::Cancel);
    assert_eq!(error(&bench.ask(1, 2, waiting(&tuples)), 1, 2).0, Code::TooLarge);
}

#[test]
fn what_waits_for_room_keeps_no_encoding_twice() {
    let mut bench = Bench::new(SpaceConfig { max_tuples: 100, ..SpaceConfig::default() });
    bench.put(&tuple!["full"]);
    let mut tuples = vec![tuple![vec![1u8; 1_000]]; 99];
    tuples.push(tuple![vec![1u8; 2_000]]);
    let frame = frame(&tuples);
    assert!(frame.bulk.len() > 99_000, "the heads are too long for a body");
    bench.give(Input::Frame(sender(1), frame.borrow()));
    assert!(frame.bulk.is_unique());
    assert_eq!(bench.take(2, 1, Wait::AtOnce, &template!["full"]).last(), Some(&(1, 1, Answer::Done)));
    assert_eq!(bench.count(&template![?Bytes]), 100);
}

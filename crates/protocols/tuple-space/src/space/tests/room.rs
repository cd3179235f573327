//! The quota and those who wait for room.

use super::bench::{Bench, error, plain, sender};
use crate::space::room::TUPLE_BYTES;
use crate::{Answer, Attempt, LeaseId, Request, SpaceConfig, Tuple, Wait, template, tuple};
use bytes::Bytes;
use quintet_contract::{Effects, Input, OwnedFrame, Span, Token};
use quintet_errors::Code;

fn bench(max_tuples: u64) -> Bench {
    Bench::new(SpaceConfig { max_tuples, max_bytes: 4_000, ..SpaceConfig::default() })
}

/// The same, with two results in its reserve, which takes no more until they are gone: `(true)` twice.
fn bench_with_full_reserve(max_tuples: u64) -> Bench {
    let mut bench = bench(max_tuples);
    (0..max_tuples).for_each(|_| bench.put(&tuple![0i64]));
    let lease = leased(&mut bench, 50, 1);
    let results = [tuple![true], tuple![true]];
    let done = bench.ask(50, 2, Request::Ack { lease, deadline: None, tuples: &results, expiries: &[] });
    assert_eq!(done, [(50, 2, Answer::Done)]);
    for token in 3..max_tuples + 2 {
        assert_eq!(bench.ask_settled(50, token, token, take(&template![?i64])).len(), 1);
    }
    bench
}

fn take(template: &crate::Template) -> Request<'_> {
    Request::Take { wait: Wait::AtOnce, lease: None, template }
}

fn waiting(tuples: &[Tuple]) -> Request<'_> {
    Request::Out { deadline: None, tuples, expiries: &[] }
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
    assert_eq!(text, "no room for 170 bytes now: it holds 170 of 4000 bytes and 1 of 1 tuples");
    bench.ask(
        1,
        2,
        Request::Out { deadline: Some(Span::from_millis(5)), tuples: &[tuple![2i64]], expiries: &[] },
    );
    let (code, text) = error(&bench.pass(Span::from_millis(5)), 1, 2);
    assert_eq!(code, Code::SpaceFull);
    assert_eq!(text, "no room for 170 bytes within 5.000 ms: it holds 170 of 4000 bytes and 1 of 1 tuples");
}

#[test]
fn room_that_a_deadline_makes_goes_to_who_waits_for_it_before_who_asks_then() {
    let mut bench = bench(2);
    bench.put(&tuple![1i64]);
    let two = [tuple![2i64], tuple![3i64]];
    let deadline = Some(Span::from_micros(10));
    assert_eq!(bench.ask(1, 1, Request::Out { deadline, tuples: &two, expiries: &[] }), []);
    assert_eq!(bench.ask(2, 1, waiting(&[tuple![4i64]])), [], "it waits behind the other");
    bench.now += Span::from_micros(10);
    let sent = bench.ask(3, 1, Request::Count { template: &template![?i64] });
    assert_eq!(error(&sent[..1], 1, 1).0, Code::SpaceFull);
    assert_eq!(sent[1..], [(2, 1, Answer::Done), (3, 1, Answer::Count(2))]);
}

#[test]
fn what_never_fits_is_refused_at_once() {
    let mut bench = bench(2);
    assert_eq!(error(&bench.ask(1, 1, waiting(&[tuple![vec![0u8; 4_000]]])), 1, 1).0, Code::TooLarge);
    let three = [tuple![1i64], tuple![2i64], tuple![3i64]];
    let (code, text) = error(&bench.ask(1, 2, waiting(&three)), 1, 2);
    assert_eq!(code, Code::TooLarge);
    assert_eq!(text, "3 tuples of 510 bytes never fit a space of 2 tuples and 4000 bytes");
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
        bench.ask(1, 2, Request::Ack { lease, deadline: None, tuples: &results, expiries: &[] }),
        [(1, 2, Answer::Done)]
    );
    let lease = leased(&mut bench, 1, 3);
    assert_eq!(
        bench.ask(1, 4, Request::Ack { lease, deadline: None, tuples: &[], expiries: &[] }),
        [(1, 4, Answer::Done), (2, 1, Answer::Done)]
    );
}

#[test]
fn an_acknowledgement_waits_for_room_before_any_out_and_keeps_its_lease() {
    let mut bench = bench_with_full_reserve(2);
    bench.put(&tuple![1i64]);
    bench.put(&tuple!["x"]);
    let lease = leased(&mut bench, 1, 1);
    assert_eq!(bench.ask(2, 1, waiting(&[tuple!["y"]])), []);
    let results = [tuple![2i64], tuple![3i64]];
    assert_eq!(bench.ask(1, 2, Request::Ack { lease, deadline: None, tuples: &results, expiries: &[] }), []);
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
    let mut bench = bench_with_full_reserve(4);
    bench.put(&tuple![1i64]);
    for _ in 0..3 {
        bench.put(&tuple!["x"]);
    }
    let lease = leased(&mut bench, 1, 1);
    let results = [tuple![2i64], tuple![3i64], tuple![4i64]];
    assert_eq!(bench.ask(1, 2, Request::Ack { lease, deadline: None, tuples: &results, expiries: &[] }), []);
    assert_eq!(bench.take(3, 1, Wait::AtOnce, &template!["x"]).len(), 1);
    assert_eq!(bench.ask(2, 1, waiting(&[tuple!["x"]])), [], "it would fit, but must not overtake");
    assert_eq!(
        bench.take(3, 2, Wait::AtOnce, &template!["x"]),
        [(3, 2, plain(tuple!["x"])), (1, 2, Answer::Done)]
    );
    assert_eq!(bench.take(3, 3, Wait::AtOnce, &template!["x"]).last(), Some(&(2, 1, Answer::Done)));
}

/// A space full of tasks that are smaller than their results, as a job leaves it whose tasks were all put at once.
fn full_of_tasks(tasks: u64) -> Bench {
    let task = tuple!["task", vec![0u8; 10]];
    let (head, _) = task.encode().expect("it is small");
    let max_bytes = tasks * (head.len() as u64 + TUPLE_BYTES);
    let mut bench = Bench::new(SpaceConfig { max_bytes, ..SpaceConfig::default() });
    (0..tasks).for_each(|_| bench.put(&task));
    assert_eq!(error(&bench.out(9, 1, &tuple![1u8]), 9, 1).0, Code::SpaceFull);
    bench
}

fn task_lease(bench: &mut Bench, from: u16, token: u64) -> Option<LeaseId> {
    match bench.lease(from, token, Span(u64::MAX), &template!["task", ?Bytes]).as_slice() {
        [(_, _, Answer::Tuple(_, Some(Attempt { lease, .. })))] => Some(*lease),
        _ => None,
    }
}

#[test]
fn results_larger_than_their_tasks_find_room_in_a_space_full_of_tasks() {
    let mut bench = full_of_tasks(130);
    let limit = bench.status().bytes;
    let result = [tuple!["result", vec![0u8; 60]]];
    // Twenty workers, whose acknowledgements outrun who takes the results.
    let (mut collected, mut waiting, mut tokens, mut rounds) = (0, std::collections::BTreeSet::new(), 1, 0);
    while collected < 130 {
        rounds += 1;
        assert!(rounds < 1_000, "nothing moves: {collected} results, {} workers wait", waiting.len());
        for worker in 1..=20u16 {
            if waiting.contains(&worker) {
                continue;
            }
            tokens += 2;
            let Some(lease) = task_lease(&mut bench, worker, tokens) else { continue };
            let ack = Request::Ack { lease, deadline: None, tuples: &result, expiries: &[] };
            if bench.ask(worker, tokens + 1, ack).is_empty() {
                waiting.insert(worker);
            }
        }
        assert!(bench.status().bytes <= limit + limit / 4, "the bound is a quarter more");
        tokens += 1;
        let sent = bench.ask_settled(99, tokens, tokens, take(&template!["result", ?Bytes]));
        collected += u32::from(matches!(sent.first(), Some((99, _, Answer::Tuple(..)))));
        sent.iter().filter(|sent| sent.2 == Answer::Done).for_each(|sent| assert!(waiting.remove(&sent.0)));
    }
    assert!(waiting.is_empty());
    assert_eq!(bench.ask_settled(9, 9, u64::MAX, Request::Status).len(), 1);
}

#[test]
fn an_acknowledgement_is_served_whatever_its_size_and_whoever_comes_after_it() {
    let mut bench = full_of_tasks(20);
    let limit = bench.status().bytes as usize;
    let leases: Vec<_> = (0..10).map(|n| task_lease(&mut bench, 1, n).expect("there are tasks")).collect();
    let ack = |bench: &mut Bench, n: usize, result: &Tuple| {
        let tuples = core::slice::from_ref(result);
        bench.ask(1, 100 + n as u64, Request::Ack { lease: leases[n], deadline: None, tuples, expiries: &[] })
    };
    let (small, large) = (tuple!["small", vec![0u8; 250]], tuple!["large", vec![0u8; limit - 500]]);
    assert_eq!(ack(&mut bench, 0, &small), [(1, 100, Answer::Done)], "room of its own");
    bench.put(&tuple!["task", vec![0u8; 10]]);
    assert_eq!(ack(&mut bench, 1, &large), [], "it waits until the reserve is empty");
    assert_eq!(
        ack(&mut bench, 2, &small),
        [],
        "there would be room in the reserve, but not before the other"
    );
    assert_eq!(
        ack(&mut bench, 3, &tuple!["less"]),
        [(1, 103, Answer::Done)],
        "it needs no more than it leaves"
    );
    let found = bench.take(2, 1, Wait::AtOnce, &template!["small", ?Bytes]);
    assert_eq!(found, [(2, 1, plain(small.clone())), (1, 101, Answer::Done)]);
    let found = bench.take(2, 2, Wait::AtOnce, &template!["large", ?Bytes]);
    assert_eq!(found, [(2, 2, plain(large)), (1, 102, Answer::Done)]);
}

#[test]
fn a_result_in_the_reserve_leaves_its_room_to_its_own_result() {
    let mut bench = bench_with_full_reserve(2);
    (0..2).for_each(|_| bench.put(&tuple![0i64]));
    let lease = match bench.lease(1, 1, Span::from_secs(1), &template![true]).as_slice() {
        [(_, _, Answer::Tuple(_, Some(Attempt { lease, .. })))] => *lease,
        other => panic!("no lease: {other:?}"),
    };
    let ack = Request::Ack { lease, deadline: None, tuples: &[tuple![false]], expiries: &[] };
    assert_eq!(bench.ask(1, 2, ack), [(1, 2, Answer::Done)]);
    assert_eq!(bench.take(1, 3, Wait::AtOnce, &template![true]).len(), 1);
    bench.ask(1, 3, Request::Return);
    assert_eq!(bench.status().tuples, 4, "it returned to the reserve");
}

#[test]
fn a_cancelled_acknowledgement_leaves_the_lease_alive() {
    let mut bench = bench_with_full_reserve(2);
    bench.put(&tuple![1i64]);
    bench.put(&tuple!["x"]);
    let lease = leased(&mut bench, 1, 1);
    let results = [tuple![2i64], tuple![3i64]];
    assert_eq!(bench.ask(1, 2, Request::Ack { lease, deadline: None, tuples: &results, expiries: &[] }), []);
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
    let config = SpaceConfig { max_tuples: 8, max_waiting_bytes: 256 + 80, ..SpaceConfig::default() };
    let mut bench = Bench::new(config);
    bench.put(&tuple![0u8]);
    bench.put(&tuple![1u8]);
    let tuples = vec![tuple![2u8]; 8];
    assert_eq!(
        bench.ask(1, 1, waiting(&tuples[..7])),
        [],
        "77 bytes: three of a tuple, eight for its lengths; and 256"
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

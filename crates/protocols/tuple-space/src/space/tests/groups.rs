//! Groups: what they take, read and put happens at one instant or not at all.

use super::bench::{Bench, Sent, error, plain};
use crate::codec::COMMIT;
use crate::{
    Answer, LeaseId, MAX_GROUP_USES, Request, SpaceConfig, Template, Tuple, Wait, Witness, template, tuple,
};
use quintet_contract::{Input, Protocol, Span};
use quintet_errors::Code;

const TTL: Span = Span::from_secs(1);

fn hold(bench: &mut Bench, from: u16, token: u64, limit: Option<Span>, template: &Template) -> LeaseId {
    let sent = bench.ask(from, token, Request::Hold { wait: Wait::AtOnce, lease: TTL, limit, template });
    match &sent[..] {
        [(_, _, Answer::Tuple(_, Some(attempt)))] => attempt.lease,
        other => panic!("not held: {other:?}"),
    }
}

fn witness(bench: &mut Bench, from: u16, token: u64, template: &Template) -> (Tuple, Witness) {
    match bench.ask(from, token, Request::Witness { wait: Wait::AtOnce, template }).pop() {
        Some((_, _, Answer::Witnessed(tuple, witness))) => (tuple, witness),
        other => panic!("not a witness: {other:?}"),
    }
}

fn commit(
    bench: &mut Bench,
    from: u16,
    token: u64,
    (leases, witnesses): (&[LeaseId], &[Witness]),
    tuples: &[Tuple],
) -> Vec<Sent> {
    bench.ask(
        from,
        token,
        Request::Commit { leases, witnesses, deadline: Some(Span::ZERO), tuples, expiries: &[] },
    )
}

fn bench() -> Bench {
    let mut bench = Bench::new(SpaceConfig { max_attempts: 1, ..SpaceConfig::default() });
    bench.put(&tuple!["account", "a", 5i64]);
    bench.put(&tuple!["account", "b", 7i64]);
    bench
}

fn account(name: &str) -> Template {
    template!["account", name, ?i64]
}

#[test]
fn a_group_happens_at_one_instant() {
    let mut bench = bench();
    let held = ["a", "b"].map(|name| hold(&mut bench, 1, 1 + u64::from(name == "b"), None, &account(name)));
    assert_eq!(bench.count(&template!["account", ?str, ?i64]), 0, "held tuples are hidden");
    assert_eq!(bench.read(2, 1, Wait::Forever, &account("b")), []);
    let after = [tuple!["account", "a", 4i64], tuple!["account", "b", 8i64]];
    assert_eq!(
        commit(&mut bench, 1, 3, (&held, &[]), &after),
        [(2, 1, plain(after[1].clone())), (1, 3, Answer::Done)]
    );
    assert_eq!(bench.count(&account("a")), 1);
    let state = bench.status();
    assert_eq!((state.tuples, state.leases, state.hidden, state.redone), (2, 0, 0, 0));
}

#[test]
fn what_a_group_took_returns_to_its_old_place_and_no_attempt_is_counted() {
    let mut bench = bench();
    let any = template!["account", ?str, ?i64];
    let end = |bench: &mut Bench, how: u8, held: &[LeaseId]| match how {
        0 => bench.ask(1, 9, Request::Abort { leases: held }),
        1 => bench.pass(TTL),
        _ => bench.down(1),
    };
    for how in 0..3 {
        let held: Vec<_> = (1..3).map(|token| hold(&mut bench, 1, token, None, &any)).collect();
        end(&mut bench, how, &held);
        let first = bench.read(2, 1, Wait::AtOnce, &any);
        assert_eq!(first, [(2, 1, plain(tuple!["account", "a", 5i64]))], "{how}");
        let state = bench.status();
        assert_eq!((state.tuples, state.redone, state.dead_letters), (2, 0, 0), "{how}");
    }
}

#[test]
fn a_group_ends_by_its_limit_however_often_it_is_renewed() {
    let mut bench = bench();
    let held = hold(&mut bench, 1, 1, Some(Span(TTL.0 * 2)), &account("a"));
    for _ in 0..7 {
        assert_eq!(bench.pass(Span(TTL.0 / 4)), []);
        bench.ask(1, 0, Request::Renew);
    }
    assert_eq!(bench.count(&account("a")), 0);
    bench.pass(Span(TTL.0 / 4));
    assert_eq!(bench.count(&account("a")), 1);
    let sent = commit(&mut bench, 1, 2, (&[held], &[]), &[tuple!["late"]]);
    assert_eq!(error(&sent, 1, 2).0, Code::LeaseLost);
    assert_eq!(bench.count(&template!["late"]), 0);
}

#[test]
fn a_group_of_which_one_lease_is_lost_does_not_happen() {
    let mut bench = bench();
    let short = hold(&mut bench, 1, 1, Some(Span::from_millis(1)), &account("a"));
    let held = hold(&mut bench, 1, 2, None, &account("b"));
    bench.pass(Span::from_millis(2));
    let sent = commit(&mut bench, 1, 3, (&[short, held], &[]), &[tuple!["x"]]);
    assert_eq!(error(&sent, 1, 3).0, Code::LeaseLost);
    assert_eq!((bench.count(&template!["x"]), bench.count(&account("b"))), (0, 0));
    assert_eq!(bench.ask(1, 4, Request::Abort { leases: &[short, held] }), [(1, 4, Answer::Done)]);
    assert_eq!(bench.count(&account("b")), 1);
}

#[test]
fn what_was_read_has_to_be_there_at_the_end() {
    let mut bench = bench();
    let (tuple, read) = witness(&mut bench, 1, 1, &account("a"));
    assert_eq!(tuple, tuple!["account", "a", 5i64]);
    assert_eq!(bench.count(&account("a")), 1, "it stays for others");
    assert_eq!(commit(&mut bench, 1, 2, (&[], &[read]), &[tuple!["x"]]), [(1, 2, Answer::Done)]);
    bench.take(2, 1, Wait::AtOnce, &account("a"));
    let refused = |bench: &mut Bench| {
        let sent = commit(bench, 1, 3, (&[], &[read]), &[tuple!["x"]]);
        assert_eq!(error(&sent, 1, 3).0, Code::Conflict);
        assert_eq!(bench.count(&template!["x"]), 1);
    };
    refused(&mut bench);
    // One that takes its place is another.
    bench.down(2);
    bench.put(&tuple!["account", "a", 5i64]);
    refused(&mut bench);
}

#[test]
fn what_a_group_has_read_and_then_taken_is_there() {
    let mut bench = bench();
    let (_, read) = witness(&mut bench, 1, 1, &account("a"));
    let held = hold(&mut bench, 1, 2, None, &account("a"));
    let sent = commit(&mut bench, 2, 1, (&[], &[read]), &[]);
    assert_eq!(error(&sent, 2, 1).0, Code::Conflict, "in another's hands");
    assert_eq!(commit(&mut bench, 1, 3, (&[held], &[read]), &[]), [(1, 3, Answer::Done)]);
    assert_eq!(bench.status().tuples, 1);
}

#[test]
fn who_waits_is_given_the_oldest_of_what_an_aborted_group_gives_back() {
    let mut bench = bench();
    let held = ["b", "a"].map(|name| hold(&mut bench, 1, 1 + u64::from(name == "a"), None, &account(name)));
    assert_eq!(bench.read(2, 1, Wait::Forever, &template!["account", ?str, ?i64]), []);
    let aborted = bench.ask(1, 3, Request::Abort { leases: &held });
    assert_eq!(aborted, [(2, 1, plain(tuple!["account", "a", 5i64])), (1, 3, Answer::Done)]);
}

#[test]
fn what_replaces_a_tuple_of_an_aborted_group_is_younger_than_the_rest_that_comes_back() {
    let mut bench = bench();
    let held = ["a", "b"].map(|name| hold(&mut bench, 1, 1 + u64::from(name == "b"), None, &account(name)));
    let tuples = [tuple!["account", "c", 9i64]];
    let replace =
        Request::Replace { wait: Wait::Forever, template: &account("a"), tuples: &tuples, expiries: &[] };
    assert_eq!(bench.ask(2, 1, replace), []);
    assert_eq!(bench.take(3, 1, Wait::Forever, &template!["account", ?str, ?i64]), []);
    let aborted = bench.ask(1, 3, Request::Abort { leases: &held });
    let [first, second] = [tuple!["account", "a", 5i64], tuple!["account", "b", 7i64]].map(plain);
    assert_eq!(aborted, [(2, 1, first), (3, 1, second), (1, 3, Answer::Done)]);
    assert_eq!(bench.count(&account("c")), 1);
}

#[test]
fn nobody_ends_the_group_of_another_and_no_lease_is_ended_as_a_group() {
    let mut bench = bench();
    let held = hold(&mut bench, 1, 1, None, &account("a"));
    assert_eq!(error(&commit(&mut bench, 2, 1, (&[held], &[]), &[]), 2, 1).0, Code::LeaseLost);
    assert_eq!(bench.ask(2, 2, Request::Abort { leases: &[held] }), [(2, 2, Answer::Done)]);
    assert_eq!(bench.status().leases, 1);
    let sent = bench.lease(3, 1, TTL, &account("b"));
    let [(3, 1, Answer::Tuple(_, Some(attempt)))] = &sent[..] else { panic!("{sent:?}") };
    let leases = [attempt.lease];
    assert_eq!(error(&commit(&mut bench, 3, 2, (&leases, &[]), &[]), 3, 2).0, Code::LeaseLost);
}

#[test]
fn a_group_waits_for_room_and_is_refused_if_what_it_read_goes_meanwhile() {
    let mut bench = Bench::new(SpaceConfig { max_tuples: 4, ..SpaceConfig::default() });
    (0..4).for_each(|n: i64| bench.put(&tuple!["n", n]));
    let (_, read) = witness(&mut bench, 1, 1, &template!["n", 1i64]);
    let tuples = [tuple!["x", 1i64], tuple!["x", 2i64]];
    for (sender, token, witnesses) in [(1, 2, &[read][..]), (2, 1, &[])] {
        let group =
            Request::Commit { leases: &[], witnesses, deadline: None, tuples: &tuples, expiries: &[] };
        assert_eq!(bench.ask(sender, token, group), []);
    }
    bench.take(3, 1, Wait::AtOnce, &template!["n", 1i64]);
    let sent = bench.take(3, 2, Wait::AtOnce, &template!["n", 2i64]);
    assert_eq!(sent[0], (3, 2, plain(tuple!["n", 2i64])));
    assert_eq!(error(&sent[1..2], 1, 2).0, Code::Conflict);
    assert_eq!(sent[2..], [(2, 1, Answer::Done)]);
}

#[test]
fn a_group_that_is_called_off_while_it_waits_keeps_what_it_took() {
    let mut bench = Bench::new(SpaceConfig { max_tuples: 3, ..SpaceConfig::default() });
    (0..3).for_each(|n: i64| bench.put(&tuple!["n", n]));
    let x = [tuple!["x"], tuple!["x"], tuple!["x"], tuple!["x"]];
    let end = |bench: &mut Bench, token, held, number| {
        let (leases, tuples): (&[_], _) = (&[held], &x[..number]);
        bench.ask(1, token, Request::Commit { leases, witnesses: &[], deadline: None, tuples, expiries: &[] })
    };
    let held = hold(&mut bench, 1, 1, None, &template!["n", 0i64]);
    assert_eq!(end(&mut bench, 2, held, 2), [(1, 2, Answer::Done)], "the empty reserve takes any");
    let held = hold(&mut bench, 1, 3, None, &template!["n", 1i64]);
    assert_eq!(error(&end(&mut bench, 4, held, 4), 1, 4).0, Code::TooLarge);
    assert_eq!(end(&mut bench, 5, held, 3), [], "the reserve is full");
    assert_eq!(error(&commit(&mut bench, 1, 6, (&[held], &[]), &[]), 1, 6).0, Code::LeaseLost);
    assert_eq!(error(&bench.ask(1, 5, Request::Cancel), 1, 5).0, Code::Cancelled);
    assert_eq!(commit(&mut bench, 1, 7, (&[held], &[]), &[]), [(1, 7, Answer::Done)]);
    assert_eq!(bench.count(&template!["x"]), 2);
}

#[test]
fn ends_of_groups_that_break_the_layout_are_refused() {
    let body = |is_commit: u8, leases: &[u64], claimed: u32| {
        let mut body = 0u64.to_le_bytes().to_vec();
        body.push(is_commit);
        body.extend(claimed.to_le_bytes());
        leases.iter().for_each(|lease| body.extend(lease.to_le_bytes()));
        body.extend(0u32.to_le_bytes());
        body.extend(u64::MAX.to_le_bytes());
        body.extend(0u32.to_le_bytes());
        body
    };
    let mut bench = Bench::new(SpaceConfig::default());
    let mut ask = |body: &[u8]| bench.ask_raw(1, 1, COMMIT, body);
    assert_eq!(ask(&body(0, &[1, 2], 2)), [(1, 1, Answer::Done)], "aborting what is not held does nothing");
    assert_eq!(error(&ask(&body(1, &[1, 2], 2)), 1, 1).0, Code::LeaseLost);
    let too_many = u32::try_from(MAX_GROUP_USES).expect("a thousand") + 1;
    for bad in
        [body(2, &[], 0), body(1, &[2, 1], 2), body(1, &[1, 1], 2), body(1, &[0], 1), body(1, &[], too_many)]
    {
        assert_eq!(error(&ask(&bad), 1, 1).0, Code::Malformed, "{bad:?}");
    }
    let good = body(1, &[1], 1);
    for length in 0..good.len() {
        assert_eq!(error(&ask(&good[..length]), 1, 1).0, Code::Malformed, "{length} bytes");
    }
    let anywhere = [Witness { age: 1, place: u64::MAX }, Witness { age: 0, place: 0 }];
    for witness in anywhere {
        let sent = commit(&mut bench, 1, 2, (&[], &[witness]), &[]);
        assert_eq!(error(&sent, 1, 2).0, Code::Conflict, "{witness:?}");
    }
}

#[test]
fn many_tuples_of_a_group_go_in_one_request() {
    let mut bench = Bench::new(SpaceConfig::default());
    let tuples: Vec<_> = (0..3_000i64).map(|n| tuple!["a long name for a short tuple", n]).collect();
    let put = Request::Out { deadline: None, tuples: &tuples[..MAX_GROUP_USES], expiries: &[] };
    assert_eq!(bench.ask(1, 1, put), [(1, 1, Answer::Done)]);
    let wanted = template![?str, ?i64];
    let held: Vec<_> =
        (0..MAX_GROUP_USES as u64).map(|n| hold(&mut bench, 1, 2 + n, None, &wanted)).collect();
    assert_eq!(commit(&mut bench, 1, 5_000, (&held, &[]), &tuples), [(1, 5_000, Answer::Done)]);
    assert_eq!(bench.count(&wanted), 3_000);
    assert!(bench.give(Input::Wake).is_empty() && bench.space.deadline().is_none());
}

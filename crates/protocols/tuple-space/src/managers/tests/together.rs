//! What several managers do at one instant, each rule seen by a client.

use super::network::Network;
use super::rules::{network, out};
use crate::{Answer, LeaseId, Request, SpaceConfig, Template, Tuple, Wait, Witness, template, tuple};
use quintet_contract::{Random, Span};
use quintet_errors::Code;

const LEASE: Span = Span::from_secs(9);

/// A tuple of each of so many signatures: several managers have them, as the seed is.
fn of_all(number: i64) -> [Tuple; 4] {
    [tuple![number], tuple![number as f64], tuple!["x", number], tuple![number as f64, "x"]]
}

fn templates() -> [Template; 4] {
    [template![?i64], template![?f64], template!["x", ?i64], template![?f64, "x"]]
}

fn put(tuples: &[Tuple]) -> Request<'_> {
    Request::Out { deadline: None, tuples, expiries: &[] }
}

fn counts(network: &mut Network) -> Vec<u64> {
    let mut count = |template| match network.call(0, &Request::Count { template }) {
        Some(Answer::Count(count)) => count,
        other => panic!("{other:?}"),
    };
    templates().iter().map(&mut count).collect()
}

/// A client has one of each of them, for a group.
fn hold(network: &mut Network, client: usize) -> Vec<LeaseId> {
    let mut held = |template: &Template| {
        let hold = Request::Hold { wait: Wait::AtOnce, lease: LEASE, limit: None, template };
        match network.call(client, &hold) {
            Some(Answer::Tuple(_, Some(held))) => held.lease,
            other => panic!("{other:?}"),
        }
    };
    let mut leases: Vec<_> = templates().iter().map(&mut held).collect();
    leases.sort_unstable();
    leases
}

fn witness(network: &mut Network, client: usize, template: &Template) -> Witness {
    match network.call(client, &Request::Witness { wait: Wait::AtOnce, template }) {
        Some(Answer::Witnessed(_, witness)) => witness,
        other => panic!("{other:?}"),
    }
}

fn commit<'a>(leases: &'a [LeaseId], witnesses: &'a [Witness], tuples: &'a [Tuple]) -> Request<'a> {
    Request::Commit { leases, witnesses, deadline: None, tuples, expiries: &[] }
}

fn code(answer: Option<Answer>) -> Code {
    match answer {
        Some(Answer::Error(refusal)) => refusal.code,
        other => panic!("it fails: {other:?}"),
    }
}

#[test]
fn what_belongs_to_several_managers_is_put_taken_and_read_at_once() {
    let mut network = network(2);
    assert_eq!(network.call(0, &put(&of_all(1))), Some(Answer::Done));
    assert_eq!(network.measured("quintet_manager_commits"), 1, "they belong to several");
    out(&mut network, tuple!["price", 3i64, 4i64]);
    let leases = hold(&mut network, 1);
    let read = [witness(&mut network, 1, &template!["price", ?i64, ?i64])];
    assert_eq!(network.call(1, &commit(&leases, &read, &of_all(2)[..2])), Some(Answer::Done));
    assert_eq!(counts(&mut network), [1, 1, 0, 0]);
    // Results of one lease, at several managers.
    let task = template!["price", ?i64, ?i64];
    let take = Request::Take { wait: Wait::AtOnce, lease: Some(LEASE), template: &task };
    let Some(Answer::Tuple(_, Some(held))) = network.call(1, &take) else { panic!("it is there") };
    let results = of_all(3);
    let acknowledge = Request::Ack { lease: held.lease, deadline: None, tuples: &results, expiries: &[] };
    assert_eq!(network.call(1, &acknowledge), Some(Answer::Done));
    assert_eq!(counts(&mut network), [2, 2, 1, 1]);
    let Some(Answer::State(state)) = network.call(0, &Request::Status) else { panic!("a state") };
    assert_eq!((state.tuples, state.leases, state.hidden), (6, 0, 0));
}

#[test]
fn a_group_whose_reads_are_gone_at_one_manager_has_happened_at_none() {
    for gone in 0..3 {
        let mut network = network(2);
        network.call(0, &put(&of_all(1)));
        let leases = hold(&mut network, 1);
        network.call(0, &put(&of_all(2)));
        let read: Vec<_> = templates().iter().map(|template| witness(&mut network, 1, template)).collect();
        let template = &templates()[gone];
        let take = Request::Take { wait: Wait::AtOnce, lease: None, template };
        assert!(matches!(network.call(0, &take), Some(Answer::Tuple(..))));
        assert_eq!(code(network.call(1, &commit(&leases, &read, &of_all(3)))), Code::Conflict);
        // What it had is its own as before.
        assert_eq!(network.call(1, &Request::Abort { leases: &leases }), Some(Answer::Done));
        let mut left = [2; 4];
        left[gone] = 1;
        assert_eq!(counts(&mut network), left);
    }
}

#[test]
fn what_a_group_has_read_and_expires_is_a_conflict_and_of_the_rest_nothing_happens() {
    let mut network = network(1);
    let (life, tuples) = (Span::from_millis(5), [tuple![1i64]]);
    network.call(0, &Request::Out { deadline: None, tuples: &tuples, expiries: &[Some(life)] });
    let read = [witness(&mut network, 0, &template![1i64])];
    network.turn_to(life);
    let (puts, none) = (of_all(2), [0; 4]);
    assert_eq!(code(network.call(0, &commit(&[], &read, &puts))), Code::Conflict);
    assert_eq!(counts(&mut network), none);
}

#[test]
fn a_lease_that_is_lost_at_one_manager_leaves_the_others() {
    let mut network = network(1);
    network.call(0, &put(&of_all(1)));
    let leases = hold(&mut network, 0);
    assert_eq!(network.call(0, &Request::Release { lease: leases[2] }), Some(Answer::Done));
    assert_eq!(code(network.call(0, &commit(&leases, &[], &of_all(2)))), Code::LeaseLost);
    assert_eq!(network.call(0, &Request::Abort { leases: &leases }), Some(Answer::Done));
    assert_eq!(counts(&mut network), [1; 4]);
}

/// Four tuples and no more at each manager.
fn small() -> Network {
    let mut network = Network::new(3, 3, SpaceConfig { max_tuples: 4, ..SpaceConfig::default() });
    network.settle(&mut Random::new(1, 1));
    network
}

#[test]
fn without_room_at_one_manager_nothing_is_put_anywhere_until_there_is() {
    let mut network = small();
    for _ in 0..4 {
        out(&mut network, tuple![1i64]);
    }
    let tuples = of_all(2);
    let at_once = Request::Out { deadline: Some(Span(0)), tuples: &tuples, expiries: &[] };
    assert_eq!(code(network.call(1, &at_once)), Code::SpaceFull);
    let for_a_while = Request::Out { deadline: Some(Span::from_millis(5)), tuples: &tuples, expiries: &[] };
    let waits = network.ask(1, &for_a_while);
    network.settle(&mut Random::new(1, 1));
    network.turn_to(Span::from_millis(5));
    network.settle(&mut Random::new(1, 1));
    assert_eq!(code(network.take_answer(1, waits)), Code::SpaceFull);
    let given_up = network.ask(1, &put(&tuples));
    network.settle(&mut Random::new(1, 1));
    network.send(1, given_up, &Request::Cancel);
    network.settle(&mut Random::new(1, 1));
    assert_eq!(code(network.take_answer(1, given_up)), Code::Cancelled);
    assert_eq!(counts(&mut network), [4, 0, 0, 0]);
    // Two of different clients wait for the same, each with room at other managers, and the first one's later requests pass it.
    let waiting = [1, 2].map(|client| network.ask(client, &put(&tuples)));
    network.settle(&mut Random::new(1, 1));
    let one = template![1i64];
    let take = Request::Take { wait: Wait::AtOnce, lease: None, template: &one };
    for _ in 0..4 {
        assert!(matches!(network.call(1, &take), Some(Answer::Tuple(..))));
    }
    network.settle(&mut Random::new(1, 1));
    for (client, token) in [1, 2].into_iter().zip(waiting) {
        assert_eq!(network.take_answer(client, token), Some(Answer::Done));
    }
    assert_eq!(counts(&mut network), [2; 4]);
}

#[test]
fn many_that_meet_at_the_same_managers_in_any_order_all_end() {
    for seed in 0..50 {
        let mut network = network(3);
        let (mut random, all) = (Random::new(seed, 61), of_all(1));
        let pairs = [[0, 1], [1, 2], [2, 0], [3, 0], [1, 3]];
        let pairs = pairs.map(|[one, other]: [usize; 2]| [all[one].clone(), all[other].clone()]);
        let asked: Vec<_> =
            (0..15).map(|number| (number % 3, network.ask(number % 3, &put(&pairs[number % 5])))).collect();
        network.settle(&mut random);
        for (client, token) in asked {
            assert_eq!(network.take_answer(client, token), Some(Answer::Done), "seed {seed}");
        }
        assert_eq!(counts(&mut network).iter().sum::<u64>(), 30);
    }
}

/// However far its request has come.
#[test]
fn a_client_that_dies_has_done_all_of_it_or_nothing() {
    let (mut whole, mut none) = (0, 0);
    for steps in 0..24 {
        let mut network = network(2);
        network.call(0, &put(&of_all(1)));
        let leases = hold(&mut network, 1);
        network.ask(1, &commit(&leases, &[], &of_all(7)[..2]));
        let mut random = Random::new(steps, 61);
        for _ in 0..steps {
            network.step(&mut random);
        }
        network.kill(1);
        network.settle(&mut random);
        let take = |network: &mut Network, template| {
            network.call(0, &Request::Take { wait: Wait::AtOnce, lease: None, template })
        };
        let left: Vec<_> = templates().iter().map(|template| take(&mut network, template)).collect();
        let is = |tuple: Tuple| Some(Answer::Tuple(tuple, None));
        let (old, new) = (of_all(1).map(is), of_all(7).map(is));
        if left == old {
            none += 1;
        } else {
            let nothing = || Some(Answer::NoMatch);
            assert_eq!(left, [new[0].clone(), new[1].clone(), nothing(), nothing()], "after {steps} steps");
            whole += 1;
        }
        let Some(Answer::State(state)) = network.call(0, &Request::Status) else { panic!("a state") };
        assert_eq!((state.tuples, state.leases, state.hidden, state.parked), (0, 0, 0, 0));
    }
    assert!(whole > 0 && none > 0, "{whole} had happened, {none} had not");
}

/// However far it has come: who asked is answered, by whoever is left.
#[test]
fn a_manager_that_is_gone_in_the_midst_ends_the_space_for_all() {
    for (steps, gone) in (0..16).flat_map(|steps| (0..3).map(move |gone| (steps, gone))) {
        let mut network = network(2);
        network.call(0, &put(&of_all(1)));
        let leases = hold(&mut network, 1);
        let asked = network.ask(1, &commit(&leases, &[], &of_all(7)));
        let mut random = Random::new(steps, 61);
        for _ in 0..steps {
            network.step(&mut random);
        }
        network.lose_manager(1, gone);
        network.settle(&mut random);
        assert!(network.take_answer(1, asked).is_some(), "{steps} steps, then {gone}");
        let answer = network.call(0, &Request::Status);
        assert!(matches!(answer, Some(Answer::Error(_))), "{answer:?}");
    }
}

//! Keys that much is asked about, and the managers that they move to.

use super::network::{Network, PERIOD, is_manager};
use super::rules::{network, out, spread};
use crate::codec::MAX_MOVED_KEYS;
use crate::{Answer, Request, Wait, template, tuple};
use quintet_contract::{Random, Span};

fn moved(network: &Network) -> u64 {
    network.measured("quintet_manager_keys_moved")
}

fn read(network: &mut Network, key: i64) {
    let template = template!["task", key, ?i64];
    let found = network.call(0, &Request::Read { wait: Wait::AtOnce, template: &template });
    assert!(matches!(found, Some(Answer::Tuple(..))), "{found:?}");
}

/// Keys that are at the manager that has most of the first sixteen.
fn neighbours(network: &mut Network) -> Vec<i64> {
    let home = |key: &i64| network.manager_of(&tuple!["task", *key, 0i64], 1);
    let homes: Vec<usize> = (0..16).map(|key| home(&key)).collect();
    let most = (0..3).max_by_key(|manager| homes.iter().filter(|home| *home == manager).count());
    (0..16).filter(|key| Some(homes[usize::try_from(*key).expect("a few")]) == most).collect()
}

#[test]
fn a_key_that_most_is_asked_about_moves_once_and_stays() {
    let mut network = network(2);
    spread(&mut network);
    (8..16i64).for_each(|key| out(&mut network, tuple!["task", key, 0i64]));
    let keys = neighbours(&mut network);
    let waiting = template!["task", keys[0], 7i64];
    let waiting = network.ask(1, &Request::Take { wait: Wait::Forever, lease: None, template: &waiting });
    let mut moves = Vec::new();
    for _ in 0..40 {
        for round in 0..8 {
            read(&mut network, if round % 2 == 0 { keys[0] } else { keys[1 + round % (keys.len() - 1)] });
        }
        network.turn_to(PERIOD);
        network.settle(&mut Random::new(1, 1));
        moves.push(moved(&network));
    }
    // Others of its neighbours may go to who still has nothing to do.
    let all_moves = moves[39];
    assert!((1..=3).contains(&all_moves) && moves[12] == all_moves, "to and fro: {moves:?}");
    let Some(Answer::State(state)) = network.call(1, &Request::Status) else { panic!("a state") };
    assert_eq!(state.moved_keys, all_moves);
    out(&mut network, tuple!["task", keys[0], 7i64]);
    network.settle(&mut Random::new(1, 1));
    let found = network.take_answer(1, waiting);
    assert_eq!(
        found,
        Some(Answer::Tuple(tuple!["task", keys[0], 7i64], None)),
        "who waited is not forgotten"
    );
    let all = Request::Take { wait: Wait::AtOnce, lease: None, template: &template!["task", ?i64, ?i64] };
    for _ in 0..16 {
        assert!(matches!(network.call(1, &all), Some(Answer::Tuple(..))), "gathered, from everywhere");
    }
    assert_eq!(network.call(1, &all), Some(Answer::NoMatch));
}

/// The result of a lease goes from the manager that has the lease to another, which has handed the key on when it comes there.
#[test]
fn a_result_that_goes_on_from_a_second_manager_is_acknowledged_when_the_third_has_it() {
    let mut network = network(2);
    spread(&mut network);
    let key_at = |network: &mut Network, manager| {
        (0..64i64).find(|key| network.manager_of(&tuple!["task", *key, 0i64], 1) == manager).expect("one")
    };
    let (task, result) = (key_at(&mut network, 2), key_at(&mut network, 1));
    out(&mut network, tuple!["task", task, 0i64]);
    let of_task = template!["task", task, ?i64];
    let lease = Some(Span::from_secs(9));
    let held = network.call(0, &Request::Take { wait: Wait::AtOnce, lease, template: &of_task });
    let Some(Answer::Tuple(_, Some(held))) = held else { panic!("a lease, and not {held:?}") };
    let tuples = [tuple!["task", result, 9i64]];
    let acknowledge = Request::Ack { lease: held.lease, deadline: None, tuples: &tuples, expiries: &[] };
    let acknowledged = network.ask(0, &acknowledge);
    network.deliver_where(|from, to| !(is_manager(from) && is_manager(to)));
    // It is on its way to the second one, which hands the key on to the first, of which nobody has told that it has anything to do, before it comes there.
    network.heat(1, &tuples[0], 1);
    for (from, to) in [(0, 1), (2, 1), (0, 2), (2, 0), (1, 2), (1, 0), (2, 1)] {
        network.deliver_between(from, to);
    }
    assert_eq!(moved(&network), 1);
    // All have heard that it has moved, and the result is on its way from there.
    network.deliver_but_last(1, 0);
    assert_eq!(network.take_answer(0, acknowledged), None, "nobody finds it so far");
    let found = template!["task", result, 9i64];
    let take = Request::Take { wait: Wait::AtOnce, lease: None, template: &found };
    let early = network.ask(1, &take);
    network.deliver_but_last(1, 0);
    assert_eq!(network.take_answer(1, early), Some(Answer::NoMatch));
    network.settle(&mut Random::new(1, 1));
    assert_eq!(network.take_answer(0, acknowledged), Some(Answer::Done));
    assert!(matches!(network.call(1, &take), Some(Answer::Tuple(..))), "from then on everybody does");
}

#[test]
fn a_key_that_is_alone_at_its_manager_and_one_that_is_asked_for_little_stay() {
    let mut network = network(1);
    spread(&mut network);
    for _ in 0..40 {
        (0..8).for_each(|_| read(&mut network, 0));
        network.turn_to(PERIOD);
    }
    for _ in 0..40 {
        read(&mut network, 1);
        network.turn_to(PERIOD);
    }
    assert_eq!(moved(&network), 0);
}

#[test]
fn as_many_keys_are_elsewhere_as_may_be_and_the_coldest_goes_home_for_another() {
    let mut network = network(1);
    spread(&mut network);
    let most = i64::try_from(MAX_MOVED_KEYS).expect("a few");
    for key in 0..most + 20 {
        // Nobody has told that the second one has anything to do.
        let manager = network.manager_of(&tuple!["task", key, 0i64], 1);
        network.turn_to(Span(2 * PERIOD.0));
        network.heat(manager, &tuple!["task", key, 0i64], 1);
        network.settle(&mut Random::new(1, 1));
    }
    let Some(Answer::State(state)) = network.call(0, &Request::Status) else { panic!("a state") };
    assert!(moved(&network) > MAX_MOVED_KEYS as u64, "{} moves", moved(&network));
    assert!(
        (MAX_MOVED_KEYS as u64 - 1..=MAX_MOVED_KEYS as u64).contains(&state.moved_keys),
        "{} keys are elsewhere",
        state.moved_keys
    );
    (0..8).for_each(|key| read(&mut network, key));
}

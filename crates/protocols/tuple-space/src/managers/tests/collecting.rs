//! Collections into another space, where the space without a name has several managers: each rule seen by a client.

use super::network::Network;
use super::rules::{network, spread};
use crate::{
    Answer, DEAD_LETTER, Field, MAX_CARRIED_BYTES, Request, SpaceConfig, SpaceNumber, SpaceSettings,
    Template, Tuple, Value, Wait, template, tuple,
};
use quintet_contract::{Random, Span};
use quintet_errors::Code;

const UNNAMED: SpaceNumber = SpaceNumber::UNNAMED;

/// Signatures of which each manager has one, as the seed is; so many of each.
fn queues() -> [(Template, Vec<Tuple>); 4] {
    let numbers = 0..5i64;
    [
        (template![?i64], numbers.clone().map(|n| tuple![n]).collect()),
        (template![?f64], numbers.clone().map(|n| tuple![n as f64]).collect()),
        (template!["x", ?i64], numbers.clone().map(|n| tuple!["x", n]).collect()),
        (template![?f64, "x"], numbers.map(|n| tuple![n as f64, "x"]).collect()),
    ]
}

fn put(tuples: &[Tuple]) -> Request<'_> {
    Request::Out { deadline: None, tuples, expiries: &[] }
}

fn collect_into(takes: bool, into: SpaceNumber, template: &Template) -> Request<'_> {
    Request::CollectInto { takes, into, template }
}

fn plain_take(template: &Template) -> Request<'_> {
    Request::Take { wait: Wait::AtOnce, lease: None, template }
}

/// All that a space has of a template, the oldest first.
fn all_in(network: &mut Network, space: SpaceNumber, template: &Template) -> Vec<Tuple> {
    let asked = Request::Collect { takes: false, from: 0, below: None, most: u32::MAX, template };
    match network.call_in(0, space, &asked) {
        Some(Answer::Collected(page)) if page.next.is_none() => page.tuples,
        other => panic!("{other:?}"),
    }
}

fn code(answer: Option<Answer>) -> Code {
    match answer {
        Some(Answer::Error(refusal)) => refusal.code,
        other => panic!("it fails: {other:?}"),
    }
}

/// A network with a named space.
fn with_named(clients: usize, settings: SpaceSettings) -> (Network, SpaceNumber) {
    let mut network = network(clients);
    let named = network.create("named", settings);
    (network, named)
}

fn of_tuples(max_tuples: u64) -> SpaceSettings {
    SpaceSettings { max_tuples, ..SpaceSettings::default() }
}

#[test]
fn whichever_manager_has_them_all_that_match_are_moved_or_copied_in_their_order() {
    let (mut network, named) = with_named(2, of_tuples(0));
    for (template, tuples) in queues() {
        network.call(0, &put(&tuples));
        assert_eq!(network.call(1, &collect_into(false, named, &template)), Some(Answer::Count(5)));
        assert_eq!(all_in(&mut network, UNNAMED, &template), tuples);
        assert_eq!(all_in(&mut network, named, &template), tuples);
        assert_eq!(network.call(1, &collect_into(true, named, &template)), Some(Answer::Count(5)));
        assert_eq!(all_in(&mut network, UNNAMED, &template), []);
        let twice = [tuples.clone(), tuples].concat();
        assert_eq!(all_in(&mut network, named, &template), twice);
        // And back.
        let back = collect_into(true, UNNAMED, &template);
        assert_eq!(network.call_in(1, named, &back), Some(Answer::Count(10)));
        assert_eq!(network.call_in(1, named, &back), Some(Answer::Count(0)));
        assert_eq!(all_in(&mut network, UNNAMED, &template), twice);
        assert_eq!(all_in(&mut network, named, &template), []);
        assert_eq!(network.call(1, &collect_into(true, named, &template![?bool])), Some(Answer::Count(0)));
    }
    assert!(network.measured("quintet_manager_commits") >= 6, "most of them belong to others");
    let Some(Answer::State(state)) = network.call(0, &Request::Status) else { panic!("a state") };
    assert_eq!((state.tuples, state.leases, state.hidden), (40, 0, 0));
}

#[test]
fn out_of_a_named_space_each_goes_to_whom_it_belongs_and_together_they_come_back() {
    let (mut network, named) = with_named(2, of_tuples(0));
    spread(&mut network);
    let wanted = template!["task", ?i64, ?i64];
    let more: Vec<_> = (0..20i64).map(|key| tuple!["task", key, 1i64]).collect();
    network.call_in(0, named, &put(&more));
    let commits = network.measured("quintet_manager_commits");
    assert_eq!(network.call_in(1, named, &collect_into(false, UNNAMED, &wanted)), Some(Answer::Count(20)));
    assert_eq!(network.measured("quintet_manager_commits"), commits + 1);
    assert_eq!(network.call(1, &Request::Count { template: &wanted }), Some(Answer::Count(28)));
    for key in 0..20i64 {
        let of_key = template!["task", key, 1i64];
        let both = [Some(Answer::Tuple(more[key as usize].clone(), None)), Some(Answer::NoMatch)];
        assert_eq!([0, 1].map(|_| network.call(1, &plain_take(&of_key))), both, "it is at home, once");
    }
    // One key goes alone, and what does not give the key is gathered before.
    let one = template!["task", 3i64, ?i64];
    assert_eq!(network.call(1, &collect_into(true, named, &one)), Some(Answer::Count(1)));
    assert_eq!(network.measured("quintet_manager_migrations"), 1);
    assert_eq!(network.call(1, &collect_into(true, named, &wanted)), Some(Answer::Count(7)));
    assert_eq!(network.measured("quintet_manager_migrations"), 2);
    assert_eq!(network.call_in(1, named, &Request::Count { template: &wanted }), Some(Answer::Count(28)));
}

#[test]
fn spaces_that_are_not_there_or_are_one_are_refused_wherever_the_tuples_are() {
    let (mut network, named) = with_named(1, of_tuples(0));
    for (template, tuples) in queues() {
        network.call(0, &put(&tuples));
        let gone = SpaceNumber(9);
        assert_eq!(code(network.call(0, &collect_into(true, gone, &template))), Code::NoSuchSpace);
        let out_of_gone = collect_into(true, UNNAMED, &template);
        assert_eq!(code(network.call_in(0, gone, &out_of_gone)), Code::NoSuchSpace);
        assert_eq!(code(network.call(0, &out_of_gone)), Code::BadValue);
        assert_eq!(code(network.call_in(0, named, &collect_into(true, named, &template))), Code::BadValue);
        assert_eq!(all_in(&mut network, UNNAMED, &template), tuples);
    }
}

#[test]
fn without_room_for_all_none_has_gone() {
    let (mut network, few) = with_named(2, of_tuples(4));
    for (template, tuples) in queues() {
        network.call(0, &put(&tuples));
        assert_eq!(code(network.call(1, &collect_into(true, few, &template))), Code::TooLarge);
        let of_five = SpaceSettings { max_tuples: 5, ..SpaceSettings::default() };
        let five = network.create("five", of_five);
        network.call_in(0, five, &put(&[tuple!["other"]]));
        assert_eq!(code(network.call(1, &collect_into(false, five, &template))), Code::SpaceFull);
        assert_eq!(all_in(&mut network, UNNAMED, &template), tuples);
        network.call_in(0, five, &plain_take(&template!["other"]));
        assert_eq!(network.call(1, &collect_into(true, five, &template)), Some(Answer::Count(5)));
        assert_eq!(all_in(&mut network, five, &template), tuples);
        network.call_in(0, five, &collect_into(true, UNNAMED, &template));
    }
}

/// More than there is room for at all of them together.
#[test]
fn without_room_at_one_of_several_managers_none_has_gone_to_any() {
    let mut network = Network::new(3, 2, SpaceConfig { max_tuples: 22, ..SpaceConfig::default() });
    network.settle(&mut Random::new(1, 1));
    let named = network.create("named", of_tuples(100));
    spread(&mut network);
    let (wanted, all) = (template!["task", ?i64, 1i64], template!["task", ?i64, ?i64]);
    let more: Vec<_> = (0..60i64).map(|key| tuple!["task", key, 1i64]).collect();
    network.call_in(0, named, &put(&more));
    let refused = code(network.call_in(1, named, &collect_into(true, UNNAMED, &wanted)));
    assert!(matches!(refused, Code::SpaceFull | Code::TooLarge), "{refused:?}");
    assert_eq!(network.call(1, &Request::Count { template: &all }), Some(Answer::Count(8)));
    assert_eq!(network.call_in(1, named, &Request::Count { template: &all }), Some(Answer::Count(60)));
    // Nobody stands still any more.
    let few = template!["task", 7i64, 1i64];
    assert_eq!(network.call_in(1, named, &collect_into(true, UNNAMED, &few)), Some(Answer::Count(1)));
}

#[test]
fn more_than_goes_from_one_manager_to_another_at_one_instant_is_refused_in_words() {
    let quota = SpaceSettings { max_bytes: 1 << 30, ..SpaceSettings::default() };
    let (mut network, named) = with_named(1, quota);
    let half = vec![7u8; usize::try_from(MAX_CARRIED_BYTES / 2).expect("a small number")];
    let mut refused = 0;
    for (tuple, wanted) in [
        (tuple![half.clone()], template![?[u8]]),
        (tuple![1i64, half.clone()], template![?i64, ?[u8]]),
        (tuple!["x", half.clone()], template!["x", ?[u8]]),
    ] {
        network.call(0, &put(&[tuple.clone(), tuple]));
        let before = network.measured("quintet_manager_tuples_sent");
        let collect = collect_into(true, named, &wanted);
        let is_begun = |answer: &Option<Answer>| !matches!(answer, Some(Answer::Collected(_)));
        let answered = (0..9).map(|_| network.call(0, &collect)).find(is_begun);
        match answered.expect("the index is there at last") {
            Some(Answer::Error(refusal)) if refusal.code == Code::TooLarge => {
                assert!(refusal.text.contains("67108864 bytes are the most"), "{}", refusal.text);
                assert_eq!(network.call(0, &Request::Count { template: &wanted }), Some(Answer::Count(2)));
                refused += 1;
            }
            // The first manager has it itself, and sends it nowhere.
            Some(Answer::Count(2)) => {}
            other => panic!("{other:?}"),
        }
        assert_eq!(network.measured("quintet_manager_tuples_sent"), before);
    }
    assert!(refused > 0, "others have some of them");
}

#[test]
fn the_longest_dead_letter_and_what_expires_go_as_they_are() {
    let space = SpaceConfig { max_attempts: 1, ..SpaceConfig::default() };
    let mut network = Network::new(4, 1, space);
    network.settle(&mut Random::new(1, 1));
    let named = network.create("named", of_tuples(0));
    for fields in [1, 2, 3, 58, 59, 60, 61] {
        let values = || (0..fields).map(|_| Value::from(7u8));
        let tuple = Tuple::new(values().collect()).expect("it is short");
        let template = Template::new(values().map(Field::Actual).collect()).expect("it is short");
        network.call(0, &put(std::slice::from_ref(&tuple)));
        let lease = Request::Take { wait: Wait::AtOnce, lease: Some(Span(1)), template: &template };
        let Some(Answer::Tuple(_, Some(held))) = network.call(0, &lease) else { panic!("it is there") };
        network.call(0, &Request::Release { lease: held.lease });
        let front = [Field::Actual(DEAD_LETTER.into()), Field::formal::<str>(), Field::formal::<i64>()];
        let letter = front.into_iter().chain(values().map(Field::Actual)).collect();
        let letter = Template::new(letter).expect("it has 64 fields at most");
        assert_eq!(network.call(0, &collect_into(true, named, &letter)), Some(Answer::Count(1)));
        let tuples = all_in(&mut network, named, &letter);
        assert_eq!(tuples[0].values().len(), 3 + fields);
    }
    let life = Span::from_millis(5);
    for (template, tuples) in queues() {
        network.call(0, &Request::Out { deadline: None, tuples: &tuples, expiries: &[Some(life), None] });
        assert_eq!(network.call(0, &collect_into(true, named, &template)), Some(Answer::Count(5)));
    }
    network.turn_to(life);
    for (template, tuples) in queues() {
        assert_eq!(all_in(&mut network, named, &template), tuples[1..]);
    }
}

/// Nothing of it waits for an answer.
#[test]
fn what_a_client_asked_before_is_done_before_and_what_it_asks_later_later() {
    for seed in 0..40 {
        let (mut network, named) = with_named(1, of_tuples(0));
        let mut random = Random::new(seed, 77);
        for (template, tuples) in queues() {
            let outs: Vec<_> =
                tuples.iter().map(|tuple| network.ask(0, &put(std::slice::from_ref(tuple)))).collect();
            let moved = network.ask(0, &collect_into(true, named, &template));
            let none = network.ask(0, &plain_take(&template));
            network.settle(&mut random);
            for token in outs {
                assert_eq!(network.take_answer(0, token), Some(Answer::Done));
            }
            assert_eq!(network.take_answer(0, moved), Some(Answer::Count(5)), "seed {seed}");
            assert_eq!(network.take_answer(0, none), Some(Answer::NoMatch), "seed {seed}");
            let more = network.ask_in(0, named, &put(&tuples[..1]));
            let back = network.ask_in(0, named, &collect_into(true, UNNAMED, &template));
            let first = network.ask(0, &plain_take(&template));
            network.settle(&mut random);
            assert_eq!(network.take_answer(0, more), Some(Answer::Done));
            assert_eq!(network.take_answer(0, back), Some(Answer::Count(6)), "seed {seed}");
            let oldest = Some(Answer::Tuple(tuples[0].clone(), None));
            assert_eq!(network.take_answer(0, first), oldest, "seed {seed}");
        }
    }
}

#[test]
fn who_waits_for_a_tuple_in_the_other_space_is_given_the_oldest() {
    let (mut network, named) = with_named(2, of_tuples(0));
    for (template, tuples) in queues() {
        network.call(0, &put(&tuples));
        let wait = Request::Take { wait: Wait::Forever, lease: None, template: &template };
        let in_named = network.ask_in(1, named, &wait);
        network.settle(&mut Random::new(1, 1));
        assert_eq!(network.call(0, &collect_into(true, named, &template)), Some(Answer::Count(5)));
        assert_eq!(network.take_answer(1, in_named), Some(Answer::Tuple(tuples[0].clone(), None)));
        let in_unnamed = network.ask(1, &wait);
        network.settle(&mut Random::new(1, 1));
        let back = collect_into(true, UNNAMED, &template);
        assert_eq!(network.call_in(0, named, &back), Some(Answer::Count(4)));
        assert_eq!(network.take_answer(1, in_unnamed), Some(Answer::Tuple(tuples[1].clone(), None)));
    }
}

/// The tuples of a run that goes both ways: where they are at its end.
fn where_they_are(network: &mut Network, named: SpaceNumber, into: SpaceNumber) -> [u64; 2] {
    let wanted = template!["task", ?i64, ?i64];
    let of = [UNNAMED, named].map(|space| network.call_in(0, space, &Request::Count { template: &wanted }));
    let [Some(Answer::Count(unnamed)), Some(Answer::Count(named))] = of else { panic!("{of:?}") };
    if into == UNNAMED { [named, unnamed] } else { [unnamed, named] }
}

/// Tasks that several managers have, or that are in a named space, and who collects them into the other one.
fn begun(out_of_named: bool, steps: u64) -> (Network, [SpaceNumber; 2], u64, Random) {
    let (mut network, named) = with_named(2, of_tuples(0));
    let wanted = template!["task", ?i64, ?i64];
    spread(&mut network);
    if !out_of_named {
        // At a manager which is not the first one, as the seed is.
        assert!(matches!(network.call(0, &plain_take(&wanted)), Some(Answer::Tuple(..))));
        network.call(0, &put(&[tuple!["task", 0i64, 0i64]]));
    } else {
        network.call(0, &collect_into(true, named, &wanted));
    }
    let (source, into) = if out_of_named { (named, UNNAMED) } else { (UNNAMED, named) };
    let asked = network.ask_in(1, source, &collect_into(true, into, &wanted));
    let mut random = Random::new(steps, 77);
    for _ in 0..steps {
        network.step(&mut random);
    }
    (network, [source, into], asked, random)
}

#[test]
fn a_client_that_dies_has_collected_all_or_nothing() {
    for out_of_named in [false, true] {
        let mut seen = std::collections::BTreeSet::new();
        for steps in 0..40 {
            let (mut network, [source, into], _, mut random) = begun(out_of_named, steps);
            network.kill(1);
            network.settle(&mut random);
            let named = SpaceNumber(source.0.max(into.0));
            let left = where_they_are(&mut network, named, into);
            assert!([[8, 0], [0, 8]].contains(&left), "{left:?} after {steps} steps");
            seen.insert(left);
        }
        assert_eq!(seen.len(), 2, "it has happened, and it has not");
    }
}

/// However far it has come: who asked is answered, by whoever is left.
#[test]
fn a_manager_that_is_gone_while_it_collects_ends_the_space_for_all() {
    for (steps, gone, out_of_named) in
        (0..30).flat_map(|steps| (0..3).flat_map(move |gone| [false, true].map(|way| (steps, gone, way))))
    {
        let (mut network, _, asked, mut random) = begun(out_of_named, steps);
        network.lose_manager(1, gone);
        network.settle(&mut random);
        assert!(network.take_answer(1, asked).is_some(), "{steps} steps, then {gone}");
        let answer = network.call(0, &Request::Status);
        assert!(matches!(answer, Some(Answer::Error(_))), "{answer:?}");
    }
}

#[test]
fn what_was_taken_can_be_undone_also_behind_a_request_to_a_named_space() {
    let (mut network, named) = with_named(1, of_tuples(0));
    // Whoever waits from the beginning has not heard of anything behind that: it settles nothing.
    network.ask(0, &Request::Take { wait: Wait::Forever, lease: None, template: &template![?bool] });
    for (template, tuples) in queues() {
        for space in [UNNAMED, named] {
            network.call_in(0, space, &put(&tuples));
            let taken = network.ask_in(0, space, &plain_take(&template));
            network.settle(&mut Random::new(1, 1));
            assert!(matches!(network.take_answer(0, taken), Some(Answer::Tuple(..))));
            network.call_in(0, named, &Request::Count { template: &template });
            network.send(0, taken, &Request::Return);
            network.settle(&mut Random::new(1, 1));
            assert_eq!(all_in(&mut network, space, &template), tuples);
        }
    }
}

//! Single rules, each seen by a client.

use super::network::{Network, SEED, config, is_manager};
use crate::codec::{MANAGERS_BEHAVIOUR, Route, View};
use crate::{
    Answer, Manager, ManagersNews, Refusal, Request, SpaceConfig, SpacesConfig, Wait, template, tuple,
};
use quintet_contract::{Random, Span};
use quintet_errors::Code;
use std::collections::BTreeSet;

pub(super) fn network(clients: usize) -> Network {
    let mut network = Network::new(3, clients, SpaceConfig::default());
    network.settle(&mut Random::new(1, 1));
    network
}

pub(super) fn out(network: &mut Network, tuple: crate::Tuple) {
    assert_eq!(
        network.call(0, &Request::Out { deadline: None, tuples: &[tuple], expiries: &[] }),
        Some(Answer::Done)
    );
}

/// Asks for keys until the signature is spread.
pub(super) fn spread(network: &mut Network) {
    for key in 0..8i64 {
        out(network, tuple!["task", key, 0i64]);
        let template = template!["task", key, ?i64];
        network.call(0, &Request::Read { wait: Wait::AtOnce, template: &template });
    }
    assert_eq!(network.measured("quintet_manager_migrations"), 1);
}

#[test]
fn a_key_that_every_template_gives_spreads_a_signature_and_one_that_leaves_it_out_gathers_it() {
    let mut network = network(2);
    spread(&mut network);
    let sent = network.measured("quintet_manager_tuples_sent");
    assert!(sent > 0, "some of them belong to others");
    let by_class = |network: &Network| {
        ["queue", "hash", "search"]
            .map(|class| network.measured(&format!("quintet_manager_requests/{class}")))
    };
    let [queue, hash, search] = by_class(&network);
    assert!(queue > 0 && search == 0, "all were of a queue until the last one that showed the key");
    let keyed = Request::Read { wait: Wait::AtOnce, template: &template!["task", 1i64, ?i64] };
    assert!(matches!(network.call(1, &keyed), Some(Answer::Tuple(..))));
    assert_eq!(by_class(&network), [queue, hash + 1, 0]);
    let count = Request::Count { template: &template!["task", ?i64, ?i64] };
    assert_eq!(network.call(1, &count), Some(Answer::Count(8)), "a count moves nothing");
    assert_eq!(network.measured("quintet_manager_migrations"), 1);
    let any = Request::Take { wait: Wait::AtOnce, lease: None, template: &template!["task", ?i64, ?i64] };
    assert!(matches!(network.call(1, &any), Some(Answer::Tuple(..))));
    assert_eq!(network.measured("quintet_manager_migrations"), 2);
    assert_eq!(network.call(0, &count), Some(Answer::Count(7)));
    for _ in 0..7 {
        assert!(matches!(network.call(0, &any), Some(Answer::Tuple(..))));
    }
    assert_eq!(network.call(0, &any), Some(Answer::NoMatch));
    assert_eq!(by_class(&network)[2], 9);
}

#[test]
fn managers_and_programs_of_another_version_are_refused_when_they_meet() {
    let mut network = network(1);
    let code = |answer| match answer {
        Some(Answer::Error(Refusal { code, text })) if text.contains("version") => Some(code),
        other => panic!("it is refused: {other:?}"),
    };
    for behaviour in [0, MANAGERS_BEHAVIOUR - 1, MANAGERS_BEHAVIOUR + 1] {
        let asked = network.ask_directory(0, &Route::Ask { behaviour });
        network.settle(&mut Random::new(1, 1));
        assert_eq!(code(network.take_answer(0, asked)), Some(Code::VersionMismatch));
    }
    // Two managers meet, one of which says no behaviour, as one of before.
    let join = Route::Join { managers: 3, seed: SEED, behaviour: 0 };
    assert_eq!(code(network.ask_between(1, 0, &join)), Some(Code::VersionMismatch));
}

#[test]
fn who_asks_through_a_kernel_reaches_all_managers_beside_the_first() {
    let mut network = network(2);
    network.put_behind_kernel(1);
    network.settle(&mut Random::new(1, 1));
    for (client, are_beside) in [(0, false), (1, true)] {
        let told = network.ask_directory(client, &Route::ASK);
        network.settle(&mut Random::new(1, 1));
        let Some(Answer::Routes(routes)) = network.take_answer(client, told) else { panic!("they are told") };
        assert_eq!((routes.are_beside, &*routes.addresses[2]), (are_beside, "place-2"));
    }
    spread(&mut network);
    let count = Request::Count { template: &template!["task", ?i64, ?i64] };
    assert_eq!(network.call(1, &count), Some(Answer::Count(8)));
    // Whether the manager has ended or the kernel, who asks through that cannot tell.
    for (client, kernel) in [(0, false), (1, true)] {
        network.lose(client, 2);
        let Some(Answer::Error(why)) = network.call(client, &Request::Status) else { panic!("it is over") };
        assert!(why.text.contains("manager 3 of the 3 of this space, at place-2, is gone"), "{why:?}");
        assert_eq!(why.text.contains("or the kernel through which it was asked"), kernel, "{why:?}");
    }
}

#[test]
fn who_waits_for_room_has_it_when_tuples_have_moved_away() {
    let mut network = Network::new(3, 1, SpaceConfig { max_tuples: 8, ..SpaceConfig::default() });
    network.settle(&mut Random::new(1, 1));
    (0..8i64).for_each(|key| out(&mut network, tuple!["task", key, 0i64]));
    let tuples = [tuple!["task", 8i64, 0i64]];
    let waits = network.ask(0, &Request::Out { deadline: None, tuples: &tuples, expiries: &[] });
    network.settle(&mut Random::new(1, 1));
    assert_eq!(network.take_answer(0, waits), None, "that manager is full");
    network.ask_directory(0, &Route::Spread(signature_of(&tuples[0]), 1));
    network.settle(&mut Random::new(1, 1));
    assert_eq!(network.take_answer(0, waits), Some(Answer::Done));
}

#[test]
fn a_key_that_is_declared_spreads_a_signature_at_once_and_a_template_without_it_gathers_it() {
    let mut network = network(2);
    out(&mut network, tuple!["task", 0i64, 0i64]);
    let taken = network.ask(0, &plain_take(&template!["task", 0i64, ?i64]));
    network.settle(&mut Random::new(1, 1));
    assert!(matches!(network.take_answer(0, taken), Some(Answer::Tuple(..))));
    let spread = Route::Spread(signature_of(&tuple!["task", 0i64, 0i64]), 1);
    let told = network.ask_directory(0, &spread);
    network.settle(&mut Random::new(1, 1));
    let Some(Answer::Routes(routes)) = network.take_answer(0, told) else { panic!("where everything is") };
    assert_eq!(routes.relocations.len(), 1);
    // What was taken before can be undone: the router has not forgotten who gave it.
    network.send(0, taken, &Request::Return);
    network.settle(&mut Random::new(1, 1));
    (1..8i64).for_each(|key| out(&mut network, tuple!["task", key, 0i64]));
    let all = template!["task", ?i64, ?i64];
    assert_eq!(network.call(0, &Request::Count { template: &all }), Some(Answer::Count(8)));
    assert_eq!(network.measured("quintet_router_asked_of_all"), 1, "they are at several managers");
    assert!(matches!(network.call(1, &plain_take(&all)), Some(Answer::Tuple(..))));
    assert_eq!(network.measured("quintet_manager_migrations"), 2);
    // Who declares it again is told where it is: at one manager, for good.
    let told = network.ask_directory(1, &spread);
    network.settle(&mut Random::new(1, 1));
    assert!(matches!(network.take_answer(1, told), Some(Answer::Routes(_))));
    assert_eq!(network.measured("quintet_manager_migrations"), 2);
}

fn plain_take(template: &crate::Template) -> Request<'_> {
    Request::Take { wait: Wait::AtOnce, lease: None, template }
}

fn signature_of(tuple: &crate::Tuple) -> crate::Signature {
    let (head, bulk) = tuple.encode().expect("it is small");
    crate::Signature(View::checked_tuple(&head, &bulk).signature().into())
}

#[test]
fn a_tuple_that_moves_to_another_manager_has_what_is_left_of_its_time() {
    let mut network = network(1);
    let life = Span::from_millis(10);
    let tuples: Vec<_> = (0..8i64).map(|key| tuple!["task", key, 1i64]).collect();
    for tuple in &tuples {
        let (tuples, expiries) = (core::slice::from_ref(tuple), [Some(life)]);
        let out = Request::Out { deadline: None, tuples, expiries: &expiries };
        assert_eq!(network.call(0, &out), Some(Answer::Done));
    }
    network.turn_to(Span(life.0 / 2));
    for key in 0..8i64 {
        let template = template!["task", key, ?i64];
        network.call(0, &Request::Read { wait: Wait::AtOnce, template: &template });
    }
    assert!(network.measured("quintet_manager_tuples_sent") > 0);
    let count = Request::Count { template: &template!["task", ?i64, ?i64] };
    network.turn_to(Span(life.0 / 2 - 1));
    assert_eq!(network.call(0, &count), Some(Answer::Count(8)));
    network.turn_to(Span(1));
    assert_eq!(network.call(0, &count), Some(Answer::Count(0)));
    assert_eq!(network.measured("quintet_space_tuples_expired"), 8);
    // One that is put for another manager goes there with all of its time.
    for tuple in &tuples {
        let (tuples, expiries) = (core::slice::from_ref(tuple), [Some(life)]);
        network.call(0, &Request::Out { deadline: None, tuples, expiries: &expiries });
    }
    assert_eq!(network.call(0, &count), Some(Answer::Count(8)));
    network.turn_to(life);
    assert_eq!(network.call(0, &count), Some(Answer::Count(0)));
}

#[test]
fn what_managers_tell_of_themselves_is_told_as_one() {
    let mut network = network(1);
    spread(&mut network);
    out(&mut network, tuple!["other", 1.5f64]);
    let Some(Answer::State(state)) = network.call(0, &Request::Status) else { panic!("a state") };
    assert_eq!((state.tuples, state.signatures, state.rows.len()), (9, 2, 2));
    let mut ages = Vec::new();
    let mut from = crate::Cursor::default();
    loop {
        let size = crate::PageSize { rows: 2, field_bytes: 10 };
        let list = Request::List { subject: crate::Subject::Tuples, from, size, template: None };
        let Some(Answer::Page(page)) = network.call(0, &list) else { panic!("a page") };
        let crate::Rows::Tuples(rows) = page.rows else { panic!("tuples") };
        ages.extend(rows.iter().map(|row| row.age));
        let Some(next) = page.next else { break };
        from = next;
    }
    ages.sort_unstable();
    ages.dedup();
    assert_eq!(ages.len(), 9, "each once, of all managers");
}

#[test]
fn a_named_space_is_listed_to_its_end_by_the_manager_that_has_it() {
    let mut network = network(1);
    let named = network.create("named", crate::SpaceSettings::default());
    let tuples = [tuple![1i64], tuple![2i64], tuple![3i64]];
    network.call_in(0, named, &Request::Out { deadline: None, tuples: &tuples, expiries: &[] });
    let mut page = |from| {
        let size = crate::PageSize { rows: 2, field_bytes: 10 };
        let list = Request::List { subject: crate::Subject::Tuples, from, size, template: None };
        match network.call_in(0, named, &list) {
            Some(Answer::Page(crate::Page { rows: crate::Rows::Tuples(rows), next })) => (rows.len(), next),
            other => panic!("{other:?}"),
        }
    };
    let (rows, next) = page(crate::Cursor::default());
    assert_eq!((rows, page(next.expect("there are three"))), (2, (1, None)));
}

#[test]
fn a_wait_that_is_asked_again_ends_when_it_would_have_ended() {
    let mut network = network(2);
    let template = template!["task", 99i64, ?i64];
    let wait = Wait::For(Span::from_millis(10));
    let token = network.ask(1, &Request::Take { wait, lease: None, template: &template });
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

#[test]
fn a_lease_whose_tuple_belongs_elsewhere_meanwhile_returns_there() {
    let mut network = network(2);
    out(&mut network, tuple!["task", 3i64, 7i64]);
    let template = template!["task", 3i64, ?i64];
    let lease = Some(Span::from_secs(9));
    let taken = network.call(1, &Request::Take { wait: Wait::AtOnce, lease, template: &template });
    assert!(matches!(taken, Some(Answer::Tuple(_, Some(_)))));
    spread(&mut network);
    network.kill(1);
    network.settle(&mut Random::new(1, 1));
    let take = Request::Take { wait: Wait::AtOnce, lease: None, template: &template };
    assert_eq!(network.call(0, &take), Some(Answer::Tuple(tuple!["task", 3i64, 7i64], None)), "the oldest");
}

#[test]
fn a_group_of_one_manager_is_done_there() {
    let mut network = network(1);
    out(&mut network, tuple!["counter", 1i64]);
    out(&mut network, tuple!["counter", 5i64]);
    let read = Request::Witness { wait: Wait::AtOnce, template: &template!["counter", 5i64] };
    let Some(Answer::Witnessed(_, witness)) = network.call(0, &read) else { panic!("it is there") };
    let hold = Request::Hold {
        wait: Wait::AtOnce,
        lease: Span::from_secs(9),
        limit: None,
        template: &template!["counter", 1i64],
    };
    let Some(Answer::Tuple(_, Some(held))) = network.call(0, &hold) else { panic!("it is there") };
    let (leases, witnesses, tuples) = ([held.lease], [witness], [tuple!["counter", 2i64]]);
    let commit = Request::Commit {
        leases: &leases,
        witnesses: &witnesses,
        deadline: None,
        tuples: &tuples,
        expiries: &[],
    };
    assert_eq!(network.call(0, &commit), Some(Answer::Done));
    let count = Request::Count { template: &template!["counter", ?i64] };
    assert_eq!(network.call(0, &count), Some(Answer::Count(2)));
    assert_eq!(network.measured("quintet_router_asked_of_several"), 0, "it is one message");
}

#[test]
fn a_manager_that_is_gone_ends_every_request_and_is_named() {
    let mut network = network(1);
    let waiting =
        network.ask(0, &Request::Take { wait: Wait::Forever, lease: None, template: &template!["x"] });
    network.settle(&mut Random::new(1, 1));
    network.lose(0, 1);
    let Some(Answer::Error(refusal)) = network.take_answer(0, waiting) else { panic!("it has ended") };
    assert!(refusal.code == Code::PeerDied && refusal.text.contains("manager 2 of the 3"), "{refusal}");
    let later = network.call(0, &Request::Status);
    assert!(matches!(later, Some(Answer::Error(refusal)) if refusal.code == Code::PeerDied));
}

#[test]
fn nothing_is_asked_before_all_managers_have_found_each_other() {
    let mut network = Network::of_strangers(3, 1, SpaceConfig::default());
    network.link_managers(0, 1);
    network.link_managers(0, 2);
    assert_eq!(
        network.call(0, &Request::Out { deadline: None, tuples: &[tuple!["x"]], expiries: &[] }),
        None
    );
    assert_eq!(network.news, [(0, ManagersNews::Complete)], "the other two do not know each other");
    network.link_managers(1, 2);
    network.settle(&mut Random::new(1, 1));
    assert_eq!(network.take_answer(0, 1), Some(Answer::Done));
    assert_eq!(network.news.len(), 3);
}

#[test]
fn managers_of_two_spaces_refuse_each_other_and_their_clients() {
    let mut network = Network::of_strangers(3, 1, SpaceConfig::default());
    let other = Manager::new(SpaceConfig::default(), SpacesConfig::default(), &config(3, 2, SEED + 1));
    network.replace(2, other);
    for (one, another) in [(0, 1), (0, 2), (1, 2)] {
        network.link_managers(one, another);
    }
    let Some(Answer::Error(refusal)) = network.call(0, &Request::Status) else { panic!("it is refused") };
    assert!(refusal.code == Code::BadValue && refusal.text.contains("the same addresses"), "{refusal}");
}

#[test]
fn a_manager_that_is_gone_is_named_by_the_others_and_by_who_takes_its_place() {
    let mut network = network(2);
    out(&mut network, tuple!["x"]);
    network.news.clear();
    network.lose_between(0, 1);
    let text = "manager 2 of the 3 of this space, at place-1, is gone, and its tuples with it";
    let lost = ManagersNews::Lost(Refusal::new(Code::PeerDied, text));
    assert_eq!(network.news, [(0, lost.clone())]);
    let is_named = |answer| {
        let Some(Answer::Error(refusal)) = answer else { panic!("it is refused") };
        assert_eq!((refusal.code, &*refusal.text), (Code::PeerDied, text));
    };
    // Both clients are linked with all three as before.
    is_named(network.call(0, &Request::Status));
    is_named(network.call(1, &Request::Status));
    is_named(network.call(1, &Request::Count { template: &template!["x"] }));
    let another = Manager::new(SpaceConfig::default(), SpacesConfig::default(), &config(3, 1, SEED));
    network.replace(1, another);
    network.link_managers(0, 1);
    network.settle(&mut Random::new(1, 1));
    assert_eq!(network.news.last(), Some(&(1, lost)), "a new one does not serve a part of what was");
}

#[test]
fn who_waits_at_a_survivor_hears_that_a_manager_is_gone_though_his_own_links_stay() {
    let mut network = network(1);
    // Of signatures that are at all three managers, as the seed is.
    let templates = [
        template![1i64],
        template!["x", 1i64],
        template![1i64, 1i64, 1i64],
        template![1.0, 1.0],
        template!["x", "y", 1i64],
        template![1i64, "x"],
    ];
    let take = |template| Request::Take { wait: Wait::Forever, lease: None, template };
    let waiting: Vec<u64> = templates.iter().map(|template| network.ask(0, &take(template))).collect();
    network.settle(&mut Random::new(1, 1));
    let waits: Vec<u64> = (0..3).map(|manager| network.waiting_at(manager)).collect();
    assert!(!waits.contains(&0), "someone waits at each: {waits:?}");
    network.news.clear();
    network.lose_between(0, 1);
    network.settle(&mut Random::new(1, 1));
    for token in waiting {
        let Some(Answer::Error(refusal)) = network.take_answer(0, token) else { panic!("it has ended") };
        assert!(refusal.text.contains("manager 2 of the 3"), "{refusal}");
    }
    let told: BTreeSet<usize> = network.news.iter().map(|(manager, _)| *manager).collect();
    assert_eq!((told.len(), network.news.len()), (3, 3), "each is told once");
}

#[test]
fn who_acknowledges_with_a_result_for_a_manager_that_is_gone_is_answered() {
    let mut network = network(1);
    // Three tasks of three signatures, and results of three others: some result belongs elsewhere.
    let tasks =
        [(tuple![1i64], template![?i64]), (tuple![1.0], template![?f64]), (tuple!["x"], template![?str])];
    let mut leases = Vec::new();
    for (task, template) in tasks {
        out(&mut network, task);
        let take = Request::Take { wait: Wait::AtOnce, lease: Some(Span::from_secs(9)), template: &template };
        let Some(Answer::Tuple(_, Some(attempt))) = network.call(0, &take) else { panic!("it is there") };
        leases.push(attempt.lease);
    }
    let results = [tuple![2.0], tuple!["y"], tuple![2i64]];
    let acks: Vec<u64> = leases
        .iter()
        .zip(&results)
        .map(|(lease, result)| {
            let tuples = core::slice::from_ref(result);
            network.ask(0, &Request::Ack { lease: *lease, deadline: None, expiries: &[], tuples })
        })
        .collect();
    network.deliver_where(|from, to| !(is_manager(from) && is_manager(to)));
    assert!(network.answers.len() < acks.len(), "some result is on its way to another manager");
    // The first manager hears nothing more of the second one, and the third nothing more of either.
    network.lose_between(0, 1);
    network.lose_between(1, 0);
    network.deliver_where(|from, to| !(is_manager(from) && is_manager(to)));
    network.lose_between(2, 0);
    network.deliver_where(|from, to| !(is_manager(from) && is_manager(to)));
    for token in acks {
        assert!(network.take_answer(0, token).is_some(), "it has ended");
    }
}

#[test]
fn a_client_that_is_gone_waits_for_no_manager() {
    let mut network = Network::of_strangers(2, 1, SpaceConfig::default());
    network.kill(0);
    network.link_managers(0, 1);
    network.settle(&mut Random::new(1, 1));
    assert!(network.answers.is_empty() && network.news.len() == 2);
}

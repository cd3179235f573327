//! Collections from one space into another.

use super::*;
use crate::{Change, Collected, MAX_COLLECTED, Tuple};

fn into(takes: bool, space: u32, template: &Template) -> Request<'_> {
    Request::CollectInto { takes, into: SpaceNumber(space), template }
}

impl Bench {
    fn put(&mut self, space: u32, tuples: &[Tuple]) {
        let out = Request::Out { deadline: Some(Span(0)), tuples, expiries: &[] };
        assert_eq!(self.ask(OWN, 70, space, out), [(OWN, 70, Answer::Done)]);
    }

    /// What a space has of a template, the oldest first.
    fn all(&mut self, space: u32, template: &Template) -> Vec<Tuple> {
        let asked = Request::Collect { takes: false, from: 0, below: None, most: u32::MAX, template };
        match self.ask(OWN, 71, space, asked).pop() {
            Some((OWN, 71, Answer::Collected(Collected { tuples, next: None, .. }))) => tuples,
            other => panic!("it is not one page: {other:?}"),
        }
    }

    fn refusal(&mut self, who: u16, space: u32, request: Request<'_>) -> (Code, String) {
        let sent = self.ask(who, 72, space, request);
        match &sent[..] {
            [(to, 72, answer)] if *to == who => {
                let (code, text) = refused(answer);
                (code, text.to_owned())
            }
            other => panic!("not refused: {other:?}"),
        }
    }
}

fn numbered(numbers: core::ops::Range<i64>) -> Vec<Tuple> {
    numbers.map(|number| tuple!["t", number]).collect()
}

#[test]
fn all_that_match_are_moved_or_copied_in_their_order_and_counted() {
    let mut bench = Bench::new();
    let (a, b) = (bench.create("a", of_bytes(4_000)), bench.create("b", of_bytes(4_000)));
    bench.put(a, &numbered(0..4));
    bench.put(a, &[tuple!["other"]]);
    bench.put(b, &numbered(9..10));
    assert_eq!(bench.ask(MEMBER, 1, a, into(false, b, &rows())), [(MEMBER, 1, Answer::Count(4))]);
    assert_eq!(bench.all(a, &rows()), numbered(0..4));
    assert_eq!(bench.all(b, &rows()), [numbered(9..10), numbered(0..4)].concat());
    assert_eq!(bench.ask(MEMBER, 2, a, into(true, 0, &rows())), [(MEMBER, 2, Answer::Count(4))]);
    assert_eq!((bench.all(a, &rows()), bench.all(0, &rows())), (vec![], numbered(0..4)));
    assert_eq!(bench.ask(MEMBER, 3, 0, into(true, a, &rows())), [(MEMBER, 3, Answer::Count(4))]);
    assert_eq!(bench.all(a, &rows()), numbered(0..4));
    assert_eq!(bench.ask(MEMBER, 3, 0, into(true, a, &rows())), [(MEMBER, 3, Answer::Count(0))]);
    assert_eq!(bench.ask(MEMBER, 2, 0, Request::Return), [], "it cannot be undone");
    assert_eq!(bench.all(a, &template!["other"]).len(), 1);
}

#[test]
fn what_replaces_one_that_was_moved_is_younger_than_all_of_them() {
    let mut bench = Bench::new();
    let (a, b) = (bench.create("a", of_bytes(4_000)), bench.create("b", of_bytes(4_000)));
    bench.put(a, &numbered(0..3));
    let (template, tuples) = (rows(), numbered(100..101));
    let replace =
        Request::Replace { wait: Wait::Forever, template: &template, tuples: &tuples, expiries: &[] };
    assert_eq!(bench.ask(LOCAL, 5, b, replace), []);
    let sent = bench.ask(OTHER, 2, a, into(true, b, &rows()));
    assert_eq!(sent.len(), 2, "{sent:?}");
    assert_eq!(bench.all(b, &rows()), [numbered(1..3), numbered(100..101)].concat());
}

#[test]
fn who_waits_in_either_space_is_served_and_who_watches_is_told() {
    let mut bench = Bench::new();
    let (a, b) = (bench.create("a", of_bytes(600)), bench.create("b", of_bytes(9_000)));
    let there = (1..).find(|token| bench.out(MEMBER, *token, a, 1).is_empty()).expect("it has a quota");
    let watch = Request::Watch { since: None, most: 9, wait: Wait::AtOnce, template: None };
    let sent = bench.ask(OTHER, 1, b, watch);
    let [(OTHER, 1, Answer::Events(events))] = &sent[..] else { panic!("{sent:?}") };
    let number = events.number;
    assert_eq!(bench.take(LOCAL, 5, b, Wait::Forever), []);
    let sent = bench.ask(OTHER, 2, a, into(true, b, &rows()));
    assert_eq!(sent.len(), 3, "{sent:?}");
    let expected =
        [(LOCAL, 5, tuple_of(1)), (OTHER, 2, Answer::Count(there - 1)), (MEMBER, there, Answer::Done)];
    for answer in expected {
        assert!(sent.contains(&answer), "{sent:?}");
    }
    assert_eq!((bench.count(a), bench.count(b)), (1, there - 2));
    let behind = Request::Watch { since: Some(number), most: 99, wait: Wait::AtOnce, template: None };
    let sent = bench.ask(OTHER, 3, b, behind);
    let [(OTHER, 3, Answer::Events(events))] = &sent[..] else { panic!("{sent:?}") };
    let puts = events.events.iter().filter(|event| event.change == Change::Put).count();
    assert_eq!(puts as u64, there - 1);
}

#[test]
fn where_there_is_no_room_for_all_none_is_moved() {
    let mut bench = Bench::new();
    let (a, b) = (bench.create("a", of_bytes(4_000)), bench.create("b", of_bytes(2_000)));
    bench.put(a, &numbered(0..6));
    bench.put(b, &numbered(50..59));
    let (code, text) = bench.refusal(MEMBER, a, into(true, b, &rows()));
    assert_eq!(code, Code::TooLarge, "{text}");
    bench.ask(
        MEMBER,
        1,
        a,
        Request::Take { wait: Wait::AtOnce, lease: None, template: &template!["t", 5i64] },
    );
    bench.ask(
        MEMBER,
        2,
        a,
        Request::Take { wait: Wait::AtOnce, lease: None, template: &template!["t", 4i64] },
    );
    let (code, text) = bench.refusal(MEMBER, a, into(true, b, &rows()));
    assert!(code == Code::SpaceFull && text.contains("none has gone there"), "{text}");
    assert_eq!((bench.all(a, &rows()), bench.count(b)), (numbered(0..4), 9));
    for number in 50..57i64 {
        bench.ask(MEMBER, 3, b, into(true, 0, &template!["t", number]));
    }
    assert_eq!(bench.ask(MEMBER, 4, a, into(true, b, &rows())), [(MEMBER, 4, Answer::Count(4))]);
}

#[test]
fn the_rights_of_both_spaces_hold() {
    let mut bench = Bench::new();
    let own = SpaceRights { own_machine: false, identities: [identity(MEMBER)].into() };
    let closed = bench.create("closed", SpaceSettings { allow: Some(own), ..of_bytes(2_000) });
    let open = bench.create("open", of_bytes(2_000));
    bench.put(open, &numbered(0..2));
    bench.put(closed, &numbered(5..6));
    for (source, destination) in [(open, closed), (closed, open), (0, closed)] {
        let (code, text) = bench.refusal(OTHER, source, into(true, destination, &rows()));
        assert_eq!(code, Code::NotAllowed, "{text}");
    }
    assert_eq!((bench.count(open), bench.count(closed)), (2, 1));
    assert_eq!(bench.ask(MEMBER, 1, open, into(true, closed, &rows())), [(MEMBER, 1, Answer::Count(2))]);
}

#[test]
fn what_others_run_is_put_into_a_space_by_those_alone_who_may_put_it() {
    let mut bench = Bench::new();
    let a = bench.create("a", of_bytes(4_000));
    let task = template!["quintet.task", ?i64];
    bench.put(a, &[tuple!["quintet.task", 1i64]]);
    let grants = CodeGrants { own_machine: false, identities: [identity(MEMBER)].into() };
    bench.ask(OWN, 1, 0, Request::Grant { grants: &grants });
    let (code, text) = bench.refusal(OTHER, a, into(true, 0, &task));
    assert_eq!(code, Code::NotAllowed, "{text}");
    assert_eq!((bench.told.len(), bench.all(a, &task).len()), (1, 1));
    assert_eq!(bench.ask(MEMBER, 2, a, into(true, 0, &task)), [(MEMBER, 2, Answer::Count(1))]);
}

#[test]
fn two_spaces_that_are_one_or_not_there_are_refused() {
    let mut bench = Bench::new();
    let a = bench.create("a", of_bytes(1_000));
    for (source, destination, expected) in
        [(a, a, Code::BadValue), (0, 0, Code::BadValue), (a, 9, Code::NoSuchSpace), (9, a, Code::NoSuchSpace)]
    {
        let (code, text) = bench.refusal(MEMBER, source, into(false, destination, &rows()));
        assert_eq!(code, expected, "{text}");
    }
    assert_eq!(bench.take(MEMBER, 4, a, Wait::Forever), []);
    let sent = bench.ask(MEMBER, 4, a, into(false, 0, &rows()));
    assert_eq!(refused(&sent[0].2).0, Code::Malformed, "a token is one request's");
}

/// A server whose spaces have room, and look at so many tuples in a turn; and one of them.
fn roomy(index_step: usize) -> (Bench, u32) {
    let space = SpaceConfig { index_step, ..SpaceConfig::default() };
    let mut bench = Bench { spaces: Spaces::new(space, SpacesConfig::default()), ..Bench::new() };
    let a = bench.create("a", of_bytes(1 << 30));
    (bench, a)
}

/// Asks for a collection into a space from the unnamed one until it is answered, with wakes between; and how often it was asked again.
fn collect_all(bench: &mut Bench, space: u32) -> (Answer, u32) {
    for again in 0..1000 {
        match bench.ask(OWN, 1, 0, into(true, space, &rows())).pop() {
            Some((OWN, 1, Answer::Collected(page))) => {
                assert_eq!((page.tuples, page.next), (vec![], Some(1)))
            }
            Some((OWN, 1, answer)) => return (answer, again),
            other => panic!("{other:?}"),
        }
        bench.now += Span::from_micros(20);
        bench.give(Input::Wake);
    }
    panic!("it never ends");
}

#[test]
fn an_index_over_many_is_built_in_steps_and_then_all_are_moved_at_one_instant() {
    let (mut bench, a) = roomy(16);
    bench.put(0, &numbered(0..1000));
    let (answer, again) = collect_all(&mut bench, a);
    assert_eq!(answer, Answer::Count(1000));
    assert!(again > 30, "it was asked {again} times more");
    let named = bench.spaces.table.find(SpaceNumber(a)).expect("it is there");
    assert_eq!((bench.spaces.unnamed().counts().tuples, named.info(SpaceNumber(a)).tuples), (0, 1000));
}

#[test]
fn more_than_one_turn_may_look_at_is_refused() {
    let (mut bench, a) = roomy(1 << 16);
    let all = numbered(0..i64::try_from(MAX_COLLECTED).expect("a small number") + 1);
    all.chunks(8192).for_each(|some| bench.put(0, some));
    let answer = collect_all(&mut bench, a).0;
    let (code, text) = refused(&answer);
    assert!(code == Code::TooLarge && text.contains("65536"), "{text}");
    assert_eq!(bench.spaces.unnamed().counts().tuples, all.len() as u64);
}

proptest! {
    /// Tuples go round between three spaces as they do between three lists.
    #[test]
    fn spaces_that_are_collected_into_each_other_are_as_lists(
        steps in prop::collection::vec((0u8..5, 0usize..3, 0usize..3, prop::option::of(0i64..4)), 1..50), is_kept: bool
    ) {
        let mut bench = Bench::of(if is_kept { Policy::Logged } else { Policy::Volatile });
        let spaces = [0, bench.create("a", of_bytes(2_000)), bench.create("b", of_bytes(900))];
        let mut lists: [Vec<i64>; 3] = Default::default();
        let limits = [1_000, 2_000, 900];
        for (token, (what, source, destination, number)) in steps.into_iter().enumerate() {
            let token = token as u64 + 1;
            let wanted = number.map_or(rows(), |number| template!["t", number]);
            match what {
                0 | 1 => {
                    let number = number.unwrap_or(7);
                    let out = Request::Out { deadline: Some(Span(0)), tuples: &[tuple!["t", number]], expiries: &[] };
                    let sent = bench.ask(MEMBER, token, spaces[source], out);
                    if let [(MEMBER, _, Answer::Done)] = &sent[..] {
                        lists[source].push(number);
                    }
                }
                2 => {
                    let take = Request::Take { wait: Wait::AtOnce, lease: None, template: &wanted };
                    let at = lists[source].iter().position(|other| number.is_none_or(|number| number == *other));
                    let expected = at.map_or(Answer::NoMatch, |at| tuple_of(lists[source].remove(at)));
                    prop_assert_eq!(bench.ask(MEMBER, token, spaces[source], take), [(MEMBER, token, expected)]);
                }
                _ if source != destination => {
                    let takes = what == 3;
                    let (going, staying): (Vec<i64>, Vec<i64>) =
                        lists[source].iter().partition(|other| number.is_none_or(|number| number == **other));
                    let sent = bench.ask(MEMBER, token, spaces[source], into(takes, spaces[destination], &wanted));
                    match &sent[..] {
                        [(MEMBER, _, Answer::Count(count))] => {
                            prop_assert_eq!(*count, going.len() as u64);
                            lists[destination].extend(&going);
                            if takes {
                                lists[source] = staying;
                            }
                        }
                        [(MEMBER, _, Answer::Error(refusal))] => {
                            let there = lists[destination].len() + going.len();
                            // With all the indexes that there might be, or with those that there are.
                            let bytes = match refusal.code {
                                Code::TooLarge => going.len() * (177 + 6 * 48),
                                _ => there * (177 + 48),
                            };
                            prop_assert!(bytes > limits[destination], "{refusal}");
                        }
                        other => prop_assert!(false, "{other:?}"),
                    }
                }
                _ => {}
            }
            for (space, list) in spaces.into_iter().zip(&lists) {
                let expected: Vec<_> = list.iter().map(|number| tuple!["t", *number]).collect();
                prop_assert_eq!(bench.all(space, &rows()), expected);
            }
        }
    }
}

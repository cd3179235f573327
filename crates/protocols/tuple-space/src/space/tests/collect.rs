//! Collections a page at a time, one rule each.

use super::bench::{Bench, Sent, error, plain};
use crate::codec::FURTHER;
use crate::{Answer, Collected, Request, SpaceConfig, Template, Tuple, Wait, template, tuple};
use quintet_contract::Span;
use quintet_errors::Code;

fn bench() -> Bench {
    Bench::new(SpaceConfig::default())
}

fn page(
    bench: &mut Bench,
    token: u64,
    takes: bool,
    (from, below): (u64, Option<u64>),
    template: &Template,
) -> Collected {
    let request = Request::Collect { takes, from, below, most: u32::MAX, template };
    one(bench.ask(1, token, request), token)
}

fn one(sent: Vec<Sent>, token: u64) -> Collected {
    match <[Sent; 1]>::try_from(sent) {
        Ok([(1, number, Answer::Collected(page))]) if number == token => page,
        other => panic!("it is not one page: {other:?}"),
    }
}

/// All pages, asked for one after the other with wakes between; and how many there were.
fn pages(bench: &mut Bench, takes: bool, template: &Template) -> (Vec<Tuple>, u64) {
    let (mut at, mut tuples) = ((0, None), vec![]);
    for number in 1.. {
        let page = page(bench, number, takes, at, template);
        tuples.extend(page.tuples);
        let Some(next) = page.next else { return (tuples, number) };
        at = (next, Some(page.below));
        assert!(number < 10_000, "it never ends");
        assert_eq!(bench.pass(Span::from_micros(25)), []);
    }
    unreachable!("there are numbers enough")
}

fn rows(bench: &mut Bench, count: i64) -> Vec<Tuple> {
    let rows: Vec<_> = (0..count).map(|n| tuple!["row", n]).collect();
    rows.iter().for_each(|row| bench.put(row));
    rows
}

#[test]
fn all_that_match_come_oldest_first_and_go_only_if_they_are_taken() {
    let mut bench = bench();
    let rows = rows(&mut bench, 5);
    bench.put(&tuple!["other", 1i64]);
    let wanted = template!["row", ?i64];
    let copied = page(&mut bench, 1, false, (0, None), &wanted);
    assert_eq!((&copied.tuples, copied.next), (&rows, None));
    assert_eq!(bench.count(&wanted), 5);
    let taken = page(&mut bench, 2, true, (0, None), &wanted);
    assert_eq!((&taken.tuples, taken.next), (&rows, None));
    assert_eq!(bench.count(&wanted), 0);
    assert_eq!(bench.count(&template![?str, ?i64]), 1);
    assert_eq!(page(&mut bench, 3, true, (0, None), &wanted).tuples, []);
}

/// Rowstron's multiple-rdp problem: so many reads as there are tuples give the oldest so many times.
#[test]
fn a_copy_has_each_of_several_equal_tuples_once() {
    let mut bench = bench();
    (0..3).for_each(|_| bench.put(&tuple!["same"]));
    assert_eq!(page(&mut bench, 1, false, (0, None), &template!["same"]).tuples.len(), 3);
}

#[test]
fn what_comes_after_the_first_page_is_not_collected() {
    let mut bench = bench();
    let wanted = template!["row", ?i64];
    let rows = rows(&mut bench, 4);
    let ask = |most, from, below| Request::Collect { takes: false, from, below, most, template: &wanted };
    let first = one(bench.ask(1, 1, ask(2, 0, None)), 1);
    assert_eq!(first.tuples, rows[..2]);
    bench.put(&tuple!["row", 9i64]);
    assert_eq!(bench.take(2, 1, Wait::AtOnce, &template!["row", 2i64]).len(), 1);
    let second = one(bench.ask(1, 2, ask(9, first.next.expect("there is more"), Some(first.below))), 2);
    assert_eq!((&second.tuples[..], second.next), (&rows[3..], None), "one was taken, one is too young");
}

#[test]
fn a_page_that_was_undone_is_back_in_its_place_and_who_waits_is_served() {
    let mut bench = bench();
    rows(&mut bench, 3);
    bench.put(&tuple!["row", 9i64]);
    let wanted = template!["row", ?i64];
    let request = Request::Collect { takes: true, from: 0, below: None, most: 3, template: &wanted };
    assert_eq!(one(bench.ask(1, 7, request), 7).tuples.len(), 3);
    assert_eq!(bench.take(2, 1, Wait::Forever, &template!["row", 1i64]), []);
    assert_eq!(bench.ask(1, 7, Request::Return), [(2, 1, plain(tuple!["row", 1i64]))]);
    assert_eq!(bench.take(3, 1, Wait::AtOnce, &wanted), [(3, 1, plain(tuple!["row", 0i64]))]);
    assert_eq!(bench.count(&wanted), 2);
    assert_eq!(bench.ask(1, 7, Request::Return), [], "once");
}

#[test]
fn what_replaces_a_tuple_of_an_undone_page_is_younger_than_the_rest_of_it() {
    let mut bench = bench();
    rows(&mut bench, 2);
    let wanted = template!["row", ?i64];
    let request = Request::Collect { takes: true, from: 0, below: None, most: 2, template: &wanted };
    assert_eq!(one(bench.ask(1, 7, request), 7).tuples.len(), 2);
    let (oldest, tuples) = (template!["row", 0i64], [tuple!["row", 9i64]]);
    let replace = Request::Replace { wait: Wait::Forever, template: &oldest, tuples: &tuples, expiries: &[] };
    assert_eq!(bench.ask(2, 1, replace), []);
    assert_eq!(bench.take(3, 1, Wait::Forever, &wanted), []);
    let undone = bench.ask(1, 7, Request::Return);
    assert_eq!(undone, [(2, 1, plain(tuple!["row", 0i64])), (3, 1, plain(tuple!["row", 1i64]))]);
    assert_eq!(bench.count(&wanted), 1);
}

#[test]
fn a_page_is_settled_whole_and_no_more_is_unsettled_than_may_be() {
    let mut bench = Bench::new(SpaceConfig { max_unsettled: 3, ..SpaceConfig::default() });
    rows(&mut bench, 7);
    let wanted = template!["row", ?i64];
    let first = page(&mut bench, 1, true, (0, None), &wanted);
    assert_eq!(first.tuples.len(), 3);
    page(&mut bench, 2, true, (first.next.expect("there are more"), Some(first.below)), &wanted);
    assert_eq!(bench.ask(1, 1, Request::Return), []);
    assert_eq!(bench.count(&wanted), 1, "the first page is settled, and all of it");
    bench.ask(1, 2, Request::Return);
    assert_eq!(bench.count(&wanted), 4);
    let settles = Request::Count { template: &wanted };
    page(&mut bench, 3, true, (0, None), &wanted);
    bench.ask_settled(1, 4, 4, settles);
    bench.ask(1, 3, Request::Return);
    assert_eq!(bench.count(&wanted), 1);
    assert_eq!(bench.status().hidden, 0);
}

#[test]
fn nothing_is_taken_that_the_link_does_not_take() {
    let mut bench = bench();
    rows(&mut bench, 3);
    let wanted = template!["row", ?i64];
    let request = Request::Collect { takes: true, from: 0, below: None, most: 9, template: &wanted };
    bench.link.full.insert(1);
    assert_eq!(bench.ask(1, 1, request), []);
    assert_eq!(bench.count(&wanted), 3);
    let again = one(bench.writable(1), 1);
    assert_eq!((&again.tuples[..], again.next), (&[][..], Some(1)));
    assert_eq!(page(&mut bench, 2, true, (1, Some(again.below)), &wanted).tuples.len(), 3);
}

#[test]
fn a_taker_that_goes_down_with_a_page_has_it_as_with_a_plain_take() {
    let mut bench = bench();
    rows(&mut bench, 3);
    let wanted = template!["row", ?i64];
    page(&mut bench, 1, true, (0, None), &wanted);
    assert_eq!(bench.down(1), []);
    assert_eq!((bench.count(&wanted), bench.status().hidden), (0, 0));
}

#[test]
fn more_than_a_page_or_a_turn_holds_comes_in_several() {
    for index_step in [1, 7, 1 << 10] {
        let mut bench = Bench::new(SpaceConfig { index_step, ..SpaceConfig::default() });
        let long = |n: i64| tuple!["long", n, vec![7u8; 900]];
        let tuples: Vec<_> = (0..150).map(long).collect();
        tuples.iter().for_each(|tuple| bench.put(tuple));
        let wanted = template!["long", ?i64, ?[u8]];
        let (copied, asked) = pages(&mut bench, false, &wanted);
        assert_eq!(copied, tuples, "{index_step}");
        assert!(asked > 2, "{asked} pages of 150 kB");
        assert_eq!(pages(&mut bench, true, &wanted).0, tuples, "{index_step}");
        assert_eq!(bench.count(&wanted), 0);
    }
}

#[test]
fn bulks_of_a_page_arrive_as_they_are_and_are_bounded_together() {
    let mut bench = bench();
    let tuple = |n: u8, len: usize| tuple!["bulk", vec![n; len], "between", vec![n; 2000]];
    let tuples: Vec<_> = [1500, 3000, 1, 700_000, 400_000, 2_000_000, 5000]
        .into_iter()
        .zip(1..)
        .map(|(len, n)| tuple(n, len))
        .collect();
    tuples.iter().for_each(|tuple| bench.put(tuple));
    let wanted = template!["bulk", ?[u8], ?str, ?[u8]];
    let first = page(&mut bench, 1, false, (0, None), &wanted);
    assert_eq!(first.tuples, tuples[..4], "the fifth is beyond a megabyte");
    let (copied, asked) = pages(&mut bench, false, &wanted);
    assert_eq!((copied, asked), (tuples, 4));
}

#[test]
fn a_page_that_is_too_long_for_its_link_comes_as_single_tuples_or_is_refused() {
    let mut bench = bench();
    rows(&mut bench, 2);
    let wanted = template!["row", ?i64];
    bench.put(&tuple!["row", vec![1u8; 5000]]);
    bench.put(&tuple!["row", vec![2u8; 20]]);
    bench.link.too_long.insert(1);
    let bytes = template!["row", ?[u8]];
    let request = Request::Collect { takes: true, from: 0, below: None, most: 9, template: &bytes };
    let (code, text) = error(&bench.ask(1, 1, request), 1, 1);
    assert_eq!(code, Code::TooLarge, "{text}");
    assert_eq!((bench.count(&bytes), bench.count(&wanted)), (2, 2));
}

#[test]
fn pages_that_cannot_be_read_are_malformed_and_a_lone_space_has_no_other() {
    let mut bench = bench();
    let settled = [0; 8];
    let none = [&settled[..], &[3], &[0; 16], &0u32.to_le_bytes(), &[0]].concat();
    let short = [&settled[..], &[4], &[0; 12]].concat();
    for body in [none, short] {
        assert_eq!(error(&bench.ask_raw(1, 1, FURTHER, &body), 1, 1).0, Code::Malformed, "{body:?}");
    }
    let into = Request::CollectInto { takes: true, into: crate::SpaceNumber(1), template: &template!["x"] };
    assert_eq!(error(&bench.ask(1, 1, into), 1, 1).0, Code::BadValue);
}

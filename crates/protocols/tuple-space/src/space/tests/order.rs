//! Matching, the order of tuples and of those who wait, and links without room.

use super::bench::{Bench, error, plain};
use crate::{Answer, Array, ArrayOf, Request, SpaceConfig, Wait, template, tuple};
use quintet_contract::{Span, Token};
use quintet_errors::Code;

fn bench() -> Bench {
    Bench::new(SpaceConfig::default())
}

#[test]
fn the_oldest_matching_tuple_is_taken() {
    let mut bench = bench();
    for number in [7i64, 8, 9] {
        bench.put(&tuple!["row", number]);
    }
    bench.put(&tuple!["column", 7i64]);
    let (any, eight) = (template!["row", ?i64], template![?str, 8i64]);
    assert_eq!(bench.take(1, 1, Wait::AtOnce, &any), [(1, 1, plain(tuple!["row", 7i64]))]);
    assert_eq!(bench.take(1, 2, Wait::AtOnce, &eight), [(1, 2, plain(tuple!["row", 8i64]))]);
    assert_eq!(bench.take(1, 3, Wait::AtOnce, &any), [(1, 3, plain(tuple!["row", 9i64]))]);
    assert_eq!(bench.take(1, 4, Wait::AtOnce, &any), [(1, 4, Answer::NoMatch)]);
    assert_eq!(bench.count(&template!["column", ?i64]), 1);
}

#[test]
fn types_are_matched_exactly() {
    let mut bench = bench();
    bench.put(&tuple![1i32]);
    bench.put(&tuple![1u64]);
    bench.put(&tuple![f64::NAN]);
    bench.put(&tuple![-0.0f64]);
    assert_eq!(bench.count(&template![1i64]), 0);
    assert_eq!(bench.count(&template![?i64]), 0);
    assert_eq!(bench.count(&template![1i32]), 1);
    assert_eq!(bench.count(&template![0.0f64]), 0);
    assert_eq!(bench.count(&template![-0.0f64]), 1);
    assert_eq!(bench.count(&template![f64::NAN]), 1);
}

#[test]
fn a_formal_array_fixes_the_dimensions_it_names() {
    let mut bench = bench();
    for width in [2u64, 3] {
        let array =
            Array::from_elements(&[2, width], &vec![0.5f64; 2 * usize::try_from(width).unwrap()]).unwrap();
        bench.put(&tuple!["m", array]);
    }
    let fixed = crate::Type::Array { element: crate::ElementType::F64, dimensions: vec![None, Some(3)] };
    assert_eq!(bench.count(&template!["m", ?ArrayOf<f64, 2>]), 2);
    assert_eq!(bench.count(&template!["m", fixed]), 1);
    assert_eq!(bench.count(&template!["m", ?ArrayOf<f64, 1>]), 0);
    assert_eq!(bench.count(&template!["m", ?ArrayOf<f32, 2>]), 0);
}

#[test]
fn a_read_leaves_the_tuple() {
    let mut bench = bench();
    bench.put(&tuple![5u8]);
    for token in 1..3 {
        assert_eq!(bench.read(1, token, Wait::AtOnce, &template![?u8]), [(1, token, plain(tuple![5u8]))]);
    }
    assert_eq!(bench.status().tuples, 1);
}

#[test]
fn long_data_travels_beside_the_head() {
    let mut bench = bench();
    let long = vec![7u8; 100_000];
    let tuple = tuple!["x", long.clone(), vec![8u8; 5000], 1i8];
    bench.put(&tuple);
    let wanted = template!["x", long, ?[u8], ?i8];
    assert_eq!(bench.take(1, 1, Wait::AtOnce, &wanted), [(1, 1, plain(tuple))]);
}

#[test]
fn one_out_serves_the_reads_before_the_oldest_take_and_that_take() {
    let mut bench = bench();
    let wanted = template!["t", ?i64];
    assert_eq!(bench.read(1, 1, Wait::Forever, &wanted), []);
    assert_eq!(bench.read(2, 1, Wait::Forever, &template![?str, 5i64]), []);
    assert_eq!(bench.take(3, 1, Wait::Forever, &template!["other", ?i64]), []);
    assert_eq!(bench.take(4, 1, Wait::Forever, &template![?str, ?i64]), []);
    assert_eq!(bench.read(5, 1, Wait::Forever, &wanted), []);
    assert_eq!(bench.take(6, 1, Wait::Forever, &wanted), []);
    let five = plain(tuple!["t", 5i64]);
    assert_eq!(
        bench.out(9, 1, &tuple!["t", 5i64]),
        [(1, 1, five.clone()), (2, 1, five.clone()), (4, 1, five.clone()), (9, 1, Answer::Done)]
    );
    assert_eq!(
        bench.out(9, 2, &tuple!["t", 5i64]),
        [(5, 1, five.clone()), (6, 1, five), (9, 2, Answer::Done)]
    );
    assert_eq!(bench.status().waiters, 1);
}

#[test]
fn a_waiter_whose_link_is_full_keeps_its_place_and_lets_others_pass() {
    let mut bench = bench();
    let wanted = template![?i64];
    bench.take(1, 1, Wait::Forever, &wanted);
    bench.take(2, 1, Wait::Forever, &wanted);
    bench.link.full.insert(1);
    assert_eq!(bench.out(9, 1, &tuple![1i64]), [(2, 1, plain(tuple![1i64])), (9, 1, Answer::Done)]);
    assert_eq!(bench.out(9, 2, &tuple![2i64]), [(9, 2, Answer::Done)], "the tuple is not hidden");
    assert_eq!(bench.count(&wanted), 1);
    assert_eq!(bench.writable(1), [(1, 1, plain(tuple![2i64]))]);
    assert_eq!(bench.count(&wanted), 0);
}

#[test]
fn a_waiter_whose_tuple_went_elsewhere_waits_at_its_old_place() {
    let mut bench = bench();
    let wanted = template![?i64];
    bench.take(1, 1, Wait::Forever, &wanted);
    bench.link.full.insert(1);
    bench.put(&tuple![1i64]);
    assert_eq!(bench.take(2, 1, Wait::AtOnce, &wanted), [(2, 1, plain(tuple![1i64]))]);
    bench.take(3, 1, Wait::Forever, &wanted);
    assert_eq!(bench.writable(1), []);
    assert_eq!(bench.out(9, 1, &tuple![2i64]), [(1, 1, plain(tuple![2i64])), (9, 1, Answer::Done)]);
}

#[test]
fn an_answer_waits_for_its_link() {
    let mut bench = bench();
    bench.link.full.insert(1);
    assert_eq!(bench.out(1, 1, &tuple![1i64]), []);
    assert_eq!(bench.take(1, 2, Wait::AtOnce, &template![?i8]), []);
    assert_eq!(bench.take(1, 3, Wait::AtOnce, &template![?i64]), []);
    assert_eq!(bench.count(&template![?i64]), 1);
    let expected = [(1, 1, Answer::Done), (1, 2, Answer::NoMatch), (1, 3, plain(tuple![1i64]))];
    assert_eq!(bench.writable(1), expected);
}

#[test]
fn a_request_at_once_that_met_a_full_link_is_answered_from_the_instant_of_its_answer() {
    let mut bench = bench();
    bench.put(&tuple![1i64]);
    bench.link.full.insert(1);
    assert_eq!(bench.take(1, 1, Wait::AtOnce, &template![?i64]), []);
    assert_eq!(bench.take(2, 1, Wait::AtOnce, &template![?i64]).len(), 1);
    assert_eq!(bench.writable(1), [(1, 1, Answer::NoMatch)]);
}

#[test]
fn a_waiter_without_a_link_is_forgotten_and_the_tuple_stays() {
    let mut bench = bench();
    bench.take(1, 1, Wait::Forever, &template![?i64]);
    bench.link.gone.insert(1);
    bench.put(&tuple![1i64]);
    assert_eq!(bench.count(&template![?i64]), 1);
    assert_eq!(bench.status().waiters, 0);
}

#[test]
fn a_tuple_that_a_link_never_takes_is_refused_and_stays() {
    let mut bench = bench();
    bench.take(1, 1, Wait::Forever, &template![?i64, ?[u8]]);
    bench.link.too_long.insert(1);
    let sent = bench.out(9, 1, &tuple![1i64, vec![0u8; 64]]);
    assert_eq!(error(&sent[..1], 1, 1).0, Code::TooLarge);
    assert_eq!(bench.count(&template![?i64, ?[u8]]), 1);
}

#[test]
fn a_cancelled_request_is_answered_once_and_an_answered_one_stays_answered() {
    let mut bench = bench();
    bench.take(1, 1, Wait::Forever, &template![?i64]);
    assert_eq!(error(&bench.ask(1, 1, Request::Cancel), 1, 1).0, Code::Cancelled);
    assert_eq!(bench.ask(1, 1, Request::Cancel), []);
    bench.take(1, 2, Wait::Forever, &template![?i64]);
    bench.out(9, 1, &tuple![1i64]);
    assert_eq!(bench.ask(1, 2, Request::Cancel), []);
    assert_eq!(bench.count(&template![?i64]), 0);
}

#[test]
fn a_take_that_is_undone_puts_the_tuple_back_to_its_old_place() {
    let mut bench = bench();
    let wanted = template![?i64];
    bench.put(&tuple![1i64]);
    bench.put(&tuple![2i64]);
    bench.take(1, 1, Wait::AtOnce, &wanted);
    assert_eq!(bench.ask(1, 1, Request::Return), []);
    assert_eq!(bench.ask(1, 1, Request::Return), [], "once");
    assert_eq!(bench.take(2, 1, Wait::AtOnce, &wanted), [(2, 1, plain(tuple![1i64]))]);
    bench.take(3, 1, Wait::AtOnce, &wanted);
    bench.take(4, 1, Wait::Forever, &wanted);
    assert_eq!(bench.ask(2, 1, Request::Return), [(4, 1, plain(tuple![1i64]))], "those who wait are served");
    assert_eq!(bench.ask_settled(3, 1, 2, Request::Return), [], "a settled take stays");
    assert_eq!(bench.count(&wanted), 0);
}

#[test]
fn a_settled_take_is_gone() {
    let mut bench = bench();
    bench.put(&tuple![1i64]);
    bench.take(1, 5, Wait::AtOnce, &template![?i64]);
    assert_eq!(bench.status().hidden, 1);
    bench.ask_settled(1, 6, 5, Request::Renew);
    assert_eq!(bench.status().hidden, 1, "5 does not lie below 5");
    bench.ask_settled(1, 6, 6, Request::Renew);
    assert_eq!(bench.status().hidden, 0);
}

#[test]
fn the_takes_of_a_sender_that_settles_nothing_are_settled_for_it() {
    let mut bench = Bench::new(SpaceConfig { max_unsettled: 2, ..SpaceConfig::default() });
    for token in 1..=3u64 {
        bench.put(&tuple![token]);
        bench.take(1, token, Wait::AtOnce, &template![?u64]);
    }
    for token in 1..=3 {
        bench.ask(1, token, Request::Return);
    }
    assert_eq!(bench.count(&template![?u64]), 2);
}

#[test]
fn a_plain_take_is_gone_when_its_taker_dies_and_its_waiters_with_it() {
    let mut bench = bench();
    bench.put(&tuple![1i64]);
    bench.take(1, 1, Wait::AtOnce, &template![?i64]);
    bench.take(1, 2, Wait::Forever, &template![?i64]);
    assert_eq!(bench.down(1), []);
    bench.put(&tuple![2i64]);
    assert_eq!(bench.status().tuples, 1);
    assert_eq!(bench.status().hidden, 0);
}

#[test]
fn a_token_in_use_is_refused() {
    let mut bench = bench();
    bench.take(1, 1, Wait::Forever, &template![?i64]);
    assert_eq!(error(&bench.take(1, 1, Wait::AtOnce, &template![?u8]), 1, 1).0, Code::Malformed);
    assert_eq!(bench.status().waiters, 1);
    assert_eq!(bench.space.senders.get(super::bench::sender(1)).map(|s| s.uses(Token(1))), Some(true));
}

#[test]
fn one_sender_may_have_only_so_many_requests_waiting() {
    let mut bench = Bench::new(SpaceConfig { max_waiting: 2, ..SpaceConfig::default() });
    let wanted = template![?i64];
    assert_eq!(bench.take(1, 1, Wait::Forever, &wanted), []);
    assert_eq!(bench.take(1, 2, Wait::Forever, &wanted), []);
    assert_eq!(error(&bench.take(1, 3, Wait::Forever, &wanted), 1, 3).0, Code::TooLarge);
    assert_eq!(bench.take(2, 1, Wait::Forever, &wanted), []);
    let mut bench = Bench::new(SpaceConfig { max_waiting_bytes: 10_000, ..SpaceConfig::default() });
    let long = template![vec![0u8; 9_000]];
    assert_eq!(bench.take(1, 1, Wait::Forever, &long), []);
    assert_eq!(error(&bench.take(2, 1, Wait::Forever, &long), 2, 1).0, Code::TooLarge);
    bench.ask(1, 1, Request::Cancel);
    assert_eq!(bench.take(2, 1, Wait::Forever, &long), []);
}

#[test]
fn a_deadline_is_kept_to_the_nanosecond() {
    let mut bench = bench();
    bench.take(1, 1, Wait::For(Span(100)), &template![?i64]);
    bench.now = quintet_contract::Time(99);
    assert_eq!(bench.out(9, 1, &tuple![1i64]).len(), 2);
    bench.take(1, 2, Wait::For(Span(100)), &template![?i64]);
    bench.now = quintet_contract::Time(199);
    let sent = bench.out(9, 2, &tuple![1i64]);
    assert_eq!(error(&sent[..1], 1, 2).0, Code::TimedOut, "also when no wake came before");
    assert_eq!(bench.count(&template![?i64]), 1);
}

#[test]
fn more_kinds_of_templates_than_indexes_find_the_same() {
    let mut bench = bench();
    for n in 0..40i64 {
        bench.put(&tuple![n % 2, n % 3, n % 5, n % 7]);
    }
    for fields in 0..16u32 {
        let field = |index: u32, value: i64| match fields >> index & 1 {
            0 => crate::Field::formal::<i64>(),
            _ => crate::Field::from(value),
        };
        let wanted =
            crate::Template::new((0..).zip([1, 2, 3, 4]).map(|(i, v)| field(i, v)).collect()).unwrap();
        let matches = |n: &i64| wanted.matches(&tuple![n % 2, n % 3, n % 5, n % 7]);
        let expected: Vec<i64> = (0..40).filter(matches).collect();
        assert_eq!(bench.count(&wanted), expected.len() as u64, "{wanted}");
        let found = bench.read(1, 1, Wait::AtOnce, &wanted);
        let first = expected.first().map_or(Answer::NoMatch, |n| plain(tuple![n % 2, n % 3, n % 5, n % 7]));
        assert_eq!(found, [(1, 1, first)], "{wanted}");
    }
}

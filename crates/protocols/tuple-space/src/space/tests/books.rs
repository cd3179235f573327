//! What a space says that it has lent.

use super::bench::Bench;
use crate::space::room::TUPLE_BYTES;
use crate::{Answer, Books, Request, SpaceConfig, Template, Tuple, Wait, template, tuple};
use quintet_contract::Span;

const SECOND: Span = Span::from_secs(1);

/// What a request that waits counts for.
fn waiting(template: &Template) -> u64 {
    256 + template.encode().expect("it is short").0.len() as u64
}

fn stored(tuple: &Tuple) -> u64 {
    tuple.encode().expect("it is short").0.len() as u64 + TUPLE_BYTES
}

#[test]
fn everything_lent_is_counted_and_comes_back() {
    let mut bench = Bench::new(SpaceConfig { index_step: 1, ..SpaceConfig::default() });
    let (row, rows, none, large) =
        (tuple!["row", 1i64], template!["row", ?i64], template![true], template![2i32]);
    assert_eq!(bench.space.books(), Books::default());

    // Two requests that wait, one of them for a time.
    assert_eq!(bench.take(1, 1, Wait::Forever, &none), []);
    assert_eq!(bench.take(1, 2, Wait::For(SECOND), &none), []);
    let mut books =
        Books { waiting_bytes: 2 * waiting(&none), unanswered: 2, deadlines: 1, ..Books::default() };
    assert_eq!(bench.space.books(), books);

    // Two takes that may be undone, and two leases, of which one has an end.
    for token in 1..3 {
        bench.put(&row);
        assert_eq!(bench.take(2, token, Wait::AtOnce, &rows).len(), 1);
    }
    for ttl in [SECOND, Span(u64::MAX)] {
        bench.put(&row);
        assert_eq!(bench.lease(3, ttl.0, ttl, &rows).len(), 1);
    }
    books = Books { unsettled: 2, unsettled_bytes: 2 * stored(&row), deadlines: 2, ..books };
    assert_eq!(bench.space.books(), books);

    // A link without room for two answers and a tuple.
    bench.link.full.insert(4);
    for token in 1..3 {
        assert_eq!(bench.out(4, token, &row), []);
    }
    assert_eq!(bench.take(4, 3, Wait::AtOnce, &rows), []);
    books.waiting_bytes += waiting(&rows);
    books = Books { replies: 2, put_off: 1, unanswered: 3, ..books };
    assert_eq!(bench.space.books(), books);

    // An index that is being built.
    for n in 1..4i32 {
        bench.put(&tuple![n]);
    }
    assert_eq!(bench.take(5, 1, Wait::AtOnce, &large), []);
    books.waiting_bytes += waiting(&large);
    books = Books { put_off: 2, unanswered: 4, ..books };
    assert_eq!(bench.space.books(), books);

    assert_eq!(bench.pass(Span::from_millis(1)), [(5, 1, Answer::Tuple(tuple![2i32], None))]);
    assert_eq!(bench.ask(1, 1, Request::Cancel).len(), 1);
    assert_eq!(bench.writable(4).len(), 3);
    assert_eq!(bench.pass(SECOND).len(), 1);
    (2..6).for_each(|sender| assert_eq!(bench.down(sender), []));
    assert_eq!(bench.space.books(), Books::default());
}

#[test]
fn a_put_is_counted_as_long_as_it_waits_for_room_however_that_ends() {
    let mut bench = Bench::new(SpaceConfig { max_tuples: 1, ..SpaceConfig::default() });
    bench.put(&tuple![1i64]);
    let ends: [fn(&mut Bench) -> usize; 4] = [
        |bench| bench.ask(1, 1, Request::Cancel).len(),
        |bench| bench.pass(SECOND).len(),
        |bench| bench.down(1).len() + 1,
        |bench| {
            bench
                .ask_settled(
                    2,
                    1,
                    1,
                    Request::Take { wait: Wait::AtOnce, lease: None, template: &template![1i64] },
                )
                .len()
                - 1
        },
    ];
    for end in ends {
        let put = Request::Out { deadline: Some(SECOND), tuples: &[tuple![2i64]], expiries: &[] };
        assert_eq!(bench.ask(1, 1, put), []);
        let books = bench.space.books();
        assert!(books.waiting_bytes > 256, "{books:?}");
        assert_eq!((books.unanswered, books.deadlines), (1, 1));
        assert_eq!(end(&mut bench), 1);
        bench.ask_settled(2, 9, 9, Request::Status);
        assert_eq!(bench.space.books(), Books::default());
    }
}

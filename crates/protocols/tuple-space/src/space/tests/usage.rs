//! Partitions and hot keys: what they count.

use super::bench::{Bench, sender};
use crate::codec::LIST;
use crate::{
    Answer, Cursor, HotKey, MAX_TEMPLATE_SHAPES, Page, PageSize, Partition, Rows, SpaceConfig, Subject,
    TUPLE_BYTES, Wait, template, tuple,
};
use quintet_contract::{Effects, Frame, Input, Protocol, Span, Token};

const WHOLE: PageSize = PageSize { rows: PageSize::MAX_ROWS, field_bytes: 64 };

impl Bench {
    fn partitions(&mut self, size: PageSize) -> Vec<Partition> {
        let (mut rows, mut from) = (Vec::new(), Some(Cursor::default()));
        while let Some(at) = from {
            let page = self.page(Subject::Partitions, at, size, None);
            let Rows::Partitions(more) = page.rows else { panic!("{page:?}") };
            assert!(more.len() <= size.rows as usize && page.next.is_none_or(|next| next > at));
            rows.extend(more);
            from = page.next;
        }
        rows
    }

    fn partition(&mut self, name: &str) -> Partition {
        let found: Vec<Partition> =
            self.partitions(WHOLE).into_iter().filter(|row| row.name.as_deref() == Some(name)).collect();
        let [row] = &found[..] else { panic!("{name}: {found:?}") };
        row.clone()
    }

    fn hot_keys(&mut self) -> Vec<HotKey> {
        match self.page(Subject::HotKeys, Cursor::default(), WHOLE, None) {
            Page { rows: Rows::HotKeys(rows), next: None } => rows,
            other => panic!("{other:?}"),
        }
    }
}

/// With a manager that becomes bytes and comes back before every input, what is counted must not change.
fn benches() -> [Bench; 2] {
    let mut moving = Bench::new(SpaceConfig::default());
    moving.moves = true;
    [Bench::new(SpaceConfig::default()), moving]
}

#[test]
fn a_partition_counts_what_is_put_taken_read_and_asked() {
    for mut bench in benches() {
        (0..5i64).for_each(|n| bench.put(&tuple!["job", n]));
        bench.put(&tuple!["other", 1i64]);
        bench.put(&tuple![7i64, "job"]);
        bench.pass(Span::from_secs(3));
        bench.take(1, 1, Wait::AtOnce, &template!["job", ?i64]);
        bench.read(1, 2, Wait::AtOnce, &template!["job", 3i64]);
        bench.take(1, 3, Wait::AtOnce, &template!["job", 77i64]);
        bench.lease(2, 1, Span::from_secs(9), &template!["job", ?i64]);
        let row = bench.partition("job");
        assert_eq!((row.tuples, row.put, row.taken, row.read, row.asked), (4, 5, 2, 1, 4));
        assert_eq!(row.bytes, 4 * (3 + 1 + 4 + 3 + 8 + TUPLE_BYTES));
        assert_eq!((row.filled, row.since_put), (Some(Span::from_secs(3)), Some(Span::from_secs(3))));
        assert_eq!((row.since_delivery, row.since_asked), (Some(Span::ZERO), Some(Span::ZERO)));
        let shapes: Vec<(u64, u64)> = row.shapes.iter().map(|shape| (shape.actuals, shape.asked)).collect();
        assert_eq!((shapes, row.other_shapes), (vec![(0b01, 2), (0b11, 2)], 0));
        let other = bench.partition("other");
        assert_eq!((other.tuples, other.asked, other.since_delivery), (1, 0, None));
        let unnamed: Vec<Partition> =
            bench.partitions(WHOLE).into_iter().filter(|row| row.name.is_none()).collect();
        assert_eq!((unnamed.len(), unnamed[0].tuples), (1, 1), "that with a number in front: {unnamed:?}");
        bench.down(2);
        assert_eq!(bench.partition("job").tuples, 4, "what was leased is there again");
        assert_eq!(bench.partition("job").taken, 2);
        bench.take(3, 1, Wait::Forever, &template!["new", true]);
        assert_eq!(bench.partition("new").asked, 1, "who waits has asked");
    }
}

#[test]
fn a_take_that_is_undone_counts_again_also_where_its_row_became_another_names() {
    for mut bench in benches() {
        bench.put(&tuple!["first", 0i64]);
        bench.take(1, 1, Wait::AtOnce, &template!["first", ?i64]);
        assert_eq!(bench.partition("first").tuples, 0, "a take has it");
        // As many names as are told apart, one more, and that again.
        (0..40i64).for_each(|n| {
            let name = format!("name {}", n % 17);
            bench.put(&tuple![name.as_str(), n]);
        });
        bench.ask(1, 1, crate::Request::Return);
        let rows = bench.partitions(WHOLE);
        assert_eq!(rows.iter().map(|row| row.tuples).sum::<u64>(), 41);
        assert_eq!(rows.len(), 17, "16 names, and all others: {rows:?}");
    }
}

#[test]
fn other_ways_to_ask_than_the_first_are_counted_together() {
    let mut bench = Bench::new(SpaceConfig::default());
    bench.put(&tuple!["t", 1i64, 2i64, 3i64, 4i64]);
    for set in 0..16u64 {
        let field = |at: u64| match set >> at & 1 {
            0 => crate::Field::Formal(crate::Type::Scalar(crate::ElementType::I64)),
            _ => crate::Field::Actual(9i64.into()),
        };
        let fields = std::iter::once(crate::Field::Actual("t".into())).chain((0..4).map(field));
        bench.take(1, 1 + set, Wait::AtOnce, &crate::Template::new(fields.collect()).unwrap());
    }
    let row = bench.partition("t");
    assert_eq!((row.shapes.len(), row.other_shapes, row.asked), (MAX_TEMPLATE_SHAPES, 8, 16));
}

#[test]
fn keys_that_are_asked_for_most_are_found_among_thousands() {
    for mut bench in benches() {
        bench.verifies = false;
        bench.put(&tuple!["row", 0i64]);
        let questions: i64 = if bench.moves { 2_000 } else { 60_000 };
        for n in 0..questions {
            // One question in four is for 7, one in eight for 8, all others are for keys of their own.
            let key = match n * 7919 % 8 {
                0 | 1 => 7,
                2 => 8,
                _ => 1000 + n,
            };
            bench.read(1, 1, Wait::AtOnce, &template!["row", key]);
            bench.read(1, 1, Wait::AtOnce, &template!["row", ?i64]);
        }
        let keys = bench.hot_keys();
        let hottest: Vec<String> = keys.iter().take(2).map(|key| key.fields[1].to_string()).collect();
        assert_eq!((hottest, keys.len()), (vec!["7".to_owned(), "8".to_owned()], 16));
        assert!(
            keys[0].asked - keys[0].error > 20 && keys.iter().all(|key| key.error < key.asked),
            "{keys:?}"
        );
    }
}

#[test]
fn pages_of_partitions_follow_each_other_and_end_early_nowhere() {
    let mut bench = Bench::new(SpaceConfig::default());
    bench.put(&tuple!["a", 1i64]);
    bench.put(&tuple!["b", 1i64]);
    bench.put(&tuple!["a", true]);
    bench.read(1, 1, Wait::AtOnce, &template!["a", 1i64]);
    let whole = bench.partitions(WHOLE);
    assert_eq!((whole.len(), bench.partitions(PageSize { rows: 1, ..WHOLE })), (3, whole));
    for subject in [Subject::Partitions, Subject::HotKeys] {
        let size = 9u32.to_le_bytes();
        let body = [&[0; 8][..], &[subject as u8], &[0; 9], &size, &size].concat();
        let frame = Frame::new(LIST, Token(9), &body).to_owned();
        let mut link = Effects::default();
        bench.space.handle(bench.now, Input::Frame(sender(1), frame.borrow()), &mut link);
        let (_, page) = link.frames().pop().expect("it is answered at once");
        let read = |body: &[u8]| Answer::decode(page.kind, body, &page.bulk);
        assert!(matches!(read(&page.body), Ok(Answer::Page(page)) if !page.rows.is_empty()));
        assert!((0..page.body.len()).all(|end| read(&page.body[..end]).is_err()), "{subject:?}");
    }
}

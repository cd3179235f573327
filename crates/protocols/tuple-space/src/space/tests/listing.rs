//! Listings: what they show, page by page.

use super::bench::{Bench, Sent, sender};
use crate::codec::LIST;
use crate::{
    Answer, Array, Awaited, ClientState, Cursor, Glimpse, ListedTuple, Operation, Page, PageSize, Request,
    Rows, SpaceConfig, Subject, Template, Type, Wait, WaitingRequest, template, tuple,
};
use quintet_contract::{
    Effects, Frame, Identity, Incarnation, Input, LinkClass, LinkInfo, PeerChange, Protocol, Span, Token,
};
use quintet_errors::Code;

/// As many rows a page, of each field so many bytes.
const WHOLE: PageSize = PageSize { rows: PageSize::MAX_ROWS, field_bytes: 8 };

impl Bench {
    pub(super) fn page(
        &mut self,
        subject: Subject,
        from: Cursor,
        size: PageSize,
        template: Option<&Template>,
    ) -> Page {
        match self.ask(101, 1, Request::List { subject, from, size, template }).pop() {
            Some((101, 1, Answer::Page(page))) => page,
            other => panic!("not a page: {other:?}"),
        }
    }

    /// All pages of tuples, and what others were answered meanwhile.
    pub(super) fn list_among(
        &mut self,
        size: PageSize,
        template: Option<&Template>,
    ) -> (Vec<ListedTuple>, Vec<Sent>, usize) {
        let (mut rows, mut others, mut from) = (Vec::new(), Vec::new(), Some(Cursor::default()));
        let mut pages = 0;
        while let Some(at) = from.take() {
            pages += 1;
            let list = Request::List { subject: Subject::Tuples, from: at, size, template };
            for (to, token, answer) in self.ask(101, 1, list) {
                match answer {
                    Answer::Page(Page { rows: Rows::Tuples(more), next }) => {
                        rows.extend(more);
                        from = next;
                    }
                    other => others.push((to, token, other)),
                }
            }
        }
        (rows, others, pages)
    }

    /// All pages of tuples, and how many they are.
    pub(super) fn list(&mut self, size: PageSize, template: Option<&Template>) -> (Vec<ListedTuple>, usize) {
        let (mut rows, mut pages, mut from) = (Vec::new(), 0, Some(Cursor::default()));
        while let Some(at) = from {
            let page = self.page(Subject::Tuples, at, size, template);
            let Rows::Tuples(more) = page.rows else { panic!("not tuples: {page:?}") };
            assert!(more.len() <= size.rows as usize, "{} rows", more.len());
            assert!(page.next.is_none_or(|next| next > at), "it goes on, {at:?}: {page:?}", page = page.next);
            rows.extend(more);
            (from, pages) = (page.next, pages + 1);
        }
        (rows, pages)
    }

    fn waiting(&mut self) -> Vec<WaitingRequest> {
        match self.page(Subject::Waiting, Cursor::default(), WHOLE, None) {
            Page { rows: Rows::Waiting(rows), next: None } => rows,
            other => panic!("not who waits: {other:?}"),
        }
    }

    fn clients(&mut self) -> Vec<ClientState> {
        match self.page(Subject::Clients, Cursor::default(), WHOLE, None) {
            Page { rows: Rows::Clients(rows), next: None } => rows,
            other => panic!("not clients: {other:?}"),
        }
    }

    fn up(&mut self, number: u16, link: LinkInfo) {
        self.give(Input::Peer(sender(number), &PeerChange::Up { incarnation: Incarnation(1), link }));
    }
}

fn shown(rows: &[ListedTuple]) -> Vec<String> {
    let fields =
        |row: &ListedTuple| row.fields.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    rows.iter().map(fields).collect()
}

#[test]
fn a_listing_shows_what_matches_with_the_beginning_of_what_is_long() {
    let mut bench = Bench::new(SpaceConfig::default());
    let array = Array::from_elements(&[2, 3], &[0u16; 6]).unwrap();
    bench.put(&tuple!["row", 1i64]);
    bench.put(&tuple!["row", true]);
    bench.put(&tuple!["a long text", "längliches", b"0123456789", array]);
    bench.put(&tuple!["row", 2i64]);
    let (rows, pages) = bench.list(WHOLE, Some(&template!["row", ?i64]));
    assert_eq!((shown(&rows), pages), (vec!["\"row\", 1".to_owned(), "\"row\", 2".to_owned()], 1));
    assert!(rows[0].age < rows[1].age && rows.iter().all(|row| row.lease.is_none() && row.failed == 0));
    let (rows, _) = bench.list(WHOLE, None);
    assert_eq!(rows.len(), 4);
    let long = &rows.iter().find(|row| row.fields.len() == 4).unwrap().fields;
    // The eighth byte is the second of a character's two.
    let beginnings = long.iter().map(|field| match field {
        Glimpse::Beginning { bytes, beginning, .. } => (*bytes, beginning.len()),
        whole => panic!("{whole}"),
    });
    assert_eq!(beginnings.collect::<Vec<_>>(), [(11, 8), (11, 8), (10, 8), (12, 8)]);
    assert_eq!(long[3].to_string(), "u16[2,3]");
    assert_eq!(
        (long[0].to_string(), long[2].to_string()),
        ("\"a long t\"... (11 bytes)".into(), "binary[10]".into())
    );
    let (rows, _) = bench.list(
        PageSize { field_bytes: 2, ..WHOLE },
        Some(&template![?str, ?str, ?[u8], ?crate::ArrayOf<u16, 2>]),
    );
    let Glimpse::Beginning { field: Type::Text, beginning, .. } = &rows[0].fields[1] else {
        panic!("{rows:?}")
    };
    assert_eq!(&beginning[..], b"l", "no character is cut");
}

#[test]
fn a_leased_tuple_is_listed_with_its_holder_and_one_that_was_taken_is_not() {
    let mut bench = Bench::new(SpaceConfig::default());
    (1..=3i64).for_each(|n| bench.put(&tuple!["task", n]));
    let any = template!["task", ?i64];
    bench.take(1, 1, Wait::AtOnce, &any);
    bench.lease(2, 1, Span::from_secs(9), &any);
    bench.pass(Span::from_secs(2));
    let (rows, _) = bench.list(WHOLE, Some(&any));
    assert_eq!(shown(&rows), ["\"task\", 2", "\"task\", 3"]);
    let lease = rows[0].lease.expect("it is leased");
    assert_eq!((lease.holder, lease.held), (sender(2), Span::from_secs(2)));
    assert_eq!(lease.ends_in, Some(Span::from_secs(7)));
    bench.ask(2, 2, Request::Release { lease: lease.id });
    let (rows, _) = bench.list(WHOLE, Some(&any));
    let failed = |row: &ListedTuple| (row.fields[1].to_string(), row.failed, row.lease.is_some());
    let mut rows: Vec<_> = rows.iter().map(failed).collect();
    rows.sort();
    assert_eq!(rows, [("2".to_owned(), 1, false), ("3".to_owned(), 0, false)]);
}

#[test]
fn no_page_looks_at_more_than_a_turn_may_and_all_together_show_each_tuple_once() {
    let mut bench = Bench::new(SpaceConfig { index_step: 10, ..SpaceConfig::default() });
    bench.verifies = false;
    (0..500i64).for_each(|n| bench.put(&tuple!["n", n]));
    (0..40i64).for_each(|n| bench.put(&tuple![n, "m", n]));
    for n in 0..25 {
        bench.lease(3, n + 1, Span::from_secs(60), &template!["n", ?i64]);
    }
    let one_in_ten = template!["n", 70i64];
    for (size, template, expected) in
        [(WHOLE, None, 540), (PageSize { rows: 3, ..WHOLE }, None, 540), (WHOLE, Some(&one_in_ten), 1)]
    {
        let (rows, pages) = bench.list(size, template);
        let mut ages: Vec<u64> = rows.iter().map(|row| row.age).collect();
        ages.sort_unstable();
        ages.dedup();
        assert_eq!((rows.len(), ages.len()), (expected, expected));
        let least = if template.is_some() { 50 } else { 540 / size.rows.min(10) as usize };
        assert!(pages >= least, "{pages} pages");
        assert!(bench.link.matching <= 11, "{} looked at in one page", bench.link.matching);
    }
    assert_eq!(bench.status().index_bytes, 0, "a listing makes no index");
}

#[test]
fn a_page_ends_before_it_is_too_long_for_a_frame() {
    let mut bench = Bench::new(SpaceConfig::default());
    let text = "x".repeat(1000);
    (0..60).for_each(|_| bench.put(&crate::Tuple::new(vec![text.as_str().into(); 20]).unwrap()));
    let size = PageSize::default();
    let page = bench.page(Subject::Tuples, Cursor::default(), size, None);
    assert!(page.rows.len() < 60 && page.next.is_some(), "{} rows", page.rows.len());
    assert_eq!(bench.list(size, None).0.len(), 60);
}

#[test]
fn who_waits_is_listed_with_what_for_and_since_when() {
    let config = SpaceConfig { max_tuples: 1, ..SpaceConfig::default() };
    let mut bench = Bench::new(config);
    bench.take(1, 1, Wait::Forever, &template!["x", ?i64]);
    bench.pass(Span::from_secs(1));
    bench.read(2, 5, Wait::For(Span::from_secs(10)), &template![?str, 7i64]);
    bench.put(&tuple![1i64]);
    bench.lease(4, 1, Span::from_secs(60), &template![?i64]);
    bench.ask(3, 1, Request::Out { deadline: None, tuples: &[tuple![2i64]], expiries: &[] });
    bench.pass(Span::from_secs(1));
    bench.take(5, 1, Wait::Forever, &template![?i64]);
    let rows = bench.waiting();
    let seen = rows.iter().map(|row| {
        let template = row.template.as_ref().map_or(String::new(), |fields| {
            fields.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        });
        (row.client.node.0, row.operation, row.awaited, row.waited.0 / 1_000_000_000, template)
    });
    let expected = [
        (1, Operation::Take, Awaited::Tuple, 2, "\"x\", ?i64".to_owned()),
        (2, Operation::Read, Awaited::Tuple, 1, "?text, 7".to_owned()),
        (5, Operation::Take, Awaited::Tuple, 0, "?i64".to_owned()),
        (3, Operation::Out, Awaited::Room, 1, String::new()),
    ];
    assert_eq!(seen.collect::<Vec<_>>(), expected);
    assert_eq!(rows[1].ends_in, Some(Span::from_secs(9)));
    assert_eq!((rows[0].hidden, rows[2].hidden, rows[3].puts), (0, 1, 1), "a leased tuple may return");
    assert!(rows[0].ends_in.is_none() && rows[0].age < rows[1].age);
}

#[test]
fn clients_are_listed_while_they_are_connected_with_what_they_did() {
    let mut bench = Bench::new(SpaceConfig::default());
    let link = LinkInfo::new(LinkClass::Machine, 1 << 20);
    let proof = Some(Identity([7; 32]));
    bench.up(1, link);
    bench.up(2, LinkInfo { class: LinkClass::Network, identity: proof, ..link });
    (0..3i64).for_each(|n| bench.put(&tuple!["task", n]));
    let leases: Vec<_> = (1..=3)
        .map(|token| match bench.lease(2, token, Span::from_secs(60), &template!["task", ?i64]).pop() {
            Some((2, _, Answer::Tuple(_, Some(attempt)))) => attempt.lease,
            other => panic!("no lease: {other:?}"),
        })
        .collect();
    bench.pass(Span::from_secs(2));
    bench.ask(2, 4, Request::Ack { lease: leases[0], deadline: None, tuples: &[], expiries: &[] });
    bench.ask(2, 5, Request::Release { lease: leases[1] });
    bench.take(1, 1, Wait::Forever, &template!["other"]);
    let [first, second] = bench.clients()[..] else { panic!("two are connected") };
    assert_eq!((first.client, first.waiting, first.leases, first.identity), (sender(1), 1, 0, None));
    assert_eq!((second.reach, second.identity), (LinkClass::Network, proof));
    assert_eq!((second.leases, second.acknowledged, second.given_up), (1, 1, 1));
    assert_eq!((second.held, second.connected), (Span::from_secs(2), Span::from_secs(2)));
    bench.down(2);
    assert_eq!(bench.clients().len(), 1);
}

#[test]
fn what_is_no_request_for_a_page_is_refused_and_so_is_a_page_that_ends_early() {
    let mut bench = Bench::new(SpaceConfig::default());
    let request = |subject: u8, rows: u32, bytes: u32, rest: &[u8]| {
        let parts = [&[0; 8][..], &[subject], &[0; 9], &rows.to_le_bytes(), &bytes.to_le_bytes(), rest];
        parts.concat()
    };
    let (template, _) = template!["row", ?i64].encode().unwrap();
    let bad = [
        request(5, 1, 1, &[]),
        request(0, 0, 1, &[]),
        request(0, PageSize::MAX_ROWS + 1, 1, &[]),
        request(0, 1, 257, &[]),
        request(1, 1, 1, &template),
        request(0, 1, 1, &template[..template.len() - 1]),
    ];
    for body in bad {
        let (code, _) = super::bench::error(&bench.ask_raw(1, 1, LIST, &body), 1, 1);
        assert_eq!(code, Code::Malformed, "{body:02x?}");
    }
    bench.put(&tuple!["row", 1i64, vec![7u8; 300], Array::from_elements(&[2], &[1.0f64, 2.0]).unwrap()]);
    bench.lease(2, 1, Span::from_secs(1), &template![?str, ?i64, ?crate::Bytes, ?crate::ArrayOf<f64, 1>]);
    bench.up(2, LinkInfo { identity: Some(Identity([1; 32])), ..LinkInfo::new(LinkClass::Network, 9) });
    bench.take(2, 2, Wait::Forever, &template!["other", ?crate::ArrayOf<f64, 2>]);
    for subject in 0..3 {
        let frame = Frame::new(LIST, Token(9), &request(subject, 9, 256, &[])).to_owned();
        let mut link = Effects::default();
        bench.space.handle(bench.now, Input::Frame(sender(1), frame.borrow()), &mut link);
        let (_, page) = link.frames().pop().expect("it is answered at once");
        let read = |body: &[u8]| Answer::decode(page.kind, body, &page.bulk);
        assert!(
            matches!(read(&page.body), Ok(Answer::Page(page)) if page.rows.len() == 1 && page.next.is_none())
        );
        assert!(
            (0..page.body.len()).all(|end| read(&page.body[..end]).is_err()),
            "what is listed: {subject}"
        );
    }
}

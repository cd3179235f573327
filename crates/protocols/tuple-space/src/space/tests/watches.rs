//! What happens to tuples is told in its order, without gaps, and whoever comes too late is told that.

use super::bench::{Bench, Sent, error};
use crate::{
    Answer, Change, Events, LeaseId, Request, Space, SpaceConfig, Template, Tuple, TupleEvent, Wait,
    template, tuple,
};
use quintet_contract::{Protocol, Snapshot, Span};
use quintet_errors::Code;

impl Bench {
    /// All pages of the tuples that can be taken, with their ages; what else was answered meanwhile; and how many pages there were.
    pub(super) fn look_among(
        &mut self,
        most: u32,
        template: Option<&Template>,
    ) -> (Vec<(u64, Tuple)>, Vec<Sent>, usize) {
        let (mut there, mut others, mut from, mut pages) = (Vec::new(), Vec::new(), Some(0), 0);
        while let Some(at) = from.take() {
            pages += 1;
            for (to, token, answer) in self.ask(101, 1, Request::Look { from: at, most, template }) {
                match answer {
                    Answer::Events(Events { next, events, .. }) if to == 101 => {
                        assert!(events.len() <= most as usize, "{} tuples", events.len());
                        assert!(events.iter().all(|event| event.change == Change::There));
                        there.extend(events.into_iter().map(|event| (event.age, event.tuple)));
                        from = next;
                    }
                    other => others.push((to, token, other)),
                }
            }
        }
        (there, others, pages)
    }

    fn watch(
        &mut self,
        token: u64,
        since: Option<u64>,
        wait: Wait,
        template: Option<&Template>,
    ) -> Vec<Sent> {
        self.ask(7, token, Request::Watch { since, most: 100, wait, template })
    }

    /// The number now.
    fn number(&mut self) -> u64 {
        told(&self.watch(1, None, Wait::Forever, None)).number
    }
}

fn told(sent: &[Sent]) -> Events {
    match sent {
        [(7, _, Answer::Events(events))] => events.clone(),
        other => panic!("not events: {other:?}"),
    }
}

fn changes(events: &[TupleEvent]) -> Vec<(Change, u64)> {
    events.iter().map(|event| (event.change, event.age)).collect()
}

#[test]
fn each_change_is_told_in_its_order_and_once() {
    let mut bench = Bench::new(SpaceConfig { max_attempts: 1, ..SpaceConfig::default() });
    bench.put(&tuple!["before"]);
    let mut number = bench.number();
    bench.put(&tuple!["a", 1i64]);
    bench.take(1, 2, Wait::AtOnce, &template!["a", ?i64]);
    bench.ask(1, 2, Request::Return);
    bench.lease(1, 3, Span::from_secs(1), &template!["a", ?i64]);
    bench.ask(
        1,
        4,
        Request::Ack { lease: LeaseId(3), deadline: None, tuples: &[tuple!["b"]], expiries: &[] },
    );
    bench.lease(1, 5, Span::from_secs(1), &template!["b"]);
    bench.pass(Span::from_secs(2));
    let mut all = Vec::new();
    // Two at a time: behind each number it goes on without a gap.
    loop {
        let ask = Request::Watch { since: Some(number), most: 2, wait: Wait::AtOnce, template: None };
        let Events { number: to, events, next } = told(&bench.ask(7, 1, ask));
        assert_eq!(next, None);
        if events.is_empty() {
            assert_eq!(to, number);
            break;
        }
        assert!(events.iter().all(|event| number < event.number && event.number <= to));
        number = to;
        all.extend(events);
    }
    assert!(all.windows(2).all(|pair| pair[0].number < pair[1].number));
    let expected = [
        (Change::Put, 2),
        (Change::Taken, 2),
        (Change::Returned, 2),
        (Change::Leased, 2),
        (Change::Done, 2),
        (Change::Put, 4),
        (Change::Leased, 4),
        (Change::Failed, 4),
        (Change::Put, 6),
    ];
    assert_eq!(changes(&all), expected);
    assert_eq!(all[0].tuple, tuple!["a", 1i64]);
    assert_eq!(all[8].tuple[0], "quintet.dead-letter".into());
}

#[test]
fn who_waits_is_told_of_what_matches_and_others_are_not() {
    let mut bench = Bench::new(SpaceConfig::default());
    let number = bench.number();
    assert_eq!(bench.watch(2, Some(number), Wait::Forever, Some(&template!["order", ?i64])), []);
    assert_eq!(bench.out(100, 1, &tuple!["other", 1i64]), [(100, 1, Answer::Done)]);
    let tuples = [tuple!["order", 1i64], tuple!["order", 1.0f64], tuple!["order", 2i64]];
    let sent = bench.ask(100, 2, Request::Out { deadline: None, tuples: &tuples, expiries: &[] });
    assert_eq!(sent[0], (100, 2, Answer::Done));
    let Events { number: to, events, .. } = told(&sent[1..]);
    let orders: Vec<_> = events.iter().map(|event| event.tuple.clone()).collect();
    assert_eq!(orders, [tuple!["order", 1i64], tuple!["order", 2i64]], "one answer for one request");
    assert_eq!(to, number + 4);
    assert_eq!(bench.watch(3, Some(to), Wait::AtOnce, None), [(7, 3, nothing(to))]);
}

fn nothing(number: u64) -> Answer {
    Answer::Events(Events { number, next: None, events: vec![] })
}

#[test]
fn who_waited_in_vain_is_told_up_to_which_number() {
    let mut bench = Bench::new(SpaceConfig::default());
    let number = bench.number();
    let wait = Wait::For(Span::from_secs(3));
    assert_eq!(bench.watch(2, Some(number), wait, Some(&template!["order", ?i64])), []);
    bench.put(&tuple!["other"]);
    assert_eq!(bench.pass(Span::from_secs(2)), []);
    assert_eq!(bench.pass(Span::from_secs(1)), [(7, 2, nothing(number + 1))]);
    assert_eq!(bench.watch(3, Some(number), Wait::Forever, Some(&template!["order", ?i64])), []);
    let (code, _) = error(&bench.ask(7, 3, Request::Cancel), 7, 3);
    assert_eq!(code, Code::Cancelled);
    assert_eq!(bench.space.books().waiting_bytes, 0);
}

#[test]
fn what_is_kept_no_more_is_told_with_where_to_go_on() {
    // A sixteenth of the quota: room for some ten of these.
    let mut bench = Bench::new(SpaceConfig { max_bytes: 20_000, ..SpaceConfig::default() });
    let number = bench.number();
    for n in 0..30i64 {
        bench.put(&tuple![n]);
    }
    let (oldest, newest) = match bench.watch(2, Some(number), Wait::Forever, None).pop() {
        Some((7, 2, Answer::TooOld { oldest, newest })) => (oldest, newest),
        other => panic!("not too old: {other:?}"),
    };
    assert_eq!(newest, number + 30);
    assert!((number + 15..newest).contains(&oldest), "{oldest} of {number} to {newest}");
    let kept = told(&bench.watch(3, Some(oldest), Wait::AtOnce, None)).events;
    assert_eq!(kept.len() as u64, newest - oldest);
    let too_old = bench.watch(4, Some(oldest - 1), Wait::AtOnce, None);
    assert_eq!(too_old, [(7, 4, Answer::TooOld { oldest, newest })]);
    let of_another_life = bench.watch(5, Some(newest + 1), Wait::Forever, None);
    assert_eq!(of_another_life, [(7, 5, Answer::TooOld { oldest, newest })]);
}

#[test]
fn events_are_kept_while_somebody_watches_and_ten_minutes_longer() {
    let mut bench = Bench::new(SpaceConfig::default());
    bench.put(&tuple!["unseen"]);
    let number = bench.number();
    bench.pass(Span::from_secs(600));
    bench.put(&tuple!["seen"]);
    assert_eq!(told(&bench.watch(2, Some(number), Wait::AtOnce, None)).events.len(), 1);
    // Who waits holds them for as long as that takes.
    assert_eq!(bench.watch(3, Some(number + 1), Wait::Forever, None), []);
    bench.pass(Span::from_secs(10_000));
    let sent = bench.out(100, 1, &tuple!["seen"]);
    assert_eq!(told(&sent[1..]).events.len(), 1);
    bench.pass(Span::from_secs(601));
    bench.put(&tuple!["unseen"]);
    assert!(!bench.space.keeps_events(), "nobody watches");
    let again = bench.watch(4, Some(number + 2), Wait::AtOnce, None);
    assert!(matches!(again[..], [(7, 4, Answer::TooOld { .. })]), "what was not kept is no gap: {again:?}");
}

#[test]
fn a_watcher_whose_link_is_full_goes_on_when_it_has_room_and_holds_up_nobody() {
    let mut bench = Bench::new(SpaceConfig { max_bytes: 20_000, ..SpaceConfig::default() });
    let number = bench.number();
    assert_eq!(bench.watch(2, Some(number), Wait::Forever, None), []);
    bench.link.full.insert(7);
    for n in 0..3i64 {
        bench.put(&tuple![n]);
    }
    assert_eq!(told(&bench.writable(7)).events.len(), 3);
    // What does not fit meanwhile is missed, and that is told.
    assert_eq!(bench.watch(3, Some(number + 3), Wait::Forever, None), []);
    bench.link.full.insert(7);
    for n in 0..30i64 {
        bench.put(&tuple![n]);
    }
    let sent = bench.writable(7);
    assert!(matches!(sent[..], [(7, 3, Answer::TooOld { .. })]), "{sent:?}");
    assert_eq!(bench.space.deadline(), None);
}

#[test]
fn no_turn_compares_more_than_a_step() {
    let mut bench = Bench::new(SpaceConfig { index_step: 10, ..SpaceConfig::default() });
    let number = bench.number();
    let never = template!["never", ?i64];
    for token in 2..6 {
        assert_eq!(bench.watch(token, Some(number), Wait::Forever, Some(&never)), []);
    }
    let tuples: Vec<Tuple> = (0..25i64).map(|n| tuple![n]).collect();
    assert_eq!(
        bench.ask(100, 1, Request::Out { deadline: None, tuples: &tuples, expiries: &[] }),
        [(100, 1, Answer::Done)]
    );
    let mut turns = 0;
    while let Some(due) = bench.space.deadline() {
        assert!(bench.link.matching <= 10, "{} were compared in a turn", bench.link.matching);
        assert_eq!(bench.pass(due.since(bench.now)), []);
        turns += 1;
    }
    assert!((9..=10).contains(&turns), "{turns} turns");
    // One who comes new is told at once how far he is.
    assert_eq!(bench.watch(6, Some(number), Wait::Forever, Some(&never)), [(7, 6, nothing(number + 10))]);
}

#[test]
fn long_data_travels_with_its_event() {
    let mut bench = Bench::new(SpaceConfig::default());
    let number = bench.number();
    let long = crate::Array::from_elements(&[5000], &vec![1.5f64; 5000]).unwrap();
    let long = tuple!["long", long];
    bench.ask(
        100,
        1,
        Request::Out { deadline: None, tuples: &[tuple!["a"], long.clone(), long.clone()], expiries: &[] },
    );
    let first = told(&bench.watch(2, Some(number), Wait::AtOnce, None));
    assert_eq!(first.events.iter().map(|event| &event.tuple).collect::<Vec<_>>(), [&tuple!["a"], &long]);
    let second = told(&bench.watch(3, Some(first.number), Wait::AtOnce, None));
    assert_eq!(second.events.iter().map(|event| &event.tuple).collect::<Vec<_>>(), [&long]);
    let (there, _, pages) = bench.look_among(10, Some(&template!["long", ?crate::ArrayOf<f64, 1>]));
    assert_eq!(there.into_iter().map(|(_, tuple)| tuple).collect::<Vec<_>>(), [long.clone(), long]);
    assert!(pages >= 2, "{pages} pages");
}

#[test]
fn a_dead_watcher_is_forgotten() {
    let mut bench = Bench::new(SpaceConfig::default());
    let number = bench.number();
    assert_eq!(bench.watch(2, Some(number), Wait::For(Span::from_secs(9)), None), []);
    assert_eq!(bench.down(7), []);
    bench.put(&tuple!["a"]);
    assert_eq!(bench.space.books(), crate::Books::default());
}

#[test]
fn a_replacement_is_told_as_a_take_and_its_puts_and_what_they_wake_after_them() {
    let mut bench = Bench::new(SpaceConfig::default());
    bench.put(&tuple!["state", "idle"]);
    let number = bench.number();
    // Who waits for the second of its puts.
    bench.take(1, 1, Wait::Forever, &template!["log", ?i64]);
    let (template, tuples) = (template!["state", "idle"], [tuple!["state", "busy"], tuple!["log", 1i64]]);
    let replace =
        Request::Replace { wait: Wait::AtOnce, template: &template, tuples: &tuples, expiries: &[] };
    bench.ask(2, 1, replace);
    let events = told(&bench.watch(2, Some(number), Wait::AtOnce, None)).events;
    let told: Vec<_> = events.iter().map(|event| (event.change, event.tuple.clone())).collect();
    let [busy, log] = tuples;
    let replaced = (Change::Taken, tuple!["state", "idle"]);
    assert_eq!(told, [replaced, (Change::Put, busy), (Change::Put, log.clone()), (Change::Taken, log)]);
}

#[test]
fn a_replacement_that_waited_and_a_select_are_told_of_the_tuple_that_came() {
    let mut bench = Bench::new(SpaceConfig::default());
    let number = bench.number();
    let (template, tuples) = (template!["job", ?i64], [tuple!["done", 7i64]]);
    bench.ask(
        1,
        1,
        Request::Replace { wait: Wait::Forever, template: &template, tuples: &tuples, expiries: &[] },
    );
    let templates = [template!["never"], template!["done", ?i64]];
    let select = Request::Select {
        takes: true,
        wait: Wait::Forever,
        lease: Some(Span::from_secs(1)),
        templates: &templates,
    };
    bench.ask(2, 1, select);
    bench.out(100, 1, &tuple!["job", 7i64]);
    let events = told(&bench.watch(2, Some(number), Wait::AtOnce, None)).events;
    let told: Vec<_> = events.iter().map(|event| (event.change, event.tuple.clone())).collect();
    let [done] = tuples;
    let (put, taken) = ((Change::Put, tuple!["job", 7i64]), (Change::Taken, tuple!["job", 7i64]));
    assert_eq!(told, [put, taken, (Change::Put, done.clone()), (Change::Leased, done)]);
}

#[test]
fn a_snapshot_that_ends_before_the_events_or_among_them_is_refused() {
    let mut bench = Bench::new(SpaceConfig::default());
    let number = bench.number();
    bench.put(&tuple!["a"]);
    assert_eq!(bench.watch(2, Some(number + 1), Wait::Forever, Some(&template!["b"])), []);
    let mut bytes = Vec::new();
    bench.space.save(&mut bytes);
    let restored = Space::restore(&SpaceConfig::default(), &bytes).expect("what was saved");
    restored.verify();
    let mut again = Vec::new();
    restored.save(&mut again);
    assert!(again == bytes);
    for cut in 0..bytes.len() {
        assert!(Space::restore(&SpaceConfig::default(), &bytes[..cut]).is_err(), "{cut} bytes");
    }
}

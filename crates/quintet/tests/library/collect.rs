//! Collections from outside, embedded, over shared memory and in a named space.

use crate::placements::spaces as everywhere;
use quintet::{Code, Lab, Outcome, ServeConfig, Server, SpaceSettings, Tuple, template, tuple};
use quintet_testbed::TempDir;
use std::thread;
use std::time::Duration;

const LEASE: Duration = Duration::from_secs(2);

fn rows(count: i64) -> Vec<Tuple> {
    (0..count).map(|number| tuple!["row", number, vec![7u8; 20]]).collect()
}

/// More than a turn looks at, by fields of which there is no index so far: nobody but the asker drives an embedded space.
#[test]
fn thousands_are_copied_and_taken_in_pages_of_bounded_size() {
    everywhere(|client| {
        let space = client();
        let (rows, wanted) = (rows(3000), template!["row", ?i64, ?[u8]]);
        space.out_many(&rows, None).unwrap();
        assert_eq!(space.copy_collect(&wanted).unwrap(), rows);
        let pages = space.copy_collect_pages(&wanted).collect::<Result<Vec<_>, _>>().unwrap();
        assert!(pages.len() > 2, "{} pages", pages.len());
        let first = space.collect_pages(&wanted).next().unwrap().unwrap();
        assert_eq!(first, pages[0]);
        assert_eq!(space.collect(&wanted).unwrap(), rows[first.len()..]);
        assert_eq!(space.count(&wanted).unwrap(), 0);
        assert_eq!(space.collect(&wanted).unwrap(), []);
    });
}

#[test]
fn each_tuple_is_collected_by_one_of_many() {
    everywhere(|client| {
        let space = client();
        space.out_many(&rows(2000), None).unwrap();
        let takers: Vec<_> = (0..3)
            .map(|_| {
                let space = client();
                thread::spawn(move || space.collect(&template!["row", ?i64, ?[u8]]).unwrap())
            })
            .collect();
        let mut all: Vec<i64> = takers
            .into_iter()
            .flat_map(|taker| taker.join().unwrap())
            .map(|row| row[1].clone().try_into().unwrap())
            .collect();
        all.sort_unstable();
        assert_eq!(all, (0..2000).collect::<Vec<i64>>());
    });
}

#[test]
fn a_page_that_nobody_takes_in_goes_back() {
    everywhere(|client| {
        let space = client();
        space.out_many(&rows(5), None).unwrap();
        let wanted = template!["row", ?i64, ?[u8]];
        let page = space.begin().collect(&wanted, 0, None).unwrap();
        let seen = page.peek(Duration::from_secs(60)).expect("it is answered").unwrap();
        assert!(matches!(seen, Outcome::Collected(page) if page.tuples.len() == 5));
        assert_eq!(space.count(&wanted).unwrap(), 0);
        drop(page);
        assert_eq!(space.collect(&wanted).unwrap(), rows(5));
    });
}

#[test]
fn as_many_as_are_wanted_are_taken_at_once_the_oldest_first() {
    everywhere(|client| {
        let space = client();
        let (rows, wanted) = (rows(40), template!["row", ?i64, ?[u8]]);
        space.out_many(&rows, None).unwrap();
        assert_eq!(space.take_up_to(0, &wanted).unwrap(), []);
        assert_eq!(space.take_up_to(7, &wanted).unwrap(), rows[..7]);
        assert_eq!(space.take_up_to(1, &template!["row", 20i64, ?[u8]]).unwrap(), rows[20..21]);
        assert_eq!(space.take_up_to(5, &template!["row", 20i64, ?[u8]]).unwrap(), []);
        assert_eq!(space.count(&wanted).unwrap(), 32);
        // What nobody takes in goes back, each to its place.
        let begun = space.begin().take_up_to(3, &wanted, 0).unwrap();
        let seen = begun.peek(Duration::from_secs(60)).expect("it is answered").unwrap();
        assert!(matches!(seen, Outcome::Collected(page) if page.tuples == rows[7..10]));
        drop(begun);
        let rest: Vec<Tuple> = rows[7..20].iter().chain(&rows[21..]).cloned().collect();
        assert_eq!(space.take_up_to(usize::MAX, &wanted).unwrap(), rest);
        assert_eq!(space.take_up_to(usize::MAX, &wanted).unwrap(), []);
    });
}

/// More than one answer carries, and more than one turn looks at before it finds the first.
#[test]
fn all_are_taken_by_asking_until_there_is_none() {
    everywhere(|client| {
        let space = client();
        space.out_many(&rows(3000), None).unwrap();
        let wanted = template!["row", ?i64, ?[u8]];
        let mut numbers = Vec::new();
        loop {
            let taken = space.take_up_to(10_000, &wanted).unwrap();
            if taken.is_empty() {
                break;
            }
            assert!(taken.len() <= 1024, "{}", taken.len());
            numbers.extend(taken.into_iter().map(|row| i64::try_from(row[1].clone()).unwrap()));
        }
        assert!(numbers.iter().copied().eq(0..3000), "{} rows", numbers.len());
        // By a field of which there is no index so far.
        let others: Vec<Tuple> = (0..3000i64).map(|number| tuple!["other", 0i64, number]).collect();
        space.out_many(&others, None).unwrap();
        assert_eq!(space.take_up_to(2, &template!["other", ?i64, 2999i64]).unwrap(), others[2999..]);
        assert_eq!(space.take_up_to(2, &template!["other", ?i64, 2999i64]).unwrap(), []);
        assert_eq!(space.collect(&template!["other", ?i64, ?i64]).unwrap().len(), 2999);
    });
}

#[test]
fn all_go_into_another_space_at_one_instant_or_none() {
    everywhere(|client| {
        let space = client();
        let lab = space.lab().clone();
        let few = SpaceSettings { max_tuples: 10, ..SpaceSettings::default() };
        lab.create_space("few", &few).unwrap();
        lab.create_space("many", &SpaceSettings::default()).unwrap();
        let (few, many) = (lab.named_space("few").unwrap(), lab.named_space("many").unwrap());
        let (rows, wanted) = (rows(3000), template!["row", ?i64, ?[u8]]);
        space.out_many(&rows, None).unwrap();
        let refused = space.collect_into(&few, &wanted).unwrap_err();
        assert_eq!(refused.code(), Code::TooLarge, "{refused}");
        assert_eq!(space.copy_collect_into(&many, &wanted).unwrap(), 3000);
        assert_eq!(space.count(&wanted).unwrap(), 3000);
        assert_eq!(space.collect_into(&many, &template!["row", 7i64, ?[u8]]).unwrap(), 1);
        assert_eq!(many.collect_into(&few, &template!["row", 7i64, ?[u8]]).unwrap(), 2);
        assert_eq!(few.copy_collect(&wanted).unwrap(), [rows[7].clone(), rows[7].clone()]);
        assert_eq!((space.collect(&wanted).unwrap().len(), many.count(&wanted).unwrap()), (2999, 2999));
        let same = space.collect_into(&space, &wanted).unwrap_err();
        assert_eq!(same.code(), Code::BadValue, "{same}");
        let elsewhere = space.collect_into(&Lab::embedded().space(), &wanted).unwrap_err();
        assert_eq!(elsewhere.code(), Code::BadValue, "{elsewhere}");
        lab.remove_space("few").unwrap();
        lab.remove_space("many").unwrap();
    });
}

/// Tuples that are read in the measurement.
const MEASURED: i64 = 10_000;

/// One-to-many reading: each of many tuples by a read of its own, by reads that are begun close behind each other, and by one collection.
#[test]
#[ignore = "a measurement, which prints and asserts nothing of time"]
fn many_are_read_one_by_one_and_at_once() {
    let dir = TempDir::new().expect("a temporary directory");
    let socket = dir.join("space");
    let server = Server::start(&socket, &ServeConfig::default()).expect("the space starts");
    let connected = Lab::connect(&socket, 0, LEASE).expect("the space is there");
    for (place, space) in [("shm", connected.space()), ("embedded", Lab::embedded().space())] {
        space.out_many(&rows(MEASURED), None).unwrap();
        let of = |number: i64| template!["row", number, ?[u8]];
        let one_by_one = || (0..MEASURED).for_each(|n| drop(space.read_if(&of(n)).unwrap()));
        let begun = || {
            for some in (0..MEASURED).collect::<Vec<_>>().chunks(200) {
                let reads: Vec<_> = some.iter().map(|n| space.begin().read_if(&of(*n)).unwrap()).collect();
                reads.into_iter().for_each(|read| drop(read.finish().unwrap()));
            }
        };
        let at_once =
            || assert_eq!(space.copy_collect(&template!["row", ?i64, ?[u8]]).unwrap().len(), 10_000);
        let ways: [(&str, &dyn Fn()); 3] =
            [("one by one", &one_by_one), ("begun by 200", &begun), ("copy_collect", &at_once)];
        let mut times = [vec![], vec![], vec![]];
        for _ in 0..11 {
            for ((_, way), times) in ways.iter().zip(&mut times) {
                let start = std::time::Instant::now();
                way();
                times.push(start.elapsed().as_secs_f64() * 1e3);
            }
        }
        for ((name, _), times) in ways.iter().zip(&mut times) {
            times.sort_by(f64::total_cmp);
            println!("{place} {name}: median {:.2} ms, {:.2} to {:.2}", times[5], times[0], times[10]);
        }
    }
    server.stop().expect("it ends in order");
}

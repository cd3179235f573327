//! Selects and replacements from outside, embedded, over shared memory and in a named space.

use crate::placements::spaces as everywhere;
use quintet::{Code, Outcome, Tuple, template, tuple};
use std::thread;
use std::time::Duration;

const LEASE: Duration = Duration::from_secs(2);
const SOON: Duration = Duration::from_millis(20);

fn number(tuple: &Tuple, field: usize) -> i64 {
    tuple[field].clone().try_into().expect("a number")
}

#[test]
fn replacements_of_many_threads_count_each_once() {
    everywhere(|client| {
        let space = client();
        space.out(tuple!["counter", 0i64]).unwrap();
        let counters: Vec<_> = (0..4)
            .map(|_| {
                let space = client();
                thread::spawn(move || {
                    for _ in 0..50 {
                        loop {
                            let seen = number(&space.read(&template!["counter", ?i64]).unwrap(), 1);
                            let next = [tuple!["counter", seen + 1]];
                            if space.replace_if(&template!["counter", seen], &next).unwrap().is_some() {
                                break;
                            }
                        }
                    }
                })
            })
            .collect();
        counters.into_iter().for_each(|counter| counter.join().unwrap());
        assert_eq!(space.take(&template!["counter", ?i64]).unwrap(), tuple!["counter", 200i64]);
    });
}

#[test]
fn a_replacement_waits_gives_up_and_is_cancelled_as_a_take() {
    everywhere(|client| {
        let (space, other) = (client(), client());
        let (ready, started) = (template!["ready", ?i64], [tuple!["started", 1i64], tuple!["log", "go"]]);
        let waiting = space.begin().replace(&ready, &started).unwrap();
        other.out(tuple!["ready", 7i64]).unwrap();
        assert_eq!(waiting.finish().unwrap(), Outcome::Tuple(tuple!["ready", 7i64], None));
        assert_eq!(other.take(&template!["log", ?str]).unwrap(), tuple!["log", "go"]);
        assert_eq!(other.take(&template!["started", ?i64]).unwrap(), tuple!["started", 1i64]);
        let late = space.replace_within(&ready, &started, SOON).unwrap_err();
        assert_eq!(late.code(), Code::TimedOut);
        let given_up = space.begin().replace(&ready, &started).unwrap();
        given_up.cancel();
        assert_eq!(given_up.finish().unwrap_err().code(), Code::Cancelled);
        assert_eq!(other.count(&template!["started", ?i64]).unwrap(), 0);
        assert_eq!(space.replace(&ready, &[]).unwrap_err().code(), Code::BadValue);
    });
}

#[test]
fn a_select_gets_what_comes_first_and_one_thing_only() {
    everywhere(|client| {
        let (space, other) = (client(), client());
        let wanted = [template!["job", ?i64], template!["stop"]];
        let waiting = space.begin().select(&wanted).unwrap();
        other.out_many(&[tuple!["stop"], tuple!["job", 1i64]], None).unwrap();
        assert_eq!(waiting.finish().unwrap(), Outcome::Selected(1, tuple!["stop"], None));
        assert_eq!(space.select_read_if(&wanted).unwrap(), Some((0, tuple!["job", 1i64])));
        let (which, lease) = space.select_lease(&wanted, None).unwrap();
        assert_eq!((which, lease.tuple()), (0, &tuple!["job", 1i64]));
        assert_eq!(space.select_if(&wanted).unwrap(), None, "it is leased");
        drop(lease);
        assert_eq!(space.select_within(&wanted, LEASE).unwrap(), (0, tuple!["job", 1i64]), "it has returned");
        assert_eq!(space.select_read_within(&wanted, SOON).unwrap_err().code(), Code::TimedOut);
        for count in [0, 33] {
            let refused = space.select(&vec![wanted[0].clone(); count]).unwrap_err();
            assert_eq!(refused.code(), Code::BadValue, "{refused}");
        }
    });
}

/// What was on its way to one who has turned away is in its old place.
#[test]
fn a_select_that_is_dropped_takes_nothing() {
    everywhere(|client| {
        let (space, other) = (client(), client());
        for n in 0..20i64 {
            let dropped = space.begin().select(&[template!["none"], template!["row", ?i64]]).unwrap();
            let put = other.begin().out(&[tuple!["row", n]]).unwrap();
            drop(dropped);
            put.finish().unwrap();
            assert_eq!(number(&space.take(&template!["row", ?i64]).unwrap(), 1), n);
        }
    });
}

//! Ranges from outside: embedded, over shared memory, and in a named space.

use crate::placements::spaces as everywhere;
use quintet::{Field, Tuple, template, tuple};
use std::thread;

#[test]
fn every_operation_takes_a_range() {
    everywhere(|client| {
        let space = client();
        space
            .out_many(&(0..200i64).map(|n| tuple!["job", n, format!("name{n:03}")]).collect::<Vec<_>>(), None)
            .unwrap();
        let high = template!["job", Field::range(150i64..), Field::prefix("name1")];
        assert_eq!(space.count(&high), Ok(50));
        assert_eq!(space.take(&high).unwrap()[1], 150i64.into());
        let leased = space.lease(&high, None).unwrap();
        assert_eq!(leased.tuple()[1], 151i64.into());
        leased.acknowledge(&[tuple!["job", 1_000i64, "name1000"]]).unwrap();
        let either = [template!["stop"], template!["job", Field::range(..0i64), ?str], high.clone()];
        let (which, found) = space.select(&either).unwrap();
        assert_eq!((which, &found[1]), (2, &152i64.into()));
        let group = space.group();
        assert_eq!(group.take(&high).unwrap()[1], 153i64.into());
        group.commit().unwrap();
        let gone = space.replace(&high, &[tuple!["gone"]]).unwrap();
        assert_eq!(gone[1], 154i64.into());
        let rest: Vec<Tuple> = space.collect(&high).unwrap();
        assert_eq!((rest.len(), &rest[0][1], &rest[45][1]), (46, &155i64.into(), &1_000i64.into()));
        assert_eq!(space.count(&template!["job", ?i64, ?str]), Ok(150));
    });
}

#[test]
fn who_waits_for_a_range_is_given_what_lies_in_it() {
    everywhere(|client| {
        let (space, other) = (client(), client());
        let waits = thread::spawn(move || other.take(&template!["t", Field::range(0.5..)]));
        while space.status().unwrap().waiters == 0 {
            thread::yield_now();
        }
        space.out_many(&[tuple!["t", 0.25], tuple!["t", f64::NAN], tuple!["t", 0.5]], None).unwrap();
        assert_eq!(waits.join().unwrap(), Ok(tuple!["t", 0.5]));
    });
}

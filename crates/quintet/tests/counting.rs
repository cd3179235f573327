//! What a member of an isonet counts.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod together;

use quintet::isotach::Counters;
use quintet::{Code, Isonet, Lab, Variable};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;
use together::of_both;

const LONG: Duration = Duration::from_secs(60);
const X: Variable = Variable(1);
/// Member 0 has the only copy.
const Y: Variable = Variable(2);

#[test]
fn a_member_counts_what_it_does_also_for_who_asks_behind_the_end() {
    let (first, asked): (Arc<OnceLock<Isonet>>, Arc<Mutex<Option<Code>>>) = Default::default();
    let lab = Lab::embedded();
    let member = |me: u16| {
        let builder = lab.isochrons("test").member(me, 2).limit(LONG).silence_limit(LONG);
        let builder = builder.variable(X, 8).variable_at(Y, 8, &[0]);
        let (first, asked) = (Arc::clone(&first), Arc::clone(&asked));
        let ask = move |_: &quintet::Received<'_>| {
            let refused = first.get().unwrap().counters().unwrap_err();
            *asked.lock().unwrap() = Some(refused.code());
        };
        let builder = if me == 0 { builder.handler(7, ask) } else { builder };
        builder.join().unwrap()
    };
    let members = of_both(member);
    assert!(first.set(members[0].clone()).is_ok());
    assert_eq!(members[1].counters(), Ok(Counters::default()), "nothing was done so far");
    for number in 0..10u8 {
        let mut isochron = members[1].isochron().unwrap();
        isochron.send(0, 7, vec![number]).unwrap();
        isochron.write(X, vec![number; 8]).unwrap();
        isochron.execute().unwrap();
    }
    for _ in 0..3 {
        let mut isochron = members[0].isochron().unwrap();
        isochron.read(Y).unwrap();
        assert_eq!(isochron.execute().unwrap().values, [Ok(vec![0; 8].into())]);
    }
    let mut unreserved = members[0].isochron().unwrap();
    unreserved.assign(X, vec![0; 8]).unwrap();
    assert_eq!(unreserved.execute().unwrap_err().code(), Code::BadValue);
    assert_eq!(*asked.lock().unwrap(), Some(Code::BadValue), "a handler would wait for itself");

    let [one, other] = [0, 1].map(|member: usize| members[member].counters().unwrap());
    assert_eq!((other.begun, other.executed, other.operations), (10, 10, 20));
    assert_eq!((other.parts, other.parts_at_once + other.parts_waited), (10, 0), "no other one's");
    assert_eq!(
        (other.stamped, other.pulses, other.pulse_intervals.count()),
        (0, 0, 0),
        "another one keeps the pulse"
    );
    assert_eq!((one.begun, one.executed, one.local, one.refused), (3, 3, 3, 1));
    assert_eq!((one.parts, one.parts_at_once + one.parts_waited), (13, 10));
    assert_eq!((one.stamped, one.pulses, one.tokens), (10, 10, 0));
    assert_eq!((one.markers, one.marker_frames, one.lost + one.fenced), (20, 20, 0));
    let intervals = &one.pulse_intervals;
    assert_eq!(intervals.count(), 9);
    let quantiles = [intervals.shortest(), intervals.median(), intervals.quantile(0.99), intervals.longest()];
    assert!(quantiles.is_sorted() && !quantiles[1].is_zero(), "{quantiles:?}");
    assert_eq!(of_both(|member| members[usize::from(member)].close()), [Ok(()), Ok(())]);
    assert_eq!(members.iter().map(Isonet::counters).collect::<Vec<_>>(), [Ok(one), Ok(other)]);
}

//! How much of a member of an isonet may be under way, and what is said of one more.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod together;

use quintet::{Code, Lab};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;
use together::of_both;

const LONG: Duration = Duration::from_secs(60);

/// Member 1 stands still in a handler: what is one too many is refused at once, is what it was before, and goes once there is room.
#[test]
fn what_is_one_too_many_is_said_at_once_and_nothing_of_what_was_taken_is_lost() {
    let (go_on, stop) = mpsc::channel::<()>();
    let counts: [Arc<Mutex<[u64; 2]>>; 2] = Default::default();
    let (lab, stop) = (Lab::embedded(), Mutex::new(Some(stop)));
    let members = of_both(|me| {
        let builder = lab.isochrons("test").member(me, 2).limit(LONG).silence_limit(LONG);
        let stop = if me == 1 { stop.lock().unwrap().take() } else { None };
        let [isochrons, plain] = [(); 2].map(|()| Arc::clone(&counts[usize::from(me)]));
        let handle = move |_: &quintet::Received<'_>| {
            isochrons.lock().unwrap()[0] += 1;
            stop.iter().for_each(|stop| stop.recv().unwrap_or_default());
        };
        builder.handler(7, handle).plain_handler(7, move |_| plain.lock().unwrap()[1] += 1).join().unwrap()
    });
    // It is dropped before they are, also where an assertion fails.
    let go_on = go_on;
    let sends = || {
        let mut isochron = members[0].maker().isochron().unwrap();
        isochron.send(1, 7, vec![1]).unwrap();
        isochron
    };
    let mut taken = Vec::new();
    let mut refused = loop {
        let mut isochron = sends();
        match isochron.try_begin() {
            Ok(pending) => taken.push(pending),
            Err(error) => {
                assert_eq!(error.code(), Code::Busy, "{error}");
                break isochron;
            }
        }
        assert_eq!(isochron.try_begin().err().unwrap().code(), Code::BadValue, "it is empty now");
        assert!(taken.len() < 1000, "there is room for more than there is");
    };
    // The one that is handled may be executed, as far as its sender knows.
    assert!((240..=241).contains(&taken.len()), "{}", taken.len());
    let mut plain = Vec::new();
    while let Ok(pending) = members[0].try_begin_plain(1, 7, vec![1]) {
        plain.push(pending);
        assert!(plain.len() < 1000, "there is room for more than there is");
    }
    assert_eq!(plain.len(), 256);
    assert_eq!(members[0].try_begin_plain(1, 7, vec![1]).err().unwrap().code(), Code::Busy);
    drop(go_on);
    let (isochrons, messages) = (taken.len() as u64 + 1, plain.len() as u64);
    taken.into_iter().for_each(|pending| drop(pending.finish().unwrap()));
    plain.into_iter().for_each(|pending| pending.finish().unwrap());
    refused.try_begin().unwrap().finish().unwrap();
    assert_eq!(of_both(|me| members[usize::from(me)].close()), [Ok(()), Ok(())]);
    assert_eq!(*counts[1].lock().unwrap(), [isochrons, messages]);
}

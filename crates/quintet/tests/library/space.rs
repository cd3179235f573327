//! The public interface from outside: the same behaviour embedded and over shared memory.

use crate::placements::labs as everywhere;
use quintet::{Code, FAILED, Lab, Outcome, ServeConfig, Server, SpaceConfig, live, template, tuple};
use quintet_testbed::TempDir;
use std::sync::mpsc;
use std::time::Duration;

const LEASE: Duration = Duration::from_secs(2);
const SOON: Duration = Duration::from_millis(20);
const LONG: Duration = Duration::from_secs(30);

#[test]
fn what_is_put_is_taken_once() {
    everywhere(|client| {
        let (a, b) = (client().space(), client().space());
        a.out(tuple!["x", 1i64]).unwrap();
        a.out(tuple!["x", 2i64]).unwrap();
        assert_eq!(b.count(&template!["x", ?i64]).unwrap(), 2);
        assert_eq!(b.read(&template!["x", ?i64]).unwrap(), tuple!["x", 1i64]);
        assert_eq!(b.take(&template!["x", ?i64]).unwrap(), tuple!["x", 1i64], "oldest first");
        assert_eq!(a.take_if(&template!["x", ?i64]).unwrap(), Some(tuple!["x", 2i64]));
        assert_eq!(a.take_if(&template!["x", ?i64]).unwrap(), None);
    });
}

#[test]
fn a_blocked_take_is_woken_by_another_client() {
    everywhere(|client| {
        let (taker, putter) = (client().space(), client().space());
        let waiting = std::thread::spawn(move || taker.take(&template!["late", ?i64]));
        while putter.status().unwrap().waiters == 0 {
            std::thread::yield_now();
        }
        putter.out(tuple!["late", 5i64]).unwrap();
        assert_eq!(waiting.join().expect("it does not panic").unwrap(), tuple!["late", 5i64]);
    });
}

#[test]
fn a_take_that_meets_its_deadline_says_what_nearly_matched() {
    everywhere(|client| {
        let space = client().space();
        space.out(tuple!["row", 3i32]).unwrap();
        let error = space.take_within(&template!["row", ?i64], SOON).unwrap_err();
        assert_eq!(error.code(), Code::TimedOut);
        assert!(error.text().contains("field 1"), "{error}");
        space.take(&template!["row", ?i32]).unwrap();
    });
}

#[test]
fn a_dropped_take_loses_nothing() {
    everywhere(|client| {
        let space = client().space();
        for round in 0..200i64 {
            let pending = space.begin().take(&template!["kept", ?i64]).unwrap();
            space.out(tuple!["kept", round]).unwrap();
            drop(pending);
            assert_eq!(space.take_within(&template!["kept", ?i64], LONG).unwrap(), tuple!["kept", round]);
        }
    });
}

#[test]
fn a_cancelled_take_ends_once() {
    everywhere(|client| {
        let space = client().space();
        let mut pending = space.begin().take(&template!["never", ?i64]).unwrap();
        assert!(pending.wait(SOON).is_none());
        pending.cancel();
        let error = pending.wait(LONG).expect("it ends").unwrap_err();
        assert_eq!(error.code(), Code::Cancelled);
        assert!(pending.wait(SOON).is_none(), "once");
        assert_eq!(space.status().unwrap().waiters, 0);
    });
}

#[test]
fn a_lease_is_acknowledged_with_its_result_or_returned() {
    everywhere(|client| {
        let (worker, other) = (client().space(), client().space());
        other.out(tuple!["task", 1i64]).unwrap();
        let template = template!["task", ?i64];
        let lease = worker.lease(&template, Some(LONG)).unwrap();
        assert_eq!((lease.attempt(), lease.tuple()), (1, &tuple!["task", 1i64]));
        assert_eq!(other.take_if(&template).unwrap(), None, "hidden");
        drop(lease);
        let lease = other.lease(&template, Some(LONG)).unwrap();
        assert_eq!(lease.attempt(), 2);
        lease.acknowledge(&[tuple!["result", 1i64]]).unwrap();
        assert_eq!(worker.take_if(&template).unwrap(), None);
        assert_eq!(worker.take(&template!["result", ?i64]).unwrap(), tuple!["result", 1i64]);
    });
}

#[test]
fn a_task_whose_results_are_refused_returns() {
    let space = SpaceConfig { max_bytes: 10_000, ..SpaceConfig::default() };
    let space = Lab::embedded_with(space, None).space();
    space.out(tuple!["task", 1i64]).unwrap();
    let many: Vec<_> = (0..1_000i64).map(|number| tuple!["result", number]).collect();
    let lease = space.lease(&template!["task", ?i64], Some(LONG)).unwrap();
    assert_eq!(lease.acknowledge(&many).unwrap_err().code(), Code::TooLarge);
    assert_eq!(space.count(&template!["result", ?i64]).unwrap(), 0);
    let again = space.lease(&template!["task", ?i64], Some(LONG)).unwrap();
    assert_eq!(again.attempt(), 2);
    again.acknowledge(&[]).unwrap();
}

#[test]
fn a_lease_outlives_its_time_while_its_holder_computes() {
    let dir = TempDir::new().expect("a temporary directory");
    let socket = dir.join("space");
    let _server = Server::start(&socket, &ServeConfig::default()).expect("the space starts");
    let worker = Lab::connect(&socket, 0, Duration::from_millis(90)).unwrap().space();
    let other = Lab::connect(&socket, 0, LEASE).unwrap().space();
    other.out(tuple!["long", 1i64]).unwrap();
    let lease = worker.lease(&template!["long", ?i64], None).unwrap();
    // The holder makes no call for several lives of its lease.
    let error = other.take_within(&template!["long", ?i64], Duration::from_millis(500)).unwrap_err();
    assert_eq!(error.code(), Code::TimedOut);
    lease.acknowledge(&[]).unwrap();
}

#[test]
fn large_arrays_arrive_whole() {
    everywhere(|client| {
        let (a, b) = (client().space(), client().space());
        let values: Vec<f64> = (0..1_000_000).map(f64::from).collect();
        let array = quintet::Array::from_elements(&[1000, 1000], &values).unwrap();
        a.out(tuple!["matrix", array.clone()]).unwrap();
        let back = b.take(&template!["matrix", ?quintet::ArrayOf<f64, 2>]).unwrap();
        assert_eq!(back, tuple!["matrix", array]);
    });
}

#[test]
fn thousands_of_tuples_are_put_at_once() {
    everywhere(|client| {
        let space = client().space();
        let long = vec![7u8; 5_000];
        let many: Vec<_> = (0..3_000i64)
            .map(|n| if n % 100 == 0 { tuple!["many", n, &long[..]] } else { tuple!["many", n, &long[..50]] })
            .collect();
        space.out_many(&many, None).unwrap();
        assert_eq!(space.count(&template!["many", ?i64, ?[u8]]).unwrap(), 3_000);
        for tuple in many {
            assert_eq!(space.take(&template!["many", ?i64, ?[u8]]).unwrap(), tuple);
        }
    });
}

#[test]
fn a_full_space_holds_back_and_then_says_so() {
    let space = SpaceConfig { max_tuples: 1, ..SpaceConfig::default() };
    let space = Lab::embedded_with(space, None).space();
    space.out(tuple![1i64]).unwrap();
    let error = space.out_many(&[tuple![2i64]], Some(SOON)).unwrap_err();
    assert_eq!(error.code(), Code::SpaceFull);
    let (sender, put) = mpsc::channel();
    let other = space.clone();
    std::thread::spawn(move || sender.send(other.out_many(&[tuple![3i64]], Some(LONG))));
    while space.status().unwrap().parked == 0 {
        std::thread::yield_now();
    }
    assert_eq!(space.take(&template![?i64]).unwrap(), tuple![1i64]);
    put.recv_timeout(LONG).expect("room is noticed").unwrap();
    assert_eq!(space.take(&template![?i64]).unwrap(), tuple![3i64]);
}

#[test]
fn another_cluster_is_refused_by_name() {
    let dir = TempDir::new().expect("a temporary directory");
    let socket = dir.join("space");
    let config = ServeConfig { cluster: 7, ..ServeConfig::default() };
    let _server = Server::start(&socket, &config).expect("the space starts");
    let error = Lab::connect(&socket, 8, LEASE).err().expect("it is another cluster");
    assert_eq!(error.code(), Code::WrongCluster);
    let error = Lab::connect(&dir.join("nobody"), 7, LEASE).err().expect("nobody is there");
    assert_eq!(error.code(), Code::Unreachable);
}

#[test]
fn a_space_that_ends_ends_every_wait() {
    let dir = TempDir::new().expect("a temporary directory");
    let socket = dir.join("space");
    let server = Server::start(&socket, &ServeConfig::default()).expect("the space starts");
    let space = Lab::connect(&socket, 0, LEASE).unwrap().space();
    let mut pending = space.begin().take(&template!["x"]).unwrap();
    server.stop().unwrap();
    let error = pending.wait(LONG).expect("the end is noticed").unwrap_err();
    assert_eq!(error.code(), Code::PeerDied);
    assert_eq!(space.out(tuple!["x"]).unwrap_err().code(), Code::PeerDied);
}

#[test]
fn many_threads_share_one_connection() {
    everywhere(|client| {
        let space = client().space();
        let threads: Vec<_> = (0..4i64)
            .map(|thread| {
                let space = space.clone();
                std::thread::spawn(move || {
                    for round in 0..500i64 {
                        // To the next thread, from the one before.
                        space.out(tuple!["ring", (thread + 1) % 4, round]).unwrap();
                        space.take(&template!["ring", thread, round]).unwrap();
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().expect("it does not panic"));
        assert_eq!(space.status().unwrap().tuples, 0);
    });
}

#[test]
fn an_outcome_can_be_announced() {
    everywhere(|client| {
        let (space, other) = (client().space(), client().space());
        let mut pending = space.begin().take(&template!["told"]).unwrap();
        let (sender, told) = mpsc::channel();
        pending.notify(Box::new(move || sender.send(()).expect("the test listens")));
        assert!(told.try_recv().is_err());
        assert!(pending.wait(SOON).is_none(), "a wait does not take the announcement's place");
        other.out(tuple!["told"]).unwrap();
        // Any call of this connection brings what has come.
        while told.try_recv().is_err() {
            space.status().unwrap();
        }
        assert_eq!(
            pending.wait(SOON).expect("it was announced").unwrap(),
            Outcome::Tuple(tuple!["told"], None)
        );
    });
}

#[test]
fn a_live_tuple_is_put_when_its_fields_are_computed() {
    everywhere(|client| {
        let (space, other) = (client().space(), client().space());
        let (go, gate) = mpsc::channel::<()>();
        let (base, waits) = (7i64, move || gate.recv().map(|()| 2.5f64));
        // Both are computed at the same time: the first waits for what the second's thread is told after it has begun.
        let live = space.eval(live!["live", base, move || base * base, waits]).unwrap();
        assert_eq!(other.count(&template!["live", ?i64, ?i64, ?f64]).unwrap(), 0);
        assert!(!live.is_finished());
        go.send(()).unwrap();
        let tuple = other.take_within(&template!["live", ?i64, ?i64, ?f64], LONG).unwrap();
        assert_eq!(tuple, tuple!["live", 7i64, 49i64, 2.5f64]);
        live.finish().unwrap();
    });
}

#[test]
fn a_live_tuple_that_fails_can_be_matched() {
    fn refuses() -> Result<i64, String> {
        Err("no number today".to_owned())
    }
    everywhere(|client| {
        let space = client().space();
        let error = space.eval(live!["x", refuses]).unwrap().finish().unwrap_err();
        assert_eq!((error.code(), error.text()), (Code::TaskFailed, "field 1: no number today"));
        let failed = space.take_within(&template![FAILED, ?str, ?str], LONG).unwrap();
        assert!(failed[1].to_string().contains("refuses"), "{failed}");
        assert_eq!(failed[2], "field 1: no number today".into());

        let panics = || -> i64 { panic!("at the {}th", 13) };
        let error = space.eval(live!["x", 1i64, panics]).unwrap().finish().unwrap_err();
        assert_eq!(error.text(), "field 2 panicked: at the 13th");
        space.take_within(&template![FAILED, ?str, "field 2 panicked: at the 13th"], LONG).unwrap();

        assert_eq!(space.status().unwrap().tuples, 0);
    });
}

#[test]
fn a_live_tuple_that_cannot_be_put_says_so() {
    let space = SpaceConfig { max_bytes: 10_000, ..SpaceConfig::default() };
    let space = Lab::embedded_with(space, None).space();
    let error = space.eval(live!["x", || vec![0u8; 20_000]]).unwrap().finish().unwrap_err();
    assert_eq!(error.code(), Code::TooLarge);
    space.take_within(&template![FAILED, "out", ?str], LONG).unwrap();
    assert_eq!(space.eval(quintet::LiveTuple::new(vec![])).err().unwrap().code(), Code::BadValue);
}

#[test]
fn an_acknowledgement_that_waits_for_room_can_be_called_off() {
    let space = SpaceConfig { max_tuples: 2, ..SpaceConfig::default() };
    let space = Lab::embedded_with(space, None).space();
    // The reserve for results is in use as well.
    space.out_many(&[tuple!["first", 1i64], tuple!["filling", 1i64]], None).unwrap();
    let early = [tuple!["early", 1i64], tuple!["early", 2i64]];
    space.lease(&template!["first", ?i64], Some(LONG)).unwrap().acknowledge(&early).unwrap();
    space.out(tuple!["task", 1i64]).unwrap();
    let results = [tuple!["result", 1i64], tuple!["result", 2i64]];
    let task = template!["task", ?i64];
    let lease = space.lease(&task, Some(LONG)).unwrap();
    let mut waiting = lease.begin_acknowledge(&results).unwrap();
    assert!(waiting.wait(SOON).is_none());
    assert_eq!((space.status().unwrap().parked, waiting.pending().is_done()), (1, false));
    drop(waiting);
    let lease = space.lease(&task, Some(LONG)).expect("the tuple is there again");
    assert_eq!((lease.attempt(), space.status().unwrap().parked), (2, 0));
    let waiting = lease.begin_acknowledge(&results).unwrap();
    space.take(&template!["filling", ?i64]).unwrap();
    waiting.finish().unwrap();
    assert_eq!(space.count(&template!["result", ?i64]).unwrap(), 2);
    assert_eq!(space.count(&task).unwrap(), 0);
}

#[test]
fn the_first_call_after_the_end_says_that_the_space_died() {
    for round in 0..40 {
        let dir = TempDir::new().expect("a temporary directory");
        let socket = dir.join("space");
        let server = Server::start(&socket, &ServeConfig::default()).expect("the space starts");
        let space = Lab::connect(&socket, 0, LEASE).unwrap().space();
        let stopping = std::thread::spawn(move || server.stop());
        // Calls go on until the end is noticed, at whatever point of a call that is.
        let error = loop {
            let outcome = match round % 3 {
                0 => space.out(tuple!["x"]),
                1 => space.begin().take(&template!["y"]).map(drop),
                _ => space.status().map(drop),
            };
            if let Err(error) = outcome {
                break error;
            }
            if round % 3 == 1 && stopping.is_finished() {
                break space.take(&template!["y"]).unwrap_err();
            }
        };
        assert_eq!(error.code(), Code::PeerDied, "round {round}: {error}");
        stopping.join().expect("it does not panic").unwrap();
    }
}

#[test]
fn the_first_call_long_after_the_end_says_that_the_space_died() {
    let dir = TempDir::new().expect("a temporary directory");
    let socket = dir.join("space");
    for call in 0..3 {
        let server = Server::start(&socket, &ServeConfig::default()).expect("the space starts");
        let space = Lab::connect(&socket, 0, LEASE).unwrap().space();
        server.stop().unwrap();
        let error = match call {
            0 => space.out(tuple!["x"]).unwrap_err(),
            1 => space.take_if(&template!["x"]).unwrap_err(),
            _ => space.out(tuple!["large", vec![0u8; 1 << 20]]).unwrap_err(),
        };
        assert_eq!(error.code(), Code::PeerDied, "call {call}: {error}");
    }
}

//! Clients that put, take and do tasks while something is killed under them again and again, and what they were told: it has to be so.

use crate::tool::LONG;
use quintet::{Outcome, Space, Tuple, template, tuple};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};

/// Clients at a time, each with a connection of its own.
const CLIENTS: i64 = 3;
/// Takes that are under way at once.
const AT_ONCE: usize = 200;
/// More than any of them puts.
const ITEMS: i64 = 1_000_000;

/// What the clients were told of an item.
#[derive(Clone, Copy, Default, Debug)]
struct Item {
    is_put: bool,
    taken: usize,
    finished: bool,
}

type Account = Mutex<BTreeMap<i64, Item>>;

/// The number behind a tuple's name.
pub(crate) fn number(tuple: &Tuple) -> i64 {
    i64::try_from(tuple[1].clone()).unwrap()
}

/// Everything that matches, taken: many takes at once, which share syncs.
pub(crate) fn drain(space: &Space, name: &str) -> Vec<i64> {
    let template = template![name, ?i64];
    let mut taken = Vec::new();
    loop {
        let begun: Vec<_> = (0..AT_ONCE).map(|_| space.begin().take_if(&template).unwrap()).collect();
        for take in begun {
            match take.finish().unwrap() {
                Outcome::Tuple(tuple, _) => taken.push(number(&tuple)),
                Outcome::NoMatch => return taken,
                other => panic!("{other:?}"),
            }
        }
    }
}

/// A client that puts, takes and does tasks until it is stopped, and to whom nothing may fail; each round is told.
fn client(space: &Space, first: i64, account: &Account, is_over: &AtomicBool, told: &Sender<()>) {
    let note = |item: i64, note: fn(&mut Item)| note(account.lock().unwrap().entry(item).or_default());
    for item in first.. {
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        space.out(tuple!["item", item]).expect("it goes on");
        note(item, |item| item.is_put = true);
        let taken = space.take_if(&template!["item", ?i64]).expect("it goes on");
        taken.iter().for_each(|tuple| note(number(tuple), |item| item.taken += 1));
        space.out_many(&[tuple!["task", item], tuple!["pad", item]], None).expect("it goes on");
        let task = space.lease(&template!["task", ?i64], None).expect("it goes on");
        let done = number(task.tuple());
        task.acknowledge(&[tuple!["done", done]]).expect("the lease is still its own");
        note(done, |item| item.finished = true);
        // Who waits for it has had enough.
        let _ = told.send(());
    }
}

/// Ends the clients and the waiter of a test that panics: else it would wait for them, and never say why.
struct Ending<'a> {
    is_over: &'a AtomicBool,
    ends: &'a Space,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if std::thread::panicking() {
            // Whether this fails too is of no matter: why it began is told.
            let _ = self.ends.out(tuple!["end", 0i64]);
        }
    }
}

/// Kills so often under clients that go on, and what they were told is so.
pub(crate) fn kills_under_clients(connect: impl Fn() -> Space, kills: i64, mut kill: impl FnMut(i64)) {
    let (account, is_over) = (Account::default(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let (told, is_told) = channel();
        let (account, is_over) = (&account, &is_over);
        // Who connects for the first time finds nobody while the server is not back.
        let ends = connect();
        let _ending = Ending { is_over, ends: &ends };
        for number in 0..CLIENTS {
            let (space, told) = (connect(), told.clone());
            scope.spawn(move || client(&space, number * ITEMS, account, is_over, &told));
        }
        drop(told);
        let waits = connect();
        let waiter = scope.spawn(move || waits.take(&template!["end", ?i64]).expect("it waits on"));
        for round in 0..kills {
            for _ in 0..1 + round * 7 % 40 {
                is_told.recv_timeout(LONG).expect("the clients get on");
            }
            kill(round);
            // The server waits for link.resume_window_ms for those who ask for nothing.
            assert_eq!(ends.count(&template!["end", ?i64]).expect("it goes on"), 0);
        }
        ends.out(tuple!["end", kills]).unwrap();
        assert_eq!(number(&waiter.join().expect("it was answered")), kills);
    });
    let space = connect();
    let counted = |name| {
        let mut counts = BTreeMap::<i64, usize>::new();
        drain(&space, name).into_iter().for_each(|number| *counts.entry(number).or_default() += 1);
        counts
    };
    let (items, done) = (counted("item"), counted("done"));
    for (number, item) in account.lock().unwrap().iter() {
        let count = |all: &BTreeMap<i64, usize>| all.get(number).copied().unwrap_or(0);
        assert!(
            item.is_put && count(&items) + item.taken == 1,
            "item {number}: {item:?}, {} left",
            count(&items)
        );
        assert_eq!(count(&done), usize::from(item.finished), "task {number}: {item:?}");
    }
    assert_eq!(drain(&space, "pad").len(), account.lock().unwrap().len());
}

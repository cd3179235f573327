//! Somebody who watches while servers are killed: it is told of everything that clients did, once, in an order in which they can have done it.

use super::{History, number_of};
use crate::tool::LONG;
use quintet::{Change, EventStream, Since, Space, TupleEvent};
use quintet_linearizability::{Act, Event};
use std::collections::{BTreeMap, BTreeSet};

/// What it was told: of which tuple what.
type Told = Vec<(u32, Change)>;

/// Watches from now on, with all that happens.
pub(super) struct Watcher {
    events: EventStream,
    /// The number of the last event.
    number: u64,
    told: Told,
}

impl Watcher {
    pub(super) fn of(space: &Space) -> Watcher {
        let events = space.watch(None, Since::Now).expect("it is there");
        Watcher { number: events.number(), events, told: Told::new() }
    }

    /// Reads until nothing is left of what was put, and looks whether all of it is what clients did; whether changes by hand are seen.
    pub(super) fn judge(mut self, history: &History) {
        let done: BTreeSet<_> = history.iter().flat_map(|event| changes(&event.act)).collect();
        while !done.iter().all(|change| self.told.contains(change)) {
            let event = self.events.next_within(LONG).expect("an event for everything that was done");
            self.hear(&event.expect("it goes on"));
        }
        assert_eq!(fault(&self.told, history), None, "{:?}\n{history:#?}", self.told);
        let last = self.told.len() - 1;
        let swapped = |told: &mut Told| told.swap(0, last);
        let lost = |told: &mut Told| {
            told.remove(last / 2);
        };
        let doubled = |told: &mut Told| told.push(told[last / 2]);
        for change in [&swapped as &dyn Fn(&mut Told), &lost, &doubled] {
            let mut told = self.told.clone();
            change(&mut told);
            assert!(fault(&told, history).is_some(), "what is changed by hand is not seen");
        }
    }

    /// Numbers of all events leave none out.
    fn hear(&mut self, event: &TupleEvent) {
        assert_eq!(event.number, self.number + 1, "{event:?}");
        self.number = event.number;
        self.told.push((number_of(&event.tuple), event.change));
    }
}

/// What an operation did to tuples, as far as that happens to each of them once.
fn changes(act: &Act) -> impl Iterator<Item = (u32, Change)> {
    let change = if matches!(act, Act::Commit { .. }) { Change::Done } else { Change::Taken };
    let removed = act.removed().iter().map(move |tuple| (*tuple, change));
    removed.chain(act.added().iter().map(|(_, tuple)| (*tuple, Change::Put)))
}

/// What is wrong with what was told.
fn fault(told: &Told, history: &History) -> Option<String> {
    let done: BTreeMap<(u32, Change), &Event<Act>> =
        history.iter().flat_map(|event| changes(&event.act).map(move |change| (change, event))).collect();
    let known: BTreeSet<_> = told.iter().copied().collect();
    if let Some(untold) = done.keys().find(|change| !known.contains(change)) {
        return Some(format!("{untold:?} is not told"));
    }
    let mut before: BTreeMap<u32, Change> = BTreeMap::new();
    let mut latest = 0;
    for (tuple, change) in told {
        let may_follow = matches!(
            (before.insert(*tuple, *change), change),
            (None, Change::Put)
                | (Some(Change::Put | Change::Returned), Change::Taken | Change::Leased)
                | (Some(Change::Leased), Change::Returned | Change::Done)
        );
        if !may_follow {
            return Some(format!("{change} of tuple {tuple} does not follow"));
        }
        let Some(event) = done.get(&(*tuple, *change)) else { continue };
        if event.answered.is_some_and(|answered| answered < latest) {
            return Some(format!("{change} of tuple {tuple} was over before an earlier event was begun"));
        }
        latest = latest.max(event.asked);
    }
    None
}

//! Events move between the managers of a space with the tuples that they are about, and keep their numbers.
//!
//! What is kept of a signature, or of a key, is as much as the manager had kept that it came from. What happens to a tuple of another manager, as it was
//! leased before it would have moved, is told there. (docs/design/0076.)

use super::Kept;
use crate::Signature;
use crate::codec::{Change, KeptOf, MAX_KEPT_KEYS, MovedTuple, View};
use crate::managers::{Home, Placement};
use crate::space::stores::Place;
use crate::space::{Space, seeded};
use bytes::Bytes;
use quintet_contract::{Outbox, Time};
use std::collections::BTreeMap;

/// What has come of each signature, or of a key of it.
#[derive(Debug, Default)]
pub(in crate::space) struct Arrivals(BTreeMap<(Signature, Option<u64>), Arrival>);

/// Events that came with tuples.
#[derive(Debug)]
pub(crate) struct Arrival {
    /// Where they were before.
    pub(crate) before: Placement,
    /// What each manager had kept of them; none: it kept no events.
    pub(crate) kept: BTreeMap<u8, Option<KeptOf>>,
}

impl Arrival {
    /// Behind which number all are kept that a template is about.
    fn oldest_of(&self, template: &View<'_>) -> u64 {
        let of_one = match self.before.of_template(template) {
            Home::One(manager) => self.kept.get(&manager).and_then(Option::as_ref),
            Home::Any => None,
        };
        let key = self.before.key_of(template);
        of_one.map_or_else(|| self.oldest(), |kept| kept.of_key(key))
    }

    /// The same of all that came.
    fn oldest(&self) -> u64 {
        self.kept.values().flatten().map(KeptOf::of_all).max().unwrap_or_default()
    }
}

impl Arrivals {
    fn get(&self, signature: &Signature, key: Option<u64>) -> Option<&Arrival> {
        let of_key = key.and_then(|key| self.0.get(&(signature.clone(), Some(key))));
        of_key.or_else(|| self.0.get(&(signature.clone(), None)))
    }

    /// What is kept of a signature, or of a key of it, where all else is kept behind `rest`.
    fn kept_of(&self, signature: &Signature, key: Option<u64>, rest: u64) -> KeptOf {
        let oldest = self.get(signature, key).map_or(rest, Arrival::oldest);
        let of_this = self.0.iter().filter(|((of, _), _)| of == signature && key.is_none());
        let keys = of_this.filter_map(|((_, key), arrival)| Some(((*key)?, arrival.oldest()))).collect();
        KeptOf { oldest, keys }
    }

    /// An event is not kept any more.
    pub(super) fn lose(&mut self, event: &Kept, number: u64) {
        if self.0.is_empty() {
            return;
        }
        let view = event.view();
        let of_this = self.0.iter_mut().filter(|((signature, _), _)| *signature.0 == *view.signature());
        for kept in of_this.flat_map(|(_, arrival)| arrival.kept.values_mut()).flatten() {
            kept.lose(number);
        }
    }

    /// What was known of a signature, or of a key of it, is over.
    fn forget(&mut self, signature: &Signature, key: Option<u64>) {
        self.0.retain(|(of, of_key), _| of != signature || key.is_some() && *of_key != key);
    }
}

impl Space {
    /// Whether a change of a tuple is told by another manager, to which that belongs: with the tuple, if it goes there, and else on its own.
    pub(super) fn is_told_elsewhere(&mut self, change: Change, place: Place) -> bool {
        let Some(elsewhere) = &mut self.elsewhere else { return false };
        // What is given to somebody is here.
        let is_given = matches!(change, Change::Taken | Change::Leased);
        let goes_along = change.is_there();
        let is_nothing = goes_along && !self.watches.history.is_kept();
        if is_given || is_nothing || !elsewhere.is_away(&self.stores.view(place)) {
            return false;
        }
        if !goes_along && !seeded!(self.config, EndToldNowhere) {
            let entry = self.stores.entry(place);
            elsewhere.begun.push(MovedTuple {
                age: entry.order,
                failed: 0,
                is_reserve: false,
                expires_in: None,
                change: Some(change),
                number: 0,
                head: Bytes::copy_from_slice(entry.head()),
                bulk: entry.bulk(),
            });
        }
        true
    }

    /// Tells of a tuple that is gone, which was another manager's.
    pub(in crate::space) fn tell_of(&mut self, now: Time, moved: &MovedTuple, change: Change) {
        if self.watches.history.is_kept() {
            let MovedTuple { age, head, bulk, .. } = moved;
            self.enter(now, Kept { change, age: *age, head: (**head).into(), bulk: bulk.clone() });
        }
    }

    /// All numbers given so far are not above it.
    pub(crate) fn event_number(&self) -> u64 {
        self.watches.history.number()
    }

    /// Gives no number from now on that is not above those of another manager.
    pub(crate) fn pass_event_number(&mut self, number: u64) {
        if !seeded!(self.config, NumbersNotPassed) {
            self.watches.history.pass(number);
        }
    }

    /// What is kept here of the events of a signature, or of a key of it; none: no events are kept.
    pub(crate) fn events_kept_of(&self, signature: &Signature, key: Option<u64>) -> Option<KeptOf> {
        let kept = self.watches.history.kept()?;
        Some(kept.arrivals.kept_of(signature, key, kept.oldest))
    }

    /// Behind which number all events are kept that a watch is about.
    pub(super) fn oldest_for(&self, template: Option<&View<'_>>) -> u64 {
        let arrived = || {
            let (template, elsewhere) = (template?, self.elsewhere.as_ref()?);
            let arrivals = &self.watches.history.kept()?.arrivals;
            let (signature, key) = (template.signature(), elsewhere.placement.key_of(template));
            Some(arrivals.get(&Signature(signature.into()), key)?.oldest_of(template))
        };
        arrived().unwrap_or_else(|| self.watches.history.oldest())
    }

    /// Takes the events of a signature away that are about tuples of other managers now.
    pub(crate) fn take_events_away(&mut self, signature: &[u8]) -> Vec<MovedTuple> {
        let Some(elsewhere) = &self.elsewhere else { return Vec::new() };
        if seeded!(self.config, EventsLeftBehind) {
            return Vec::new();
        }
        let moves = |event: &Kept| {
            let view = event.view();
            view.signature() == signature && elsewhere.placement.of_tuple(&view) != elsewhere.me
        };
        let moved = |(number, Kept { change, age, head, bulk })| MovedTuple {
            age,
            failed: 0,
            is_reserve: false,
            expires_in: None,
            change: Some(change),
            number,
            head: Vec::from(head).into(),
            bulk,
        };
        self.watches.history.take_where(moves).into_iter().map(moved).collect()
    }

    /// All of a signature, or of a key of it, is here now, and so are its events, as far as they were kept.
    pub(crate) fn events_have_come(
        &mut self,
        now: Time,
        (signature, key): (&Signature, Option<u64>),
        mut arrival: Arrival,
        events: Vec<MovedTuple>,
    ) {
        let Some(elsewhere) = &self.elsewhere else { return };
        // Of its own events some may have been given up since the others were told.
        if let Some(own @ Some(_)) = arrival.kept.get_mut(&elsewhere.me) {
            *own = self.events_kept_of(signature, key);
        }
        if let Home::One(manager) = arrival.before.of_all(&signature.0, key) {
            arrival.kept.retain(|from, _| *from == manager);
        }
        let is_here =
            key.is_none_or(|key| elsewhere.placement.of_key(&signature.0, Some(key)) == elsewhere.me);
        if is_here && arrival.kept.values().any(Option::is_some) {
            self.watches.history.keep(now);
        }
        let (number, limit) = (self.watches.history.number(), self.history_limit());
        let Some(kept) = self.watches.history.kept_mut() else { return };
        kept.arrivals.forget(signature, key);
        if !is_here {
            return;
        }
        // Of those who kept none nobody was told a number above this one.
        let none = || KeptOf { oldest: number, keys: Vec::new() };
        for kept in arrival.kept.values_mut() {
            kept.get_or_insert_with(none);
        }
        kept.arrivals.0.insert((signature.clone(), key), arrival);
        // More of them count as what was always here.
        if kept.arrivals.0.len() > MAX_KEPT_KEYS
            && let Some((_, first)) = kept.arrivals.0.pop_first()
        {
            kept.oldest = kept.oldest.max(first.oldest());
        }
        let kept = |MovedTuple { age, change, number, head, bulk, .. }: MovedTuple| {
            Some((number, Kept { change: change?, age, head: (*head).into(), bulk }))
        };
        self.watches.history.insert(events.into_iter().filter_map(kept).collect(), limit);
    }

    /// Answers those who watch a signature, or a key of it, with how far they have come: they go on where it is now.
    pub(crate) fn send_watchers_away(
        &mut self,
        now: Time,
        signature: &[u8],
        key: Option<u64>,
        out: &mut dyn Outbox,
    ) {
        let Some(elsewhere) = &self.elsewhere else { return };
        if seeded!(self.config, WatcherLeftBehind) {
            return;
        }
        let concerned = self.watches.watchers.iter().filter(|(_, watcher)| {
            watcher.template().is_some_and(|template| elsewhere.placement.concerns(signature, key, &template))
        });
        let concerned: Vec<u64> = concerned.map(|(order, _)| *order).collect();
        for order in concerned {
            self.conclude_watcher(now, order, out);
        }
    }
}

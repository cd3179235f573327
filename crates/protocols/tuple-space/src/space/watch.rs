//! Watching: what happens to tuples, in its order and without gaps.
//!
//! A watcher asks for what happened behind a number, and is answered with events and with the number behind which it goes on: nothing is pushed, so that
//! one who does not read costs nothing, and one who comes back asks for what he missed. Events are kept while somebody watches and for ten minutes
//! after, as many as have room. A space that nobody watches keeps none, gives out no numbers, and pays a look at one word for each change. Whoever asks for
//! what is kept no more is told so. (docs/design/0042.)

mod arrivals;
mod history;
mod look;
mod saved;

use super::{Space, Timer, Unanswered, seeded, stages};
use crate::codec::{
    Change, EVENTS, EventRows, EventsBody, Layout, More, TOLD, TooOldBody, View, Wait, WatchView,
};
pub(crate) use arrivals::Arrival;
use bytes::Bytes;
use history::{History, Kept};
use quintet_contract::limits::MAX_PAYLOAD_BYTES;
use quintet_contract::{Address, Outbox, SendError, Span, Time, Token};
use quintet_errors::Code;
use quintet_wire::{encode_to_vec, send};
use std::collections::BTreeMap;

use super::stores::Place;

/// How long events are kept after somebody has watched.
pub(super) const KEPT_FOR: Span = Span::from_secs(600);
/// The part of the quota that events may take, beside it.
const HISTORY_SHARE: u64 = 16;
/// And at most.
const MAX_HISTORY_BYTES: u64 = 16 << 20;
/// A template of so many bytes costs a comparison more.
const TEMPLATE_BYTES: u64 = 4096;

/// The events of a space, and those who wait for one.
#[derive(Debug)]
pub(super) struct Watches {
    history: History,
    /// By age.
    watchers: BTreeMap<u64, Watcher>,
}

/// One who waits for an event.
#[derive(Debug)]
struct Watcher {
    address: Address,
    token: Token,
    most: u32,
    wait: Wait,
    since: Time,
    /// Events up to this number are none of those that he wants.
    mark: u64,
    /// None: all tuples.
    template: Option<(Box<[u8]>, Layout)>,
    bulk: Bytes,
    /// His link had no room.
    is_blocked: bool,
}

impl Watcher {
    fn template(&self) -> Option<View<'_>> {
        self.template.as_ref().map(|(head, layout)| View::checked(head, &self.bulk, *layout))
    }

    /// Bytes for which he counts while he waits.
    fn bytes(&self) -> u64 {
        self.template().map_or(0, |template| template.bytes())
    }

    fn due(&self) -> Option<Time> {
        match self.wait {
            Wait::For(span) => Some(self.since + span),
            Wait::AtOnce | Wait::Forever => None,
        }
    }
}

impl Watches {
    /// Without any. Numbers begin where those of another life hardly did: whoever asks for that one's is told that they are too old.
    pub(super) fn new(seed: u64) -> Watches {
        let first = ((seed ^ seed >> 32) & u64::from(u32::MAX)) << 20;
        Watches { history: History::new(first), watchers: BTreeMap::new() }
    }

    /// Those of one of so many managers, whose numbers are all different.
    pub(super) fn spread(&mut self, me: u8, stride: u64) {
        self.history.spread(me, stride);
    }

    #[inline]
    pub(super) fn is_waited_for(&self) -> bool {
        !self.watchers.is_empty()
    }

    /// Whether somebody has events before him that he has not compared.
    #[inline]
    pub(super) fn is_behind(&self) -> bool {
        self.watchers.values().any(|watcher| self.can_go_on(watcher))
    }

    fn can_go_on(&self, watcher: &Watcher) -> bool {
        !watcher.is_blocked && watcher.mark < self.history.number()
    }

    pub(super) fn len(&self) -> usize {
        self.watchers.len()
    }

    pub(super) fn contains(&self, order: u64) -> bool {
        self.watchers.contains_key(&order)
    }

    /// The link to `to` has room.
    pub(super) fn unblock(&mut self, to: Address) {
        let his = self.watchers.values_mut().filter(|watcher| watcher.address == to);
        his.for_each(|watcher| watcher.is_blocked = false);
    }

    /// What a watcher is answered with, and up to which number he has compared.
    fn gather(&self, watcher: &Watcher, budget: &mut u64) -> (EventRows, u64) {
        let (mut rows, mut mark) = (EventRows::default(), watcher.mark);
        let template = watcher.template();
        let cost = 1 + watcher.bytes() / TEMPLATE_BYTES;
        for (number, kept) in self.history.behind(watcher.mark) {
            if *budget == 0 || rows.count == watcher.most {
                return (rows, mark);
            }
            *budget = budget.saturating_sub(cost);
            if template.is_none_or(|template| kept.is_matched_by(&template)) {
                if !rows.has_room(kept.head.len(), MAX_PAYLOAD_BYTES) {
                    return (rows, mark);
                }
                rows.add(number, kept.age, kept.change, &kept.head, kept.bulk.clone());
            }
            mark = number;
        }
        (rows, self.history.number())
    }
}

impl Space {
    /// Enters a change of a tuple, which is there, among the events, where those are kept.
    #[inline]
    pub(super) fn note(&mut self, now: Time, change: Change, place: Place) {
        if self.elsewhere.is_some() && self.is_told_elsewhere(change, place) {
            return;
        }
        if self.watches.history.is_kept() {
            self.record(now, change, place);
        }
    }

    #[cold]
    fn record(&mut self, now: Time, change: Change, place: Place) {
        let is_left_out = seeded!(self.config, ReturnNotWatched) && change == Change::Returned;
        if is_left_out {
            return;
        }
        let entry = self.stores.entry(place);
        self.enter(now, Kept { change, age: entry.order, head: entry.head().into(), bulk: entry.bulk() });
    }

    /// Adds an event to those that are kept.
    fn enter(&mut self, now: Time, kept: Kept) {
        let (limit, is_waited_for) = (self.history_limit(), self.watches.is_waited_for());
        self.watches.history.add(now, kept, limit, is_waited_for);
    }

    /// How many bytes events may take.
    fn history_limit(&self) -> u64 {
        (self.config.max_bytes / HISTORY_SHARE).min(MAX_HISTORY_BYTES)
    }

    #[cfg(test)]
    pub(super) fn keeps_events(&self) -> bool {
        self.watches.history.is_kept()
    }

    /// Answers a watch or a look. One of several managers knows its own part alone, and so what happens to tuples of one signature.
    pub(super) fn more(
        &mut self,
        now: Time,
        (from, token): (Address, Token),
        more: &More<'_>,
        bulk: &Bytes,
        out: &mut dyn Outbox,
    ) {
        if self.elsewhere.is_some() && more.template().is_none() {
            let text = "a space with several managers is not watched as a whole: none of them knows all that happens in it; watch the tuples of one template, or a named space, which one of them keeps";
            return self.refuse(from, token, Code::BadValue, text.to_owned(), out);
        }
        match more {
            More::Watch(watch) => self.watch(now, (from, token), watch, bulk, out),
            More::Look(look) => self.look((from, token), look, out),
        }
    }

    /// Answers a watch from the events that are kept, or lets it wait.
    fn watch(
        &mut self,
        now: Time,
        (from, token): (Address, Token),
        watch: &WatchView<'_>,
        bulk: &Bytes,
        out: &mut dyn Outbox,
    ) {
        self.watches.history.keep(now);
        let number = self.watches.history.number();
        let template = watch.template.map(|template| (template.head().into(), template.layout()));
        let mut watcher = Watcher {
            address: from,
            token,
            most: watch.most,
            wait: watch.wait,
            since: now,
            mark: watch.since.unwrap_or(number),
            template,
            bulk: bulk.clone(),
            is_blocked: false,
        };
        let mut budget = self.config.index_step.max(1) as u64;
        if self.answer_watcher(&mut watcher, &mut budget, out) {
            return;
        }
        let has_more = watcher.mark < number;
        let is_at_once = watch.since.is_none() || watch.wait == Wait::AtOnce;
        if !watcher.is_blocked && (is_at_once || has_more) {
            self.reply_events(&watcher, out);
        } else if self.may_wait(from, token, watcher.bytes(), out) {
            let order = self.order();
            if let Some(due) = watcher.due() {
                self.timers.add(due, order, Timer::Watcher(order));
            }
            self.senders.get_or_add(from).unanswered.insert(token, Unanswered::Watcher(order));
            self.watches.watchers.insert(order, watcher);
        }
    }

    /// Goes on with a watcher. False: he has to wait, for events or for his link.
    fn answer_watcher(&mut self, watcher: &mut Watcher, budget: &mut u64, out: &mut dyn Outbox) -> bool {
        let Watcher { address, token, .. } = *watcher;
        let (oldest, newest) = (self.oldest_for(watcher.template().as_ref()), self.watches.history.number());
        let is_hidden = seeded!(self.config, MissedEventsNotTold) && watcher.mark < oldest;
        if is_hidden {
            watcher.mark = oldest;
        }
        if !(oldest..=newest).contains(&watcher.mark) {
            self.reply_with(address, TOLD, token, &TooOldBody { oldest, newest }, out);
            return true;
        }
        let before = *budget;
        let (rows, mark) = self.watches.gather(watcher, budget);
        out.work(stages::MATCH, u32::try_from(before - *budget).unwrap_or(u32::MAX));
        if rows.count == 0 {
            watcher.mark = mark;
            return false;
        }
        let body = EventsBody { number: mark, next: None, rows: &rows };
        let sent = if rows.bulk().is_empty() {
            send(out, address, EVENTS, token, &body)
        } else {
            out.send_bulk(address, EVENTS, token, &encode_to_vec(&body), rows.bulk().clone())
        };
        if let Err(error @ SendError::TooLong { .. }) = sent {
            let text = format!(
                "an event cannot be sent to you: {error}; to go on without it, ask for what follows number {mark}"
            );
            self.refuse(address, token, Code::TooLarge, text, out);
        }
        watcher.is_blocked = sent == Err(SendError::Full);
        !watcher.is_blocked
    }

    /// Answers that there was nothing up to his mark.
    fn reply_events(&mut self, watcher: &Watcher, out: &mut dyn Outbox) {
        let body = EventsBody { number: watcher.mark, next: None, rows: &EventRows::default() };
        self.reply_with(watcher.address, EVENTS, watcher.token, &body, out);
    }

    /// Gives those who wait what came for them, oldest first, as much as one turn may compare.
    #[inline]
    pub(super) fn serve_watchers(&mut self, now: Time, out: &mut dyn Outbox) {
        if self.watches.is_waited_for() {
            self.serve_all_watchers(now, out);
        }
    }

    #[cold]
    fn serve_all_watchers(&mut self, now: Time, out: &mut dyn Outbox) {
        let waiting = self.watches.watchers.iter().filter(|(_, watcher)| self.watches.can_go_on(watcher));
        let waiting: Vec<u64> = waiting.map(|(order, _)| *order).collect();
        let mut budget = self.config.index_step.max(1) as u64;
        for order in waiting {
            let Some(mut watcher) = self.watches.watchers.remove(&order) else { continue };
            let is_answered = self.answer_watcher(&mut watcher, &mut budget, out);
            self.watches.watchers.insert(order, watcher);
            if is_answered {
                self.drop_watcher(now, order);
            }
            if budget == 0 {
                return;
            }
        }
    }

    /// Removes a watcher from everywhere.
    pub(super) fn drop_watcher(&mut self, now: Time, order: u64) {
        let Some(watcher) = self.watches.watchers.remove(&order) else { return };
        self.watches.history.keep(now);
        self.room.unkeep(watcher.bytes());
        if let Some(due) = watcher.due() {
            self.timers.remove(due, order);
        }
        if let Some(sender) = self.senders.get_mut(watcher.address) {
            sender.unanswered.remove(&watcher.token);
        }
    }

    /// Answers a watcher who does not wait any longer: up to his mark there was nothing.
    pub(super) fn conclude_watcher(&mut self, now: Time, order: u64, out: &mut dyn Outbox) {
        let Some(watcher) = self.watches.watchers.get(&order) else { return };
        let body = EventsBody { number: watcher.mark, next: None, rows: &EventRows::default() };
        let (address, token) = (watcher.address, watcher.token);
        self.drop_watcher(now, order);
        self.reply_with(address, EVENTS, token, &body, out);
    }
}

//! Takes and reads.

use super::further::NotGiven;
use super::scan::Progress;
use super::store::Search;
use super::stores::Place;
use super::waiter::{Operation, Requester, Waiter};
use super::{Space, Timer, Unanswered, seeded, stages};
use crate::codec::{Change, NO_MATCH, Query, View, Wait};
use bytes::Bytes;
use quintet_contract::{Address, Outbox, SendError, Time, Token};
use quintet_errors::Code;
use std::collections::VecDeque;

/// What a request waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Awaited {
    Tuple,
    /// Room in its sender's link.
    Link,
    Index,
    /// More turns: it has to compare more than one may.
    Scan(Progress),
}

impl Space {
    /// Answers a take or read from what the space holds, or lets it wait.
    pub(super) fn query(
        &mut self,
        now: Time,
        requester: Requester,
        query: &Query<'_>,
        bulk: &Bytes,
        out: &mut dyn Outbox,
    ) {
        let (mut budget, mut progress) = (self.budget(), Progress::default());
        let (search, compared) =
            self.stores.search(&query.template, requester.operation, &mut progress, &mut budget, &self.key);
        self.room.index_made(budget.made);
        out.work(stages::MATCH, compared + 1);
        let is_counted = self.note_question(now, &requester, &query.template);
        let awaited = match search {
            Search::Found(place) => match self.deliver(now, place, &requester, None, out) {
                Err(SendError::Full) => Awaited::Link,
                sent => return self.conclude(&requester, sent, out),
            },
            Search::Nothing if query.wait == Wait::AtOnce => {
                return self.answer_without_tuple(&requester, progress, out);
            }
            Search::Nothing => Awaited::Tuple,
            Search::NotReady => Awaited::Index,
            Search::Unfinished => Awaited::Scan(progress),
        };
        self.wait(now, requester, query, bulk, awaited, out);
        // Who waits has a signature now, if there was none before.
        if !is_counted {
            self.note_question(now, &requester, &query.template);
        }
    }

    /// Counts a take or read, and looks at some for their values. False: there is no such signature.
    #[inline]
    pub(super) fn note_question(&mut self, now: Time, requester: &Requester, template: &View<'_>) -> bool {
        if requester.operation == Operation::Count {
            return true;
        }
        let Some(store) = self.stores.find(template.signature()) else { return false };
        if self.stores[store].usage_mut().ask(now, template) {
            self.hot_keys.pass(template);
        }
        true
    }

    /// Answers a request that is answered whether or not there is a tuple, and has looked at all there are.
    fn answer_without_tuple(&mut self, requester: &Requester, progress: Progress, out: &mut dyn Outbox) {
        match requester.operation {
            Operation::Count => self.reply_count(requester.address, requester.token, progress.matching, out),
            _ => self.reply(requester.address, NO_MATCH, requester.token, out),
        }
    }

    /// Answers a request whose tuple the link will never take. Nobody is left to answer if the link is gone.
    pub(super) fn conclude(
        &mut self,
        requester: &Requester,
        sent: Result<(), SendError>,
        out: &mut dyn Outbox,
    ) {
        if let Err(error @ SendError::TooLong { .. }) = sent {
            let text = format!("the tuple cannot be sent to you: {error}");
            self.refuse(requester.address, requester.token, Code::TooLarge, text, out);
        }
    }

    /// Keeps a request.
    fn wait(
        &mut self,
        now: Time,
        requester: Requester,
        query: &Query<'_>,
        bulk: &Bytes,
        awaited: Awaited,
        out: &mut dyn Outbox,
    ) {
        if !self.may_wait(requester.address, requester.token, query.template.bytes(), out) {
            return;
        }
        let order = self.order();
        let waiter = Waiter::new(requester, order, query.wait, now, &query.template, bulk);
        let place = self.keep_waiter(waiter);
        self.enqueue(place, awaited);
    }

    /// Makes a request one that is not answered so far. It still waits for nothing.
    pub(super) fn keep_waiter(&mut self, waiter: Waiter) -> u32 {
        let (requester, order, due) = (waiter.requester, waiter.order, waiter.deadline());
        let place = self.waiters.add(waiter);
        if let Some(due) = due {
            self.timers.add(due, order, Timer::Waiter(place));
        }
        let sender = self.senders.get_or_add(requester.address);
        sender.unanswered.insert(requester.token, Unanswered::Waiter(place));
        place
    }

    /// Whether one more request of this sender may wait, with so many bytes; if not, it is answered.
    pub(super) fn may_wait(&mut self, from: Address, token: Token, bytes: u64, out: &mut dyn Outbox) -> bool {
        let waiting = self.senders.get(from).map_or(0, |sender| sender.unanswered.len());
        let text = if waiting >= self.config.max_waiting {
            format!("{waiting} requests of this sender wait already, and no more may")
        } else if !self.room.keep(bytes) {
            format!("the requests that wait may have {} bytes together", self.config.max_waiting_bytes)
        } else {
            return true;
        };
        self.refuse(from, token, Code::TooLarge, text, out);
        false
    }

    /// Keeps a waiter where what it waits for finds it.
    fn enqueue(&mut self, place: u32, awaited: Awaited) {
        let waiter = &self.waiters[place];
        let (order, address) = (waiter.order, waiter.requester.address);
        match awaited {
            Awaited::Tuple => self.file(place),
            Awaited::Link => drop(self.senders.get_or_add(address).blocked.insert(order, place)),
            Awaited::Index => drop(self.unindexed.insert(order, place)),
            Awaited::Scan(progress) => self.scans.add(order, place, progress),
        }
    }

    fn file(&mut self, place: u32) {
        let waiter = &mut self.waiters[place];
        waiter.filed = Some(self.stores.file(&waiter.template(), waiter.order, place, &self.key));
        if waiter.more.is_some() {
            self.file_others(place);
        }
    }

    fn unfile(&mut self, place: u32) {
        let waiter = &mut self.waiters[place];
        if let Some(filed) = waiter.filed.take() {
            self.stores.unfile(filed, waiter.order);
        }
        if waiter.more.is_some() {
            self.unfile_others(place);
        }
    }

    /// Lets a waiter wait for its sender's link: tuples pass it by meanwhile.
    fn block(&mut self, place: u32) {
        self.unfile(place);
        self.enqueue(place, Awaited::Link);
    }

    /// Removes a waiter from everywhere.
    pub(super) fn drop_waiter(&mut self, place: u32) -> Waiter {
        self.unfile(place);
        let waiter = self.waiters.remove(place);
        if waiter.part.is_some()
            && let Some(elsewhere) = &mut self.elsewhere
        {
            elsewhere.parts.sought.forget(waiter.order);
        }
        if !seeded!(self.config, WaitingBytesKept) {
            self.room.unkeep(waiter.kept_bytes());
        }
        self.unindexed.remove(&waiter.order);
        self.scans.remove(waiter.order);
        if let Some(due) = waiter.deadline() {
            self.timers.remove(due, waiter.order);
        }
        if let Some(sender) = self.senders.get_mut(waiter.requester.address) {
            sender.unanswered.remove(&waiter.requester.token);
            sender.blocked.remove(&waiter.order);
        }
        waiter
    }

    /// Offers a hidden tuple to those who wait for it, oldest first: to reads, until a take has it. If none has, it can
    /// be taken from now on. What a replacement puts in its place is offered in turn.
    pub(super) fn offer(&mut self, now: Time, place: Place, out: &mut dyn Outbox) {
        let mut put = VecDeque::new();
        self.offer_one(now, place, &mut put, out);
        self.offer_all(now, put, out);
    }

    /// The same of several hidden tuples, in their order.
    pub(super) fn offer_all(&mut self, now: Time, mut put: VecDeque<Place>, out: &mut dyn Outbox) {
        while let Some(place) = put.pop_front() {
            self.offer_one(now, place, &mut put, out);
        }
    }

    fn offer_one(&mut self, now: Time, place: Place, put: &mut VecDeque<Place>, out: &mut dyn Outbox) {
        if self.leaves(now, place, Some(Change::Returned)) {
            return;
        }
        let mut from = 0;
        loop {
            let store = &self.stores[place.store];
            let (next, compared) = store.next_waiter(place.entry, from, &self.waiters, &self.key);
            if compared > 0 {
                out.work(stages::MATCH, compared);
            }
            let Some((order, waiter)) = next else { break };
            from = order + 1;
            if self.serve(now, place, waiter, put, out) {
                return self.forget_heard();
            }
        }
        self.show(place);
        self.ring();
    }

    /// Gives a tuple to one who waits; whether it is taken.
    fn serve(
        &mut self,
        now: Time,
        place: Place,
        waiter: u32,
        put: &mut VecDeque<Place>,
        out: &mut dyn Outbox,
    ) -> bool {
        if self.waiters[waiter].part.is_some() {
            self.hear(waiter);
            return false;
        }
        let requester = self.waiters[waiter].requester;
        match self.give(now, place, waiter, put, out) {
            Err(NotGiven::Unsent(SendError::Full)) => {
                self.block(waiter);
                false
            }
            given => {
                self.drop_waiter(waiter);
                let is_given = given.is_ok();
                self.conclude_given(&requester, given, out);
                is_given && !requester.operation.leaves()
            }
        }
    }

    /// Searches again for a waiter whose link has room now, or whose index may be ready. False: its link has no room.
    pub(super) fn retry_waiter(&mut self, now: Time, place: u32, out: &mut dyn Outbox) -> bool {
        self.search_for_waiter(now, place, Progress::default(), out)
    }

    /// Searches for a waiter, from where it is. False: its link has no room.
    pub(super) fn search_for_waiter(
        &mut self,
        now: Time,
        place: u32,
        mut progress: Progress,
        out: &mut dyn Outbox,
    ) -> bool {
        let Waiter { requester, wait, .. } = self.waiters[place];
        let (search, compared) = self.search_templates(place, &mut progress);
        out.work(stages::MATCH, compared + 1);
        self.dequeue(place);
        if self.waiters[place].part.is_some() {
            self.seek_on(place, search, progress, out);
            return true;
        }
        let mut put = VecDeque::new();
        let awaited = match search {
            Search::Found(found) => match self.give(now, found, place, &mut put, out) {
                Err(NotGiven::Unsent(SendError::Full)) => Awaited::Link,
                given => {
                    self.drop_waiter(place);
                    self.conclude_given(&requester, given, out);
                    self.offer_all(now, put, out);
                    return true;
                }
            },
            Search::Nothing if wait == Wait::AtOnce => {
                self.drop_waiter(place);
                self.answer_without_tuple(&requester, progress, out);
                return true;
            }
            Search::Nothing => Awaited::Tuple,
            Search::NotReady => Awaited::Index,
            Search::Unfinished => Awaited::Scan(progress),
        };
        self.enqueue(place, awaited);
        awaited != Awaited::Link
    }

    /// Goes on with a part of what several managers do: what was found stays until it is brought together with others.
    fn seek_on(&mut self, place: u32, search: Search<Place>, progress: Progress, out: &mut dyn Outbox) {
        match search {
            Search::NotReady => self.enqueue(place, Awaited::Index),
            Search::Unfinished => self.enqueue(place, Awaited::Scan(progress)),
            search => {
                let found = if let Search::Found(found) = search { Some(found) } else { None };
                self.enqueue(place, Awaited::Tuple);
                self.is_ready(place, found, out);
            }
        }
    }

    /// Takes a waiter from where it was put off.
    fn dequeue(&mut self, place: u32) {
        let Waiter { order, requester, .. } = self.waiters[place];
        self.unindexed.remove(&order);
        self.scans.remove(order);
        if let Some(sender) = self.senders.get_mut(requester.address) {
            sender.blocked.remove(&order);
        }
    }

    /// Ends a waiter whose deadline has passed.
    pub(super) fn time_out_waiter(&mut self, now: Time, place: u32, out: &mut dyn Outbox) {
        if seeded!(self.config, WaitsBeyondItsTime) {
            let Requester { address, token, .. } = self.waiters[place].requester;
            return self.refuse(address, token, Code::TimedOut, "it waits on", out);
        }
        let waiter = self.drop_waiter(place);
        let waited = now.since(waiter.since);
        let text = self.near_miss(&waiter, waited);
        self.refuse(waiter.requester.address, waiter.requester.token, Code::TimedOut, text, out);
    }

    /// Ends a request that waits. One that was answered stays as answered.
    pub(super) fn cancel(&mut self, now: Time, from: Address, token: Token, out: &mut dyn Outbox) {
        let unanswered = self.senders.get(from).and_then(|sender| sender.unanswered.get(&token));
        let Some(unanswered) = unanswered.copied() else { return };
        if matches!(unanswered, Unanswered::Prepared(_)) {
            // Its end is for the manager to say that brings it together with others.
            return;
        }
        self.drop_unanswered(now, unanswered);
        self.refuse(from, token, Code::Cancelled, "at the sender's request", out);
    }

    pub(super) fn drop_unanswered(&mut self, now: Time, unanswered: Unanswered) {
        match unanswered {
            Unanswered::Waiter(waiter) => drop(self.drop_waiter(waiter)),
            Unanswered::Parked(key) => drop(self.drop_parked(now, key)),
            Unanswered::Watcher(order) => self.drop_watcher(now, order),
            Unanswered::Prepared(number) => drop(self.drop_prepared(now, number)),
        }
    }

    /// Undoes a plain take that is not settled.
    pub(super) fn undo(&mut self, now: Time, from: Address, token: Token, out: &mut dyn Outbox) {
        let Some(sender) = self.senders.get_mut(from) else { return };
        // All of them before the first is offered: whoever gets that may have others settled.
        let mut taken: VecDeque<Place> =
            core::iter::from_fn(|| sender.undo(token)).map(|unsettled| unsettled.place).collect();
        if seeded!(self.config, PageReturnsInPart) {
            taken.truncate(1);
        }
        for place in &taken {
            let entry = self.stores.entry(*place);
            let (bytes, account) = (entry.bytes(), entry.account());
            self.room.free_unsettled(bytes);
            self.room.add(bytes, account);
            self.stores[place.store].come_back(now, place.entry);
        }
        self.bring_back_all(now, taken, out);
    }

    /// Lets hidden tuples be taken again that return at one instant, each at its old place. All are back before one is offered: what replaces it is younger
    /// than they are.
    pub(super) fn bring_back_all(&mut self, now: Time, mut places: VecDeque<Place>, out: &mut dyn Outbox) {
        places.retain(|place| self.comes_back(now, now, *place));
        self.offer_returned(now, places, out);
    }

    /// Whether a hidden tuple is there again, to be offered: not if its time had come when it returned.
    pub(super) fn comes_back(&mut self, now: Time, returned: Time, place: Place) -> bool {
        let is_back = !self.has_expired(now, returned, place);
        if is_back {
            self.note(now, Change::Returned, place);
        }
        is_back
    }

    /// Offers what is there again, in this order.
    pub(super) fn offer_returned(&mut self, now: Time, places: VecDeque<Place>, out: &mut dyn Outbox) {
        if seeded!(self.config, LostWakeUp) {
            places.into_iter().for_each(|place| self.show(place));
        } else {
            self.offer_all(now, places, out);
        }
    }
}

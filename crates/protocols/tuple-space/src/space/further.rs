//! Selects and replacements.
//!
//! A select is a take or a read with several templates: it gets the oldest tuple that matches any of them, and waits for each. A
//! replacement is a take that puts something at the instant at which it takes. What it puts finds room as results do: in what it takes, in
//! what is free, or in the reserve; where there is none, it is refused, and what it would have taken stays. So it never waits with a tuple
//! hidden from others. What it has done cannot be undone: others may have taken what it put. (docs/design/0039.)

use super::room::{Account, Counted, Size};
use super::scan::Progress;
use super::store::{Search, SearchBudget};
use super::stores::Place;
use super::waiter::{Kept, More, Operation, Requester, Waiter};
use super::{Space, seeded, stages};
use crate::codec::{Change, Further, PutTuple, Replace, Select};
use quintet_contract::{Address, Outbox, SendError, Time, Token};
use quintet_errors::Code;
use std::collections::VecDeque;

/// Why one who waits did not get a tuple.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NotGiven {
    /// The link did not take it.
    Unsent(SendError),
    /// There is no room for what it would put, which takes so much.
    NoRoom(Size),
}

impl Space {
    /// Answers a further operation, or lets it wait.
    pub(super) fn further(
        &mut self,
        now: Time,
        from: Address,
        token: Token,
        further: &Further<'_>,
        out: &mut dyn Outbox,
    ) {
        let requester = |operation| Requester { address: from, token, operation };
        match further {
            Further::Replace(replace) => self.replace(now, requester(Operation::Replace), replace, out),
            Further::Select(select) => {
                self.select(now, requester(Space::operation_of(select)), select, out);
            }
            Further::Collect(asked) => {
                self.collect(now, requester(Operation::Read).of_page(asked.takes), asked, out);
            }
            Further::CollectInto(_) => {
                let text = "this space stands alone: there is no other to collect into";
                self.refuse(from, token, Code::BadValue, text, out);
            }
        }
    }

    fn replace(&mut self, now: Time, requester: Requester, replace: &Replace<'_>, out: &mut dyn Outbox) {
        let size = Size::of(&replace.tuples);
        if !self.room.could_fit(size) {
            let text = self.room.never_fits(size);
            return self.refuse(requester.address, requester.token, Code::TooLarge, text, out);
        }
        let template = Kept::new(&replace.template, &replace.bulk);
        let more = More::Replace(replace.tuples.keep());
        let waiter = Waiter::of(requester, replace.wait, now, template).with(more);
        self.ask_as_waiter(now, waiter, out);
    }

    fn select(&mut self, now: Time, requester: Requester, select: &Select<'_>, out: &mut dyn Outbox) {
        if let Some(waiter) = Waiter::of_select(requester, select, now) {
            self.ask_as_waiter(now, waiter, out);
        }
    }

    /// What a select does with the tuple.
    pub(super) fn operation_of(select: &Select<'_>) -> Operation {
        match (select.takes, select.lease) {
            (false, _) => Operation::Read,
            (true, None) => Operation::Take,
            (true, Some(ttl)) => Operation::Lease(ttl),
        }
    }

    /// Searches for a request that counts as one that waits from its beginning.
    fn ask_as_waiter(&mut self, now: Time, waiter: Waiter, out: &mut dyn Outbox) {
        let Requester { address, token, .. } = waiter.requester;
        if self.may_wait(address, token, waiter.kept_bytes(), out) {
            let order = self.order();
            let place = self.keep_waiter(waiter.of_age(order));
            self.note_templates(now, place);
            self.search_for_waiter(now, place, Progress::default(), out);
        }
    }

    /// Counts a request for each of its templates, and looks at some for their values.
    pub(super) fn note_templates(&mut self, now: Time, place: u32) {
        for template in self.waiters[place].templates() {
            let view = template.view();
            let Some(store) = self.stores.find(view.signature()) else { continue };
            if self.stores[store].usage_mut().ask(now, &view) {
                self.hot_keys.pass(&view);
            }
        }
    }

    /// Searches for the oldest tuple that matches a template of one who waits, or counts those, from where `progress` is; and how many were
    /// compared.
    pub(super) fn search_templates(&mut self, place: u32, progress: &mut Progress) -> (Search<Place>, u32) {
        let waiter = &self.waiters[place];
        let several = 1 + waiter.others().len();
        let step = (self.config.index_step / several).max(1);
        let mut sum = 0;
        // Of all that were found the oldest; from which age on something is still to be compared.
        let (mut oldest, mut unfinished) = (None, None::<u64>);
        let mut begun = *progress;
        for template in waiter.templates() {
            begun = *progress;
            let mut budget = SearchBudget { step, index_bytes: self.room.free_bytes(), made: None };
            let operation = waiter.requester.operation;
            let (search, compared) =
                self.stores.search(&template.view(), operation, &mut begun, &mut budget, &self.key);
            self.room.index_made(budget.made);
            sum += compared;
            match search {
                Search::Found(found) => {
                    let found = (self.stores.entry(found).order, found);
                    oldest = Some(oldest.map_or(
                        found,
                        |before: (u64, Place)| {
                            if before.0 <= found.0 { before } else { found }
                        },
                    ));
                }
                Search::Nothing => {}
                Search::Unfinished => {
                    unfinished = Some(unfinished.map_or(begun.mark, |at| at.min(begun.mark)))
                }
                Search::NotReady => return (Search::NotReady, sum),
            }
        }
        if several == 1 {
            // A count has its result there.
            *progress = begun;
        }
        let search = match (oldest, unfinished) {
            (Some((order, found)), at) if at.is_none_or(|at| order < at) => Search::Found(found),
            (_, Some(at)) => {
                progress.mark = at;
                Search::Unfinished
            }
            _ => Search::Nothing,
        };
        (search, sum)
    }

    /// Files the other templates of a select, each where no one before it is filed: an index has a request once.
    pub(super) fn file_others(&mut self, place: u32) {
        let waiter = &mut self.waiters[place];
        let mut before: Vec<_> = waiter.filed.into_iter().collect();
        let order = waiter.order;
        let Some(More::Select(others)) = waiter.more.as_deref_mut() else { return };
        let others = others.iter_mut().filter(|_| !seeded!(self.config, SelectWaitsForFirst));
        for (template, filed) in others {
            *filed = self.stores.file_once(&template.view(), order, place, &before, &self.key);
            before.extend(*filed);
        }
    }

    pub(super) fn unfile_others(&mut self, place: u32) {
        let waiter = &mut self.waiters[place];
        let order = waiter.order;
        let Some(More::Select(others)) = waiter.more.as_deref_mut() else { return };
        for filed in others.iter_mut().filter_map(|(_, filed)| filed.take()) {
            self.stores.unfile(filed, order);
        }
    }

    /// Gives a tuple to one who waits. Of a replacement, what it put is added to `put`: it is to be offered next.
    pub(super) fn give(
        &mut self,
        now: Time,
        place: Place,
        waiter: u32,
        put: &mut VecDeque<Place>,
        out: &mut dyn Outbox,
    ) -> Result<(), NotGiven> {
        let asks = &self.waiters[waiter];
        let requester = asks.requester;
        if asks.more.is_none() {
            return Ok(self.deliver(now, place, &requester, None, out)?);
        }
        let account = self.room_for_replacement(place, asks)?;
        let (which, is_decided) = (asks.which(&self.stores.view(place)), asks.part.is_some());
        match self.deliver(now, place, &requester, which, out) {
            Err(SendError::Full) if is_decided => self.deliver_later(now, place, &requester, which),
            delivered => delivered?,
        }
        if let Some(more) = self.waiters[waiter].more.take() {
            self.put_replacement(now, &more, account, put, out);
            self.waiters[waiter].more = Some(more);
        }
        Ok(())
    }

    /// Where what a request puts finds room once it has the tuple at `place`.
    pub(super) fn room_for_replacement(&self, place: Place, asks: &Waiter) -> Result<Account, NotGiven> {
        let Some(tuples) = asks.replacement() else { return Ok(Account::Quota) };
        let (size, entry) = (Size::of(&tuples.borrow()), self.stores.entry(place));
        let mut going = Counted::default();
        going.add(Size { bytes: entry.bytes(), tuples: 1 }, entry.account());
        self.room.for_results(size, going).ok_or(NotGiven::NoRoom(size))
    }

    fn put_replacement(
        &mut self,
        now: Time,
        more: &More,
        account: Account,
        put: &mut VecDeque<Place>,
        out: &mut dyn Outbox,
    ) {
        let More::Replace(tuples) = more else { return };
        let tuples = tuples.borrow();
        out.work(stages::STORE, tuples.len());
        for PutTuple { tuple, bulk, expires_in } in tuples.iter() {
            let expiry = self.expiry(now, expires_in);
            let place = self.add(now, (&tuple, bulk), expiry, account);
            if self.leaves(now, place, Some(Change::Put)) {
                continue;
            }
            if seeded!(self.config, ReplacementNotOffered) {
                self.show(place);
            } else {
                put.push_back(place);
            }
        }
    }

    /// Removes what a replacement has taken.
    pub(super) fn remove_replaced(&mut self, now: Time, place: Place) {
        if !seeded!(self.config, ReplacedStays) {
            self.remove_taken(now, place);
        }
    }

    /// Removes a tuple that was taken for good: nothing brings it back.
    pub(super) fn remove_taken(&mut self, now: Time, place: Place) {
        self.hide(place);
        self.note(now, Change::Taken, place);
        self.stores[place.store].leave(place.entry);
        let entry = self.stores[place.store].remove(place.entry);
        self.room.free(entry.bytes(), entry.account());
    }

    /// Answers one who waited and got no tuple, where somebody is left to answer.
    pub(super) fn conclude_given(
        &mut self,
        requester: &Requester,
        given: Result<(), NotGiven>,
        out: &mut dyn Outbox,
    ) {
        match given {
            Ok(()) => {}
            Err(NotGiven::Unsent(error)) => self.conclude(requester, Err(error), out),
            Err(NotGiven::NoRoom(size)) => {
                let text = self.no_room_for(size);
                self.refuse(requester.address, requester.token, Code::SpaceFull, text, out);
            }
        }
    }
}

impl From<SendError> for NotGiven {
    fn from(error: SendError) -> NotGiven {
        NotGiven::Unsent(error)
    }
}

//! One manager's part of a select whose templates are of several managers, or of a replacement whose tuples are.
//!
//! It waits as one who waits for a tuple, but is given none: what comes rings up the manager that brings the parts together. That one has all stand still,
//! looks in each for the oldest match, and has the part whose match has the lowest age answer the client. So exactly one of the templates gets a tuple, or none of
//! them had one at that instant. (docs/design/0061.)

use super::room::{Account, Size};
use super::scan::Progress;
use super::store::Search;
use super::stores::Place;
use super::waiter::{Kept, More, Operation, Requester, Waiter};
use super::{Space, seeded};
use crate::codec::{
    Found, Further, NO_MATCH, PREPARED, PreparedAt, PreparedBody, Refusal, RequestView, SeekView, Wait,
};
use core::mem;
use quintet_contract::{Address, Outbox, Time, Token};
use quintet_errors::Code;
use std::collections::{BTreeMap, VecDeque};

/// What one who waits has if he is such a part.
#[derive(Debug)]
pub(super) struct Seeking {
    /// The parts with which it is brought together here; none: another manager does that.
    others: Vec<PreparedAt>,
    /// Which of the select's templates its templates are.
    which: Box<[u8]>,
    /// Whether its templates are of this manager; else it only puts.
    pub(super) is_here: bool,
    /// All there was has been compared once.
    is_ready: bool,
    /// Who brings it together, and the number of that manager's own part, if that is known.
    brought_by: Option<(u8, u64)>,
    /// That one was told that there is something, and has not looked since.
    has_rung: bool,
    /// What was found last, at the beginning or when all stood still: the place and the age.
    found: Option<(Place, u64)>,
    /// Where what it puts finds room, as of then.
    account: Account,
}

impl Seeking {
    /// Whether it is this manager that brings the parts together.
    fn brings(&self) -> bool {
        !self.others.is_empty()
    }

    /// Whether the request is listed with this part: it has the template that the request has first, as it is listed where one manager does all.
    pub(super) fn is_listed(&self) -> bool {
        self.is_here && self.which(0).is_none_or(|first| first == 0)
    }

    /// The number of one of its templates among those of the select.
    pub(super) fn which(&self, template: usize) -> Option<u8> {
        self.which.get(template).copied()
    }
}

/// All such parts, by their numbers, and what is to be told of them.
#[derive(Debug, Default)]
pub(super) struct Sought {
    places: BTreeMap<u64, u32>,
    /// Parts that match a tuple which is being offered.
    heard: Vec<u64>,
    /// Managers that bring parts together, and their own parts: there is something for them.
    rings: Vec<(u8, u64)>,
}

impl Sought {
    pub(super) fn forget(&mut self, number: u64) {
        self.places.remove(&number);
    }
}

impl Space {
    fn sought(&self) -> Option<&Sought> {
        self.elsewhere.as_ref().map(|elsewhere| &elsewhere.parts.sought)
    }

    fn sought_mut(&mut self) -> Option<&mut Sought> {
        self.elsewhere.as_mut().map(|elsewhere| &mut elsewhere.parts.sought)
    }

    /// The place among those who wait of the part with this number.
    fn place_of(&self, number: u64) -> Option<u32> {
        self.sought()?.places.get(&number).copied()
    }

    fn seeking(&self, number: u64) -> Option<&Seeking> {
        self.waiters[self.place_of(number)?].part.as_deref()
    }

    fn seeking_mut(&mut self, number: u64) -> Option<&mut Seeking> {
        let place = self.place_of(number)?;
        self.waiters[place].part.as_deref_mut()
    }

    /// Whether this is the number of such a part.
    pub(crate) fn is_sought(&self, number: u64) -> bool {
        self.place_of(number).is_some()
    }

    /// Whose it is, and under which token; and the parts with which it is brought together here.
    pub(crate) fn sought_by(&self, number: u64) -> Option<((Address, Token), &[PreparedAt])> {
        let waiter = &self.waiters[self.place_of(number)?];
        let others = waiter.part.as_deref().map(|part| &*part.others).unwrap_or_default();
        Some(((waiter.requester.address, waiter.requester.token), others))
    }

    /// Whether it puts something where it takes.
    pub(crate) fn is_replacement(&self, number: u64) -> bool {
        self.place_of(number).is_some_and(|place| self.waiters[place].replacement().is_some())
    }

    /// Keeps such a part; it is prepared when all there is has been compared.
    pub(crate) fn seek(
        &mut self,
        now: Time,
        (from, token): (Address, Token),
        part: SeekView<'_>,
        out: &mut dyn Outbox,
    ) {
        if let Some(text) = self.is_in_use(from, token) {
            return self.refuse(from, token, Code::Malformed, text, out);
        }
        let SeekView { others, is_here, which, further } = part;
        let request = RequestView::Further(further);
        if self.needs_grant(from, &request) {
            return self.refuse_code(from, token, out);
        }
        let RequestView::Further(further) = request else { return };
        let part = Seeking {
            others,
            which,
            is_here,
            is_ready: false,
            brought_by: None,
            has_rung: false,
            found: None,
            account: Account::Quota,
        };
        let waiter = match self.waiter_of(now, (from, token), &further) {
            Ok(waiter) => waiter.made_part(part),
            Err(text) => return self.refuse(from, token, Code::TooLarge, text, out),
        };
        if self.may_wait(from, token, waiter.kept_bytes(), out) {
            let order = self.order();
            let place = self.keep_waiter(waiter.of_age(order));
            if let Some(sought) = self.sought_mut() {
                sought.places.insert(order, place);
            }
            self.begin_to_seek(now, place, is_here, out);
        }
        self.end_turn(now, out);
    }

    fn begin_to_seek(&mut self, now: Time, place: u32, is_here: bool, out: &mut dyn Outbox) {
        if is_here {
            self.note_templates(now, place);
            self.search_for_waiter(now, place, Progress::default(), out);
        } else {
            self.is_ready(place, None, out);
        }
    }

    /// One who waits as this asks, without an age so far; or why what it puts never fits.
    fn waiter_of(
        &self,
        now: Time,
        (address, token): (Address, Token),
        further: &Further<'_>,
    ) -> Result<Waiter, String> {
        match further {
            Further::Replace(replace) => {
                let size = Size::of(&replace.tuples);
                if !self.room.could_fit(size) {
                    return Err(self.room.never_fits(size));
                }
                let requester = Requester { address, token, operation: Operation::Replace };
                let template = Kept::new(&replace.template, &replace.bulk);
                let more = More::Replace(replace.tuples.keep());
                Ok(Waiter::of(requester, replace.wait, now, template).with(more))
            }
            Further::Select(select) => {
                let requester = Requester { address, token, operation: Space::operation_of(select) };
                Waiter::of_select(requester, select, now).ok_or_else(|| "a select has a template".to_owned())
            }
            Further::Collect(_) | Further::CollectInto(_) => Err("pages are one manager's".to_owned()),
        }
    }

    /// All there is has been compared with the templates of a part, and what comes is from now on.
    pub(super) fn is_ready(&mut self, place: u32, found: Option<Place>, out: &mut dyn Outbox) {
        let age = found.map(|found| self.stores.entry(found).order);
        let waiter = &mut self.waiters[place];
        let (order, requester) = (waiter.order, waiter.requester);
        let Some(part) = waiter.part.as_deref_mut() else { return };
        if mem::replace(&mut part.is_ready, true) {
            return;
        }
        part.found = found.zip(age);
        if part.brings() {
            self.note_ready(order);
        } else {
            self.reply_with(requester.address, PREPARED, requester.token, &PreparedBody(order), out);
        }
    }

    /// Looks for a part in all there is, while everything stands still: what is found, and whether it can be answered with that. None: it was given up.
    /// `by`: who brings the parts together, and its own part.
    pub(crate) fn find_sought(
        &mut self,
        number: u64,
        by: Option<(u8, u64)>,
        out: &mut dyn Outbox,
    ) -> Option<Found> {
        let place = self.place_of(number)?;
        let is_here = self.waiters[place].part.as_deref()?.is_here;
        let found = match is_here {
            true if seeded!(self.config, SoughtBeforeStill) => self.found_before(place),
            true => self.search_to_the_end(place, out),
            false => None,
        };
        let room = self.room_for_part(place, found);
        let age = found.map(|found| self.stores.entry(found).order);
        let refusal = found.and_then(|found| self.cannot_be_sent(place, found)).or_else(|| {
            let size = room.err()?;
            Some(Refusal::new(Code::SpaceFull, self.no_room_for(size)))
        });
        let part = self.waiters[place].part.as_deref_mut()?;
        part.brought_by = by;
        part.has_rung = false;
        part.found = found.zip(age);
        part.account = room.unwrap_or(Account::Quota);
        Some(Found { age, refusal })
    }

    /// What was found for a part, if it is still there.
    fn found_before(&self, place: u32) -> Option<Place> {
        let (found, age) = self.waiters[place].part.as_deref()?.found?;
        self.stores.get(found).is_some_and(|entry| entry.order == age && entry.is_shown()).then_some(found)
    }

    /// Searches for one who waits until all is compared, and every index built that it needs. O(n) where no index helps.
    fn search_to_the_end(&mut self, place: u32, out: &mut dyn Outbox) -> Option<Place> {
        let mut progress = Progress::default();
        loop {
            let (search, compared) = self.search_templates(place, &mut progress);
            out.work(super::stages::MATCH, compared + 1);
            match search {
                Search::Found(found) => return Some(found),
                Search::Nothing => return None,
                Search::Unfinished => {}
                Search::NotReady => self.build(out),
            }
        }
    }

    /// Where what a part puts finds room; or how much does not. One that takes nothing here is as an `out`.
    fn room_for_part(&self, place: u32, found: Option<Place>) -> Result<Account, Size> {
        let waiter = &self.waiters[place];
        let Some(tuples) = waiter.replacement() else { return Ok(Account::Quota) };
        let size = Size::of(&tuples.borrow());
        let is_here = waiter.part.as_deref().is_some_and(|part| part.is_here);
        match found {
            Some(found) => self.room_for_replacement(found, waiter).map_err(|_| size),
            None if is_here => Ok(Account::Quota),
            None if !self.room.has_parked() && self.room.fits(size) => Ok(Account::Quota),
            None => Err(size),
        }
    }

    /// Why a tuple cannot be sent to who asks, as his link takes no body of its length.
    fn cannot_be_sent(&self, place: u32, found: Place) -> Option<Refusal> {
        let limit = self.clients.get(self.waiters[place].requester.address)?.link.max_body_bytes;
        let len = self.stores.entry(found).head().len() + crate::codec::REQUEST_BYTES;
        let text = || format!("the tuple cannot be sent to you: {len} bytes are more than {limit}");
        (len > limit).then(|| Refusal::new(Code::TooLarge, text()))
    }

    /// Whether what a part puts belongs here, as far as `is_here` knows.
    pub(crate) fn puts_all(&self, number: u64, is_here: impl Fn(crate::codec::View<'_>) -> bool) -> bool {
        let Some(place) = self.place_of(number) else { return true };
        self.waiters[place].replacement().is_none_or(|tuples| tuples.borrow().views().all(is_here))
    }

    /// Does a part: answers its client with what was found when all stood still, or puts what replaces what another manager has.
    pub(crate) fn perform_sought(&mut self, now: Time, number: u64, out: &mut dyn Outbox) {
        let Some(place) = self.place_of(number) else { return };
        let Some(part) = self.waiters[place].part.as_deref() else { return };
        let account = part.account;
        if let Some(found) = self.found_before(place) {
            let (requester, mut put) = (self.waiters[place].requester, VecDeque::new());
            let given = self.give(now, found, place, &mut put, out);
            self.drop_waiter(place);
            self.conclude_given(&requester, given, out);
            self.offer_all(now, put, out);
        } else {
            let waiter = self.drop_waiter(place);
            let tuples = waiter.replacement().map(crate::codec::KeptTuples::borrow);
            tuples.into_iter().for_each(|tuples| self.put_all(now, &tuples, account, out));
        }
        self.end_turn(now, out);
    }

    /// No manager had a match: who asks at once is told so, who waits goes on waiting. Whether the parts are over.
    pub(crate) fn nothing_found(&mut self, now: Time, number: u64, out: &mut dyn Outbox) -> bool {
        let Some(place) = self.place_of(number) else { return false };
        let is_over = self.waiters[place].wait == Wait::AtOnce;
        if is_over {
            let Requester { address, token, .. } = self.drop_waiter(place).requester;
            self.reply(address, NO_MATCH, token, out);
        }
        self.end_turn(now, out);
        is_over
    }

    /// Removes a part: another one has answered, or its client gives it up. False: there is none of this number.
    pub(crate) fn drop_sought(&mut self, now: Time, number: u64, out: &mut dyn Outbox) -> bool {
        let place = self.place_of(number);
        place.into_iter().for_each(|place| drop(self.drop_waiter(place)));
        self.end_turn(now, out);
        place.is_some()
    }

    /// A tuple is being offered that a part waits for.
    pub(super) fn hear(&mut self, place: u32) {
        let order = self.waiters[place].order;
        self.sought_mut().into_iter().for_each(|sought| sought.heard.push(order));
    }

    /// A tuple that was offered was taken: nobody is rung up for it.
    pub(super) fn forget_heard(&mut self) {
        self.sought_mut().into_iter().for_each(|sought| sought.heard.clear());
    }

    /// A tuple that was offered can be taken: rings up who brings the parts together that wait for it, once each.
    pub(super) fn ring(&mut self) {
        let heard = self.sought_mut().map(|sought| mem::take(&mut sought.heard)).unwrap_or_default();
        for number in heard {
            let is_deaf = seeded!(self.config, RingNotHeard);
            let Some(part) = self.seeking_mut(number).filter(|part| !part.has_rung && !is_deaf) else {
                continue;
            };
            part.has_rung = part.brings() || part.brought_by.is_some();
            match (part.brings(), part.brought_by) {
                (true, _) => self.note_ready(number),
                (_, Some(by)) => self.sought_mut().into_iter().for_each(|sought| sought.rings.push(by)),
                // The first look is still to come.
                (_, None) => {}
            }
        }
    }

    /// Who is to be rung up.
    pub(crate) fn take_rings(&mut self) -> Vec<(u8, u64)> {
        self.sought_mut().map(|sought| mem::take(&mut sought.rings)).unwrap_or_default()
    }

    /// There is something at another manager for which a part waits that is brought together here.
    pub(crate) fn rung(&mut self, number: u64) {
        if self.seeking(number).is_some_and(Seeking::brings) {
            self.note_ready(number);
        }
    }

    /// How many of those who wait are parts of what another manager brings together.
    pub(super) fn sought_for_others(&self) -> u64 {
        let numbers = self.sought().into_iter().flat_map(|sought| sought.places.keys());
        numbers.filter(|number| self.seeking(**number).is_some_and(|part| !part.brings())).count() as u64
    }

    /// Whether one who waits was told that he is prepared.
    pub(super) fn was_prepared(&self, place: u32) -> bool {
        self.waiters[place].part.as_deref().is_some_and(|part| part.is_ready && !part.brings())
    }

    /// Checks that parts are known by their numbers.
    ///
    /// # Panics
    /// If they are not.
    pub(super) fn verify_sought(&self) {
        let places = self.sought().map(|sought| &sought.places);
        let known = places.into_iter().flatten().map(|(number, place)| (*number, *place));
        let parts = self.waiters.iter().filter(|(_, waiter)| waiter.part.is_some());
        let mut parts: Vec<_> = parts.map(|(place, waiter)| (waiter.order, place)).collect();
        parts.sort_unstable();
        assert!(known.eq(parts), "each part is known by its number");
    }

    /// How a request that would put so much is told that there is no room.
    pub(super) fn no_room_for(&self, size: Size) -> String {
        format!(
            "no room for {} tuples of {} bytes in the place of what matches, which stays: {}",
            size.tuples,
            size.bytes,
            self.room.describe()
        )
    }
}

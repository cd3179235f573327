//! A space as simple as it can be: lists, searched from the front. It knows the rules and nothing of how to be fast.

mod collect;
mod due;
pub(super) mod expiry;
mod further;
mod group;
mod leases;
pub(super) mod listing;
mod quota;
mod watch;

use super::bench::Sent;
use crate::{Answer, Change, Refusal, Signature, SpaceConfig, Template, Tuple, Wait, Witness};
use further::Given;
use quintet_contract::{Span, Time};
use quintet_errors::Code;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

#[derive(Clone, Copy, PartialEq, Debug)]
enum Place {
    Shown,
    /// Put or returned, and offered to those who wait before it can be seen.
    Put,
    Taken {
        by: u16,
        token: u64,
    },
    Leased {
        by: u16,
        lease: u64,
        life: Life,
        due: Option<Time>,
        put_off: bool,
        is_acknowledging: bool,
    },
}

/// How long a lease lives unless renewed, and until when although renewed; and whether it is a group's.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Life {
    ttl: Span,
    until: Option<Time>,
    for_group: bool,
}

impl Life {
    fn due(self, now: Time) -> Time {
        self.until.map_or(now + self.ttl, |until| until.max(now).min(now + self.ttl))
    }
}

struct Stored {
    order: u64,
    tuple: Tuple,
    failed: u32,
    place: Place,
    /// It counts in the reserve.
    is_reserve: bool,
    expiry: Option<Time>,
}

#[derive(Clone)]
struct Waiting {
    order: u64,
    from: u16,
    token: u64,
    purpose: Purpose,
    wait: Wait,
    due: Option<Time>,
    templates: Vec<Template>,
    /// What a replacement puts.
    puts: Vec<Tuple>,
    is_select: bool,
    is_blocked: bool,
    is_unindexed: bool,
}

impl Waiting {
    /// Which of its templates matches, the first if it is several.
    fn which(&self, tuple: &Tuple) -> Option<usize> {
        self.templates.iter().position(|template| template.matches(tuple))
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Purpose {
    Read,
    Take,
    Lease(Span),
    Count,
    Witness,
    /// For a group: how long it lives unless renewed, and at most.
    Hold(Span, Option<Span>),
    Replace,
}

impl Purpose {
    fn leaves(self) -> bool {
        matches!(self, Purpose::Read | Purpose::Count | Purpose::Witness)
    }
}

#[derive(Clone)]
struct Parked {
    order: u64,
    from: u16,
    token: u64,
    /// Those that it ends.
    leases: Vec<u64>,
    /// What has to be there, by age.
    witnesses: Vec<u64>,
    due: Option<Time>,
    tuples: Vec<Tuple>,
}

pub(super) struct Model {
    config: SpaceConfig,
    pub(super) now: Time,
    next: u64,
    stored: Vec<Stored>,
    expired: u64,
    waiting: Vec<Waiting>,
    parked: Vec<Parked>,
    replies: Vec<Sent>,
    watches: watch::Watches,
    pub(super) full: BTreeSet<u16>,
    /// How many further indexes the manager has for each signature, and the most it has had: its own affair as well.
    pub(super) indexes: BTreeMap<Signature, u64>,
    pub(super) most_indexes: u64,
    /// Requests that wait for an index or for more turns in the manager: what it has indexes for is its own affair.
    pub(super) unindexed: BTreeSet<(u16, u64)>,
    pub(super) sent: Vec<Sent>,
}

impl Model {
    pub(super) fn new(config: SpaceConfig) -> Model {
        Model {
            config,
            now: Time::ZERO,
            next: 1,
            stored: vec![],
            expired: 0,
            waiting: vec![],
            parked: vec![],
            replies: vec![],
            watches: watch::Watches::default(),
            full: BTreeSet::new(),
            indexes: BTreeMap::new(),
            most_indexes: 0,
            unindexed: BTreeSet::new(),
            sent: vec![],
        }
    }

    fn order(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    fn reply(&mut self, to: u16, token: u64, answer: Answer) {
        if !self.full.contains(&to) {
            self.sent.push((to, token, answer));
        } else if self.replies.iter().filter(|reply| reply.0 == to).count() < self.config.max_waiting {
            self.replies.push((to, token, answer));
        }
    }

    fn refuse(&mut self, to: u16, token: u64, code: Code) {
        self.reply(to, token, Answer::Error(Refusal::new(code, "")));
    }

    /// Serves those who wait for room: acknowledgements, then, when none is left, the oldest put.
    pub(super) fn end(&mut self) {
        while let Some(at) = self.next_parked() {
            let parked = self.parked.remove(at);
            if self.is_conflict(&parked.leases, &parked.witnesses) {
                self.resume(&parked);
                self.refuse(parked.from, parked.token, Code::Conflict);
                continue;
            }
            let is_reserve = match &parked.leases[..] {
                [] => false,
                leases => {
                    let is_reserve = self.room_for_results(&parked.tuples, leases, true).unwrap();
                    self.remove_leased(leases);
                    is_reserve
                }
            };
            self.put_all(&parked.tuples, is_reserve);
            self.reply(parked.from, parked.token, Answer::Done);
        }
    }

    fn next_parked(&self) -> Option<usize> {
        let oldest = self.parked.iter().position(|p| !p.leases.is_empty());
        let fits = |at: &usize| {
            let Parked { leases, tuples, .. } = &self.parked[*at];
            !leases.is_empty() && self.room_for_results(tuples, leases, Some(*at) == oldest).is_some()
        };
        let is_fitting_out = |p: &&Parked| oldest.is_none() && self.fits(&p.tuples, &[]);
        (0..self.parked.len()).find(fits).or(self.parked.first().filter(is_fitting_out).map(|_| 0))
    }

    fn put_all(&mut self, tuples: &[Tuple], is_reserve: bool) {
        let mut put = VecDeque::new();
        for tuple in tuples {
            let order = self.order();
            self.stored.push(Stored::put(self.now, order, tuple.clone(), is_reserve));
            self.note(Change::Put, self.stored.len() - 1);
            put.push_back(order);
        }
        self.offer_all(put);
    }

    fn offer_all(&mut self, mut offered: VecDeque<u64>) {
        while let Some(order) = offered.pop_front() {
            self.offer_one(order, &mut offered);
        }
    }

    fn offer_one(&mut self, order: u64, put: &mut VecDeque<u64>) {
        self.waiting.sort_by_key(|w| w.order);
        for waiting in self.waiting.clone() {
            let at = self.stored.iter().position(|s| s.order == order).unwrap();
            let waits = !waiting.is_blocked && !waiting.is_unindexed;
            if !waits || waiting.which(&self.stored[at].tuple).is_none() {
                continue;
            }
            match self.give(at, &waiting, put) {
                Given::Full => {
                    self.waiting.iter_mut().find(|w| w.order == waiting.order).unwrap().is_blocked = true;
                }
                Given::Refused => self.waiting.retain(|w| w.order != waiting.order),
                Given::Sent => {
                    self.waiting.retain(|w| w.order != waiting.order);
                    if !waiting.purpose.leaves() {
                        return;
                    }
                }
            }
        }
        self.stored.iter_mut().find(|s| s.order == order).unwrap().place = Place::Shown;
    }

    fn deliver(&mut self, at: usize, to: u16, token: u64, purpose: Purpose) -> bool {
        self.deliver_selected(at, to, token, purpose, None)
    }

    fn deliver_selected(
        &mut self,
        at: usize,
        to: u16,
        token: u64,
        purpose: Purpose,
        which: Option<usize>,
    ) -> bool {
        if self.full.contains(&to) {
            return false;
        }
        let tuple = self.stored[at].tuple.clone();
        let mut held = None;
        match purpose {
            Purpose::Read | Purpose::Count | Purpose::Replace => {}
            Purpose::Witness => {
                let witness = Witness { age: self.stored[at].order, place: 0 };
                self.sent.push((to, token, Answer::Witnessed(tuple, witness)));
                return true;
            }
            Purpose::Take => {
                self.stored[at].place = Place::Taken { by: to, token };
                self.note(Change::Taken, at);
            }
            Purpose::Lease(ttl) => {
                held = Some(self.lease(at, to, Life { ttl, until: None, for_group: false }));
            }
            Purpose::Hold(ttl, limit) => {
                let until = limit.map(|limit| self.now + limit);
                held = Some(self.lease(at, to, Life { ttl, until, for_group: true }));
            }
        }
        let answer = match which {
            Some(which) => Answer::Selected(which, tuple, held),
            None => Answer::Tuple(tuple, held),
        };
        self.sent.push((to, token, answer));
        if purpose == Purpose::Take {
            self.settle_surplus(to, token);
        }
        true
    }

    fn taken_by(&self, sender: u16) -> impl Iterator<Item = u64> {
        self.stored.iter().filter_map(move |s| match s.place {
            Place::Taken { by, token } if by == sender => Some(token),
            _ => None,
        })
    }

    fn oldest(&self, template: &Template) -> Option<usize> {
        self.oldest_of(core::slice::from_ref(template))
    }

    fn oldest_of(&self, templates: &[Template]) -> Option<usize> {
        let shown = self.stored.iter().enumerate().filter(|(_, s)| s.place == Place::Shown);
        let fits = |tuple: &Tuple| templates.iter().any(|template| template.matches(tuple));
        shown.filter(|(_, s)| fits(&s.tuple)).min_by_key(|(_, s)| s.order).map(|(at, _)| at)
    }

    pub(super) fn settle(&mut self, from: u16, below: u64) {
        self.stored.retain(|s| !matches!(s.place, Place::Taken { by, token } if by == from && token < below));
    }

    fn may_wait(&mut self, from: u16, token: u64) -> bool {
        let waiting = self.waiting.iter().filter(|w| w.from == from).count();
        let parked = self.parked.iter().filter(|p| p.from == from).count();
        let watching = self.watches.watchers.iter().filter(|w| w.from == from).count();
        let may = waiting + parked + watching < self.config.max_waiting;
        if !may {
            self.refuse(from, token, Code::TooLarge);
        }
        may
    }

    pub(super) fn query(&mut self, from: u16, token: u64, purpose: Purpose, wait: Wait, template: &Template) {
        let is_unindexed = self.unindexed.contains(&(from, token));
        let found = self.oldest(template).filter(|_| !is_unindexed && purpose != Purpose::Count);
        let is_blocked = match found {
            _ if is_unindexed => false,
            _ if purpose == Purpose::Count => return self.reply_count(from, token, template),
            Some(at) if self.deliver(at, from, token, purpose) => return,
            Some(_) => true,
            None if wait == Wait::AtOnce => return self.reply(from, token, Answer::NoMatch),
            None => false,
        };
        if self.may_wait(from, token) {
            let due = if let Wait::For(span) = wait { Some(self.now + span) } else { None };
            let (order, templates) = (self.order(), vec![template.clone()]);
            self.waiting.push(Waiting {
                order,
                from,
                token,
                purpose,
                wait,
                due,
                templates,
                puts: vec![],
                is_select: false,
                is_blocked,
                is_unindexed,
            });
        }
    }

    pub(super) fn out(&mut self, from: u16, token: u64, tuples: &[Tuple], deadline: Option<Span>) {
        if self.parked.is_empty() && self.fits(tuples, &[]) {
            self.put_all(tuples, false);
            self.reply(from, token, Answer::Done);
        } else {
            self.park(from, token, (vec![], vec![]), tuples, deadline);
        }
    }

    fn park(
        &mut self,
        from: u16,
        token: u64,
        (leases, witnesses): (Vec<u64>, Vec<u64>),
        tuples: &[Tuple],
        deadline: Option<Span>,
    ) {
        if !quota::could_fit(&self.config, tuples) {
            return self.refuse(from, token, Code::TooLarge);
        }
        if deadline == Some(Span::ZERO) {
            return self.refuse(from, token, Code::SpaceFull);
        }
        if !self.may_wait(from, token) {
            return;
        }
        let (order, due) = (self.order(), deadline.map(|span| self.now + span));
        for stored in &mut self.stored {
            if let Place::Leased { lease, due, is_acknowledging, .. } = &mut stored.place
                && leases.contains(lease)
            {
                (*due, *is_acknowledging) = (None, true);
            }
        }
        self.parked.push(Parked { order, from, token, leases, witnesses, due, tuples: tuples.to_vec() });
    }

    /// All are back, but those whose time has come, before one is offered.
    fn show_all(&mut self, mut back: VecDeque<u64>) {
        back.retain(|order| self.comes_back(*order, self.now));
        self.offer_all(back);
    }

    /// Whether it is back at that time.
    fn comes_back(&mut self, order: u64, time: Time) -> bool {
        let at = self.stored.iter().position(|s| s.order == order).unwrap();
        let is_over = self.stored[at].is_over(time);
        if is_over {
            self.expire(at);
        } else {
            self.stored[at].place = Place::Put;
            self.note(Change::Returned, at);
        }
        !is_over
    }

    pub(super) fn cancel(&mut self, from: u16, token: u64) {
        if let Some(at) = self.waiting.iter().position(|w| (w.from, w.token) == (from, token)) {
            self.waiting.remove(at);
        } else if let Some(at) = self.parked.iter().position(|p| (p.from, p.token) == (from, token)) {
            let parked = self.parked.remove(at);
            self.resume(&parked);
        } else {
            self.cancel_watcher(from, token);
            return;
        }
        self.refuse(from, token, Code::Cancelled);
    }

    pub(super) fn undo(&mut self, from: u16, token: u64) {
        let is_taken = |s: &&Stored| s.place == Place::Taken { by: from, token };
        let mut back: Vec<u64> = self.stored.iter().filter(is_taken).map(|s| s.order).collect();
        back.sort_unstable();
        self.show_all(back.into());
    }

    pub(super) fn writable(&mut self, to: u16) {
        let (flushed, kept) = core::mem::take(&mut self.replies).into_iter().partition(|reply| reply.0 == to);
        self.replies = kept;
        self.sent.extend::<Vec<Sent>>(flushed);
        self.unblock_watchers(to);
        self.waiting.sort_by_key(|w| w.order);
        for waiting in self.waiting.clone().into_iter().filter(|w| w.from == to && w.is_blocked) {
            self.search_for(&waiting);
        }
    }

    /// Searches for those whose index is ready now.
    pub(super) fn search_again(&mut self) {
        self.waiting.sort_by_key(|w| w.order);
        let ready = |w: &Waiting| w.is_unindexed && !self.unindexed.contains(&(w.from, w.token));
        let ready: Vec<_> = self.waiting.iter().filter(|w| ready(w)).cloned().collect();
        ready.iter().for_each(|waiting| self.search_for(waiting));
    }

    fn search_for(&mut self, waiting: &Waiting) {
        let it = self.waiting.iter_mut().find(|w| w.order == waiting.order).unwrap();
        it.is_unindexed = self.unindexed.contains(&(waiting.from, waiting.token));
        it.is_blocked = false;
        if it.is_unindexed {
            return;
        }
        let mut put = VecDeque::new();
        match self.oldest_of(&waiting.templates) {
            _ if waiting.purpose == Purpose::Count => {
                self.reply_count(waiting.from, waiting.token, &waiting.templates[0]);
            }
            None if waiting.wait != Wait::AtOnce => return,
            None => self.reply(waiting.from, waiting.token, Answer::NoMatch),
            Some(at) => {
                if let Given::Full = self.give(at, waiting, &mut put) {
                    self.waiting.iter_mut().find(|w| w.order == waiting.order).unwrap().is_blocked = true;
                    return;
                }
            }
        }
        self.waiting.retain(|w| w.order != waiting.order);
        self.offer_all(put);
    }

    pub(super) fn down(&mut self, address: u16) {
        self.waiting.retain(|w| w.from != address);
        self.parked.retain(|p| p.from != address);
        self.replies.retain(|r| r.0 != address);
        self.watchers_down(address);
        self.stored.retain(|s| !matches!(s.place, Place::Taken { by, .. } if by == address));
        let mut leases: Vec<u64> = self
            .stored
            .iter()
            .filter_map(|s| match s.place {
                Place::Leased { by, lease, .. } if by == address => Some(lease),
                _ => None,
            })
            .collect();
        leases.sort_unstable();
        self.fail(&leases, "its holder went down", self.now);
    }
}

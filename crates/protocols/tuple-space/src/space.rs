//! The manager of a space: a protocol that keeps tuples and answers requests for them.
//!
//! # What it promises
//! - **Order.** Tuples have the order in which they were put; a take or read gets the oldest that matches. Requests that
//!   wait are served oldest first: a tuple goes to the oldest take that matches it, and to every read that is older
//!   than that take.
//! - **Nothing is lost.** A tuple that was given to a take is *hidden*, not removed. A plain take is gone once delivered:
//!   it is removed when a later request of its taker says that the answer arrived for good (`settled`), and also when
//!   the taker goes down; until then [`RETURN`](crate::codec::RETURN) puts it back to its old place, so that a
//!   cancelled take loses nothing. A leased take is removed by its acknowledgement only: it returns, to its old place,
//!   when it is released, when its lease is not renewed in time, and when its taker goes down. The answer is given to
//!   the link first; only when the link took it is the tuple hidden.
//! - **No stall.** An index over tuples that are there already is built a step at a time ([`SpaceConfig::index_step`]), and a search or a
//!   count that has many tuples to compare goes on in such steps. A request that waits for either is as one that waits for its sender's
//!   link: it is answered when that is done, from what the space holds at that instant; tuples and younger requests pass it by until then.
//! - **Bounds.** Quotas of bytes, indexes included, and of tuples, at which an `out` waits, oldest first, behind every acknowledgement that waits
//!   for room. The results of an acknowledgement have a reserve beyond them, so that a space full of tasks does not keep its own
//!   results out: they wait only for earlier results to be taken. Bounds for what one sender may have unfinished. A tuple given to a plain take leaves the quota at once; one under
//!   a lease counts until its end. Of the memory in which a bulk came, a tuple keeps at most twice what it counts for.
//! - **A manager that did not run blames nobody.** Where it is called more than a millisecond after something was due (its host was
//!   stopped, or busy), the leases that came due meanwhile live on, once, for as long as it is late, at most their time to live: so
//!   renewals that came in time are read first. Requests that wait have their deadlines all the same.
//! - **What others run is watched over**, where its host has said who may put it: tuples whose first field begins with a reserved prefix are
//!   refused of everybody else, whichever request has them; so are leased takes of such, as their results would be.
//! - **All or nothing.** What a group takes is hidden under leases whose end is no failure; its puts come with its end, in one request that
//!   removes what it took and puts at one instant, at which all that it read is there. Else nothing of it happens, and what it took
//!   is where it was.
//! - **What expires is gone in time.** A tuple that was put to expire leaves when its time has come, and at that instant whatever others ask: what is
//!   due is done before anything else. One that somebody has taken is his; where it would return after its time, it leaves instead.
//! - **Failures are counted.** A tuple whose leases ended `max_attempts` times without an acknowledgement becomes a dead
//!   letter: `("quintet.dead-letter", reason, attempts, original fields...)`, a tuple like any other. A dead letter
//!   that fails again stays what it is.
//!
//! # Where to read
//! | file | does |
//! | --- | --- |
//! | `query.rs`, `waiter.rs` | takes and reads, and those that wait |
//! | `put.rs`, `room.rs` | puts, and those that wait for room |
//! | `lease.rs` | leases and dead letters |
//! | `further.rs` | selects and replacements: several templates, and what is put in the place of what is taken |
//! | `collect.rs`, `collect_into.rs` | all tuples that match, a page at a time or into another space |
//! | `group.rs` | groups: what several takes, reads and puts come to at one instant |
//! | `code.rs` | who may put what others run |
//! | `stores.rs`, `store.rs` | all tuples; those of one signature |
//! | `index.rs`, `slab.rs`, `occupied.rs` | how they are found, where they lie |
//! | `sender.rs`, `reply.rs` | what is unfinished with one address, and answers to it |
//! | `scan.rs` | searches and counts in steps |
//! | `near_miss.rs`, `report.rs`, `books.rs` | what a timeout says, the state of the space, what it has lent |
//! | `watch.rs` | what happens to tuples, for those who watch |
//! | `listing.rs`, `clients.rs` | pages of tuples, of who waits and of who is connected; what each client has done with its leases |
//! | `metrics.rs` | what it counts, for whoever looks from outside |
//! | `snapshot.rs`, each `saved.rs` | the state as bytes, and back |
//! | `usage.rs` | partitions and hot keys: how tuples are used, for whoever looks |
//! | `elsewhere.rs`, `prepared.rs`, `seek.rs` | tuples that belong to other managers of the space; what is done together with them |
//! | `expiry.rs` | tuples that leave by themselves |
//! | `due.rs` | what is due, in the order of its times |
//! | `dissolve.rs` | the end of a named space |
//! | `timers.rs`, `verify.rs`, `defect.rs` | deadlines; checks and built-in defects for tests |

mod books;
mod clients;
mod code;
mod collect;
mod collect_into;
mod config;
mod defect;
mod dissolve;
mod due;
mod elsewhere;
mod expiry;
mod further;
mod group;
mod index;
mod lease;
mod listing;
mod metrics;
mod near_miss;
mod occupied;
mod ordered;
mod prepared;
mod put;
mod query;
mod reply;
mod report;
mod room;
mod scan;
mod seek;
mod sender;
mod slab;
mod snapshot;
mod store;
mod stores;
mod timers;
mod usage;
mod verify;
mod waiter;
mod watch;

#[cfg(test)]
mod tests;

pub use books::Books;
pub use collect_into::{MAX_CARRIED_BYTES, MAX_COLLECTED};
pub(crate) use collect_into::{Matching, Share, check_carried};
pub use config::SpaceConfig;
#[cfg(feature = "seeded-defects")]
pub use defect::Defect;
pub use lease::DEAD_LETTER;
pub(crate) use prepared::{Prepared, Readiness};
pub use room::{EXPIRY_BYTES, MAX_INDEX_BYTES, TUPLE_BYTES};

use crate::codec::{CLIENT_WORD, Query, RequestView, SPACES, Wait};
use crate::keyed::HashKey;
use bytes::Bytes;
use clients::Clients;
use code::Granted;
pub(crate) use defect::seeded;
pub(crate) use elsewhere::{Elsewhere, Leaving};
use lease::{Failure, Leases};
use metrics::Requests;
use quintet_contract::{Address, Frame, Input, Meter, Outbox, PeerChange, Protocol, Span, Time, Token};
use quintet_errors::Code;
use room::Room;
use scan::Scans;
use sender::{Senders, Unanswered, Unsettled};
use slab::Slab;
use std::collections::BTreeMap;
use stores::Stores;
use timers::{Timer, Timers};
use usage::HotKeys;
use waiter::{Operation, Requester, Waiter};
pub(crate) use watch::Arrival;
use watch::Watches;

/// The stages of a manager's work, as declared to [`Outbox::work`].
pub mod stages {
    use quintet_contract::Stage;

    /// Finding a tuple or a waiting request. Units: how many were compared, and one for the look-up.
    pub const MATCH: Stage = Stage(0);
    /// Storing a tuple, or adding it to a new index. Units: tuples.
    pub const STORE: Stage = Stage(1);
}

/// A manager that is woken later than this may have renewals before it that came in time.
const MAX_LATENESS: Span = Span::from_millis(1);
/// Between two steps in building an index, or in a long search: others get their turn.
const BETWEEN_STEPS: Span = Span::from_micros(20);

/// The manager of a space. How it behaves stands at the head of this module's file; what it understands, in
/// [`codec`](crate::codec).
#[derive(Debug)]
pub struct Space {
    config: SpaceConfig,
    key: HashKey,
    stores: Stores,
    waiters: Slab<Waiter>,
    senders: Senders,
    clients: Clients,
    leases: Leases,
    room: Room,
    timers: Timers,
    /// Requests that wait for an index, by age.
    unindexed: BTreeMap<u64, u32>,
    /// From which age on they are to be tried again, as an index is ready.
    retry_from: Option<u64>,
    /// Requests that have more to compare than one turn may.
    scans: Scans,
    watches: Watches,
    /// When to take the next step in what is done in steps; none if nothing is.
    step_at: Option<Time>,
    /// One counter gives tuples, waiters, leases and parked requests their age; none is 0.
    next_order: u64,
    /// Leases that ended without an acknowledgement.
    redone: u64,
    dead_letters: u64,
    /// Tuples that left by themselves.
    expired: u64,
    requests: Requests,
    /// Who may put what others run; none: everybody.
    granted: Option<Granted>,
    /// What belongs to other managers, if there are others.
    elsewhere: Option<Box<Elsewhere>>,
    /// Gathers a head that goes out with a bulk.
    scratch: Vec<u8>,
    hot_keys: HotKeys,
}

impl Space {
    /// An empty space.
    #[must_use]
    pub fn new(config: SpaceConfig) -> Space {
        let key = HashKey::from_seed(config.seed);
        Space {
            stores: Stores::new(key),
            waiters: Slab::new(),
            senders: Senders::new(key),
            clients: Clients::new(),
            key,
            leases: Leases::new(),
            room: Room::new(&config),
            timers: Timers::default(),
            unindexed: BTreeMap::new(),
            retry_from: None,
            scans: Scans::default(),
            watches: Watches::new(config.seed),
            step_at: None,
            next_order: 1,
            redone: 0,
            dead_letters: 0,
            expired: 0,
            requests: Requests::default(),
            granted: None,
            elsewhere: None,
            scratch: Vec::new(),
            hot_keys: HotKeys::default(),
            config,
        }
    }

    fn order(&mut self) -> u64 {
        let order = self.next_order;
        self.next_order += self.stride();
        order
    }

    fn frame(&mut self, now: Time, from: Address, frame: &Frame<'_>, out: &mut dyn Outbox) {
        if !RequestView::is_request(frame.kind) {
            return self.refuse_word(from, frame, out);
        }
        // Bulk may lie in memory that its sender can still write: a link within one machine lends it, and takes its bytes as data only.
        let copy;
        let frame = if !frame.bulk.is_empty() && RequestView::relies_on_bulk(frame) {
            copy = Bytes::copy_from_slice(frame.bulk);
            &Frame { bulk: &copy, ..*frame }
        } else {
            frame
        };
        match RequestView::decode(frame) {
            Ok((settled, request)) => {
                self.settle(from, settled);
                self.answer(now, from, frame, &request, out);
            }
            Err(_) if frame.kind == SPACES => self.answer_without_named(from, frame, out),
            // The token of a request that is not answered names another one, which an error would seem to answer.
            Err(error) if RequestView::is_answered(frame.kind) => {
                self.refuse(from, frame.token, Code::Malformed, error.to_string(), out);
            }
            Err(_) => {}
        }
    }

    /// A client asks whether it may come back to this space, which nobody keeps. Anything else that is no request is passed over.
    #[cold]
    fn refuse_word(&mut self, from: Address, frame: &Frame<'_>, out: &mut dyn Outbox) {
        if frame.kind == CLIENT_WORD {
            let text = "this space ends with its process: a client is known by its link";
            self.refuse(from, frame.token, Code::NotAllowed, text.to_owned(), out);
        }
    }

    fn answer(
        &mut self,
        now: Time,
        from: Address,
        frame: &Frame<'_>,
        request: &RequestView<'_>,
        out: &mut dyn Outbox,
    ) {
        let token = frame.token;
        if RequestView::is_answered(frame.kind)
            && let Some(text) = self.is_in_use(from, token)
        {
            return self.refuse(from, token, Code::Malformed, text, out);
        }
        self.requests[metrics::index(request)] += 1;
        if self.needs_grant(from, request) {
            return self.refuse_code(from, token, out);
        }
        match request {
            RequestView::Out(put) => self.out(now, from, token, put, out),
            RequestView::Take(query) => {
                let operation = match (query.lease, query.group) {
                    (None, _) => Operation::Take,
                    (Some(ttl), None) => Operation::Lease(ttl),
                    (Some(ttl), Some(limit)) => Operation::Hold { ttl, limit },
                };
                self.query(now, Requester { address: from, token, operation }, query, frame.bulk, out);
            }
            RequestView::Read(query) => {
                let operation = if query.group.is_some() { Operation::Witness } else { Operation::Read };
                let requester = Requester { address: from, token, operation };
                self.query(now, requester, query, frame.bulk, out);
            }
            RequestView::Cancel => self.cancel(now, from, token, out),
            RequestView::Return => self.undo(now, from, token, out),
            RequestView::Ack(lease, put) => self.acknowledge(now, from, token, *lease, put, out),
            RequestView::Release(lease) => self.release(now, from, token, *lease, out),
            RequestView::Renew => self.renew(now, from),
            RequestView::Count(template) => {
                let requester = Requester { address: from, token, operation: Operation::Count };
                let query = Query { wait: Wait::AtOnce, lease: None, group: None, template: *template };
                self.query(now, requester, &query, frame.bulk, out);
            }
            RequestView::Status => self.status(from, token, out),
            RequestView::List(list) => self.list(now, from, token, list, out),
            RequestView::Grant(grants) => self.grant(now, from, token, grants, out),
            RequestView::Commit(uses, put) if uses.is_commit => self.commit(now, from, token, uses, put, out),
            RequestView::Commit(uses, _) => self.abort(now, from, token, uses, out),
            RequestView::Further(further) => self.further(now, from, token, further, out),
            RequestView::More(more) => self.more(now, (from, token), more, frame.bulk, out),
        }
    }

    /// Why a request with this token cannot be begun, if so.
    #[inline]
    fn is_in_use(&self, from: Address, token: Token) -> Option<String> {
        let is_in_use = self.senders.get(from).is_some_and(|sender| sender.uses(token));
        is_in_use.then(|| format!("token {} belongs to a request that is not finished", token.0))
    }

    /// Removes the tuples of the takes below `token`: their answers arrived for good.
    pub(crate) fn settle(&mut self, from: Address, token: Token) {
        while let Some(settled) = self.senders.get_mut(from).and_then(|sender| sender.settle_below(token)) {
            self.remove_unsettled(settled);
        }
    }

    fn remove_unsettled(&mut self, settled: Unsettled) {
        let entry = self.stores[settled.place.store].remove(settled.place.entry);
        self.room.free_unsettled(entry.bytes());
        if seeded!(self.config, CreditCountedTwice) {
            self.room.free(entry.bytes(), entry.account());
        }
    }

    /// What every input ends with: those who waited for what it has freed or brought, and the next step.
    #[inline]
    pub(crate) fn end_turn(&mut self, now: Time, out: &mut dyn Outbox) {
        self.serve_parked(now, out);
        self.serve_watchers(now, out);
        match (self.step_at, self.has_steps()) {
            (None, true) => self.step_at = Some(now + BETWEEN_STEPS),
            (Some(_), false) => self.step_at = None,
            _ => {}
        }
    }

    /// Whether something is done in steps.
    fn has_steps(&self) -> bool {
        self.retry_from.is_some()
            || self.stores.has_unready()
            || !self.scans.is_empty()
            || self.watches.is_behind()
    }

    /// Takes a step: builds an index, serves those who waited for one, or goes on with a long search.
    fn step(&mut self, now: Time, out: &mut dyn Outbox) {
        if self.step_at.is_none_or(|at| at > now) {
            return;
        }
        self.step_at = None;
        let step = self.config.index_step.max(1);
        if self.retry_from.is_none() && self.stores.has_unready() {
            self.build(out);
        } else if self.retry_from.is_none() {
            return self.scan(now, out);
        }
        if let Some(from) = self.retry_from {
            let waiting: Vec<_> =
                self.unindexed.range(from..).take(step).map(|(order, place)| (*order, *place)).collect();
            for (_, place) in &waiting {
                self.retry_waiter(now, *place, out);
            }
            let last = waiting.last().map(|(order, _)| *order);
            self.retry_from =
                last.map(|last| last + 1).filter(|from| self.unindexed.range(from..).next().is_some());
        }
    }

    /// Works on an index that is not ready.
    fn build(&mut self, out: &mut dyn Outbox) {
        let (looked_at, is_ready) = self.stores.build(self.config.index_step.max(1), &self.key);
        out.work(stages::STORE, u32::try_from(looked_at).unwrap_or(u32::MAX));
        if is_ready {
            self.retry_from = Some(0);
        }
    }

    /// Tries again what found the link to `to` full.
    fn retry(&mut self, now: Time, to: Address, out: &mut dyn Outbox) {
        if !self.flush_replies(to, out) {
            return;
        }
        // Each that is tried again is not blocked any more, or it is the last.
        while let Some(sender) = self.senders.get(to) {
            let Some(waiter) = sender.blocked.values().next().copied() else { return };
            if !self.retry_waiter(now, waiter, out) {
                return;
            }
        }
    }

    /// Ends everything that is unfinished with an address that went down. Nothing is answered.
    fn forget(&mut self, now: Time, address: Address, out: &mut dyn Outbox) {
        let Some(mut sender) = self.senders.remove(address) else { return };
        for unanswered in sender.unanswered.into_values() {
            match unanswered {
                Unanswered::Waiter(waiter) => drop(self.drop_waiter(waiter)),
                Unanswered::Parked(key) => drop(self.drop_parked(now, key)),
                Unanswered::Watcher(order) => self.drop_watcher(now, order),
                Unanswered::Prepared(number) => drop(self.drop_prepared(now, number)),
            }
        }
        while let Some(settled) = sender.unsettled.pop_front() {
            self.remove_unsettled(settled);
        }
        if seeded!(self.config, LeaseNeverReturned) {
            for lease in sender.leases {
                self.end_lease(lease);
            }
        } else {
            self.fail_leases(now, sender.leases, Failure::HolderDown, out);
        }
    }
}

impl Protocol for Space {
    #[inline]
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        self.catch_up(now, out);
        match input {
            Input::Started => {}
            Input::Peer(client, PeerChange::Up { link, .. }) => self.connect(now, client, *link),
            Input::Wake => self.step(now, out),
            Input::Frame(from, frame) => self.frame(now, from, &frame, out),
            Input::Writable(to) => {
                self.watches.unblock(to);
                self.retry(now, to, out);
            }
            Input::Peer(address, PeerChange::Down(_)) => {
                self.clients.remove(address);
                self.forget(now, address, out);
            }
        }
        self.end_turn(now, out);
    }

    fn deadline(&self) -> Option<Time> {
        [self.timers.first(), self.step_at].into_iter().flatten().min()
    }

    fn measure(&self, meter: &mut Meter<'_>) {
        self.tell_metrics(meter);
    }
}

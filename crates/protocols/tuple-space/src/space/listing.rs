//! Pages of what lies in the space, of who waits, and of who is connected.
//!
//! A page is answered at once and looks at no more than one turn may: it may show nothing, and say where to go on. So nobody waits for
//! somebody who looks, and nothing is kept for one between two pages. Each page is the space at one instant; what changes between two is
//! shown as it was at either: a tuple that was given to a lease, or returned, may come twice or not at all, one that stayed as
//! it was comes once. Tuples that were given to plain takes are none of the space's any more, and are not shown.
//!
//! No index is made for a listing: it goes through the leases by their numbers, then through the tuples by their places.

use super::room::ParkedKey;
use super::scan::comparisons;
use super::store::Entry;
use super::stores::Place;
use super::waiter::{self, Waiter};
use super::{Space, stages};
use crate::codec::{
    Awaited, ClientState, Cursor, LISTED, LeaseId, ListView, ListedLease, MAX_GLIMPSE_BYTES, Operation,
    PageSize, Subject, View, write_end, write_fields, write_page_front, write_state,
};
use quintet_contract::{
    Address, Outbox, Time, Token,
    limits::{MAX_DIMENSIONS, MAX_FIELDS, MAX_PAYLOAD_BYTES},
};
use quintet_wire::{Encode, Sink};

/// The longest row: the numbers in front, the signature, the fields.
const MAX_ROW_BYTES: usize =
    64 + (4 + 1 + MAX_FIELDS * 2) + 8 + MAX_FIELDS * (8 * MAX_DIMENSIONS + 4 + 4 + MAX_GLIMPSE_BYTES);
/// What stands in front of the rows.
const FRONT_BYTES: usize = 1 + 8 + 1 + 4;

const _: () =
    assert!(FRONT_BYTES + MAX_ROW_BYTES <= MAX_PAYLOAD_BYTES, "each row finds room in an empty page");

/// The parts of a listing of tuples.
const LEASED: u8 = 0;
const SHOWN: u8 = 1;
/// The parts of a listing of requests that wait.
const QUERIES: u8 = 0;
const ACKNOWLEDGEMENTS: u8 = 1;
const PUTS: u8 = 2;

/// The rows of a page so far.
pub(super) struct Rows {
    size: PageSize,
    /// What may still be looked at.
    steps: usize,
    looked_at: u32,
    count: u32,
    bytes: Vec<u8>,
}

/// A page as it is written.
struct Page {
    subject: Subject,
    next: Option<Cursor>,
    rows: Rows,
}

impl Rows {
    fn new(size: PageSize, steps: usize) -> Rows {
        Rows { size, steps, looked_at: 0, count: 0, bytes: Vec::new() }
    }

    /// Whether one more may be looked at, and shown.
    pub(super) fn has_room(&self) -> bool {
        self.steps > 0
            && self.count < self.size.rows
            && FRONT_BYTES + self.bytes.len() + MAX_ROW_BYTES <= MAX_PAYLOAD_BYTES
    }

    /// One was looked at.
    pub(super) fn look(&mut self) {
        self.steps -= 1;
        self.looked_at += 1;
    }

    /// One more is shown; where its row goes.
    pub(super) fn add(&mut self) -> &mut Vec<u8> {
        self.count += 1;
        &mut self.bytes
    }

    /// Writes fields.
    fn fields(&mut self, view: &View<'_>) {
        write_fields(view, self.size.field_bytes as usize, &mut self.bytes);
    }
}

impl Encode for Page {
    fn encode(&self, sink: &mut impl Sink) {
        write_page_front(self.next, self.subject, self.rows.count, sink);
        sink.bytes(&self.rows.bytes);
    }
}

impl Space {
    /// Answers with a page.
    pub(super) fn list(
        &mut self,
        now: Time,
        from: Address,
        token: Token,
        list: &ListView<'_>,
        out: &mut dyn Outbox,
    ) {
        let step = self.config.index_step.max(1);
        let steps = list.template.map_or(step, |template| comparisons(step, &template));
        let mut rows = Rows::new(list.size, steps);
        let next = match list.subject {
            Subject::Tuples => self.list_tuples(now, list, &mut rows),
            Subject::Waiting => self.list_waiting(now, list.from, &mut rows),
            Subject::Clients => self.list_clients(now, list.from, &mut rows),
            Subject::Partitions => self.list_partitions(now, list.from, &mut rows),
            Subject::HotKeys => self.list_hot_keys(&mut rows),
        };
        out.work(stages::MATCH, rows.looked_at + 1);
        let page = Page { subject: list.subject, next, rows };
        self.reply_with(from, LISTED, token, &page, out);
    }

    /// The tuples under leases, then those that can be taken. Where to go on.
    fn list_tuples(&mut self, now: Time, list: &ListView<'_>, rows: &mut Rows) -> Option<Cursor> {
        let mut from = list.from;
        if from.part == LEASED {
            if let Some(next) = self.list_leased(now, list, rows) {
                return Some(Cursor { part: LEASED, place: next });
            }
            from = Cursor { part: SHOWN, place: 0 };
        }
        let next = match list.template {
            Some(template) => {
                let store = self.stores.find(template.signature())?;
                self.list_store((now, store), Place::of_number(from.place).entry, Some(&template), rows)
            }
            None => self.list_all_stores(now, from.place, rows),
        };
        next.map(|place| Cursor { part: SHOWN, place: place.number() })
    }

    fn list_leased(&self, now: Time, list: &ListView<'_>, rows: &mut Rows) -> Option<u64> {
        for (id, lease) in self.leases.range(list.from.place..) {
            if !rows.has_room() {
                return Some(*id);
            }
            rows.look();
            let view = self.stores.view(lease.place);
            if is_wanted(list.template.as_ref(), &view) {
                let held = ListedLease {
                    id: LeaseId(*id),
                    holder: lease.holder,
                    held: now.since(lease.since),
                    ends_in: lease.due.map(|due| due.since(now)),
                };
                write_tuple(now, rows, self.stores.entry(lease.place), Some(&held), &view);
            }
        }
        None
    }

    fn list_all_stores(&self, now: Time, from: u64, rows: &mut Rows) -> Option<Place> {
        let first = Place::of_number(from).store;
        for (store, _) in self.stores.iter_from(first) {
            if !rows.has_room() {
                return Some(Place { store, entry: 0 });
            }
            let entry = if store == first { Place::of_number(from).entry } else { 0 };
            let before = rows.looked_at;
            if let Some(next) = self.list_store((now, store), entry, None, rows) {
                return Some(next);
            }
            // There may be many stores without tuples.
            if rows.looked_at == before {
                rows.look();
            }
        }
        None
    }

    fn list_store(
        &self,
        (now, store): (Time, u32),
        from: u32,
        template: Option<&View<'_>>,
        rows: &mut Rows,
    ) -> Option<Place> {
        for (entry, stored) in self.stores[store].entries_from(from) {
            if !rows.has_room() {
                return Some(Place { store, entry });
            }
            rows.look();
            let view = self.stores[store].view(entry);
            if stored.is_shown() && is_wanted(template, &view) {
                write_tuple(now, rows, stored, None, &view);
            }
        }
        None
    }

    /// Takes, reads and counts by where they are kept, then those who wait for room by their age.
    fn list_waiting(&mut self, now: Time, from: Cursor, rows: &mut Rows) -> Option<Cursor> {
        if from.part == QUERIES
            && let Some(next) = self.list_queries(now, u32::try_from(from.place).ok()?, rows)
        {
            return Some(Cursor { part: QUERIES, place: next.into() });
        }
        for part in [ACKNOWLEDGEMENTS, PUTS].into_iter().filter(|part| *part >= from.part) {
            let order = if part == from.part { from.place } else { 0 };
            if let Some(next) = self.list_parked(now, ParkedKey { is_out: part == PUTS, order }, rows) {
                return Some(Cursor { part, place: next });
            }
        }
        None
    }

    fn list_queries(&mut self, now: Time, from: u32, rows: &mut Rows) -> Option<u32> {
        for (place, waiter) in self.waiters.iter_from(from) {
            if !rows.has_room() {
                return Some(place);
            }
            rows.look();
            // What several managers do is told by one of them.
            if waiter.part.as_deref().is_some_and(|part| !part.is_listed()) {
                continue;
            }
            let template = waiter.template();
            let hidden =
                self.stores.find(template.signature()).map_or(0, |store| self.stores[store].hidden());
            let row = rows.add();
            row.u32(waiter.requester.address.to_bits());
            row.u64(waiter.order);
            row.u8(operation(waiter) as u8);
            row.u8(awaited(&self.senders, waiter) as u8);
            row.u64(now.since(waiter.since).0);
            write_end(waiter.deadline().map(|due| due.since(now)), row);
            row.u32(0);
            row.u64(hidden as u64);
            row.u8(1);
            rows.fields(&template);
        }
        None
    }

    fn list_parked(&self, now: Time, from: ParkedKey, rows: &mut Rows) -> Option<u64> {
        let same = self.room.parked_from(from).take_while(|(key, _)| key.is_out == from.is_out);
        for (key, parked) in same {
            if !rows.has_room() {
                return Some(key.order);
            }
            rows.look();
            let operation = if key.is_out { Operation::Out } else { Operation::Acknowledge };
            let row = rows.add();
            row.u32(parked.address.to_bits());
            row.u64(key.order);
            row.u8(operation as u8);
            row.u8(Awaited::Room as u8);
            row.u64(now.since(parked.since).0);
            write_end(parked.due.map(|due| due.since(now)), row);
            row.u32(u32::try_from(parked.size.tuples).unwrap_or(u32::MAX));
            row.u64(0);
            row.u8(0);
        }
        None
    }

    /// By address.
    fn list_clients(&self, now: Time, from: Cursor, rows: &mut Rows) -> Option<Cursor> {
        let from = u32::try_from(from.place).ok()?;
        for (address, client) in self.clients.iter().filter(|(address, _)| address.to_bits() >= from) {
            if !rows.has_room() {
                return Some(Cursor { part: 0, place: address.to_bits().into() });
            }
            rows.look();
            let sender = self.senders.get(address);
            let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
            let state = ClientState {
                client: address,
                reach: client.link.class,
                identity: client.link.identity,
                connected: now.since(client.since),
                waiting: number(sender.map_or(0, |sender| sender.unanswered.len())),
                leases: number(sender.map_or(0, |sender| sender.leases.len())),
                acknowledged: client.acknowledged,
                given_up: client.given_up,
                held: client.held,
            };
            state.encode(rows.add());
        }
        None
    }
}

fn is_wanted(template: Option<&View<'_>>, tuple: &View<'_>) -> bool {
    template.is_none_or(|template| template.signature() == tuple.signature() && template.matches(tuple))
}

fn write_tuple(now: Time, rows: &mut Rows, entry: &Entry, lease: Option<&ListedLease>, view: &View<'_>) {
    let row = rows.add();
    row.u64(entry.order);
    row.u64(entry.bytes());
    row.u32(entry.failed);
    write_state(lease, entry.expiry().map(|expiry| expiry.since(now)), row);
    rows.fields(view);
}

fn operation(waiter: &Waiter) -> Operation {
    match waiter.requester.operation {
        waiter::Operation::Read | waiter::Operation::Witness => Operation::Read,
        waiter::Operation::Take | waiter::Operation::Replace => Operation::Take,
        waiter::Operation::Lease(_) | waiter::Operation::Hold { .. } => Operation::Lease,
        waiter::Operation::Count => Operation::Count,
    }
}

fn awaited(senders: &super::Senders, waiter: &Waiter) -> Awaited {
    let sender = senders.get(waiter.requester.address);
    let is_blocked = sender.is_some_and(|sender| sender.blocked.contains_key(&waiter.order));
    match waiter.filed {
        Some(_) => Awaited::Tuple,
        None if is_blocked => Awaited::Link,
        None => Awaited::Turn,
    }
}

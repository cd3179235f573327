//! The whole state as bytes, and back.
//!
//! What follows from the rest is not there: indexes, what is used of the quota, deadlines, who has what unfinished. It is made anew, so that no
//! bytes bring a space whose parts disagree: tuples without a place, a lease on nothing. Hashes are those of the seed of the space that is
//! made, which need not be that of the space that was saved.
//!
//! ```text
//! next age u64 | leases redone u64 | dead letters u64 | expired u64 | requests 20 u64 | who may put what others run
//! hot keys | tuples by signature: how it is used; places, each its age, head, bulk, when it expires, failures, whether it is shown, its account, its partition; fields of the indexes, and of the ordered ones
//! those who wait: places, each its age, sender, token, operation, template, what it waits for, other templates or what it puts
//! the search under way | from which age those are tried again that wait for an index | when the next step is due
//! leases | takes that may be undone, by sender | answers that wait for a link, by sender | what waits for room | clients
//! the number of the last event, and those that are kept | those who watch
//! ```
//!
//! Of what the parts keep to themselves each has a `saved.rs`.

use super::clients::Client;
use super::code::Granted;
use super::lease;
use super::room::{ParkedKey, Room};
use super::scan::{Progress, Scans};
use super::sender::{Reply, Unanswered, Unsettled};
use super::slab::Slab;
use super::store::Entry;
use super::stores::{Place, Stores};
use super::timers::Timer;
use super::usage::HotKeys;
use super::waiter::saved::OthersFiled;
use super::waiter::{Filed, Kept, More, Operation, Requester, Waiter};
use super::watch::Watches;
use super::{Space, SpaceConfig};
use crate::codec::{View, Wait};
use quintet_contract::limits::MAX_PAYLOAD_BYTES;
use quintet_contract::{Address, Kind, LinkInfo, Snapshot, SnapshotError, Span, Time, Token};
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};
use std::collections::{BTreeMap, BTreeSet};

/// What one who waits waits for.
#[derive(Clone, Copy)]
enum Awaited {
    /// A tuple of that store, filed under these fields.
    Tuple(u32, u64),
    /// Room in its sender's link.
    Link,
    Index,
    /// More turns.
    Scan,
}

/// One who waits, as it was read.
struct Waiting {
    waiter: Waiter,
    awaited: Awaited,
    others: OthersFiled,
}

impl Snapshot for Space {
    type Config = SpaceConfig;

    const BEHAVIOUR: u32 = 6;

    fn save(&self, bytes: &mut Vec<u8>) {
        // Each field is named, so that one more is not forgotten.
        let Space {
            config: _,
            key: _,
            stores,
            waiters,
            senders: _,
            clients,
            leases,
            room,
            timers: _,
            unindexed: _,
            retry_from,
            scans,
            watches,
            step_at,
            next_order,
            redone,
            dead_letters,
            expired,
            requests,
            granted,
            elsewhere: _,
            scratch: _,
            hot_keys,
        } = self;
        [*next_order, *redone, *dead_letters, *expired]
            .iter()
            .chain(requests)
            .for_each(|number| bytes.u64(*number));
        Granted::save(granted.as_ref(), bytes);
        hot_keys.save(bytes);
        stores.save(bytes);
        waiters.save(bytes, |place, waiter, bytes| self.save_waiter(place, waiter, bytes));
        scans.save(bytes);
        write_optional(*retry_from, bytes);
        write_optional(step_at.map(|at| at.0), bytes);
        lease::saved::save(leases, bytes);
        self.save_senders(bytes);
        room.save(bytes);
        bytes.u64(clients.len() as u64);
        clients.iter().for_each(|(address, client)| save_client(address, client, bytes));
        watches.save(bytes);
    }

    fn restore(config: &SpaceConfig, bytes: &[u8]) -> Result<Self, SnapshotError> {
        let mut reader = Reader::new(bytes);
        let space = Space::read(*config, &mut reader);
        let space = space.and_then(|space| reader.finish().map(|()| space));
        space.map_err(|error| SnapshotError(error.to_string()))
    }
}

impl Space {
    fn save_waiter(&self, place: u32, waiter: &Waiter, bytes: &mut Vec<u8>) {
        let Waiter { requester, order, wait, since, filed, .. } = waiter;
        let (operation, ttl, limit) = match requester.operation {
            Operation::Read => (0, 0, 0),
            Operation::Take => (1, 0, 0),
            Operation::Lease(ttl) => (2, ttl.0, 0),
            Operation::Count => (3, 0, 0),
            Operation::Witness => (4, 0, 0),
            Operation::Hold { ttl, limit } => (5, ttl.0, limit.0),
            Operation::Replace => (6, 0, 0),
        };
        let (how, span) = wait.parts();
        let (awaited, store, fields) = match filed {
            Some(Filed { store, fields, .. }) => (0, *store, *fields),
            None if self.unindexed.contains_key(order) => (2, 0, 0),
            None if self.scans.contains(*order, place) => (3, 0, 0),
            None => (1, 0, 0),
        };
        bytes.u32(requester.address.to_bits());
        bytes.u64(requester.token.0);
        bytes.u8(operation);
        [ttl, limit, *order, since.0].into_iter().for_each(|number| bytes.u64(number));
        bytes.u8(how);
        bytes.u64(span);
        let template = waiter.templates().next().expect("each request that waits has one");
        bytes.counted(template.view().head());
        bytes.counted(template.bulk());
        bytes.u8(awaited);
        bytes.u32(store);
        bytes.u64(fields);
        waiter.save_more(bytes);
    }

    /// Those who have something that is kept nowhere else, by their addresses.
    fn save_senders(&self, bytes: &mut Vec<u8>) {
        let mut senders: Vec<_> = self
            .senders
            .addressed()
            .filter(|(_, sender)| !sender.unsettled.is_empty() || !sender.replies.is_empty())
            .collect();
        senders.sort_unstable_by_key(|(address, _)| *address);
        bytes.u64(senders.len() as u64);
        for (address, sender) in senders {
            bytes.u32(address.to_bits());
            bytes.u64(sender.unsettled.len() as u64);
            for Unsettled { token, place } in &sender.unsettled {
                bytes.u64(token.0);
                write_place(*place, bytes);
            }
            bytes.u64(sender.replies.len() as u64);
            // None has a bulk: no manager of several is saved.
            for Reply { kind, token, body, .. } in &sender.replies {
                bytes.u8(kind.0);
                bytes.u64(token.0);
                bytes.counted(body);
            }
        }
    }

    fn read(config: SpaceConfig, reader: &mut Reader<'_>) -> Result<Space, DecodeError> {
        let mut space = Space::new(config);
        (space.next_order, space.redone, space.dead_letters) = (reader.u64()?, reader.u64()?, reader.u64()?);
        space.expired = reader.u64()?;
        for requests in &mut space.requests {
            *requests = reader.u64()?;
        }
        space.granted = Granted::restore(reader)?;
        space.hot_keys = HotKeys::restore(reader)?;
        space.stores = Stores::restore(reader, space.key)?;
        let waiting = Slab::restore(reader, |_, reader| Waiting::restore(reader))?;
        space.place_waiters(waiting, reader)?;
        space.retry_from = read_optional(reader)?;
        space.step_at = read_optional(reader)?.map(Time);
        space.leases = lease::saved::restore(reader)?;
        space.read_senders(reader)?;
        let room = Room::restore(reader, &config)?;
        space.fill_room(room, reader)?;
        for _ in 0..reader.u64()? {
            let address = Address::from_bits(reader.u32()?);
            space.clients.insert(address, restore_client(reader)?);
        }
        space.watches = Watches::restore(reader)?;
        space.place_watchers(reader)?;
        space.check(reader)?;
        Ok(space)
    }

    /// Puts those who wait where what they wait for finds them.
    fn place_waiters(&mut self, waiting: Slab<Waiting>, reader: &mut Reader<'_>) -> Result<(), DecodeError> {
        let mut scanning = BTreeMap::new();
        let mut awaited = Vec::with_capacity(waiting.len());
        self.waiters = waiting.map(|place, Waiting { waiter, awaited: what, others }| {
            awaited.push((place, what, others));
            waiter
        });
        for (place, awaited, others) in awaited {
            let Waiter { requester, order, .. } = self.waiters[place];
            if let Some(due) = self.waiters[place].deadline() {
                self.timers.add(due, order, Timer::Waiter(place));
            }
            let sender = self.senders.get_or_add(requester.address);
            let before = sender.unanswered.insert(requester.token, Unanswered::Waiter(place));
            let is_new = before.is_none()
                && match awaited {
                    Awaited::Link => sender.blocked.insert(order, place).is_none(),
                    Awaited::Index => self.unindexed.insert(order, place).is_none(),
                    Awaited::Scan => scanning.insert(order, place).is_none(),
                    Awaited::Tuple(store, fields) => self.file_again(place, store, fields, &others),
                };
            let is_new =
                is_new && (matches!(awaited, Awaited::Tuple(..)) || others.iter().all(Option::is_none));
            if !is_new {
                return Err(reader.invalid("one who waits", place, 0));
            }
        }
        self.scans = Scans::restore(reader, scanning)?;
        Ok(())
    }

    /// Files one who waits under the fields that it was filed under. False: those of that store are filed otherwise.
    fn file_again(&mut self, place: u32, store: u32, fields: u64, others: &OthersFiled) -> bool {
        let waiter = &mut self.waiters[place];
        let order = waiter.order;
        let (stores, key) = (&mut self.stores, &self.key);
        let mut file = |template: &View<'_>, (store, fields): (u32, u64), before: &[Filed]| {
            let is_actual = fields & !template.actuals() == 0;
            let is_there = is_actual && stores.find(template.signature()) == Some(store);
            let filed = Filed { store, fields, hash: if is_there { template.hash(fields, key) } else { 0 } };
            let is_new = is_there && !before.contains(&filed);
            let hash = is_new.then(|| stores[store].file_by(fields, template, order, place, key)).flatten();
            hash.map(|hash| Filed { hash, ..filed })
        };
        waiter.filed = file(&waiter.template(), (store, fields), &[]);
        let mut before: Vec<_> = waiter.filed.into_iter().collect();
        if let Some(More::Select(templates)) = waiter.more.as_deref_mut() {
            for ((template, filed), at) in templates.iter_mut().zip(others) {
                *filed = at.and_then(|at| file(&template.view(), at, &before));
                if filed.is_none() && at.is_some() {
                    return false;
                }
                before.extend(*filed);
            }
        }
        waiter.filed.is_some()
    }

    fn read_senders(&mut self, reader: &mut Reader<'_>) -> Result<(), DecodeError> {
        for _ in 0..reader.u64()? {
            let address = Address::from_bits(reader.u32()?);
            let sender = self.senders.get_or_add(address);
            for _ in 0..reader.u64()? {
                let (token, place) = (Token(reader.u64()?), read_place(reader)?);
                if sender.unsettled.back().is_some_and(|last| last.token > token) {
                    return Err(reader.invalid("token of a take", token.0, 16));
                }
                sender.unsettled.push_back(Unsettled { token, place });
            }
            for _ in 0..reader.u64()? {
                let (kind, token) = (Kind(reader.u8()?), Token(reader.u64()?));
                let body = reader.counted("answer", MAX_PAYLOAD_BYTES)?.to_vec();
                sender.replies.push_back(Reply { kind, token, body, bulk: bytes::Bytes::new() });
            }
        }
        Ok(())
    }

    /// Counts what is there, and names each lease and each request where its sender's is looked up.
    fn fill_room(&mut self, mut room: Room, reader: &Reader<'_>) -> Result<(), DecodeError> {
        let wrong = |field, value| Err(reader.invalid(field, value, 0));
        for waiter in self.waiters.iter().map(|(_, waiter)| waiter) {
            room.count_waiting(waiter.kept_bytes());
        }
        self.stores.count_shown();
        for store in self.stores.iter() {
            for (_, entry) in store.entries().filter(|(_, entry)| entry.is_shown()) {
                room.count(entry.bytes(), entry.account(), store.further());
            }
        }
        for (place, expiry, order) in self.stores.expiring() {
            self.timers.add(expiry, order, Timer::Tuple(place));
        }
        let mut hidden = BTreeSet::new();
        let mut hide = |place: Place| hidden.insert((place.store, place.entry));
        for (id, lease) in &self.leases {
            let Some(entry) = self.hidden_at(lease.place).filter(|_| hide(lease.place)) else {
                return wrong("tuple of a lease", *id);
            };
            room.count(entry.bytes(), entry.account(), 0);
            self.stores[lease.place.store].count_again(lease.place.entry);
            if let Some(due) = lease.due {
                self.timers.add(due, *id, Timer::Lease(*id));
            }
            self.senders.get_or_add(lease.holder).leases.insert(*id);
        }
        for unsettled in self.senders.iter().flat_map(|sender| &sender.unsettled) {
            let Some(entry) = self.hidden_at(unsettled.place).filter(|_| hide(unsettled.place)) else {
                return wrong("tuple of a take", unsettled.token.0);
            };
            room.add_unsettled(entry.bytes());
        }
        if self.stores.iter().map(super::store::Store::hidden).sum::<usize>() != hidden.len() {
            return wrong("number of hidden tuples", hidden.len() as u64);
        }
        for (key, parked) in room.parked_from(ParkedKey { is_out: false, order: 0 }) {
            for id in &parked.ends.leases {
                let lease = self.leases.get_mut(&id.0).filter(|lease| lease.holder == parked.address);
                let Some(lease) = lease.filter(|lease| lease.parked.is_none() && lease.due.is_none()) else {
                    return wrong("lease of an acknowledgement", id.0);
                };
                lease.parked = Some(key);
            }
            if let Some(due) = parked.due {
                self.timers.add(due, key.order, Timer::Parked(key));
            }
            let unanswered = &mut self.senders.get_or_add(parked.address).unanswered;
            if unanswered.insert(parked.token, Unanswered::Parked(key)).is_some() {
                return wrong("token of what waits for room", parked.token.0);
            }
        }
        self.room = room;
        Ok(())
    }

    fn place_watchers(&mut self, reader: &Reader<'_>) -> Result<(), DecodeError> {
        for (order, address, token, due, bytes) in self.watches.watching() {
            self.room.count_waiting(bytes);
            if let Some(due) = due {
                self.timers.add(due, order, Timer::Watcher(order));
            }
            let unanswered = &mut self.senders.get_or_add(address).unanswered;
            if unanswered.insert(token, Unanswered::Watcher(order)).is_some() {
                return Err(reader.invalid("token of one who watches", token.0, 0));
            }
        }
        Ok(())
    }

    fn hidden_at(&self, place: Place) -> Option<&Entry> {
        self.stores.get(place).filter(|entry| !entry.is_shown())
    }

    /// What is not so by the way in which it was read.
    fn check(&mut self, reader: &Reader<'_>) -> Result<(), DecodeError> {
        let tuples = self.stores.iter().flat_map(|store| store.entries().map(|(_, entry)| entry.order));
        let waiters = self.waiters.iter().map(|(_, waiter)| waiter.order);
        let parked = self.room.parked_from(ParkedKey { is_out: false, order: 0 }).map(|(key, _)| key.order);
        let watching = self.watches.watching().map(|(order, ..)| order);
        let mut ages: Vec<u64> =
            tuples.chain(waiters).chain(parked).chain(watching).chain(self.leases.keys().copied()).collect();
        ages.sort_unstable();
        let is_given = |age: &u64| (1..self.next_order).contains(age);
        if !ages.iter().all(is_given) || ages.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(reader.invalid("age", ages.last().copied().unwrap_or(0), 0));
        }
        if self.step_at.is_some() != self.has_steps() {
            return Err(reader.invalid("time of a step", self.step_at.map_or(0, |at| at.0), 0));
        }
        if !self.unindexed.is_empty() && self.retry_from.is_none() && !self.stores.has_unready() {
            return Err(reader.invalid(
                "number of those who wait for an index",
                self.unindexed.len() as u64,
                0,
            ));
        }
        if self.waits_without_grant() {
            return Err(reader.invalid("put without a grant", 0u8, 0));
        }
        self.check_count(reader)
    }

    /// A count under way has found what it can have found.
    fn check_count(&mut self, reader: &Reader<'_>) -> Result<(), DecodeError> {
        let Some((waiter, Progress { mark, matching })) = self.scans.current() else { return Ok(()) };
        let waiter = &self.waiters[waiter];
        if waiter.requester.operation != Operation::Count {
            return Ok(());
        }
        let template = waiter.template();
        let store = self.stores.find(template.signature());
        let entries =
            store.into_iter().flat_map(|store| self.stores[store].entries().map(move |at| (store, at)));
        let passed = entries.filter(|(_, (_, entry))| entry.is_shown() && entry.order < mark);
        let found = passed.filter(|(store, (entry, _))| template.matches(&self.stores[*store].view(*entry)));
        match found.count() as u64 == matching {
            true => Ok(()),
            false => Err(reader.invalid("result of a count", matching, 0)),
        }
    }
}

impl Waiting {
    fn restore(reader: &mut Reader<'_>) -> Result<Waiting, DecodeError> {
        let (address, token) = (Address::from_bits(reader.u32()?), Token(reader.u64()?));
        let operation = match (reader.u8()?, reader.u64()?, reader.u64()?) {
            (0, 0, 0) => Operation::Read,
            (1, 0, 0) => Operation::Take,
            (2, ttl, 0) => Operation::Lease(Span(ttl)),
            (3, 0, 0) => Operation::Count,
            (4, 0, 0) => Operation::Witness,
            (5, ttl, limit) => Operation::Hold { ttl: Span(ttl), limit: Span(limit) },
            (6, 0, 0) => Operation::Replace,
            (other, ..) => return Err(reader.invalid("operation", other, 17)),
        };
        let (order, since) = (reader.u64()?, Time(reader.u64()?));
        let wait = Wait::read(reader.u8()?, reader)?;
        let template = Kept::restore(reader)?;
        let (what, store, fields) = (reader.u8()?, reader.u32()?, reader.u64()?);
        let awaited = match what {
            0 => Awaited::Tuple(store, fields),
            1 => Awaited::Link,
            2 => Awaited::Index,
            3 => Awaited::Scan,
            other => return Err(reader.invalid("what is waited for", other, 13)),
        };
        let requester = Requester { address, token, operation };
        let waiter = Waiter::of(requester, wait, since, template).of_age(order);
        let (waiter, others) = waiter.restore_more(reader)?;
        if (operation == Operation::Replace) != waiter.replacement().is_some() {
            return Err(reader.invalid("operation", 6u8, 0));
        }
        Ok(Waiting { waiter, awaited, others })
    }
}

fn save_client(address: Address, client: &Client, bytes: &mut Vec<u8>) {
    let Client { since, link, acknowledged, given_up, held } = client;
    bytes.u32(address.to_bits());
    bytes.u64(since.0);
    link.encode(bytes);
    [*acknowledged, *given_up, held.0].into_iter().for_each(|number| bytes.u64(number));
}

fn restore_client(reader: &mut Reader<'_>) -> Result<Client, DecodeError> {
    let (since, link) = (Time(reader.u64()?), LinkInfo::decode(reader)?);
    let (acknowledged, given_up, held) = (reader.u64()?, reader.u64()?, Span(reader.u64()?));
    Ok(Client { since, link, acknowledged, given_up, held })
}

pub(super) fn write_place(place: Place, bytes: &mut Vec<u8>) {
    bytes.u32(place.store);
    bytes.u32(place.entry);
}

pub(super) fn read_place(reader: &mut Reader<'_>) -> Result<Place, DecodeError> {
    Ok(Place { store: reader.u32()?, entry: reader.u32()? })
}

pub(super) fn write_optional(number: Option<u64>, bytes: &mut Vec<u8>) {
    bytes.u8(number.is_some().into());
    bytes.u64(number.unwrap_or(0));
}

pub(super) fn read_optional(reader: &mut Reader<'_>) -> Result<Option<u64>, DecodeError> {
    let is_there = reader.flag("whether a number is there")?;
    Ok(Some(reader.u64()?).filter(|_| is_there))
}

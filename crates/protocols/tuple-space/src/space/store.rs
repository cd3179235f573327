//! The tuples of one signature, and the requests that wait for one.

mod indexing;
mod ranged;
mod saved;
mod walk;

use super::index::{Choice, Index, IndexSet};
use super::ordered::OrderedIndex;
use super::room::{Account, EXPIRY_BYTES, TUPLE_BYTES};
use super::scan::{Progress, comparisons};
use super::slab::Slab;
use super::usage::Usage;
use super::waiter::{Filed, Waiter};
use crate::Signature;
use crate::codec::View;
use crate::keyed::HashKey;
use bytes::Bytes;
use quintet_contract::Time;

/// A stored tuple, encoded. Beyond its head it takes 40 bytes here and about 40 in each index: `TUPLE_BYTES` and `INDEX_ENTRY_BYTES` count
/// that, with the empty places that tables and vectors keep.
#[derive(Debug)]
pub(super) struct Entry {
    /// Its age: its place in the order in which tuples were put.
    pub(super) order: u64,
    head: Box<[u8]>,
    apart: Option<Box<Apart>>,
    /// Leases that ended without an acknowledgement.
    pub(super) failed: u32,
    /// It can be taken: it is in every index that covers its place.
    shown: bool,
    /// Where it counts while it counts.
    account: Account,
    /// Its partition, while it counts.
    partition: u8,
}

/// What most tuples have not.
#[derive(Debug)]
struct Apart {
    bulk: Bytes,
    /// When it expires.
    expiry: Option<Time>,
}

/// The tuples of one signature.
#[derive(Debug)]
pub(super) struct Store {
    signature: Signature,
    entries: Slab<Entry>,
    /// Of the shown tuples; each made when the first template needs it.
    indexes: IndexSet,
    /// Of the shown tuples as well, for ranges.
    ordered: Vec<OrderedIndex>,
    /// How many entries in indexes each tuple pays for apart.
    further: u64,
    shown: usize,
    /// What the last search found: who takes it hides it next, and needs no second hash for that.
    found: Option<Found>,
    /// Of the waiting requests, by the fields for which their templates have values.
    waiting: IndexSet,
    usage: Usage,
}

/// What a search may do.
#[derive(Clone, Copy, Debug)]
pub(super) struct SearchBudget {
    /// Tuples to look at in a turn.
    pub(super) step: usize,
    /// Bytes that a further index may take.
    pub(super) index_bytes: u64,
    /// The index that it made.
    pub(super) made: Option<NewIndex>,
}

/// Indexes that were made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct NewIndex {
    /// How many entries in them the tuples pay for apart.
    pub(super) entries: u64,
    /// How many such entries a tuple of the signature has now.
    pub(super) further: u64,
}

/// Where the last search found a tuple that can be taken: its hash in the index of these fields.
#[derive(Clone, Copy, Debug)]
struct Found {
    entry: u32,
    fields: u64,
    hash: u64,
}

/// What a search comes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Search<Found> {
    /// The oldest tuple that matches: where it lies.
    Found(Found),
    /// None matches.
    Nothing,
    /// The index to look in is being built.
    NotReady,
    /// There is more to compare than one turn may.
    Unfinished,
}

impl Apart {
    /// None where there is nothing to keep.
    fn boxed(bulk: Bytes, expiry: Option<Time>) -> Option<Box<Apart>> {
        (!bulk.is_empty() || expiry.is_some()).then(|| Box::new(Apart { bulk, expiry }))
    }
}

impl Entry {
    pub(super) fn bulk(&self) -> Bytes {
        self.apart.as_ref().map_or_else(Bytes::new, |apart| apart.bulk.clone())
    }

    /// When it expires, if it does.
    #[inline]
    pub(super) fn expiry(&self) -> Option<Time> {
        self.apart.as_ref().and_then(|apart| apart.expiry)
    }

    fn long(&self) -> &[u8] {
        self.apart.as_ref().map_or(&[], |apart| &apart.bulk)
    }

    pub(super) fn head(&self) -> &[u8] {
        &self.head
    }

    /// Bytes it counts for.
    pub(super) fn bytes(&self) -> u64 {
        stored_bytes((self.head.len() + self.long().len()) as u64, self.expiry())
    }

    pub(super) fn partition(&self) -> u8 {
        self.partition
    }

    pub(super) fn account(&self) -> Account {
        self.account
    }

    pub(super) fn is_shown(&self) -> bool {
        self.shown
    }

    fn view(&self, signature: &Signature) -> View<'_> {
        View::stored(&self.head, self.long(), signature.0.len())
    }
}

impl Store {
    pub(super) fn new(signature: Signature) -> Self {
        let (indexes, waiting) = (IndexSet::default(), IndexSet::default());
        let (entries, usage) = (Slab::new(), Usage::new());
        Store {
            signature,
            entries,
            indexes,
            ordered: vec![],
            further: 0,
            shown: 0,
            found: None,
            waiting,
            usage,
        }
    }

    pub(super) fn signature(&self) -> &Signature {
        &self.signature
    }

    /// In how many indexes each tuple has an entry that it pays for apart.
    pub(super) fn further(&self) -> u64 {
        self.further
    }

    /// Tuples that can be taken.
    pub(super) fn shown(&self) -> usize {
        self.shown
    }

    /// Tuples under a lease or in delivery.
    pub(super) fn hidden(&self) -> usize {
        self.entries.len() - self.shown
    }

    /// Requests filed here.
    pub(super) fn waiters(&self) -> usize {
        self.waiting.iter().map(Index::len).sum()
    }

    pub(super) fn entry(&self, entry: u32) -> &Entry {
        &self.entries[entry]
    }

    /// What is at that place, if something is.
    pub(super) fn get(&self, entry: u32) -> Option<&Entry> {
        self.entries.get(entry)
    }

    pub(super) fn entry_mut(&mut self, entry: u32) -> &mut Entry {
        &mut self.entries[entry]
    }

    /// The encoded tuple at `entry`.
    pub(super) fn view(&self, entry: u32) -> View<'_> {
        self.entries[entry].view(&self.signature)
    }

    /// All tuples, in no particular order, the same in every run.
    pub(super) fn entries(&self) -> impl Iterator<Item = (u32, &Entry)> {
        self.entries.iter()
    }

    /// Those at that place and behind it, in the order of their places.
    pub(super) fn entries_from(&self, place: u32) -> impl Iterator<Item = (u32, &Entry)> {
        self.entries.iter_from(place)
    }

    /// Adds a tuple, hidden.
    pub(super) fn add(
        &mut self,
        now: Time,
        order: u64,
        (tuple, bulk): (&View<'_>, Bytes),
        expiry: Option<Time>,
        account: Account,
    ) -> u32 {
        let (head, apart) = (tuple.head().into(), Apart::boxed(bulk, expiry));
        let partition = self.usage.add(now, tuple, stored_bytes(tuple.bytes(), expiry));
        self.entries.add(Entry { order, head, apart, failed: 0, shown: false, account, partition })
    }

    /// Who uses it how.
    pub(super) fn usage(&self) -> &Usage {
        &self.usage
    }

    pub(super) fn usage_mut(&mut self) -> &mut Usage {
        &mut self.usage
    }

    /// A tuple was delivered.
    #[inline]
    pub(super) fn note_delivery(&mut self, now: Time, entry: u32, stays: bool) {
        self.usage.deliver(now, self.entries[entry].partition, stays);
    }

    /// A hidden tuple is its taker's: it counts no more.
    #[inline]
    pub(super) fn leave(&mut self, entry: u32) {
        let entry = &self.entries[entry];
        self.usage.remove(entry.partition, entry.bytes());
    }

    /// A tuple that had left is the space's again.
    pub(super) fn come_back(&mut self, now: Time, entry: u32) {
        let view = self.entries[entry].view(&self.signature);
        let partition = self.usage.put_back(now, &view, self.entries[entry].bytes());
        self.entries[entry].partition = partition;
    }

    /// A tuple counts for its partition.
    pub(super) fn count_again(&mut self, entry: u32) {
        let entry = &self.entries[entry];
        self.usage.count(entry.partition, entry.bytes());
    }

    /// Removes a hidden tuple.
    pub(super) fn remove(&mut self, entry: u32) -> Entry {
        let removed = self.entries.remove(entry);
        debug_assert!(!removed.shown, "a shown tuple stands in the indexes");
        removed
    }

    /// Makes a hidden tuple one that can be taken; in how many further indexes it has an entry now.
    pub(super) fn show(&mut self, entry: u32, key: &HashKey) -> u64 {
        self.entries[entry].shown = true;
        self.shown += 1;
        let view = self.entries[entry].view(&self.signature);
        for index in self.indexes.iter_mut().filter(|index| index.covers(entry)) {
            let hash = index.hash(&view, key);
            index.insert(hash, self.entries[entry].order, entry);
        }
        for index in self.ordered.iter_mut().filter(|index| index.covers(entry)) {
            index.insert(&view, self.entries[entry].order, entry, key);
        }
        self.further
    }

    /// Hides a tuple; from how many further indexes it was taken. None: it was hidden before.
    pub(super) fn hide(&mut self, entry: u32, key: &HashKey) -> Option<u64> {
        if !core::mem::replace(&mut self.entries[entry].shown, false) {
            return None;
        }
        self.shown -= 1;
        let found = self.found.take().filter(|found| found.entry == entry);
        let view = self.entries[entry].view(&self.signature);
        for index in self.indexes.iter_mut().filter(|index| index.covers(entry)) {
            let known = found.filter(|found| found.fields == index.fields());
            let hash = known.map_or_else(|| index.hash(&view, key), |found| found.hash);
            index.remove(hash, self.entries[entry].order);
        }
        for index in self.ordered.iter_mut().filter(|index| index.covers(entry)) {
            index.remove(&view, self.entries[entry].order, key);
        }
        Some(self.further)
    }

    /// Looks for the oldest tuple that matches and can be taken, from the mark on; and how many were compared. The first template with
    /// values in other fields than any before makes an index, at once where there are few.
    pub(super) fn oldest(
        &mut self,
        template: &View<'_>,
        progress: &mut Progress,
        budget: &mut SearchBudget,
        key: &HashKey,
    ) -> (Search<u32>, u32) {
        if self.shown == 0 {
            return (Search::Nothing, 0);
        }
        if template.has_ranges() {
            return self.oldest_in_range(template, progress, budget, key);
        }
        let Some(index) = self.index(template.actuals(), budget, key) else { return (Search::NotReady, 0) };
        let (fields, hash) = (self.indexes[index].fields(), self.indexes[index].hash(template, key));
        let (limit, mut compared) = (comparisons(budget.step, template), 0);
        for (order, entry) in self.indexes[index].members(hash, progress.mark) {
            if compared == limit {
                progress.mark = order;
                return (Search::Unfinished, number(compared));
            }
            compared += 1;
            if template.matches(&self.view(entry)) {
                self.found = Some(Found { entry, fields, hash });
                return (Search::Found(entry), number(compared));
            }
        }
        (Search::Nothing, number(compared))
    }

    /// Counts the tuples that match and can be taken, from the mark on; `Nothing`: nothing is left to count. And how many were
    /// compared: none if the template says only types.
    pub(super) fn count(
        &mut self,
        template: &View<'_>,
        progress: &mut Progress,
        budget: &mut SearchBudget,
        key: &HashKey,
    ) -> (Search<u32>, u32) {
        if self.shown == 0 || (template.actuals() == 0 && template.is_decided_by_actuals()) {
            progress.matching = self.shown as u64;
            return (Search::Nothing, 0);
        }
        if template.has_ranges() {
            return self.count_in_range(template, progress, budget, key);
        }
        let Some(index) = self.index(template.actuals(), budget, key) else { return (Search::NotReady, 0) };
        let hash = self.indexes[index].hash(template, key);
        let (limit, mut compared) = (comparisons(budget.step, template), 0);
        for (order, entry) in self.indexes[index].members(hash, progress.mark) {
            if compared == limit {
                progress.mark = order;
                return (Search::Unfinished, number(compared));
            }
            compared += 1;
            progress.matching += u64::from(template.matches(&self.view(entry)));
        }
        (Search::Nothing, number(compared))
    }

    /// Files a waiting request: under which fields and which hash.
    pub(super) fn file(&mut self, template: &View<'_>, order: u64, waiter: u32, key: &HashKey) -> (u64, u64) {
        let (position, hash) = self.filing_place(template, key);
        let index = &mut self.waiting[position];
        index.insert(hash, order, waiter);
        (index.fields(), hash)
    }

    /// The same, unless it `is_filed` under those already.
    pub(super) fn file_unless(
        &mut self,
        template: &View<'_>,
        order: u64,
        waiter: u32,
        key: &HashKey,
        is_filed: impl Fn(u64, u64) -> bool,
    ) -> Option<(u64, u64)> {
        let (position, hash) = self.filing_place(template, key);
        let index = &mut self.waiting[position];
        let fields = index.fields();
        if is_filed(fields, hash) {
            return None;
        }
        index.insert(hash, order, waiter);
        Some((fields, hash))
    }

    /// In which index, and under which hash, a waiting request is filed.
    fn filing_place(&mut self, template: &View<'_>, key: &HashKey) -> (usize, u64) {
        let position = match self.waiting.choose(template.actuals()) {
            Choice::Existing(position) => position,
            Choice::New(fields) => self.waiting.push(Index::new(fields)),
        };
        (position, template.hash(self.waiting[position].fields(), key))
    }

    /// Takes a waiting request from where it was filed.
    pub(super) fn unfile(&mut self, filed: Filed, order: u64) {
        let position = self.waiting.position(filed.fields).expect("an index with members is kept");
        self.waiting[position].remove(filed.hash, order);
    }

    /// The oldest waiting request of age `from` or younger that matches the tuple at `entry`; and how many were
    /// compared.
    pub(super) fn next_waiter(
        &self,
        entry: u32,
        from: u64,
        waiters: &Slab<Waiter>,
        key: &HashKey,
    ) -> (Option<(u64, u32)>, u32) {
        let tuple = self.view(entry);
        let mut compared = 0;
        let first = |index: &Index| {
            index.members(tuple.hash(index.fields(), key), from).find(|(_, waiter)| {
                compared += 1;
                waiters[*waiter].matches(&tuple)
            })
        };
        let oldest = self.waiting.iter().filter(|index| index.len() > 0).filter_map(first).min();
        (oldest, compared)
    }

    /// Checks that every index holds every shown tuple that it covers, and nothing else.
    pub(super) fn verify(&self, key: &HashKey) {
        let shown = || self.entries.iter().filter(|(_, entry)| entry.shown);
        assert_eq!(shown().count(), self.shown, "{}", self.signature);
        self.verify_ordered(key);
        for index in self.indexes.iter() {
            let name = || format!("the index of the fields {:b} of {}", index.fields(), self.signature);
            let covered = || shown().filter(|(place, _)| index.covers(*place));
            assert_eq!(index.len(), covered().count(), "{}", name());
            assert!(index.table_bytes() <= 256 * index.len().max(2048) || !index.is_ready(), "{}", name());
            for (place, entry) in covered() {
                let hash = self.view(place).hash(index.fields(), key);
                let found = index.members(hash, entry.order).next();
                assert_eq!(found, Some((entry.order, place)), "{}", name());
            }
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        let is_waited_for = self.waiting.iter().any(|index| index.len() > 0);
        self.entries.len() == 0 && !is_waited_for && self.unready().is_none()
    }
}

/// What a tuple of so many bytes counts for.
pub(super) fn stored_bytes(tuple: u64, expiry: Option<Time>) -> u64 {
    tuple + TUPLE_BYTES + if expiry.is_some() { EXPIRY_BYTES } else { 0 }
}

fn number(compared: usize) -> u32 {
    u32::try_from(compared).unwrap_or(u32::MAX)
}

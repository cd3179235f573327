//! The tuples of one signature, and the requests that wait for one.

use super::index::{Choice, Index, IndexSet};
use super::slab::Slab;
use super::waiter::{Filed, Waiter};
use crate::Signature;
use crate::codec::View;
use bytes::Bytes;
use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// A stored tuple, encoded. Beyond its head it takes 40 bytes here and about 40 in each index.
#[derive(Debug)]
pub(super) struct Entry {
    /// Its age: its place in the order in which tuples were put.
    pub(super) order: u64,
    head: Box<[u8]>,
    bulk: Option<Box<Bytes>>,
    /// Leases that ended without an acknowledgement.
    pub(super) failed: u32,
    /// It can be taken: it is in every index.
    shown: bool,
}

/// Where a tuple lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub(super) store: u32,
    pub(super) entry: u32,
}

/// The tuples of one signature.
#[derive(Debug)]
pub(super) struct Store {
    signature: Signature,
    entries: Slab<Entry>,
    /// Of the shown tuples; each made when the first template needs it.
    indexes: IndexSet,
    shown: usize,
    /// Of the waiting requests, by the fields for which their templates have values.
    waiting: IndexSet,
}

/// All stores, by signature.
#[derive(Debug)]
pub(super) struct Stores {
    list: Slab<Store>,
    by_signature: HashMap<Signature, u32, FixedState>,
    /// The store that was found last: most often it is the next as well.
    latest: Option<u32>,
    /// Stores without tuples and waiters are removed when there are this many.
    sweep_at: usize,
}

/// Empty stores are kept, with their indexes, while there are fewer stores than this.
const KEPT_STORES: usize = 256;

impl Entry {
    pub(super) fn bulk(&self) -> Bytes {
        self.bulk.as_ref().map_or_else(Bytes::new, |bulk| Bytes::clone(bulk))
    }

    pub(super) fn head(&self) -> &[u8] {
        &self.head
    }

    /// Bytes it counts for.
    pub(super) fn bytes(&self) -> u64 {
        (self.head.len() + self.bulk.as_ref().map_or(0, |bulk| bulk.len())) as u64
    }

    pub(super) fn is_shown(&self) -> bool {
        self.shown
    }

    fn view(&self, signature: &Signature) -> View<'_> {
        View::stored(&self.head, self.bulk.as_ref().map_or(&[], |bulk| bulk), signature.0.len())
    }
}

impl Store {
    fn new(signature: Signature) -> Self {
        let (indexes, waiting) = (IndexSet::default(), IndexSet::default());
        Store { signature, entries: Slab::new(), indexes, shown: 0, waiting }
    }

    pub(super) fn signature(&self) -> &Signature {
        &self.signature
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

    /// Adds a tuple, hidden.
    pub(super) fn add(&mut self, order: u64, head: &[u8], bulk: Bytes) -> u32 {
        let bulk = (!bulk.is_empty()).then(|| Box::new(bulk));
        self.entries.add(Entry { order, head: head.into(), bulk, failed: 0, shown: false })
    }

    /// Removes a hidden tuple.
    pub(super) fn remove(&mut self, entry: u32) -> Entry {
        let removed = self.entries.remove(entry);
        debug_assert!(!removed.shown, "a shown tuple stands in the indexes");
        removed
    }

    /// Makes a hidden tuple one that can be taken.
    pub(super) fn show(&mut self, entry: u32, key: &FixedState) {
        self.entries[entry].shown = true;
        self.shown += 1;
        let view = self.entries[entry].view(&self.signature);
        for index in self.indexes.iter_mut() {
            index.insert(view.hash(index.fields(), key), self.entries[entry].order, entry);
        }
    }

    /// Hides a tuple, if it is not hidden yet.
    pub(super) fn hide(&mut self, entry: u32, key: &FixedState) {
        if !core::mem::replace(&mut self.entries[entry].shown, false) {
            return;
        }
        self.shown -= 1;
        let view = self.entries[entry].view(&self.signature);
        for index in self.indexes.iter_mut() {
            index.remove(view.hash(index.fields(), key), self.entries[entry].order);
        }
    }

    /// The oldest tuple that can be taken and matches, and how many were compared. The first template with values in
    /// other fields than any before makes an index, in O(n log n).
    pub(super) fn oldest(&mut self, template: &View<'_>, key: &FixedState) -> (Option<u32>, u32) {
        if self.shown == 0 {
            return (None, 0);
        }
        let mut compared = 0;
        let index = self.index(template.actuals(), key);
        let hash = template.hash(self.indexes[index].fields(), key);
        let mut candidates = self.indexes[index].members(hash, 0);
        let found = candidates.find(|(_, entry)| {
            compared += 1;
            template.matches(&self.view(*entry))
        });
        (found.map(|(_, entry)| entry), compared)
    }

    /// How many tuples that can be taken match, and how many were compared: none if the template says only types.
    pub(super) fn count(&mut self, template: &View<'_>, key: &FixedState) -> (usize, u32) {
        if self.shown == 0 || (template.actuals() == 0 && template.is_decided_by_actuals()) {
            return (self.shown, 0);
        }
        let index = self.index(template.actuals(), key);
        let hash = template.hash(self.indexes[index].fields(), key);
        let mut compared = 0;
        let matching = self.indexes[index].members(hash, 0).filter(|(_, entry)| {
            compared += 1;
            template.matches(&self.view(*entry))
        });
        (matching.count(), compared)
    }

    /// The index to use for templates with values in `fields`.
    fn index(&mut self, fields: u64, key: &FixedState) -> usize {
        match self.indexes.choose(fields) {
            Choice::Existing(position) => position,
            Choice::New(fields) => {
                let mut index = Index::new(fields);
                let mut shown: Vec<_> = self.entries.iter().filter(|(_, entry)| entry.shown).collect();
                shown.sort_unstable_by_key(|(_, entry)| entry.order);
                for (place, entry) in shown {
                    index.insert(entry.view(&self.signature).hash(fields, key), entry.order, place);
                }
                self.indexes.push(index)
            }
        }
    }

    /// Files a waiting request: under which fields and which hash.
    fn file(&mut self, template: &View<'_>, order: u64, waiter: u32, key: &FixedState) -> (u64, u64) {
        let position = match self.waiting.choose(template.actuals()) {
            Choice::Existing(position) => position,
            Choice::New(fields) => self.waiting.push(Index::new(fields)),
        };
        let index = &mut self.waiting[position];
        let hash = template.hash(index.fields(), key);
        index.insert(hash, order, waiter);
        (index.fields(), hash)
    }

    /// The oldest waiting request of age `from` or younger that matches the tuple at `entry`; and how many were
    /// compared.
    pub(super) fn next_waiter(
        &self,
        entry: u32,
        from: u64,
        waiters: &Slab<Waiter>,
        key: &FixedState,
    ) -> (Option<(u64, u32)>, u32) {
        let tuple = self.view(entry);
        let mut compared = 0;
        let first = |index: &Index| {
            index.members(tuple.hash(index.fields(), key), from).find(|(_, waiter)| {
                compared += 1;
                waiters[*waiter].template().matches(&tuple)
            })
        };
        let oldest = self.waiting.iter().filter(|index| index.len() > 0).filter_map(first).min();
        (oldest, compared)
    }

    /// Checks that every index holds every shown tuple.
    pub(super) fn verify(&self) {
        let shown = self.entries.iter().filter(|(_, entry)| entry.shown).count();
        assert_eq!(shown, self.shown, "{}", self.signature);
        for index in self.indexes.iter() {
            assert_eq!(
                index.len(),
                shown,
                "the index of the fields {:b} of {}",
                index.fields(),
                self.signature
            );
        }
    }

    fn is_idle(&self) -> bool {
        self.entries.len() == 0 && self.waiting.iter().all(|index| index.len() == 0)
    }
}

impl Stores {
    pub(super) fn new(key: FixedState) -> Self {
        Stores {
            list: Slab::new(),
            by_signature: HashMap::with_hasher(key),
            latest: None,
            sweep_at: KEPT_STORES,
        }
    }

    pub(super) fn find(&mut self, signature: &[u8]) -> Option<u32> {
        if let Some(latest) = self.latest.filter(|latest| *self.list[*latest].signature.0 == *signature) {
            return Some(latest);
        }
        let found = self.by_signature.get(signature).copied()?;
        self.latest = Some(found);
        Some(found)
    }

    pub(super) fn find_or_add(&mut self, signature: &[u8]) -> u32 {
        if let Some(found) = self.find(signature) {
            return found;
        }
        if self.list.len() >= self.sweep_at {
            self.sweep();
        }
        let signature = Signature(signature.into());
        let place = self.list.add(Store::new(signature.clone()));
        self.by_signature.insert(signature, place);
        place
    }

    /// Removes the stores nobody needs. The next sweep comes when the number has doubled, so that a store's share of
    /// the sweeps is O(1).
    fn sweep(&mut self) {
        let idle: Vec<u32> =
            self.list.iter().filter(|(_, store)| store.is_idle()).map(|(place, _)| place).collect();
        for place in idle {
            let store = self.list.remove(place);
            self.by_signature.remove(&store.signature);
        }
        self.latest = None;
        self.sweep_at = KEPT_STORES.max(self.list.len() * 2);
    }

    /// Files a waiting request.
    pub(super) fn file(&mut self, template: &View<'_>, order: u64, waiter: u32, key: &FixedState) -> Filed {
        let store = self.find_or_add(template.signature());
        let (fields, hash) = self[store].file(template, order, waiter, key);
        Filed { store, fields, hash }
    }

    /// Takes a waiting request from where it was filed.
    pub(super) fn unfile(&mut self, filed: Filed, order: u64) {
        let waiting = &mut self[filed.store].waiting;
        let position = waiting.position(filed.fields).expect("an index with members is kept");
        waiting[position].remove(filed.hash, order);
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// The stores, in the same order in every run.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Store> {
        self.list.iter().map(|(_, store)| store)
    }

    pub(super) fn view(&self, place: Place) -> View<'_> {
        self[place.store].view(place.entry)
    }

    pub(super) fn entry(&self, place: Place) -> &Entry {
        self[place.store].entry(place.entry)
    }
}

impl core::ops::Index<u32> for Stores {
    type Output = Store;

    fn index(&self, store: u32) -> &Store {
        &self.list[store]
    }
}

impl core::ops::IndexMut<u32> for Stores {
    fn index_mut(&mut self, store: u32) -> &mut Store {
        &mut self.list[store]
    }
}

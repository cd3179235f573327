//! All tuples, by signature.

mod saved;

use super::collect::Reach;
use super::scan::Progress;
use super::slab::Slab;
use super::store::{Entry, Search, SearchBudget, Store};
use super::waiter::{Filed, Operation};
use crate::Signature;
use crate::codec::View;
use crate::keyed::HashKey;
use core::ops::{ControlFlow, Range};
use hashbrown::HashMap;
use quintet_contract::Time;
use std::collections::VecDeque;

/// Where a tuple lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub(super) store: u32,
    pub(super) entry: u32,
}

impl Place {
    /// As one number, store before entry.
    pub(super) fn number(self) -> u64 {
        u64::from(self.store) << 32 | u64::from(self.entry)
    }

    /// The place of this number, in use or not.
    pub(super) fn of_number(number: u64) -> Place {
        let half = |half: u64| u32::try_from(half & u64::from(u32::MAX)).expect("32 bits are left");
        Place { store: half(number >> 32), entry: half(number) }
    }
}

/// All stores, by signature.
#[derive(Debug)]
pub(super) struct Stores {
    list: Slab<Store>,
    by_signature: HashMap<Signature, u32, HashKey>,
    /// The store that was found last: most often it is the next as well.
    latest: Option<u32>,
    /// Those with indexes that are not ready, in the order in which they are worked on.
    unready: VecDeque<u32>,
    /// Stores without tuples and waiters are removed when there are this many.
    sweep_at: usize,
}

/// Empty stores are kept, with their indexes, while there are fewer stores than this.
const KEPT_STORES: usize = 256;

impl Stores {
    pub(super) fn new(key: HashKey) -> Self {
        Stores {
            list: Slab::new(),
            by_signature: HashMap::with_hasher(key),
            latest: None,
            unready: VecDeque::new(),
            sweep_at: KEPT_STORES,
        }
    }

    pub(super) fn find(&mut self, signature: &[u8]) -> Option<u32> {
        if let Some(latest) = self.latest.filter(|latest| *self.list[*latest].signature().0 == *signature) {
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
            self.by_signature.remove(store.signature());
        }
        self.by_signature.shrink_to_fit();
        self.latest = None;
        self.sweep_at = KEPT_STORES.max(self.list.len() * 2);
    }

    /// Looks for the oldest tuple that matches and can be taken, or counts those, from where `progress` is; and how many were compared. An
    /// index that is needed and missing is built, now or by [`build`](Stores::build).
    pub(super) fn search(
        &mut self,
        template: &View<'_>,
        operation: Operation,
        progress: &mut Progress,
        budget: &mut SearchBudget,
        key: &HashKey,
    ) -> (Search<Place>, u32) {
        let Some(store) = self.find(template.signature()) else { return (Search::Nothing, 0) };
        let (found, compared) = match operation {
            Operation::Count => self[store].count(template, progress, budget, key),
            _ => self[store].oldest(template, progress, budget, key),
        };
        let search = match found {
            Search::Found(entry) => Search::Found(Place { store, entry }),
            Search::Nothing => Search::Nothing,
            Search::Unfinished => Search::Unfinished,
            Search::NotReady => {
                self.note_unready(store);
                Search::NotReady
            }
        };
        (search, compared)
    }

    /// Shows those that match and can be taken, of these ages and the oldest first, until it is told to stop or has compared so many; and how
    /// many it has compared. An index that is needed and missing is built, as for a search.
    pub(super) fn walk(
        &mut self,
        template: &View<'_>,
        ages: Range<u64>,
        limit: usize,
        (budget, key): (&mut SearchBudget, &HashKey),
        mut show: impl FnMut(Place, &Entry) -> ControlFlow<()>,
    ) -> (Reach, u32) {
        let Some(store) = self.find(template.signature()) else { return (Reach::End, 0) };
        let show = |entry, tuple: &Entry| show(Place { store, entry }, tuple);
        let (reach, compared) = self[store].walk(template, ages, limit, (budget, key), show);
        if reach == Reach::NotReady {
            self.note_unready(store);
        }
        (reach, compared)
    }

    fn note_unready(&mut self, store: u32) {
        if self[store].unready().is_some() && !self.unready.contains(&store) {
            self.unready.push_back(store);
        }
    }

    /// Whether an index is not ready.
    pub(super) fn has_unready(&self) -> bool {
        !self.unready.is_empty()
    }

    /// Works on the index that has been unready for longest: looks at `step` tuples. How many it looked at, and whether the index is
    /// ready now.
    pub(super) fn build(&mut self, step: usize, key: &HashKey) -> (usize, bool) {
        let Some(store) = self.unready.front().copied() else { return (0, false) };
        let Some(index) = self[store].unready() else { return (0, false) };
        let looked_at = self[store].build(index, step, key);
        if self[store].unready().is_none() {
            self.unready.pop_front();
        }
        (looked_at, self[store].is_ready(index))
    }

    /// Checks each store, and that those with unready indexes are known.
    pub(super) fn verify(&self, key: &HashKey) {
        self.iter().for_each(|store| store.verify(key));
        let unready = self.iter().filter(|store| store.unready().is_some()).count();
        assert_eq!(self.unready.len(), unready);
        assert!(self.unready.iter().all(|store| self[*store].unready().is_some()));
    }

    /// Files a waiting request.
    pub(super) fn file(&mut self, template: &View<'_>, order: u64, waiter: u32, key: &HashKey) -> Filed {
        let store = self.find_or_add(template.signature());
        let (fields, hash) = self[store].file(template, order, waiter, key);
        Filed { store, fields, hash }
    }

    /// As [`Stores::file`], unless it would be filed where it is already.
    pub(super) fn file_once(
        &mut self,
        template: &View<'_>,
        order: u64,
        waiter: u32,
        already: &[Filed],
        key: &HashKey,
    ) -> Option<Filed> {
        let store = self.find_or_add(template.signature());
        let is_filed = |fields, hash| already.contains(&Filed { store, fields, hash });
        let (fields, hash) = self[store].file_unless(template, order, waiter, key, is_filed)?;
        Some(Filed { store, fields, hash })
    }

    /// Takes a waiting request from where it was filed.
    pub(super) fn unfile(&mut self, filed: Filed, order: u64) {
        self[filed.store].unfile(filed, order);
    }

    /// Has each tuple that can be taken count for its partition.
    pub(super) fn count_shown(&mut self) {
        let stores: Vec<u32> = self.list.iter().map(|(place, _)| place).collect();
        for store in stores {
            let store = &mut self[store];
            let shown: Vec<u32> =
                store.entries().filter(|(_, entry)| entry.is_shown()).map(|(place, _)| place).collect();
            shown.into_iter().for_each(|entry| store.count_again(entry));
        }
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// The stores, in the same order in every run.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Store> {
        self.list.iter().map(|(_, store)| store)
    }

    /// The stores at that place and behind it, in the order of their places.
    pub(super) fn iter_from(&self, place: u32) -> impl Iterator<Item = (u32, &Store)> {
        self.list.iter_from(place)
    }

    /// Those that can be taken and expire: where each lies, when it does, and its age.
    pub(super) fn expiring(&self) -> impl Iterator<Item = (Place, Time, u64)> {
        self.list.iter().flat_map(|(store, tuples)| {
            let shown = tuples.entries().filter(|(_, tuple)| tuple.is_shown());
            shown.filter_map(move |(entry, tuple)| {
                Some((Place { store, entry }, tuple.expiry()?, tuple.order))
            })
        })
    }

    pub(super) fn view(&self, place: Place) -> View<'_> {
        self[place.store].view(place.entry)
    }

    /// What lies at a place that somebody named, if anything.
    pub(super) fn get(&self, place: Place) -> Option<&Entry> {
        self.list.get(place.store)?.get(place.entry)
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

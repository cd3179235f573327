//! Finding the oldest tuple, or the oldest waiting request, with given values in given fields.
//!
//! An index is a table from the hash of some fields to the members with that hash, each bucket ordered by age. The
//! cost of a look-up does not grow with the number of members, nor does the removal of the oldest. Two different
//! values may share a hash: whoever looks up compares the fields themselves.
//!
//! An index over many members that are there already is built a few members at a time, in the order of their places, and used when it
//! is ready. Meanwhile members that come and go at places behind it are its own, and the others are met on the way.

use crate::codec::View;
use crate::keyed::HashKey;
use hashbrown::{HashTable, hash_table::Entry};
use std::collections::BTreeMap;

/// Indexes of one signature for one purpose. Beyond it, requests use the one that fits best and compare the rest.
pub(super) const MAX_INDEXES: usize = 8;

/// Of those, the ones that are neither the first of some fields nor the one of no fields: a tuple pays for its entries in them apart.
pub(super) const MAX_FURTHER_INDEXES: u64 = MAX_INDEXES as u64 - 2;

/// A table with room for so many times its keys gives room back.
const SPARSE: usize = 4;

/// A table with room for so many keys is kept.
const KEPT: usize = 1024;

/// Members by the hash of the same fields.
#[derive(Debug)]
pub(super) struct Index {
    /// The fields, one bit each. With none, the index is the members in order.
    fields: u64,
    buckets: HashTable<Bucket>,
    len: usize,
    /// The word that was hashed last, and its hash: the tuples of a queue have one key.
    last: (u64, u64),
    /// While it is built: members at places before this one are in it.
    built: Option<u32>,
}

#[derive(Debug)]
struct Bucket {
    hash: u64,
    members: Members,
}

/// Most keys have one member, and the members of a queue share one key: both are kept small.
#[derive(Debug)]
enum Members {
    One { order: u64, place: u32 },
    Many(Box<Ordered>),
}

type Ordered = BTreeMap<u64, u32>;

impl Index {
    /// Without members, and ready.
    pub(super) fn new(fields: u64) -> Self {
        Index { fields, buckets: HashTable::new(), len: 0, last: (0, 0), built: None }
    }

    /// Over members that are there already, none of which is in it so far. Room is taken at once: a table that grows moves all
    /// that it holds.
    pub(super) fn unready(fields: u64, members: usize) -> Self {
        Index { built: Some(0), buckets: HashTable::with_capacity(members), ..Index::new(fields) }
    }

    pub(super) fn is_ready(&self) -> bool {
        self.built.is_none()
    }

    /// The first place that is not in it, while it is built.
    pub(super) fn built(&self) -> Option<u32> {
        self.built
    }

    /// Members before that place are in it; none: all are.
    pub(super) fn set_built(&mut self, built: Option<u32>) {
        self.built = built;
        self.give_room_back();
    }

    /// Gives the room of a table back that is nearly empty. What is moved is a small part of what was removed before.
    #[inline]
    fn give_room_back(&mut self) {
        let (used, room) = (self.buckets.len(), self.buckets.capacity());
        if room > KEPT && used < room / SPARSE && self.built.is_none() {
            self.shrink(used * 2);
        }
    }

    #[cold]
    fn shrink(&mut self, room: usize) {
        self.buckets.shrink_to(room, |bucket| bucket.hash);
    }

    /// Bytes of its table.
    pub(super) fn table_bytes(&self) -> usize {
        self.buckets.allocation_size()
    }

    /// Whether a member at that place is in it.
    pub(super) fn covers(&self, place: u32) -> bool {
        self.built.is_none_or(|built| place < built)
    }

    pub(super) fn fields(&self) -> u64 {
        self.fields
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// How many members have that hash.
    pub(super) fn number(&self, hash: u64) -> usize {
        match self.buckets.find(hash, |bucket| bucket.hash == hash).map(|bucket| &bucket.members) {
            None => 0,
            Some(Members::One { .. }) => 1,
            Some(Members::Many(ordered)) => ordered.len(),
        }
    }

    /// The hash of a tuple's or template's fields.
    #[inline]
    pub(super) fn hash(&mut self, view: &View<'_>, key: &HashKey) -> u64 {
        let Some(word) = view.only_word(self.fields) else { return view.hash(self.fields, key) };
        // No hash is known to be that of 0 at the start; it is as good as any to be computed again.
        if self.last.0 != word || word == 0 {
            self.last = (word, key.hash_word(word));
        }
        self.last.1
    }

    /// Adds the member at `place`. `order` is its age: no two members have the same.
    pub(super) fn insert(&mut self, hash: u64, order: u64, place: u32) {
        self.len += 1;
        match self.buckets.entry(hash, |bucket| bucket.hash == hash, |bucket| bucket.hash) {
            Entry::Vacant(vacant) => {
                vacant.insert(Bucket { hash, members: Members::One { order, place } });
            }
            Entry::Occupied(mut occupied) => match &mut occupied.get_mut().members {
                Members::Many(ordered) => {
                    ordered.insert(order, place);
                }
                one @ Members::One { .. } => {
                    let Members::One { order: first, place: first_place } = *one else { return };
                    let ordered = Ordered::from([(first, first_place), (order, place)]);
                    *one = Members::Many(Box::new(ordered));
                }
            },
        }
    }

    /// Removes the member of that age, which was added under that hash, unless its long data changed in memory that is shared with
    /// another process: then it is searched for, so that none stays behind that is not there any more.
    pub(super) fn remove(&mut self, hash: u64, order: u64) {
        if !self.remove_from(hash, order)
            && let Some(hash) = self.hash_of(order)
        {
            self.remove_from(hash, order);
        }
    }

    /// Removes the member of that age from where those of that hash are. False if it is not there.
    fn remove_from(&mut self, hash: u64, order: u64) -> bool {
        let Ok(mut bucket) = self.buckets.find_entry(hash, |bucket| bucket.hash == hash) else {
            return false;
        };
        match &mut bucket.get_mut().members {
            Members::One { order: only, .. } if *only != order => return false,
            Members::One { .. } => {}
            Members::Many(ordered) => {
                if ordered.remove(&order).is_none() {
                    return false;
                }
                if !ordered.is_empty() {
                    self.len -= 1;
                    return true;
                }
            }
        }
        bucket.remove();
        self.len -= 1;
        self.give_room_back();
        true
    }

    /// Under which hash the member of that age was added. O(n).
    #[cold]
    fn hash_of(&self, order: u64) -> Option<u64> {
        let has = |bucket: &&Bucket| match &bucket.members {
            Members::One { order: only, .. } => *only == order,
            Members::Many(ordered) => ordered.range(order..=order).next().is_some(),
        };
        self.buckets.iter().find(has).map(|bucket| bucket.hash)
    }

    /// The members with that hash, of that age or younger, oldest first.
    pub(super) fn members(&self, hash: u64, from: u64) -> impl Iterator<Item = (u64, u32)> {
        let bucket = self.buckets.find(hash, |bucket| bucket.hash == hash);
        let (one, many) = match bucket.map(|bucket| &bucket.members) {
            None => (None, None),
            Some(Members::One { order, place }) => (Some((*order, *place)).filter(|one| one.0 >= from), None),
            Some(Members::Many(ordered)) => (None, Some(ordered.range(from..))),
        };
        let many = many.into_iter().flatten().map(|(order, place)| (*order, *place));
        one.into_iter().chain(many)
    }
}

/// A few indexes over the same members.
#[derive(Debug, Default)]
pub(super) struct IndexSet(Vec<Index>);

/// Which index to use.
pub(super) enum Choice {
    /// The one at this position.
    Existing(usize),
    /// A new one of these fields, pushed by the caller.
    New(u64),
}

impl IndexSet {
    /// Chooses an index for members that are known by `fields`: exactly of those fields if there is one or there may
    /// be, else of as many of them as possible. The last place is kept for the index of no fields, which fits all.
    pub(super) fn choose(&mut self, fields: u64) -> Choice {
        self.choose_within(fields, true)
    }

    /// The same; if none may be added, one of the indexes there are, or else that of no fields.
    pub(super) fn choose_within(&mut self, fields: u64, may_add: bool) -> Choice {
        if let Some(position) = self.position(fields) {
            return Choice::Existing(position);
        }
        if self.0.len() >= MAX_INDEXES - 1 {
            self.0.retain(|index| index.len > 0 || !index.is_ready());
        }
        if self.0.len() < MAX_INDEXES - 1
            && (may_add || fields == 0 || self.0.iter().all(|index| index.fields == 0))
        {
            return Choice::New(fields);
        }
        let usable = self.0.iter().enumerate().filter(|(_, index)| index.fields & !fields == 0);
        let best = usable.max_by_key(|(_, index)| index.fields.count_ones());
        best.map_or(Choice::New(0), |(position, _)| Choice::Existing(position))
    }

    /// The index of exactly these fields.
    pub(super) fn position(&self, fields: u64) -> Option<usize> {
        self.0.iter().position(|index| index.fields == fields)
    }

    /// How many there are beside the first of some fields and the one of no fields.
    pub(super) fn further(&self) -> u64 {
        (self.0.iter().filter(|index| index.fields != 0).count() as u64).saturating_sub(1)
    }

    /// Adds an index; its position.
    pub(super) fn push(&mut self, index: Index) -> usize {
        self.0.push(index);
        self.0.len() - 1
    }

    pub(super) fn iter(&self) -> core::slice::Iter<'_, Index> {
        self.0.iter()
    }

    pub(super) fn iter_mut(&mut self) -> core::slice::IterMut<'_, Index> {
        self.0.iter_mut()
    }
}

impl core::ops::Index<usize> for IndexSet {
    type Output = Index;

    fn index(&self, position: usize) -> &Index {
        &self.0[position]
    }
}

impl core::ops::IndexMut<usize> for IndexSet {
    fn index_mut(&mut self, position: usize) -> &mut Index {
        &mut self.0[position]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_whose_hash_has_changed_is_removed_and_no_other() {
        let mut index = Index::new(1);
        for (hash, order) in [(7, 1), (8, 2), (9, 3), (9, 4), (9, 5)] {
            index.insert(hash, order, order as u32);
        }
        // Others have the hash, one or many, or nobody does.
        for (hash, order) in [(9, 1), (7, 2), (8, 4), (100, 3)] {
            index.remove(hash, order);
        }
        assert_eq!(index.len(), 1);
        assert_eq!(index.members(9, 0).collect::<Vec<_>>(), [(5, 5)]);
        index.remove(9, 77);
        assert_eq!(index.len(), 1, "it was never there");
    }
}

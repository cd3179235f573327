//! Finding the oldest tuple whose field lies in a range, among those with given values in given other fields.
//!
//! An ordered index is a search tree by the hash of the other fields, the field's key, and the age; each node knows the oldest age below it. So
//! the oldest tuple between two keys is found in O(log n), however many lie between them, and the next one again. It is a treap: a heap by
//! priorities as well, which are keyed hashes of the ages, so that nobody can choose fields by which it becomes deep (Aragon, Seidel,
//! "Randomized search trees", 1989). What is found is still compared: hashes collide, and of long text the key is the beginning.
//!
//! It is built in steps over many tuples that are there already, as every index is.

mod tree;

use crate::codec::{FrontKey, OrderKey, View};
use crate::keyed::HashKey;
use tree::{OldestFirst, Tree};

/// Ordered indexes of one signature. Beyond them a template uses one of another of its ranges, or the tuples are compared by age.
pub(super) const MAX_ORDERED_INDEXES: usize = 2;

/// Tuples by one field, among those with the same values in others.
#[derive(Debug)]
pub(super) struct OrderedIndex {
    /// The other fields, one bit each.
    fields: u64,
    /// The field by which it is ordered.
    field: u8,
    keys: Keys,
    /// While it is built: tuples at places before this one are in it.
    built: Option<u32>,
}

#[derive(Debug)]
enum Keys {
    Numbers(Tree<u64>),
    Fronts(Tree<FrontKey>),
}

impl OrderedIndex {
    /// Over tuples that are there already, none of which is in it so far.
    pub(super) fn unready(fields: u64, field: u8, is_number: bool) -> OrderedIndex {
        let keys = if is_number { Keys::Numbers(Tree::new()) } else { Keys::Fronts(Tree::new()) };
        OrderedIndex { fields, field, keys, built: Some(0) }
    }

    /// For how many entries of other indexes an entry in it counts.
    pub(super) fn weight_of(is_number: bool) -> u64 {
        if is_number { 2 } else { 3 }
    }

    pub(super) fn weight(&self) -> u64 {
        OrderedIndex::weight_of(matches!(self.keys, Keys::Numbers(_)))
    }

    pub(super) fn fields(&self) -> u64 {
        self.fields
    }

    pub(super) fn field(&self) -> u8 {
        self.field
    }

    pub(super) fn len(&self) -> usize {
        match &self.keys {
            Keys::Numbers(tree) => tree.len(),
            Keys::Fronts(tree) => tree.len(),
        }
    }

    pub(super) fn is_ready(&self) -> bool {
        self.built.is_none()
    }

    /// The first place that is not in it, while it is built.
    pub(super) fn built(&self) -> Option<u32> {
        self.built
    }

    /// Tuples before that place are in it; none: all are.
    pub(super) fn set_built(&mut self, built: Option<u32>) {
        self.built = built;
    }

    /// Whether a tuple at that place is in it.
    pub(super) fn covers(&self, place: u32) -> bool {
        self.built.is_none_or(|built| place < built)
    }

    /// Whether it finds what a template asks for, which has values in those fields and ranges in these.
    pub(super) fn serves(&self, actuals: u64, ranged: u64) -> bool {
        self.fields & !actuals == 0 && ranged >> self.field & 1 == 1
    }

    /// Adds the tuple at `place`, of that age: no two have the same.
    pub(super) fn insert(&mut self, tuple: &View<'_>, order: u64, place: u32, key: &HashKey) {
        let (hash, field) = (tuple.hash(self.fields, key), usize::from(self.field));
        let priority = key.hash_word(order);
        match &mut self.keys {
            Keys::Numbers(tree) => tree.insert((hash, tuple.order_key(field), order), place, priority),
            Keys::Fronts(tree) => tree.insert((hash, tuple.order_key(field), order), place, priority),
        }
    }

    /// Removes the tuple of that age.
    pub(super) fn remove(&mut self, tuple: &View<'_>, order: u64, key: &HashKey) {
        let (hash, field) = (tuple.hash(self.fields, key), usize::from(self.field));
        match &mut self.keys {
            Keys::Numbers(tree) => tree.remove((hash, tuple.order_key(field), order)),
            Keys::Fronts(tree) => tree.remove((hash, tuple.order_key(field), order)),
        }
    }

    /// Shows the ages and places of what a template that it serves may match, oldest first, until it is told to stop.
    pub(super) fn oldest_first<'a>(
        &'a self,
        template: &View<'_>,
        key: &HashKey,
    ) -> Box<dyn Iterator<Item = (u64, u32)> + 'a> {
        let hash = template.hash(self.fields, key);
        match &self.keys {
            Keys::Numbers(tree) => Box::new(self.between(tree, hash, template)),
            Keys::Fronts(tree) => Box::new(self.between(tree, hash, template)),
        }
    }

    fn between<'a, K: OrderKey>(
        &self,
        tree: &'a Tree<K>,
        hash: u64,
        template: &View<'_>,
    ) -> OldestFirst<'a, K> {
        let span = template.order_span(usize::from(self.field));
        let [start, end] = span.expect("it serves templates with a range in its field");
        tree.between((hash, start.0, start.1), (hash, end.0, end.1))
    }

    /// Checks its shape, and that exactly these tuples are in it.
    pub(super) fn verify<'a>(&self, tuples: impl Iterator<Item = (u32, u64, View<'a>)>, key: &HashKey) {
        let field = usize::from(self.field);
        let mut number = 0;
        for (place, order, tuple) in tuples {
            let hash = tuple.hash(self.fields, key);
            let found = match &self.keys {
                Keys::Numbers(tree) => tree.find((hash, tuple.order_key(field), order)),
                Keys::Fronts(tree) => tree.find((hash, tuple.order_key(field), order)),
            };
            assert_eq!(found, Some(place), "the index ordered by field {field}");
            number += 1;
        }
        assert_eq!(self.len(), number, "the index ordered by field {field}");
        match &self.keys {
            Keys::Numbers(tree) => tree.verify(),
            Keys::Fronts(tree) => tree.verify(),
        }
    }
}

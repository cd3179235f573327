//! A search tree whose nodes know the oldest age below them.

use crate::space::slab::Slab;
use core::cmp::Reverse;
use std::collections::BinaryHeap;

/// Where a node stands: the hash of other fields, the key, and the age, which no two share.
pub(super) type Spot<K> = (u64, K, u64);

/// No node.
const NONE: u32 = u32::MAX;

#[derive(Debug)]
struct Node<K> {
    at: Spot<K>,
    /// The oldest age in it and below it.
    oldest: u64,
    /// Of the tuple.
    place: u32,
    /// No node below it has a higher one.
    priority: u32,
    left: u32,
    right: u32,
}

#[derive(Debug)]
pub(super) struct Tree<K> {
    nodes: Slab<Node<K>>,
    root: u32,
}

/// What lies between two places of a tree, oldest first: a heap of nodes, and of parts of the tree that have not been opened so far.
pub(super) struct OldestFirst<'a, K> {
    tree: &'a Tree<K>,
    heap: BinaryHeap<Reverse<(u64, u32, Part)>>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Node,
    /// The node and all below it.
    Whole,
}

impl<K: Copy + Ord> Tree<K> {
    pub(super) fn new() -> Self {
        Tree { nodes: Slab::new(), root: NONE }
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Adds a tuple. O(log n).
    pub(super) fn insert(&mut self, at: Spot<K>, place: u32, priority: u64) {
        let priority = (priority >> 32) as u32;
        let node = Node { at, oldest: at.2, place, priority, left: NONE, right: NONE };
        let new = self.nodes.add(node);
        self.root = self.insert_below(self.root, new);
    }

    /// Removes the tuple that stands there. If its long data changed in memory that is shared with another process, it stands elsewhere: then
    /// it is searched for by its age, in O(n).
    pub(super) fn remove(&mut self, at: Spot<K>) {
        let known = self.find(at).is_some();
        let spot = if known { Some(at) } else { self.spot_of(at.2) };
        if let Some(at) = spot {
            self.root = self.remove_below(self.root, at);
        }
    }

    #[cold]
    fn spot_of(&self, order: u64) -> Option<Spot<K>> {
        self.nodes.iter().map(|(_, node)| node.at).find(|at| at.2 == order)
    }

    /// The place of the tuple that stands there.
    pub(super) fn find(&self, at: Spot<K>) -> Option<u32> {
        let mut node = self.nodes.get(self.root)?;
        while node.at != at {
            node = self.nodes.get(if at < node.at { node.left } else { node.right })?;
        }
        Some(node.place)
    }

    /// What stands from the one spot on and before the other.
    pub(super) fn between(&self, from: Spot<K>, to: Spot<K>) -> OldestFirst<'_, K> {
        let mut found = OldestFirst { tree: self, heap: BinaryHeap::new() };
        if from < to {
            found.gather(self.root, Some(from), Some(to));
        }
        found
    }

    fn insert_below(&mut self, node: u32, new: u32) -> u32 {
        let Some(parent) = self.nodes.get(node) else { return new };
        let at = self.nodes[new].at;
        if self.nodes[new].priority > parent.priority {
            let (left, right) = self.split(node, at);
            return self.join(left, new, right);
        }
        let (left, right) = (parent.left, parent.right);
        if at < parent.at {
            let left = self.insert_below(left, new);
            self.join(left, node, right)
        } else {
            let right = self.insert_below(right, new);
            self.join(left, node, right)
        }
    }

    fn remove_below(&mut self, node: u32, at: Spot<K>) -> u32 {
        let Some(Node { at: here, left, right, .. }) = self.nodes.get(node) else { return NONE };
        let (here, left, right) = (*here, *left, *right);
        if here == at {
            self.nodes.remove(node);
            return self.merge(left, right);
        }
        if at < here {
            let left = self.remove_below(left, at);
            self.join(left, node, right)
        } else {
            let right = self.remove_below(right, at);
            self.join(left, node, right)
        }
    }

    /// What stands before the spot, and the rest.
    fn split(&mut self, node: u32, at: Spot<K>) -> (u32, u32) {
        let Some(Node { at: here, left, right, .. }) = self.nodes.get(node) else { return (NONE, NONE) };
        let (is_before, left, right) = (*here < at, *left, *right);
        if is_before {
            let (before, rest) = self.split(right, at);
            (self.join(left, node, before), rest)
        } else {
            let (before, rest) = self.split(left, at);
            (before, self.join(rest, node, right))
        }
    }

    /// One tree of two, of which all of the first stands before all of the second.
    fn merge(&mut self, first: u32, second: u32) -> u32 {
        let (Some(one), Some(other)) = (self.nodes.get(first), self.nodes.get(second)) else {
            return if first == NONE { second } else { first };
        };
        if one.priority >= other.priority {
            let (left, right) = (one.left, one.right);
            let right = self.merge(right, second);
            self.join(left, first, right)
        } else {
            let (left, right) = (other.left, other.right);
            let left = self.merge(first, left);
            self.join(left, second, right)
        }
    }

    /// Gives a node these two below it.
    fn join(&mut self, left: u32, node: u32, right: u32) -> u32 {
        let below = self.oldest(left).min(self.oldest(right));
        let joined = &mut self.nodes[node];
        (joined.left, joined.right) = (left, right);
        joined.oldest = joined.at.2.min(below);
        node
    }

    fn oldest(&self, node: u32) -> u64 {
        self.nodes.get(node).map_or(u64::MAX, |node| node.oldest)
    }

    /// Checks that it is a search tree, a heap, and knows what is oldest.
    pub(super) fn verify(&self) {
        let number = self.verify_below(self.root, None, None);
        assert_eq!(number, self.nodes.len(), "every node is in the tree");
    }

    fn verify_below(&self, node: u32, from: Option<Spot<K>>, to: Option<Spot<K>>) -> usize {
        let Some(here) = self.nodes.get(node) else { return 0 };
        assert!(
            from.is_none_or(|from| from < here.at) && to.is_none_or(|to| here.at < to),
            "it is a search tree"
        );
        let below = [here.left, here.right].map(|child| self.nodes.get(child));
        assert!(below.iter().flatten().all(|child| child.priority <= here.priority), "it is a heap");
        let oldest = below.iter().flatten().map(|child| child.oldest).min().unwrap_or(u64::MAX);
        assert_eq!(here.oldest, oldest.min(here.at.2), "it knows the oldest");
        1 + self.verify_below(here.left, from, Some(here.at))
            + self.verify_below(here.right, Some(here.at), to)
    }
}

impl<K: Copy + Ord> OldestFirst<'_, K> {
    /// Finds what stands from there on, if a start is given, and before the end, if there is one. O(log n).
    fn gather(&mut self, node: u32, from: Option<Spot<K>>, to: Option<Spot<K>>) {
        let Some(here) = self.tree.nodes.get(node) else { return };
        if from.is_none() && to.is_none() {
            self.heap.push(Reverse((here.oldest, node, Part::Whole)));
        } else if from.is_some_and(|from| here.at < from) {
            self.gather(here.right, from, to);
        } else if to.is_some_and(|to| here.at >= to) {
            self.gather(here.left, from, to);
        } else {
            self.heap.push(Reverse((here.at.2, node, Part::Node)));
            self.gather(here.left, from, None);
            self.gather(here.right, None, to);
        }
    }
}

impl<K: Copy + Ord> Iterator for OldestFirst<'_, K> {
    type Item = (u64, u32);

    fn next(&mut self) -> Option<(u64, u32)> {
        loop {
            let Reverse((order, node, part)) = self.heap.pop()?;
            let here = &self.tree.nodes[node];
            if part == Part::Node {
                return Some((order, here.place));
            }
            self.heap.push(Reverse((here.at.2, node, Part::Node)));
            self.gather(here.left, None, None);
            self.gather(here.right, None, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use quintet_contract::Random;

    proptest! {
        #[test]
        fn it_finds_what_a_plain_list_finds(
            inserted in proptest::collection::vec((0..2u64, 0..20u64), 0..80),
            removed in proptest::collection::vec(any::<proptest::sample::Index>(), 0..40),
            spans in proptest::collection::vec((0..2u64, (0..21u64, 0..80u64), (0..21u64, 0..80u64)), 20),
        ) {
            let (mut tree, mut plain) = (Tree::new(), Vec::new());
            let mut random = Random::new(1, 1);
            for (order, (hash, key)) in inserted.into_iter().enumerate() {
                let at = (hash, key, order as u64);
                tree.insert(at, order as u32, random.bits());
                plain.push(at);
            }
            for which in removed {
                if !plain.is_empty() {
                    let at = plain.swap_remove(which.index(plain.len()));
                    // One whose key has changed is found by its age.
                    tree.remove(if at.2 % 5 == 0 { (at.0, at.1 + 1, at.2) } else { at });
                }
            }
            tree.verify();
            for (hash, from, to) in spans {
                let [from, to] = [from, to].map(|(key, order)| (hash, key, order));
                let found: Vec<_> = tree.between(from, to).collect();
                let mut wanted: Vec<_> = plain.iter().filter(|at| from <= **at && **at < to).map(|at| (at.2, at.2 as u32)).collect();
                wanted.sort_unstable();
                prop_assert_eq!(found, wanted);
            }
        }
    }

    #[test]
    fn it_does_not_become_deep_where_keys_grow_with_age() {
        let (mut tree, key) = (Tree::new(), crate::keyed::HashKey::from_seed(3));
        for order in 0..20_000u64 {
            tree.insert((0, order, order), order as u32, key.hash_word(order));
        }
        let mut deepest = 0;
        let mut open = vec![(tree.root, 1)];
        while let Some((node, depth)) = open.pop() {
            if let Some(node) = tree.nodes.get(node) {
                deepest = deepest.max(depth);
                open.extend([(node.left, depth + 1), (node.right, depth + 1)]);
            }
        }
        assert!(deepest < 60, "{deepest} deep, where a balanced one is 15");
    }
}

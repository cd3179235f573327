//! Which places are in use.

/// A set of places, of which the free ones are passed over 4,096 at a time.
#[derive(Debug)]
pub(super) struct Occupied {
    /// A bit for each place.
    words: Vec<u64>,
    /// A bit for each word that has one.
    groups: Vec<u64>,
}

impl Occupied {
    pub(super) const fn new() -> Self {
        Occupied { words: Vec::new(), groups: Vec::new() }
    }

    #[inline]
    pub(super) fn insert(&mut self, place: usize) {
        let word = place / 64;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
            self.groups.resize(word / 64 + 1, 0);
        }
        self.words[word] |= 1 << (place % 64);
        self.groups[word / 64] |= 1 << (word % 64);
    }

    /// Takes out a place that is in the set.
    #[inline]
    pub(super) fn remove(&mut self, place: usize) {
        let word = place / 64;
        self.words[word] &= !(1 << (place % 64));
        if self.words[word] == 0 {
            self.groups[word / 64] &= !(1 << (word % 64));
        }
    }

    /// The place behind the last one in the set; 0 if it is empty.
    pub(super) fn end(&self) -> usize {
        let last = self.words.iter().rposition(|word| *word != 0);
        last.map_or(0, |word| word * 64 + 64 - self.words[word].leading_zeros() as usize)
    }

    /// Gives the room of the places from `end` on back, none of which is in the set.
    pub(super) fn truncate(&mut self, end: usize) {
        self.words.truncate(end.div_ceil(64));
        self.groups.truncate(self.words.len().div_ceil(64));
        self.words.shrink_to_fit();
        self.groups.shrink_to_fit();
    }

    /// The first place in the set that is not before `from`.
    pub(super) fn first(&self, from: usize) -> Option<usize> {
        let word = from / 64;
        if let Some(bit) = first_bit(*self.words.get(word)?, from % 64) {
            return Some(word * 64 + bit);
        }
        let next = word + 1;
        let (at, group) = (next / 64, self.groups.get(next / 64)?);
        let word = first_bit(*group, next % 64).map(|bit| at * 64 + bit).or_else(|| {
            let behind = self.groups[at + 1..].iter().position(|group| *group != 0)?;
            let group = at + 1 + behind;
            Some(group * 64 + self.groups[group].trailing_zeros() as usize)
        })?;
        Some(word * 64 + self.words[word].trailing_zeros() as usize)
    }
}

/// The lowest bit that is set in a word, from that bit on.
fn first_bit(word: u64, from: usize) -> Option<usize> {
    let rest = word >> from << from;
    (rest != 0).then(|| rest.trailing_zeros() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn it_finds_what_a_plain_set_finds(
            inserted in proptest::collection::btree_set(0..20_000usize, 0..40),
            removed in proptest::collection::vec(0..40usize, 0..40),
            from in proptest::collection::vec(0..21_000usize, 20),
        ) {
            let (mut occupied, mut plain) = (Occupied::new(), BTreeSet::new());
            for place in inserted {
                occupied.insert(place);
                plain.insert(place);
            }
            for nth in removed {
                if let Some(place) = plain.iter().nth(nth).copied() {
                    occupied.remove(place);
                    plain.remove(&place);
                }
            }
            for from in from.into_iter().chain(plain.iter().flat_map(|place| [*place, place + 1])) {
                prop_assert_eq!(occupied.first(from), plain.range(from..).next().copied());
            }
        }
    }
}

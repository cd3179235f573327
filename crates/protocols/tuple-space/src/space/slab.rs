//! Things in numbered places, which are used again.

mod saved;

use super::occupied::Occupied;

/// Gives each item a place, and the place back when it is removed. Adding and removing are O(1).
#[derive(Debug)]
pub(super) struct Slab<T> {
    places: Vec<Place<T>>,
    occupied: Occupied,
    /// The free place to use next.
    free: u32,
    used: usize,
    /// With fewer items than this, free places at the end are given back.
    trim_below: usize,
}

#[derive(Debug)]
enum Place<T> {
    Used(T),
    /// The free place to use after this one.
    Free(u32),
}

const NONE: u32 = u32::MAX;

/// So many places are kept, used or not.
const KEPT: usize = 1024;

impl<T> Slab<T> {
    /// Bytes of one place.
    #[cfg(test)]
    pub(super) const PLACE_BYTES: usize = size_of::<Place<T>>();

    pub(super) const fn new() -> Self {
        Slab { places: Vec::new(), occupied: Occupied::new(), free: NONE, used: 0, trim_below: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.used
    }

    /// The items at that place and behind it, in the order of the places. Free places cost next to nothing.
    pub(super) fn iter_from(&self, place: u32) -> impl Iterator<Item = (u32, &T)> {
        let mut next = place as usize;
        core::iter::from_fn(move || {
            let place = self.occupied.first(next)?;
            next = place + 1;
            let place = number(place);
            Some((place, &self[place]))
        })
    }

    /// What is at that place, if it is in use.
    pub(super) fn get(&self, place: u32) -> Option<&T> {
        match self.places.get(place as usize) {
            Some(Place::Used(item)) => Some(item),
            Some(Place::Free(_)) | None => None,
        }
    }

    pub(super) fn add(&mut self, item: T) -> u32 {
        self.used += 1;
        let Some(place) = self.places.get_mut(self.free as usize) else {
            self.occupied.insert(self.places.len());
            self.places.push(Place::Used(item));
            self.trim_below = if self.places.len() > KEPT { self.places.len() / 4 } else { 0 };
            return number(self.places.len() - 1);
        };
        let Place::Free(next) = *place else { unreachable!("the free list leads to free places only") };
        *place = Place::Used(item);
        self.occupied.insert(self.free as usize);
        core::mem::replace(&mut self.free, next)
    }

    pub(super) fn remove(&mut self, place: u32) -> T {
        match core::mem::replace(&mut self.places[place as usize], Place::Free(self.free)) {
            Place::Used(item) => {
                self.used -= 1;
                self.free = place;
                self.occupied.remove(place as usize);
                if self.used < self.trim_below {
                    self.trim();
                }
                item
            }
            Place::Free(_) => unreachable!("only a place in use is removed"),
        }
    }

    /// Gives the free places at the end back, and has the first of the others used first, so that the end becomes free. Comes again when
    /// half of the items are gone: a removal's share of it is O(1).
    #[cold]
    fn trim(&mut self) {
        let end = self.occupied.end();
        self.places.truncate(end);
        self.places.shrink_to(KEPT);
        self.occupied.truncate(end);
        self.free = NONE;
        for place in (0..end).rev() {
            if let Place::Free(next) = &mut self.places[place] {
                *next = core::mem::replace(&mut self.free, number(place));
            }
        }
        self.trim_below = if end > KEPT { (self.used / 2).max(1) } else { 0 };
    }

    /// The items with their places, in the order of the places.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.iter_from(0)
    }
}

fn number(place: usize) -> u32 {
    u32::try_from(place).expect("memory ends before four thousand million places")
}

impl<T> core::ops::Index<u32> for Slab<T> {
    type Output = T;

    fn index(&self, place: u32) -> &T {
        match &self.places[place as usize] {
            Place::Used(item) => item,
            Place::Free(_) => unreachable!("only a place in use is asked for"),
        }
    }
}

impl<T> core::ops::IndexMut<u32> for Slab<T> {
    fn index_mut(&mut self, place: u32) -> &mut T {
        match &mut self.places[place as usize] {
            Place::Used(item) => item,
            Place::Free(_) => unreachable!("only a place in use is asked for"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 30, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn places_come_back_whatever_is_removed(
            keep_one_in in 2usize..40, from_the_end: bool, more in 0usize..3_000,
        ) {
            let mut slab = Slab::new();
            let mut places: Vec<(u32, usize)> = (0..10_000).map(|item| (slab.add(item), item)).collect();
            if from_the_end {
                places.reverse();
            }
            let (kept, gone): (Vec<_>, Vec<_>) = places.into_iter().partition(|(_, item)| item % keep_one_in == 0);
            for (place, item) in gone {
                prop_assert_eq!(slab.remove(place), item);
            }
            let mut all: Vec<(u32, usize)> = (20_000..20_000 + more).map(|item| (slab.add(item), item)).collect();
            all.extend(kept);
            all.sort_unstable();
            prop_assert!(slab.iter().map(|(place, item)| (place, *item)).eq(all.iter().copied()));
            for (place, item) in all {
                prop_assert_eq!(slab.remove(place), item);
            }
            prop_assert_eq!((slab.len(), slab.places.len(), slab.occupied.end()), (0, 0, 0));
            prop_assert!(slab.places.capacity() <= KEPT);
            prop_assert_eq!(slab.add(7), 0);
        }
    }
}

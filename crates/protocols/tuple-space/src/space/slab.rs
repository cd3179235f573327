//! Things in numbered places, which are used again.

use core::ops::Range;

/// Gives each item a place, and the place back when it is removed. Adding and removing are O(1).
#[derive(Debug)]
pub(super) struct Slab<T> {
    places: Vec<Place<T>>,
    /// The free place to use next.
    free: u32,
    used: usize,
}

#[derive(Debug)]
enum Place<T> {
    Used(T),
    /// The free place to use after this one.
    Free(u32),
}

const NONE: u32 = u32::MAX;

impl<T> Slab<T> {
    /// Bytes of one place.
    #[cfg(test)]
    pub(super) const PLACE_BYTES: usize = size_of::<Place<T>>();

    pub(super) const fn new() -> Self {
        Slab { places: Vec::new(), free: NONE, used: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.used
    }

    /// How many places there are, in use or free.
    pub(super) fn places(&self) -> usize {
        self.places.len()
    }

    /// The items at some of the places, in the order of the places.
    pub(super) fn range(&self, places: Range<usize>) -> impl Iterator<Item = (u32, &T)> {
        let numbers = u32::try_from(places.start).unwrap_or(NONE)..;
        numbers.zip(&self.places[places]).filter_map(|(place, item)| match item {
            Place::Used(item) => Some((place, item)),
            Place::Free(_) => None,
        })
    }

    pub(super) fn add(&mut self, item: T) -> u32 {
        self.used += 1;
        let Some(place) = self.places.get_mut(self.free as usize) else {
            self.places.push(Place::Used(item));
            return u32::try_from(self.places.len() - 1)
                .expect("memory ends before four thousand million places");
        };
        let Place::Free(next) = *place else { unreachable!("the free list leads to free places only") };
        *place = Place::Used(item);
        core::mem::replace(&mut self.free, next)
    }

    pub(super) fn remove(&mut self, place: u32) -> T {
        match core::mem::replace(&mut self.places[place as usize], Place::Free(self.free)) {
            Place::Used(item) => {
                self.used -= 1;
                self.free = place;
                item
            }
            Place::Free(_) => unreachable!("only a place in use is removed"),
        }
    }

    /// The items with their places, in the order of the places.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.range(0..self.places.len())
    }
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

//! Things in numbered places, which are used again.

use super::occupied::Occupied;

/// Gives each item a place, and the place back when it is removed. Adding and removing are O(1).
#[derive(Debug)]
pub(super) struct Slab<T> {
    places: Vec<Place<T>>,
    occupied: Occupied,
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
        Slab { places: Vec::new(), occupied: Occupied::new(), free: NONE, used: 0 }
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

    pub(super) fn add(&mut self, item: T) -> u32 {
        self.used += 1;
        let Some(place) = self.places.get_mut(self.free as usize) else {
            self.occupied.insert(self.places.len());
            self.places.push(Place::Used(item));
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
                item
            }
            Place::Free(_) => unreachable!("only a place in use is removed"),
        }
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

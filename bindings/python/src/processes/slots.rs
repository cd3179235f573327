//! Numbered places of things that come and go.

/// Things by numbers, which are used again.
pub(super) struct Slots<T> {
    slots: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Slots<T> {
    pub(super) fn new() -> Slots<T> {
        Slots { slots: Vec::new(), free: Vec::new() }
    }

    /// Puts it where there is room. There are at most 2^32 at once: memory ends before.
    pub(super) fn put(&mut self, thing: T) -> u32 {
        if let Some(place) = self.free.pop() {
            self.slots[place as usize] = Some(thing);
            return place;
        }
        let place = u32::try_from(self.slots.len()).expect("memory ends before 2^32 slots");
        self.slots.push(Some(thing));
        place
    }

    pub(super) fn take(&mut self, place: u32) -> Option<T> {
        let taken = self.slots.get_mut(place as usize)?.take();
        if taken.is_some() {
            self.free.push(place);
        }
        taken
    }

    pub(super) fn get_mut(&mut self, place: u32) -> Option<&mut T> {
        self.slots.get_mut(place as usize)?.as_mut()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().flatten()
    }
}

//! A place for each pending event, so that events of any size are moved twice only: in and out.

/// Events under numbers that are used again, the last freed first: it is the likeliest to be in the cache.
#[derive(Debug)]
pub(super) struct Slots<E> {
    slots: Vec<Slot<E>>,
    /// The one freed last; [`NONE`] if all are full.
    free: u32,
    full: usize,
}

#[derive(Debug)]
enum Slot<E> {
    Full(E),
    /// The one that was freed before it.
    Free(u32),
}

/// The number of no slot.
const NONE: u32 = u32::MAX;

impl<E> Slots<E> {
    pub(super) fn new() -> Self {
        Slots { slots: Vec::new(), free: NONE, full: 0 }
    }

    #[inline]
    pub(super) fn put(&mut self, event: impl FnOnce() -> E) -> u32 {
        if self.free == NONE {
            self.grow();
        }
        let number = self.free;
        let slot = &mut self.slots[number as usize];
        let Slot::Free(before) = *slot else { unreachable!("a slot that is full is no free one") };
        self.free = before;
        self.full += 1;
        *slot = Slot::Full(event());
        number
    }

    /// Adds a free slot.
    #[cold]
    fn grow(&mut self) {
        let number = u32::try_from(self.slots.len()).ok().filter(|number| *number != NONE);
        self.free = number.expect("fewer than 2^32 events are pending");
        self.slots.push(Slot::Free(NONE));
    }

    pub(super) fn take(&mut self, number: u32) -> E {
        let freed = std::mem::replace(&mut self.slots[number as usize], Slot::Free(self.free));
        self.free = number;
        self.full -= 1;
        match freed {
            Slot::Full(event) => event,
            Slot::Free(_) => unreachable!("a slot stands in the order once, while it is full"),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.full
    }
}

//! A place for each pending event, so that events of any size are moved twice only: in and out.

/// Events under numbers that are used again, the last freed first: it is the likeliest to be in the cache.
#[derive(Debug)]
pub(super) struct Slots<E> {
    events: Vec<Option<E>>,
    free: Vec<u32>,
}

impl<E> Slots<E> {
    pub(super) fn new() -> Self {
        Slots { events: Vec::new(), free: Vec::new() }
    }

    pub(super) fn put(&mut self, event: E) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.events[slot as usize] = Some(event);
            return slot;
        }
        let slot = u32::try_from(self.events.len()).expect("fewer than 2^32 events are pending");
        self.events.push(Some(event));
        slot
    }

    pub(super) fn take(&mut self, slot: u32) -> E {
        self.free.push(slot);
        self.events[slot as usize].take().expect("a slot stands in the order once, while it is full")
    }

    pub(super) fn len(&self) -> usize {
        self.events.len() - self.free.len()
    }
}

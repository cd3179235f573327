//! What all peers together may have arriving: each has its own budget, and a thousand of them have this one.

/// Bytes of large data that were granted and not delivered.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: u64,
    reserved: u64,
    /// Whether some announcement found no room.
    pub(crate) is_missed: bool,
}

impl Budget {
    /// For so many bytes; one message finds room in any case, once nothing else is arriving.
    pub(crate) fn new(limit: u64) -> Self {
        Budget { limit, reserved: 0, is_missed: false }
    }

    /// Whether so many bytes may be granted.
    pub(crate) fn has_room(&mut self, bytes: u64) -> bool {
        let has_room = self.reserved == 0 || self.reserved.saturating_add(bytes) <= self.limit;
        self.is_missed |= !has_room;
        has_room
    }

    /// A grant went out.
    pub(crate) fn reserve(&mut self, bytes: u64) {
        self.reserved += bytes;
    }

    /// They were delivered, or their peer is gone.
    pub(crate) fn release(&mut self, bytes: u64) {
        self.reserved -= bytes;
    }
}

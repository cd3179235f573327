//! What all peers together may have arriving: each has its own budget, and a thousand of them have this one.
//!
//! Short messages may have an eighth more, so that a long one which comes slowly, or not at all, keeps only long ones waiting.

/// A message of at most this part of the limit is short.
const SHORT: u64 = 32;
/// The part of the limit that short messages may have beyond it.
const SPARE: u64 = 8;

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
        let is_short = bytes <= self.limit / SHORT;
        let limit = if is_short { self.limit.saturating_add(self.limit / SPARE) } else { self.limit };
        let has_room = self.reserved == 0 || self.reserved.saturating_add(bytes) <= limit;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_messages_have_room_beside_a_long_one_and_never_more_than_an_eighth() {
        let mut budget = Budget::new(3_200);
        assert!(budget.has_room(10_000), "one message finds room in any case");
        budget.reserve(3_200);
        assert!(!budget.has_room(101) && budget.is_missed, "a long one waits");
        for _ in 0..4 {
            assert!(budget.has_room(100));
            budget.reserve(100);
        }
        assert!(!budget.has_room(100), "an eighth is used");
        budget.release(3_200);
        assert!(budget.has_room(2_800) && !budget.has_room(2_801));
    }
}

//! What a space has lent, for those who check that it comes back.

use super::Space;

/// What a space keeps for requests that are not finished and answers that are not settled. When nothing waits and no answer may be
/// undone, each is zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Books {
    /// Bytes of the requests that wait, as they count for [`max_waiting_bytes`](crate::SpaceConfig::max_waiting_bytes).
    pub waiting_bytes: u64,
    /// Bytes of tuples given to takes that may still be undone.
    pub unsettled_bytes: u64,
    /// Takes that may still be undone.
    pub unsettled: u64,
    /// Requests without an answer so far.
    pub unanswered: u64,
    /// Requests that wait for room in their sender's link, or for an index.
    pub put_off: u64,
    /// Answers that wait for room in their receiver's link.
    pub replies: u64,
    /// Deadlines to come, of requests and of leases.
    pub deadlines: u64,
}

impl Books {
    /// Both together.
    #[must_use]
    pub fn and(self, other: Books) -> Books {
        Books {
            waiting_bytes: self.waiting_bytes + other.waiting_bytes,
            unsettled_bytes: self.unsettled_bytes + other.unsettled_bytes,
            unsettled: self.unsettled + other.unsettled,
            unanswered: self.unanswered + other.unanswered,
            put_off: self.put_off + other.put_off,
            replies: self.replies + other.replies,
            deadlines: self.deadlines + other.deadlines,
        }
    }
}

impl Space {
    /// What is lent now. O(senders and deadlines).
    #[must_use]
    pub fn books(&self) -> Books {
        let mut books = Books {
            waiting_bytes: self.room.waiting_bytes(),
            unsettled_bytes: self.room.unsettled().bytes,
            put_off: self.unindexed.len() as u64,
            deadlines: self.timers.of_requests_and_leases() as u64,
            ..Books::default()
        };
        for sender in self.senders.iter() {
            books.unsettled += sender.unsettled.len() as u64;
            books.unanswered += sender.unanswered.len() as u64;
            books.put_off += sender.blocked.len() as u64;
            books.replies += sender.replies.len() as u64;
        }
        books
    }
}

//! What all peers together may have arriving: each has its own budget, and a thousand of them have this one.
//!
//! A message needs room once it has begun to arrive: before, its sender may stand still for ever and keeps nobody waiting. What comes
//! meanwhile is no more than a peer's window of fragments, for no more of them are asked for before there is room.
//!
//! Who found no room gets it before all who ask later, short messages and long ones apart. Short ones may have an eighth more, so that a
//! long one which comes slowly, or not at all, keeps only long ones waiting. While a long one waits they have that eighth and
//! nothing else, so that they do not keep it waiting either.

use quintet_contract::Address;
use std::collections::VecDeque;

/// A message of at most this part of the limit is short.
const SHORT: u64 = 32;
/// The part of the limit that short messages may have beyond it.
const SPARE: u64 = 8;

/// Which others a message waits with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Length {
    Short,
    Long,
}

/// Bytes of large data that have begun to arrive and were not delivered.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Reserved {
    short: u64,
    long: u64,
}

impl Reserved {
    pub(crate) fn total(self) -> u64 {
        self.short + self.long
    }

    pub(crate) fn of(&mut self, length: Length) -> &mut u64 {
        match length {
            Length::Short => &mut self.short,
            Length::Long => &mut self.long,
        }
    }

    pub(crate) fn without(self, other: Reserved) -> Reserved {
        Reserved { short: self.short - other.short, long: self.long - other.long }
    }
}

/// The bytes of all peers.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: u64,
    reserved: Reserved,
    /// Peers whose message found no room, in that order. Each is in one of them at most.
    short: VecDeque<Address>,
    long: VecDeque<Address>,
    /// Whether some of them may have room now.
    has_moved: bool,
}

impl Budget {
    /// For so many bytes; a longer message finds room in any case, once no other long one is arriving.
    pub(crate) fn new(limit: u64) -> Self {
        let (short, long) = (VecDeque::new(), VecDeque::new());
        Budget { limit, reserved: Reserved::default(), short, long, has_moved: false }
    }

    /// Bytes that have room.
    pub(crate) fn reserved(&self) -> u64 {
        self.reserved.total()
    }

    fn length(&self, bytes: u64) -> Length {
        if bytes <= self.limit / SHORT { Length::Short } else { Length::Long }
    }

    fn waiting(&mut self, length: Length) -> &mut VecDeque<Address> {
        match length {
            Length::Short => &mut self.short,
            Length::Long => &mut self.long,
        }
    }

    /// Whether there is room for so many bytes of a peer. If not it waits for them.
    pub(crate) fn has_room(&mut self, peer: Address, bytes: u64) -> bool {
        let length = self.length(bytes);
        let fits = self.fits(length, bytes);
        let waiting = self.waiting(length);
        let has_room = fits && waiting.front().is_none_or(|first| *first == peer);
        if !has_room && !waiting.contains(&peer) {
            waiting.push_back(peer);
        }
        has_room
    }

    fn fits(&self, length: Length, bytes: u64) -> bool {
        let Reserved { short, long } = self.reserved;
        let spare = self.limit / SPARE;
        let in_all = self.reserved.total().saturating_add(bytes) <= self.limit.saturating_add(spare);
        match length {
            Length::Short if self.long.is_empty() => in_all,
            Length::Short => short + bytes <= spare,
            Length::Long => {
                (long == 0 || long.saturating_add(bytes) <= self.limit) && (short <= spare || in_all)
            }
        }
    }

    /// A peer has the room that there was.
    pub(crate) fn reserve(&mut self, peer: Address, bytes: u64) -> Length {
        let length = self.length(bytes);
        *self.reserved.of(length) += bytes;
        self.forget(peer);
        length
    }

    /// They were delivered, or their peer is gone.
    pub(crate) fn release(&mut self, bytes: Reserved) {
        self.reserved = self.reserved.without(bytes);
        self.has_moved |= bytes.total() > 0;
    }

    /// A peer waits no longer: it has room, needs none any more, or is gone. Who waits behind it may be next.
    pub(crate) fn forget(&mut self, peer: Address) {
        for waiting in [&mut self.short, &mut self.long] {
            if let Some(at) = waiting.iter().position(|waiting| *waiting == peer) {
                waiting.remove(at);
                self.has_moved = true;
            }
        }
    }

    /// Whether somebody who found no room may have some now, since this was asked last.
    pub(crate) fn take_moved(&mut self) -> bool {
        core::mem::take(&mut self.has_moved) && !(self.short.is_empty() && self.long.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Address = Address::new(1, 16);
    const B: Address = Address::new(2, 16);
    const C: Address = Address::new(3, 16);

    fn release(budget: &mut Budget, length: Length, bytes: u64) {
        let mut released = Reserved::default();
        *released.of(length) = bytes;
        budget.release(released);
    }

    #[test]
    fn short_messages_have_room_beside_a_long_one_and_never_more_than_an_eighth() {
        let mut budget = Budget::new(3_200);
        assert!(budget.has_room(A, 10_000), "one message finds room in any case");
        budget.reserve(A, 3_200);
        assert!(!budget.has_room(B, 101), "a long one waits");
        for _ in 0..4 {
            assert!(budget.has_room(C, 100));
            assert_eq!(budget.reserve(C, 100), Length::Short);
        }
        assert!(!budget.has_room(C, 100), "an eighth is used");
        release(&mut budget, Length::Long, 3_200);
        assert!(!budget.has_room(C, 100), "nor any of what the long one waits for");
        assert!(budget.has_room(B, 10_000), "one long message finds room in any case");
        budget.reserve(B, 2_800);
        assert!(budget.has_room(A, 400) && !budget.has_room(A, 401));
    }

    #[test]
    fn short_messages_may_have_everything_and_a_long_one_waits_until_they_have_an_eighth_or_it_fits() {
        let mut budget = Budget::new(3_200);
        for _ in 0..36 {
            assert!(budget.has_room(A, 100));
            budget.reserve(A, 100);
        }
        assert!(!budget.has_room(A, 100) && !budget.has_room(B, 3_200));
        release(&mut budget, Length::Short, 3_100);
        assert!(!budget.has_room(B, 3_200) && !budget.has_room(A, 100));
        release(&mut budget, Length::Short, 100);
        assert!(budget.has_room(B, 3_200));
    }

    #[test]
    fn who_missed_room_has_it_before_those_who_come_later() {
        let mut budget = Budget::new(3_200);
        budget.reserve(A, 3_000);
        assert!(!budget.has_room(C, 3_000) && !budget.has_room(B, 1_000));
        assert!(!budget.has_room(A, 200), "it would fit, and the others came first");
        release(&mut budget, Length::Long, 3_000);
        assert!(!budget.has_room(B, 1_000) && !budget.has_room(A, 200));
        assert!(budget.has_room(C, 3_000));
        budget.reserve(C, 3_000);
        assert!(!budget.has_room(A, 200) && !budget.has_room(B, 1_000), "C is content, and B is next");
        budget.forget(B);
        assert!(budget.has_room(A, 200));
    }
}

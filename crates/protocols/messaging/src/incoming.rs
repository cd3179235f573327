//! The order of what arrives: frames behind a message whose fragments are still coming wait for it, if they have an order.

use crate::budget::{Budget, Length, Reserved};
use crate::config::{Class, Limits};
use crate::reassembly::Reassembly;
use quintet_contract::{Address, Bytes, Frame, Kind, OwnedFrame, Token};
use std::collections::VecDeque;

/// What a message took.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cost {
    /// The room that its request reserved: it is an answer.
    Reserved,
    /// Credit for one frame and so many bytes, which goes back once the message is consumed.
    Credit(u32),
}

/// A message in its place.
#[derive(Debug)]
enum Held {
    Whole(OwnedFrame, Cost),
    Arriving(Arriving),
}

#[derive(Debug)]
struct Arriving {
    kind: Kind,
    token: Token,
    head: Bytes,
    cost: Cost,
    granted: bool,
    /// What its bytes are reserved as in the budget of all, once they are.
    room: Option<Length>,
    data: Reassembly,
}

impl Arriving {
    fn awaits_room(&self) -> bool {
        self.data.has_begun() && !self.data.is_complete() && self.room.is_none()
    }
}

/// What came from one peer and was not delivered. Bounded by the windows: frames by credit and by what this side asked and has no answer
/// to, large data by the budget.
#[derive(Debug)]
pub(crate) struct Incoming {
    held: VecDeque<Held>,
    budget: u64,
    /// Bytes granted and not delivered.
    reserved: u64,
    /// Those of them that have room in the budget of all.
    shared: Reserved,
    window_fragments: u32,
    /// Fragments that the peer may send, as far as it knows.
    open_fragments: u32,
    /// Fragments that came and were not made up for.
    owed_fragments: u32,
}

impl Incoming {
    pub(crate) fn new(limits: &Limits) -> Self {
        Incoming {
            held: VecDeque::new(),
            budget: limits.budget,
            reserved: 0,
            shared: Reserved::default(),
            window_fragments: limits.fragments,
            open_fragments: limits.fragments,
            owed_fragments: 0,
        }
    }

    /// Whether a frame that comes now is the next to deliver.
    pub(crate) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Whether the request with this token waits here.
    pub(crate) fn holds_request(&self, token: Token, class: fn(Kind) -> Class) -> bool {
        self.held.iter().any(|held| match held {
            Held::Whole(frame, _) => frame.token == token && class(frame.kind) == Class::Request,
            Held::Arriving(message) => message.token == token && class(message.kind) == Class::Request,
        })
    }

    /// Whether nothing waits here, nor has to go back.
    pub(crate) fn is_settled(&self) -> bool {
        self.held.is_empty() && self.due_fragments().is_none()
    }

    /// Bytes of large data granted and not delivered.
    pub(crate) fn reserved(&self) -> u64 {
        self.reserved
    }

    /// Those of them that have room in the budget of all.
    pub(crate) fn shared(&self) -> Reserved {
        self.shared
    }

    /// Takes a message that has to wait.
    pub(crate) fn hold(&mut self, message: Frame<'_>, cost: Cost) {
        self.held.push_back(Held::Whole(message.to_owned(), cost));
    }

    /// Takes an announcement.
    pub(crate) fn announce(&mut self, kind: Kind, token: Token, head: &[u8], total: usize, cost: Cost) {
        let (head, data) = (Bytes::copy_from_slice(head), Reassembly::new(total));
        let arriving = Arriving { kind, token, head, cost, granted: false, room: None, data };
        self.held.push_back(Held::Arriving(arriving));
    }

    /// The bytes of the oldest announcement without a grant.
    pub(crate) fn awaits_grant(&self) -> Option<u64> {
        self.held.iter().find_map(|held| match held {
            Held::Arriving(message) if !message.granted => Some(message.data.total() as u64),
            _ => None,
        })
    }

    /// Whether the peer's budget has room for its oldest announcement without a grant.
    pub(crate) fn can_grant(&self) -> bool {
        self.awaits_grant().is_some_and(|total| self.reserved.saturating_add(total) <= self.budget)
    }

    /// The grant went out: its bytes are reserved in the peer's budget.
    pub(crate) fn granted(&mut self) {
        let oldest = self.held.iter_mut().find_map(|held| match held {
            Held::Arriving(message) if !message.granted => Some(message),
            _ => None,
        });
        if let Some(message) = oldest {
            message.granted = true;
            self.reserved += message.data.total() as u64;
        }
    }

    /// Whether a message has begun to arrive that has no room in the budget of all. No more fragments are asked for before it has.
    pub(crate) fn awaits_room(&self) -> bool {
        self.held.iter().any(|held| matches!(held, Held::Arriving(message) if message.awaits_room()))
    }

    /// Reserves room in the budget of all for the message that has begun to arrive, if there is some.
    pub(crate) fn reserve(&mut self, peer: Address, all: &mut Budget) {
        let waiting = self.held.iter_mut().find_map(|held| match held {
            Held::Arriving(message) if message.awaits_room() => Some(message),
            _ => None,
        });
        let Some(message) = waiting else { return };
        let total = message.data.total() as u64;
        if all.has_room(peer, total) {
            let length = all.reserve(peer, total);
            message.room = Some(length);
            *self.shared.of(length) += total;
        }
    }

    /// Takes a fragment of the oldest announced message that is incomplete. False if there is none, if it was not granted, if the
    /// fragment does not fit, or if the peer had no credit for it.
    pub(crate) fn fragment(&mut self, frame: Frame<'_>) -> bool {
        let Some(left) = self.open_fragments.checked_sub(1) else { return false };
        let oldest = self.held.iter_mut().find_map(|held| match held {
            Held::Arriving(message) if !message.data.is_complete() => Some(message),
            _ => None,
        });
        self.open_fragments = left;
        self.owed_fragments += 1;
        oldest.is_some_and(|message| message.granted && message.data.add(frame.body, frame.bulk))
    }

    /// Fragments to make up for.
    pub(crate) fn owed_fragments(&self) -> u32 {
        self.owed_fragments
    }

    /// Fragments to make up for, once they are half of the window, and there is room for what comes then.
    pub(crate) fn due_fragments(&self) -> Option<u32> {
        let is_half = self.owed_fragments >= self.window_fragments.div_ceil(2);
        (is_half && !self.awaits_room()).then_some(self.owed_fragments)
    }

    /// They were.
    pub(crate) fn proceeded(&mut self, fragments: u32) {
        self.owed_fragments -= fragments;
        self.open_fragments += fragments;
    }

    /// The next message, if it is complete.
    pub(crate) fn take(&mut self) -> Option<(OwnedFrame, Cost)> {
        match self.held.pop_front()? {
            Held::Whole(frame, cost) => Some((frame, cost)),
            Held::Arriving(message) if message.data.is_complete() => {
                let Arriving { kind, token, head, cost, room, data, .. } = message;
                self.reserved -= data.total() as u64;
                if let Some(length) = room {
                    *self.shared.of(length) -= data.total() as u64;
                }
                Some((OwnedFrame { kind, token, body: head, bulk: data.finish() }, cost))
            }
            unfinished @ Held::Arriving(_) => {
                self.held.push_front(unfinished);
                None
            }
        }
    }
}

#[cfg(test)]
#[path = "incoming/tests.rs"]
mod tests;

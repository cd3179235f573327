//! What one call of `handle` carries through the session machines.

use crate::config::SessionConfig;
use crate::counters::Counters;
use crate::defect::seeded;
use crate::retention::Exit;
use quintet_contract::{Address, Outbox, PeerChange, Random, Span, Time};

/// The time, the way out, and what all sessions share.
pub(crate) struct Context<'a> {
    pub(crate) now: Time,
    pub(crate) config: &'a SessionConfig,
    pub(crate) random: &'a mut Random,
    pub(crate) counters: &'a mut Counters,
    /// For the protocol above, in order.
    pub(crate) events: &'a mut Vec<Event>,
    pub(crate) out: &'a mut dyn Outbox,
}

/// What the protocol above learns about a peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    Peer(PeerChange),
    Writable,
}

impl Context<'_> {
    /// The way to a peer.
    pub(crate) fn exit(&mut self, to: Address) -> Exit<'_> {
        Exit { to, now: self.now, counters: self.counters, out: &mut *self.out }
    }

    /// Until when a session that is put aside now may be resumed.
    pub(crate) fn resumed_by(&self) -> Time {
        let window = self.config.resume_window;
        if seeded!(self.config, NeverGivenUp) {
            return Time::NEVER;
        }
        if seeded!(self.config, GivenUpEarly) {
            return self.now + Span(window.0 / 2);
        }
        self.now + window
    }

    pub(crate) fn notify(&mut self, event: Event) {
        self.events.push(event);
    }

    /// A random number that is never 0, which stands for "none".
    pub(crate) fn number(&mut self) -> u64 {
        self.random.bits().max(1)
    }
}

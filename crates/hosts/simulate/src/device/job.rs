//! A message on its way through a device.

use super::framing::Framing;
use super::message::Message;
use super::meter::Meter;
use crate::picos::Picos;

/// A message, how much of it is still to be sent, and how often its block collided.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    pub(crate) message: Message,
    pub(crate) collisions: u32,
    requested: Picos,
    rest: u64,
    begun: bool,
}

impl Job {
    pub(crate) fn new(now: Picos, message: Message, meter: &mut Meter) -> Job {
        meter.requested(now);
        Job { message, collisions: 0, requested: now, rest: message.bytes, begun: false }
    }

    /// The bytes of the block to be sent next, of at most `largest`.
    pub(crate) fn block_bytes(&self, largest: u64) -> u64 {
        self.rest.min(largest)
    }

    pub(crate) fn block_time(&self, framing: &Framing) -> Picos {
        framing.block_time(self.block_bytes(framing.block_bytes()))
    }

    /// A block that will arrive left, or began to leave at `at`, no later than `now`.
    pub(crate) fn begin(&mut self, now: Picos, at: Picos, meter: &mut Meter) {
        if !self.begun {
            self.begun = true;
            meter.begun(now, at, at - self.requested);
        }
    }

    /// Whether the block to be sent next is the last one.
    pub(crate) fn is_last(&self, largest: u64) -> bool {
        self.rest <= largest
    }

    /// A block of at most `largest` bytes left this station. True if it was the last one.
    pub(crate) fn advance(&mut self, largest: u64) -> bool {
        self.rest -= self.block_bytes(largest);
        self.collisions = 0;
        self.rest == 0
    }

    /// A block of at most `largest` bytes was carried to its receiver. True if it was the last one.
    pub(crate) fn carried(&mut self, largest: u64, meter: &mut Meter) -> bool {
        meter.carried(self.block_bytes(largest));
        self.advance(largest)
    }

    /// The rest is given up.
    pub(crate) fn abandon(&self, now: Picos, meter: &mut Meter) {
        meter.dropped(now, !self.begun);
    }
}

//! Frames sent and not yet acknowledged: what is kept for the next link, and for sending again.

use crate::codec::{Fence, Prefix};
use crate::config::WindowLimits;
use crate::counters::Counters;
use crate::sequence::Sequence;
use quintet_contract::{Address, Bytes, Kind, Outbox, SendError, Time, Token};
use std::collections::VecDeque;

/// Buffers kept for later frames, and the largest of them: enough that small frames allocate nothing.
const SPARE_BUFFERS: usize = 64;
const SPARE_BYTES: usize = 4096;

/// A frame kept until it is acknowledged. It is encoded here, once, and sent from here.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) kind: Kind,
    pub(crate) token: Token,
    /// The room for the prefix, written at each transmission, and the body.
    pub(crate) body: Vec<u8>,
    pub(crate) bulk: Bytes,
    /// When it departed first.
    pub(crate) sent: Option<Time>,
}

/// The way to a peer, and the time.
pub(crate) struct Exit<'a> {
    pub(crate) to: Address,
    pub(crate) now: Time,
    pub(crate) counters: &'a mut Counters,
    pub(crate) out: &'a mut dyn Outbox,
}

/// What a transmission needs to know.
pub(crate) struct Departure<'a> {
    pub(crate) to: Address,
    pub(crate) now: Time,
    /// The next frame expected from the peer: acknowledges all before it.
    pub(crate) expected: Sequence,
    /// On a link that may lose frames.
    pub(crate) fence: Option<Fence>,
    pub(crate) counters: &'a mut Counters,
    pub(crate) out: &'a mut dyn Outbox,
}

/// The frames of one direction of one session.
#[derive(Debug)]
pub(crate) struct Retention {
    frames: VecDeque<Kept>,
    /// The number of the oldest frame kept.
    first: Sequence,
    /// How many of the oldest were given to the present link.
    transmitted: usize,
    bytes: u64,
    limits: WindowLimits,
    /// The protocol above was refused and waits for room.
    blocked: bool,
    /// Room of frames that were acknowledged, for those to come.
    spare: Vec<Vec<u8>>,
}

impl Kept {
    pub(crate) fn new(kind: Kind, token: Token, body: Vec<u8>, bulk: Bytes) -> Self {
        Kept { kind, token, body, bulk, sent: None }
    }

    fn bytes(&self) -> u64 {
        (self.body.len() + self.bulk.len()) as u64
    }

    pub(crate) fn transmit(
        &mut self,
        sequence: Sequence,
        departure: &mut Departure<'_>,
    ) -> Result<(), SendError> {
        let Departure { to, now, expected, fence, counters, out } = departure;
        Prefix { sequence, acknowledged: *expected, fence: *fence }.write(&mut self.body);
        if self.bulk.is_empty() {
            out.send(*to, self.kind, self.token, &self.body)?;
        } else {
            out.send_bulk(*to, self.kind, self.token, &self.body, self.bulk.clone())?;
        }
        counters.retransmitted += u64::from(self.sent.is_some());
        self.sent.get_or_insert(*now);
        Ok(())
    }
}

impl Exit<'_> {
    /// A transmission to this peer, now.
    pub(crate) fn departure(&mut self, expected: Sequence, fence: Option<Fence>) -> Departure<'_> {
        let Exit { to, now, counters, out } = self;
        Departure { to: *to, now: *now, expected, fence, counters, out: &mut **out }
    }
}

impl Retention {
    pub(crate) fn new(limits: WindowLimits) -> Self {
        Retention {
            frames: VecDeque::new(),
            first: Sequence::default(),
            transmitted: 0,
            bytes: 0,
            limits,
            blocked: false,
            spare: Vec::new(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// The number of the oldest frame kept.
    pub(crate) fn first(&self) -> Sequence {
        self.first
    }

    /// When the oldest frame kept departed first.
    pub(crate) fn oldest_sent(&self) -> Option<Time> {
        self.frames.front().and_then(|frame| frame.sent)
    }

    /// The number of the frame after the last that the present link was given.
    pub(crate) fn transmitted_to(&self) -> Sequence {
        self.first.plus(self.transmitted)
    }

    /// Whether the present link was given a frame that is still kept.
    pub(crate) fn has_departed(&self) -> bool {
        self.transmitted > 0
    }

    /// Whether one more frame may be kept, as far as their count goes; `beside` decides by the bytes kept and the most that may be.
    /// Remembers a refusal.
    pub(crate) fn has_room(&mut self, beside: impl FnOnce(u64, u64) -> bool) -> bool {
        let room = self.frames.is_empty()
            || self.frames.len() < self.limits.frames as usize && beside(self.bytes, self.limits.bytes);
        self.blocked |= !room;
        room
    }

    /// Whether the protocol above waits; it is told that there is room, so it no longer does.
    pub(crate) fn take_blocked(&mut self) -> bool {
        core::mem::take(&mut self.blocked)
    }

    /// Room for a body and its prefix. What lies in it is of earlier frames of this session.
    pub(crate) fn room(&mut self, len: usize) -> Vec<u8> {
        let mut room = self.spare.pop().unwrap_or_default();
        room.resize(len, 0);
        room
    }

    /// Keeps a frame. One that was given far more room than it filled moves: what is kept is bounded by what is counted.
    pub(crate) fn keep(&mut self, mut frame: Kept) {
        let len = frame.body.len();
        if frame.body.capacity() > 2 * len + SPARE_BYTES {
            let mut body = self.room(len);
            body.copy_from_slice(&frame.body);
            frame.body = body;
        }
        self.bytes += frame.bytes();
        self.frames.push_back(frame);
    }

    /// The link is new: it was given nothing.
    pub(crate) fn rewind(&mut self) {
        self.transmitted = 0;
    }

    /// Sends what the present link was not given yet, as far as it takes it. Whether anything departed.
    pub(crate) fn send_waiting(&mut self, departure: &mut Departure<'_>) -> bool {
        let before = self.transmitted;
        while let Some(frame) = self.frames.get_mut(self.transmitted) {
            if frame.transmit(self.first.plus(self.transmitted), departure).is_err() {
                break;
            }
            self.transmitted += 1;
        }
        self.transmitted > before
    }

    /// Sends one of the frames kept. Whether it departed.
    pub(crate) fn transmit(&mut self, sequence: Sequence, departure: &mut Departure<'_>) -> bool {
        let place = usize::try_from(sequence.ahead_of(self.first)).ok();
        let frame = place.and_then(|place| self.frames.get_mut(place));
        frame.is_some_and(|frame| frame.transmit(sequence, departure).is_ok())
    }

    /// Lets all frames before `acknowledged` go: how many. None if that number was not given out.
    pub(crate) fn release(&mut self, acknowledged: Sequence) -> Option<usize> {
        let Ok(count) = usize::try_from(acknowledged.ahead_of(self.first)) else { return Some(0) };
        if count > self.frames.len() {
            return None;
        }
        for frame in self.frames.drain(..count) {
            self.bytes -= frame.bytes();
            if self.spare.len() < SPARE_BUFFERS && frame.body.capacity() <= SPARE_BYTES {
                self.spare.push(frame.body);
            }
        }
        self.first = self.first.plus(count);
        self.transmitted = self.transmitted.saturating_sub(count);
        Some(count)
    }
}

#[cfg(test)]
#[path = "retention/tests.rs"]
mod tests;

//! Frames sent and not yet acknowledged: what is kept for the next link, and for sending again.

use crate::codec::{Fence, Prefix};
use crate::config::WindowLimits;
use crate::counters::Counters;
use crate::sequence::Sequence;
use quintet_contract::{Address, Bytes, Kind, Outbox, SendError, Time, Token};
use std::collections::VecDeque;

/// Bytes of buffers kept for later frames: enough that most frames allocate nothing and fill no room with zeros.
const SPARE_BYTES: usize = 256 * 1024;
/// Room beyond twice its length that a frame may keep.
const SLACK_BYTES: usize = 1024;

/// A frame kept until it is acknowledged. It is encoded here, once, and sent from here.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) kind: Kind,
    pub(crate) token: Token,
    /// The room for the prefix, written at each transmission, and for the body.
    pub(crate) room: Vec<u8>,
    /// How much of the room is filled.
    pub(crate) len: usize,
    pub(crate) bulk: Bytes,
    /// When it departed first.
    pub(crate) sent: Option<Time>,
    /// Whether the link is to stamp it: at the first try only, for later ones tell nothing of when it was sent.
    pub(crate) stamp: bool,
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
    /// Room of frames that were acknowledged, for those to come, and its bytes.
    spare: Vec<Vec<u8>>,
    spare_bytes: usize,
}

impl Kept {
    pub(crate) fn new(kind: Kind, token: Token, room: Vec<u8>, bulk: Bytes) -> Self {
        let len = room.len();
        Kept { kind, token, room, len, bulk, sent: None, stamp: false }
    }

    fn bytes(&self) -> u64 {
        (self.len + self.bulk.len()) as u64
    }

    pub(crate) fn transmit(
        &mut self,
        sequence: Sequence,
        departure: &mut Departure<'_>,
    ) -> Result<(), SendError> {
        let Departure { to, now, expected, fence, counters, out } = departure;
        Prefix { sequence, acknowledged: *expected, fence: *fence }.write(&mut self.room);
        let body = &self.room[..self.len];
        let stamps = core::mem::take(&mut self.stamp);
        if self.bulk.is_empty() {
            out.begin(*to, self.kind, self.token, body.len())?.copy_from_slice(body);
            if stamps {
                out.stamp();
            }
            out.commit(body.len());
        } else {
            out.send_bulk(*to, self.kind, self.token, body, self.bulk.clone())?;
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
            spare_bytes: 0,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Bytes of the frames kept.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
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

    /// Room for a body and its prefix, or more. What lies in it is of earlier frames of this session.
    pub(crate) fn room(&mut self, len: usize) -> Vec<u8> {
        let Some(mut room) = self.spare.pop() else { return vec![0; len] };
        self.spare_bytes -= room.capacity();
        if room.len() < len {
            room.resize(len, 0);
        }
        room
    }

    /// Keeps a frame. One that was given far more room than it filled moves: what is kept is bounded by what is counted.
    pub(crate) fn keep(&mut self, mut frame: Kept) {
        if frame.room.capacity() > 2 * frame.len + SLACK_BYTES {
            let filled = frame.room[..frame.len].to_vec();
            self.spare(core::mem::replace(&mut frame.room, filled));
        }
        self.bytes += frame.bytes();
        self.frames.push_back(frame);
    }

    /// Keeps room for later frames, within the bound.
    fn spare(&mut self, room: Vec<u8>) {
        if self.spare_bytes + room.capacity() <= SPARE_BYTES {
            self.spare_bytes += room.capacity();
            self.spare.push(room);
        }
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
        for _ in 0..count {
            if let Some(frame) = self.frames.pop_front() {
                self.bytes -= frame.bytes();
                self.spare(frame.room);
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

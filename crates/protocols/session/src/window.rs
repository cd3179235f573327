//! Frames sent and not yet acknowledged: the sending half of retransmission.

use crate::codec::{Fence, Prefix};
use crate::counters::Counters;
use crate::estimator::Estimator;
use crate::recovery::Recovery;
use crate::sequence::Sequence;
use crate::stamp::Stamp;
use quintet_contract::{Address, Bytes, Kind, Outbox, SendError, Span, Time, Token};
use std::collections::VecDeque;

/// RFC 5681 (3.2): so many acknowledgements of the same frame mean that the next one was lost.
const DUPLICATES_MEAN_LOSS: u32 = 3;

/// A frame kept until it is acknowledged.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) kind: Kind,
    pub(crate) token: Token,
    /// The room for the prefix, written at each transmission, and the body.
    pub(crate) body: Vec<u8>,
    pub(crate) bulk: Bytes,
    /// When it departed first.
    sent: Option<Time>,
}

/// What a transmission needs to know.
pub(crate) struct Departure<'a> {
    pub(crate) to: Address,
    pub(crate) now: Time,
    pub(crate) session: u64,
    /// The next frame expected from the peer: acknowledges all before it.
    pub(crate) expected: Sequence,
    /// The stamp of the frame that this acknowledgement answers.
    pub(crate) echo: Stamp,
    pub(crate) counters: &'a mut Counters,
    pub(crate) out: &'a mut dyn Outbox,
}

/// What an acknowledgement did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Progress {
    /// Nothing new.
    None,
    /// Frames were released.
    Released,
    /// Frames seem lost.
    Lost,
    /// It covers frames that were never sent.
    Impossible,
}

/// The frames of one direction of one session.
#[derive(Debug)]
pub(crate) struct Window {
    kept: VecDeque<Kept>,
    /// The number of the oldest frame kept.
    first: Sequence,
    /// How many of the oldest were given to the present link.
    transmitted: usize,
    bytes: usize,
    limit_frames: usize,
    limit_bytes: usize,
    estimator: Estimator,
    timer: Option<Time>,
    duplicates: u32,
    /// What is being sent again.
    recovery: Option<Recovery>,
    /// The protocol above was refused and waits for room.
    blocked: bool,
}

impl Kept {
    pub(crate) fn new(kind: Kind, token: Token, body: Vec<u8>, bulk: Bytes) -> Self {
        Kept { kind, token, body, bulk, sent: None }
    }

    fn bytes(&self) -> usize {
        self.body.len() + self.bulk.len()
    }

    fn transmit(&mut self, sequence: Sequence, departure: &mut Departure<'_>) -> Result<(), SendError> {
        let Departure { to, now, session, expected, echo, counters, out } = departure;
        let fence = Fence { session: *session, departed: Stamp::of(*now), echo: *echo };
        Prefix { sequence, acknowledged: *expected, fence: Some(fence) }.write(&mut self.body);
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

impl Window {
    /// The peer holds back `peer_frames` at most, so that more would be lost work.
    pub(crate) fn new(initial_timeout: Span, frames: u32, peer_frames: u32, bytes: usize) -> Self {
        Window {
            kept: VecDeque::new(),
            first: Sequence::default(),
            transmitted: 0,
            bytes: 0,
            limit_frames: frames.min(peer_frames).max(1) as usize,
            limit_bytes: bytes,
            estimator: Estimator::new(initial_timeout),
            timer: None,
            duplicates: 0,
            recovery: None,
            blocked: false,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// The number of the oldest frame kept.
    pub(crate) fn first(&self) -> Sequence {
        self.first
    }

    /// Room for a frame of so many bytes; remembers a refusal.
    pub(crate) fn has_room(&mut self, bytes: usize) -> bool {
        let room = self.kept.is_empty()
            || self.kept.len() < self.limit_frames && self.bytes.saturating_add(bytes) <= self.limit_bytes;
        self.blocked |= !room;
        room
    }

    /// Whether the protocol above waits; it is told that there is room, so it no longer does.
    pub(crate) fn take_blocked(&mut self) -> bool {
        core::mem::take(&mut self.blocked)
    }

    pub(crate) fn keep(&mut self, frame: Kept) {
        self.bytes += frame.bytes();
        self.kept.push_back(frame);
    }

    /// When the oldest frame is due again.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.timer
    }

    /// The link is new: everything has to be sent again, as room permits.
    pub(crate) fn rewind(&mut self) {
        self.transmitted = 0;
        self.timer = None;
        self.duplicates = 0;
        self.recovery = None;
        // What the old link lost says nothing about this one.
        self.estimator.end_back_off();
    }

    /// Sends what the present link was not given yet, as far as it takes it. Whether anything departed.
    pub(crate) fn send_waiting(&mut self, departure: &mut Departure<'_>) -> bool {
        let before = self.transmitted;
        while let Some(frame) = self.kept.get_mut(self.transmitted) {
            if frame.transmit(self.first.plus(self.transmitted), departure).is_err() {
                break;
            }
            self.transmitted += 1;
        }
        if self.transmitted > 0 && self.timer.is_none() {
            // RFC 6298 (5.1)
            self.timer = Some(departure.now + self.estimator.timeout());
        }
        self.transmitted > before
    }

    /// Sends again what seems lost, as much as may be under way.
    pub(crate) fn resend(&mut self, departure: &mut Departure<'_>) -> bool {
        let mut sent = false;
        while let Some(recovery) = &mut self.recovery
            && let Some(sequence) = recovery.due(self.first)
            && let Ok(place) = usize::try_from(sequence.ahead_of(self.first))
            && let Some(frame) = self.kept.get_mut(place)
            && frame.transmit(sequence, departure).is_ok()
        {
            recovery.departed();
            sent = true;
        }
        self.timer = (self.transmitted > 0).then(|| departure.now + self.estimator.timeout());
        sent
    }

    /// The timer expired: RFC 6298 (5.4) to (5.6).
    pub(crate) fn time_out(&mut self, departure: &mut Departure<'_>) -> bool {
        self.estimator.back_off();
        self.duplicates = 0;
        let until = self.first.plus(self.transmitted);
        let earlier = self.recovery.take();
        self.recovery = Some(Recovery::after_timeout(earlier, self.first, until, departure.now));
        self.resend(departure)
    }

    /// Everything before `acknowledged` has arrived. `echo`: the stamp of the frame that this answers. `alone`: no frame from above
    /// came with it.
    pub(crate) fn acknowledge(
        &mut self,
        acknowledged: Sequence,
        echo: Stamp,
        alone: bool,
        now: Time,
    ) -> Progress {
        let released = match usize::try_from(acknowledged.ahead_of(self.first)) {
            Err(_) => return Progress::None,
            Ok(0) => return self.acknowledged_again(alone, now),
            Ok(n) if n > self.kept.len() => return Progress::Impossible,
            Ok(n) => n,
        };
        let age = self.release(released, echo, now);
        self.first = acknowledged;
        self.transmitted = self.transmitted.saturating_sub(released);
        self.duplicates = 0;
        // RFC 6298 (5.2), (5.3)
        self.timer = (self.transmitted > 0).then(|| now + self.estimator.timeout());
        let recovery = self.recovery.take();
        self.recovery = recovery.and_then(|recovery| recovery.advance(acknowledged, released, age, now));
        if self.recovery.is_some() { Progress::Lost } else { Progress::Released }
    }

    fn acknowledged_again(&mut self, alone: bool, now: Time) -> Progress {
        if !alone || self.transmitted == 0 {
            return Progress::None;
        }
        self.duplicates += 1;
        if self.duplicates != DUPLICATES_MEAN_LOSS || self.recovery.is_some() {
            return Progress::None;
        }
        let until = self.first.plus(self.transmitted);
        self.recovery = Some(Recovery::after_duplicates(self.first, until, now));
        Progress::Lost
    }

    /// Lets the `count` oldest frames go. The age of the frame that the echo names is a sample of the round trip, whichever
    /// transmission it was (RFC 7323, section 4); none if it is older than these frames are.
    fn release(&mut self, count: usize, echo: Stamp, now: Time) -> Option<Span> {
        let oldest = self.kept.front().and_then(|frame| frame.sent);
        for frame in self.kept.drain(..count) {
            self.bytes -= frame.bytes();
        }
        let age = oldest.and_then(|oldest| echo.age(oldest, now));
        match age {
            Some(age) => self.estimator.sample(age),
            // RFC 9002 (6.2.1): what arrives ends the back-off. A timeout that is too short learns so from the next echo.
            None => self.estimator.end_back_off(),
        }
        age
    }
}

#[cfg(test)]
#[path = "window/tests.rs"]
mod tests;

//! Frames sent and not yet acknowledged: the sending half of retransmission.

use crate::codec::Prefix;
use crate::counters::Counters;
use crate::estimator::Estimator;
use crate::sequence::Sequence;
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
    transmissions: u32,
    sent: Time,
}

/// What a transmission needs to know.
pub(crate) struct Departure<'a> {
    pub(crate) to: Address,
    pub(crate) now: Time,
    pub(crate) session: u64,
    /// The next frame expected from the peer: acknowledges all before it.
    pub(crate) expected: Sequence,
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
    /// The oldest frame seems lost.
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
    /// Until this one is acknowledged, an acknowledgement of less means one more loss (RFC 6582, section 3.2).
    recover: Option<Sequence>,
    /// The protocol above was refused and waits for room.
    blocked: bool,
}

impl Kept {
    pub(crate) fn new(kind: Kind, token: Token, body: Vec<u8>, bulk: Bytes) -> Self {
        Kept { kind, token, body, bulk, transmissions: 0, sent: Time::ZERO }
    }

    fn bytes(&self) -> usize {
        self.body.len() + self.bulk.len()
    }

    fn transmit(&mut self, sequence: Sequence, departure: &mut Departure<'_>) -> Result<(), SendError> {
        let Departure { to, now, session, expected, counters, out } = departure;
        Prefix { sequence, acknowledged: *expected, session: Some(*session) }.write(&mut self.body);
        if self.bulk.is_empty() {
            out.send(*to, self.kind, self.token, &self.body)?;
        } else {
            out.send_bulk(*to, self.kind, self.token, &self.body, self.bulk.clone())?;
        }
        counters.retransmitted += u64::from(self.transmissions > 0);
        self.transmissions = self.transmissions.saturating_add(1);
        self.sent = *now;
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
            recover: None,
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
        self.recover = None;
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

    /// Sends the oldest frame again.
    pub(crate) fn resend_oldest(&mut self, departure: &mut Departure<'_>) -> bool {
        let sent = match self.kept.front_mut() {
            Some(oldest) if self.transmitted > 0 => oldest.transmit(self.first, departure).is_ok(),
            _ => false,
        };
        self.timer = (self.transmitted > 0).then(|| departure.now + self.estimator.timeout());
        sent
    }

    /// The timer expired: RFC 6298 (5.4) to (5.6).
    pub(crate) fn time_out(&mut self, departure: &mut Departure<'_>) -> bool {
        self.estimator.back_off();
        self.duplicates = 0;
        self.recover = Some(self.first.plus(self.transmitted));
        self.resend_oldest(departure)
    }

    /// Everything before `acknowledged` has arrived. `alone`: no frame from above came with it.
    pub(crate) fn acknowledge(&mut self, acknowledged: Sequence, alone: bool, now: Time) -> Progress {
        let released = match usize::try_from(acknowledged.ahead_of(self.first)) {
            Err(_) => return Progress::None,
            Ok(0) => return self.acknowledged_again(alone),
            Ok(n) if n > self.kept.len() => return Progress::Impossible,
            Ok(n) => n,
        };
        self.release(released, now);
        self.first = acknowledged;
        self.transmitted = self.transmitted.saturating_sub(released);
        self.duplicates = 0;
        // RFC 6298 (5.2), (5.3)
        self.timer = (self.transmitted > 0).then(|| now + self.estimator.timeout());
        match self.recover {
            Some(recover) if acknowledged.ahead_of(recover) < 0 => Progress::Lost,
            _ => {
                self.recover = None;
                Progress::Released
            }
        }
    }

    fn acknowledged_again(&mut self, alone: bool) -> Progress {
        if !alone || self.transmitted == 0 {
            return Progress::None;
        }
        self.duplicates += 1;
        if self.duplicates != DUPLICATES_MEAN_LOSS || self.recover.is_some() {
            return Progress::None;
        }
        self.recover = Some(self.first.plus(self.transmitted));
        Progress::Lost
    }

    /// Lets the `count` oldest frames go. Their round trip is a sample if none of them was sent twice (Karn).
    fn release(&mut self, count: usize, now: Time) {
        let mut round_trip = None;
        let mut ambiguous = false;
        for frame in self.kept.drain(..count) {
            self.bytes -= frame.bytes();
            ambiguous |= frame.transmissions != 1;
            round_trip = Some(now.since(frame.sent));
        }
        if let (Some(round_trip), false) = (round_trip, ambiguous) {
            self.estimator.sample(round_trip);
        }
    }
}

#[cfg(test)]
#[path = "window/tests.rs"]
mod tests;

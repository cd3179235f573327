//! Frames that came before an earlier one, and acknowledgements owed: the receiving half of retransmission.

use crate::config::WindowLimits;
use crate::sequence::Sequence;
use crate::stamp::Stamp;
use quintet_contract::{Bytes, Frame, OwnedFrame, Span, Time};
use std::collections::BTreeMap;

/// How long an acknowledgement waits for a frame to ride on. RFC 1122 (4.2.3.2) allows half a second.
pub(crate) const ACKNOWLEDGE_DELAY: Span = Span::from_micros(500);
/// So many frames are acknowledged without delay.
const ACKNOWLEDGE_EVERY: u32 = 8;

/// Where a frame stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// It is the next one.
    Next,
    /// It waits for an earlier one.
    Held,
    /// It has come before.
    Duplicate,
    /// It lies beyond what can be held; it will be sent again.
    Beyond,
}

/// The frames of one direction of one session.
#[derive(Debug)]
pub(crate) struct Arrivals {
    /// By number. Only looked up, never iterated, so that the wrap does not matter.
    held: BTreeMap<u32, OwnedFrame>,
    bytes: u64,
    limits: WindowLimits,
    unacknowledged: u32,
    due: Option<Time>,
    /// The stamp to send back.
    echo: Stamp,
}

impl Arrivals {
    pub(crate) fn new(limits: WindowLimits) -> Self {
        let held = BTreeMap::new();
        Arrivals { held, bytes: 0, limits, unacknowledged: 0, due: None, echo: Stamp::NONE }
    }

    /// Notes the arrival of frame `sequence`, whose body begins after `prefix` bytes, when `expected` is next.
    pub(crate) fn place(
        &mut self,
        sequence: Sequence,
        expected: Sequence,
        frame: Frame<'_>,
        prefix: usize,
        now: Time,
    ) -> Place {
        let ahead = sequence.ahead_of(expected);
        if ahead == 0 {
            self.unacknowledged += 1;
            let due = if self.unacknowledged >= ACKNOWLEDGE_EVERY { now } else { now + ACKNOWLEDGE_DELAY };
            self.due = Some(self.due.map_or(due, |earlier| earlier.min(due)));
            return Place::Next;
        }
        // RFC 5681 (4.2): a gap or a repetition is acknowledged at once.
        self.due = Some(now);
        if ahead < 0 || self.held.contains_key(&sequence.0) {
            return Place::Duplicate;
        }
        let body = &frame.body[prefix..];
        let bytes = (body.len() + frame.bulk.len()) as u64;
        if ahead >= i64::from(self.limits.frames) || self.bytes.saturating_add(bytes) > self.limits.bytes {
            return Place::Beyond;
        }
        self.bytes += bytes;
        let body = Bytes::copy_from_slice(body);
        let kept = OwnedFrame { kind: frame.kind, token: frame.token, body, bulk: frame.bulk.clone() };
        self.held.insert(sequence.0, kept);
        Place::Held
    }

    /// Bytes of the frames that wait for an earlier one.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The frame `expected`, if it came early.
    pub(crate) fn take(&mut self, expected: Sequence) -> Option<OwnedFrame> {
        let frame = self.held.remove(&expected.0)?;
        self.bytes -= (frame.body.len() + frame.bulk.len()) as u64;
        Some(frame)
    }

    /// The next acknowledgement answers a frame that departed then, or an earlier one. Not for frames that wait for another: what
    /// they wait is no part of a round trip.
    pub(crate) fn answer(&mut self, departed: Stamp) {
        if self.echo == Stamp::NONE {
            self.echo = departed;
        }
    }

    /// The stamp of the first frame that was not yet answered. It goes back once: sent later again it would count time in which
    /// nothing was under way.
    pub(crate) fn echo(&self) -> Stamp {
        self.echo
    }

    /// When an acknowledgement has to go alone.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.due
    }

    /// An acknowledgement went.
    pub(crate) fn acknowledged(&mut self) {
        self.unacknowledged = 0;
        self.due = None;
        self.echo = Stamp::NONE;
    }

    /// An acknowledgement has to go at once: the peer has not seen the last one.
    pub(crate) fn acknowledge_at(&mut self, now: Time) {
        self.due = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_contract::{Kind, Token};

    fn place(arrivals: &mut Arrivals, sequence: u32, expected: u32, body: &[u8]) -> Place {
        let frame = Frame::new(Kind(0xf0), Token(u64::from(sequence)), body);
        arrivals.place(Sequence(sequence), Sequence(expected), frame, 2, Time(100))
    }

    #[test]
    fn early_frames_wait_within_the_bounds() {
        let mut arrivals = Arrivals::new(WindowLimits { frames: 4, bytes: 10 });
        assert_eq!(place(&mut arrivals, 1, 0, b"..abc"), Place::Held);
        assert_eq!(place(&mut arrivals, 1, 0, b"..abc"), Place::Duplicate);
        assert_eq!(place(&mut arrivals, 4, 0, b"..a"), Place::Beyond, "by frames");
        assert_eq!(place(&mut arrivals, 2, 0, b"..12345678"), Place::Beyond, "by bytes");
        assert_eq!(place(&mut arrivals, u32::MAX, 0, b".."), Place::Duplicate, "before the first");
        assert_eq!(arrivals.deadline(), Some(Time(100)), "at once");
        assert_eq!(arrivals.take(Sequence(1)).map(|f| f.body), Some(Bytes::from_static(b"abc")));
        assert_eq!(place(&mut arrivals, 2, 0, b"..12345678"), Place::Held, "there is room again");
    }

    #[test]
    fn acknowledgements_wait_a_little_for_company() {
        let mut arrivals = Arrivals::new(WindowLimits { frames: 4, bytes: 10 });
        assert_eq!(place(&mut arrivals, 0, 0, b".."), Place::Next);
        assert_eq!(arrivals.deadline(), Some(Time(100) + ACKNOWLEDGE_DELAY));
        (1..ACKNOWLEDGE_EVERY).for_each(|n| assert_eq!(place(&mut arrivals, n, n, b".."), Place::Next));
        assert_eq!(arrivals.deadline(), Some(Time(100)));
        [5, 6].into_iter().for_each(|departed| arrivals.answer(Stamp(departed)));
        assert_eq!(arrivals.echo(), Stamp(5), "that of the first");
        arrivals.acknowledged();
        assert_eq!((arrivals.deadline(), arrivals.echo()), (None, Stamp::NONE), "once");
    }
}

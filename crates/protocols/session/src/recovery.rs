//! Sending again what seems lost.

use crate::sequence::Sequence;
use crate::stamp::Stamp;
use quintet_contract::{Span, Time};

/// From the first sign of a loss until all frames that had departed before are acknowledged.
#[derive(Debug)]
pub(crate) struct Recovery {
    /// An acknowledgement of less than this means one more loss (RFC 6582, section 3.2).
    until: Sequence,
    began: Time,
    /// The next frame to be sent again, unless it is acknowledged before.
    next: Sequence,
    /// Frames, from the oldest, that may be under way again.
    allowed: usize,
    /// Whether each acknowledgement allows more: after a timeout everything may be lost, after repeated acknowledgements only little
    /// is.
    widens: bool,
}

impl Recovery {
    /// Repeated acknowledgements name `first` as lost.
    pub(crate) fn after_duplicates(first: Sequence, until: Sequence, now: Time) -> Self {
        Recovery { until, began: now, next: first, allowed: 1, widens: false }
    }

    /// Nothing was heard of `first`, nor of what was sent again since `earlier` began.
    pub(crate) fn after_timeout(earlier: Option<Self>, first: Sequence, until: Sequence, now: Time) -> Self {
        let began = earlier.map_or(now, |recovery| recovery.began);
        Recovery { until, began, next: first, allowed: 1, widens: true }
    }

    /// Goes on after an acknowledgement of everything before `first`, `released` frames more than before, the one that gave rise to
    /// it `age` old, if that is known. None if there is nothing left to recover, or there never was: a frame that departed before the
    /// first was sent again has arrived (RFC 3522).
    pub(crate) fn advance(
        mut self,
        first: Sequence,
        released: usize,
        age: Option<Span>,
        now: Time,
    ) -> Option<Self> {
        let needless = age.is_some_and(|age| age.0 > now.since(self.began).0 + Stamp::UNIT.0);
        if needless || first.ahead_of(self.until) >= 0 {
            return None;
        }
        if first.ahead_of(self.next) > 0 {
            // The peer holds frames that were not sent again: few are lost.
            self.next = first;
            self.allowed = 1;
        } else if self.widens {
            // RFC 5681 (3.1): as much again as arrived.
            self.allowed += released;
        }
        Some(self)
    }

    /// The next frame to send again, if one may be, when `first` is the oldest not acknowledged.
    pub(crate) fn due(&self, first: Sequence) -> Option<Sequence> {
        let due = self.next.ahead_of(first.plus(self.allowed)) < 0 && self.next.ahead_of(self.until) < 0;
        due.then_some(self.next)
    }

    /// What was due has departed.
    pub(crate) fn departed(&mut self) {
        self.next = self.next.next();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLI: Span = Span::from_millis(1);

    fn send_due(recovery: &mut Recovery, first: u32) -> Vec<u32> {
        core::iter::from_fn(|| {
            let due = recovery.due(Sequence(first))?;
            recovery.departed();
            Some(due.0)
        })
        .collect()
    }

    #[test]
    fn after_a_timeout_twice_as_many_go_each_round() {
        let mut recovery = Recovery::after_timeout(None, Sequence(0), Sequence(9), Time(0));
        let mut rounds = vec![send_due(&mut recovery, 0)];
        for (first, released) in [(1, 1), (3, 2), (7, 4)] {
            recovery =
                recovery.advance(Sequence(first), released, Some(MILLI), Time(0) + MILLI).expect("goes on");
            rounds.push(send_due(&mut recovery, first));
        }
        assert_eq!(rounds, [vec![0], vec![1, 2], vec![3, 4, 5, 6], vec![7, 8]]);
        assert!(recovery.advance(Sequence(9), 2, Some(MILLI), Time(0) + MILLI).is_none());
    }

    #[test]
    fn what_the_peer_holds_is_not_sent_again() {
        let recovery = Recovery::after_timeout(None, Sequence(0), Sequence(100), Time(0));
        let mut recovery = recovery.advance(Sequence(40), 40, Some(MILLI), Time(0) + MILLI).expect("goes on");
        assert_eq!(send_due(&mut recovery, 40), [40]);
        let mut repeated = Recovery::after_duplicates(Sequence(0), Sequence(100), Time(0));
        assert_eq!(send_due(&mut repeated, 0), [0]);
        let mut repeated = repeated.advance(Sequence(1), 1, None, Time(0) + MILLI).expect("goes on");
        assert_eq!(send_due(&mut repeated, 1), [1]);
    }

    #[test]
    fn a_frame_from_before_that_arrived_ends_it() {
        let began = Time(0) + Span::from_millis(10);
        let now = began + MILLI;
        let advance = |age| {
            let first = Recovery::after_timeout(None, Sequence(0), Sequence(9), began);
            Recovery::after_timeout(Some(first), Sequence(0), Sequence(9), now).advance(
                Sequence(1),
                1,
                age,
                now,
            )
        };
        assert!(advance(Some(Span::from_millis(3))).is_none());
        assert!(advance(Some(MILLI)).is_some() && advance(None).is_some());
    }
}

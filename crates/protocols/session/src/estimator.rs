//! How long to wait for an acknowledgement: RFC 6298.

use quintet_contract::Span;

/// RFC 6298 (2.4) asks for a second at least. That suits the Internet's clocks and delayed acknowledgements of the time; here
/// clocks count nanoseconds and an acknowledgement is delayed [`ACKNOWLEDGE_DELAY`](crate::arrivals::ACKNOWLEDGE_DELAY), so that
/// twice that is enough.
const SHORTEST: Span = Span::from_millis(1);
/// RFC 6298 (2.5) allows a limit of 60 s or more. A shorter one finds a healed link sooner, at the price of one frame per
/// limit into a dead one.
pub(crate) const LONGEST: Span = Span::from_secs(4);
/// The clock granularity G of (2.3).
const GRANULARITY: Span = Span::from_micros(1);

/// The retransmission timeout of one session.
#[derive(Debug)]
pub(crate) struct Estimator {
    /// SRTT; none before the first sample.
    smoothed: Option<Span>,
    /// RTTVAR.
    variation: Span,
    /// RTO before any back-off.
    base: Span,
    /// RTO.
    timeout: Span,
}

impl Estimator {
    /// (2.1): `initial` until a round trip was measured.
    pub(crate) fn new(initial: Span) -> Self {
        let base = clamp(initial);
        Estimator { smoothed: None, variation: Span::ZERO, base, timeout: base }
    }

    /// The timeout now.
    pub(crate) fn timeout(&self) -> Span {
        self.timeout
    }

    /// Takes a measured round trip, and ends a back-off: it is of one known transmission, so that Karn's rule (section 3) and the
    /// back-off kept for its sake (5.7) have nothing to guard.
    pub(crate) fn sample(&mut self, round_trip: Span) {
        let smoothed = match self.smoothed {
            None => {
                // (2.2)
                self.variation = Span(round_trip.0 / 2);
                round_trip
            }
            Some(Span(smoothed)) => {
                // (2.3) with alpha = 1/8 and beta = 1/4, the variation first.
                let error = smoothed.abs_diff(round_trip.0);
                self.variation = Span(self.variation.0 - self.variation.0 / 4 + error / 4);
                Span(smoothed - smoothed / 8 + round_trip.0 / 8)
            }
        };
        self.smoothed = Some(smoothed);
        let margin = GRANULARITY.0.max(self.variation.0.saturating_mul(4));
        self.base = clamp(Span(smoothed.0.saturating_add(margin)));
        self.end_back_off();
    }

    /// (5.5): after a timeout, wait twice as long.
    pub(crate) fn back_off(&mut self) {
        self.timeout = clamp(Span(self.timeout.0.saturating_mul(2)));
    }

    /// What the timeouts since the last sample told is void.
    pub(crate) fn end_back_off(&mut self) {
        self.timeout = self.base;
    }
}

fn clamp(timeout: Span) -> Span {
    timeout.clamp(SHORTEST, LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_the_round_trip_and_backs_off() {
        let mut estimator = Estimator::new(Span::from_millis(100));
        assert_eq!(estimator.timeout(), Span::from_millis(100));
        estimator.sample(Span::from_millis(10));
        assert_eq!(estimator.timeout(), Span::from_millis(30), "SRTT + 4 * R/2");
        estimator.back_off();
        assert_eq!(estimator.timeout(), Span::from_millis(60));
        (0..100).for_each(|_| estimator.sample(Span::from_millis(10)));
        assert!(estimator.timeout() < Span::from_millis(11), "a steady link needs no margin");
        (0..100).for_each(|_| estimator.back_off());
        assert_eq!(estimator.timeout(), LONGEST);
        estimator.sample(Span::from_millis(10));
        assert!(estimator.timeout() < Span::from_millis(11), "one answer ends it");
    }
}

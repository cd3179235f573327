//! What becomes of each frame, and when: without clock or descriptors.

use super::Impairment;
use crate::Route;
use core::time::Duration;
use quintet_contract::{Frame, OwnedFrame, Random, Time};
use std::collections::BTreeMap;
use std::time::Instant;

/// Frames on their way.
#[derive(Debug)]
pub(super) struct Line {
    impairment: Impairment,
    random: Random,
    /// By the time they are due, and then by arrival.
    held: BTreeMap<(Instant, u64), Held>,
    arrivals: u64,
    /// When the last frame in order is due: jitter does not reorder.
    last_due: Option<Instant>,
    /// When the line has sent what it took.
    free_at: Option<Instant>,
}

/// A frame on its way.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) route: Route,
    pub(super) frame: OwnedFrame,
    /// When it departed, if that was asked for.
    pub(super) departed: Option<Time>,
}

/// What becomes of one frame.
struct Fate {
    dropped: bool,
    doubled: bool,
    reordered: bool,
    jitter: Duration,
}

impl Line {
    pub(super) fn new(impairment: Impairment, random: Random) -> Self {
        Line { impairment, random, held: BTreeMap::new(), arrivals: 0, last_due: None, free_at: None }
    }

    /// Takes a frame.
    pub(super) fn arrive(&mut self, now: Instant, route: Route, frame: &Frame<'_>) {
        let fate = self.draw();
        let sent = self.transmit(now, frame.body.len() + frame.bulk.len());
        if fate.dropped {
            return;
        }
        let mut due = sent + self.impairment.delay + fate.jitter;
        if fate.reordered {
            due += self.impairment.reorder_by;
        } else {
            due = due.max(self.last_due.unwrap_or(due));
            self.last_due = Some(due);
        }
        for _ in 0..=u32::from(fate.doubled) {
            let departed = frame.stamps.map(|stamps| stamps.departed);
            self.held.insert((due, self.arrivals), Held { route, frame: frame.to_owned(), departed });
            self.arrivals += 1;
        }
    }

    /// The next frame that is due.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<Held> {
        let first = self.held.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }

    /// Whether a frame is due.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.next_due().is_some_and(|due| due <= now)
    }

    /// When the next frame is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.held.first_key_value().map(|((due, _), _)| *due)
    }

    /// Frames on their way.
    pub(super) fn held(&self) -> usize {
        self.held.len()
    }

    /// Makes everything due, in the order in which it would have come.
    pub(super) fn release_all(&mut self, now: Instant) {
        let held = std::mem::take(&mut self.held);
        self.held = held.into_values().enumerate().map(|(n, frame)| ((now, n as u64), frame)).collect();
    }

    /// The same number of draws for every frame, so that one setting does not change what another one does.
    fn draw(&mut self) -> Fate {
        let Impairment { jitter, drop_per_million, duplicate_per_million, reorder_per_million, .. } =
            self.impairment;
        let jitter_ns = u64::try_from(jitter.as_nanos()).unwrap_or(u64::MAX);
        Fate {
            dropped: self.random.chance(drop_per_million),
            doubled: self.random.chance(duplicate_per_million),
            reordered: self.random.chance(reorder_per_million),
            jitter: Duration::from_nanos(self.random.below(jitter_ns.saturating_add(1))),
        }
    }

    /// When a frame of this size has passed the limit of the rate.
    fn transmit(&mut self, now: Instant, bytes: usize) -> Instant {
        let Some(rate) = self.impairment.bytes_per_second else { return now };
        let nanos = (bytes as u128 * 1_000_000_000).div_ceil(u128::from(rate.get()));
        let begins = self.free_at.unwrap_or(now).max(now);
        let sent = begins + Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        self.free_at = Some(sent);
        sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::num::NonZeroU64;
    use quintet_contract::{Address, Kind, Token};

    const MS: Duration = Duration::from_millis(1);

    fn line(impairment: Impairment, seed: u64) -> Line {
        Line::new(impairment, Random::new(seed, 0))
    }

    fn arrive(line: &mut Line, now: Instant, token: u64) {
        let (kind, token) = (Kind(0xf0), Token(token));
        let route = Route { from: Address::new(1, 2), to: Address::new(3, 4), kind, token };
        line.arrive(now, route, &Frame::new(kind, token, &[0; 1000]));
    }

    /// The tokens due at `now`.
    fn due(line: &mut Line, now: Instant) -> Vec<u64> {
        std::iter::from_fn(|| line.take_due(now)).map(|held| held.route.token.0).collect()
    }

    #[test]
    fn nothing_wrong_means_nothing_changed() {
        let (mut line, now) = (line(Impairment::default(), 1), Instant::now());
        (0..100).for_each(|n| arrive(&mut line, now, n));
        assert_eq!(due(&mut line, now), (0..100).collect::<Vec<u64>>());
    }

    #[test]
    fn a_delay_holds_back() {
        let (mut line, now) =
            (line(Impairment { delay: 5 * MS, ..Impairment::default() }, 1), Instant::now());
        arrive(&mut line, now, 1);
        assert_eq!(line.next_due(), Some(now + 5 * MS));
        assert_eq!(due(&mut line, now + 4 * MS), [0u64; 0]);
        assert_eq!(due(&mut line, now + 5 * MS), [1]);
    }

    #[test]
    fn jitter_varies_and_keeps_the_order() {
        let impairment = Impairment { jitter: 10 * MS, ..Impairment::default() };
        let (mut line, now) = (line(impairment, 3), Instant::now());
        for n in 0..200 {
            arrive(&mut line, now + n * MS / 10, n.into());
        }
        let early = due(&mut line, now + 10 * MS);
        assert!(!early.is_empty() && early.len() < 200);
        let all: Vec<u64> = early.into_iter().chain(due(&mut line, now + 100 * MS)).collect();
        assert_eq!(all, (0..200).collect::<Vec<u64>>());
    }

    #[test]
    fn shares_are_dropped_doubled_and_reordered() {
        let impairment = Impairment {
            drop_per_million: 100_000,
            duplicate_per_million: 100_000,
            reorder_per_million: 100_000,
            reorder_by: MS,
            ..Impairment::default()
        };
        let (mut line, now) = (line(impairment, 5), Instant::now());
        (0..10_000).for_each(|n| arrive(&mut line, now, n));
        let (on_time, late) = (due(&mut line, now), due(&mut line, now + MS));
        let doubled = on_time.windows(2).filter(|pair| pair[0] == pair[1]).count();
        assert!(on_time.is_sorted());
        assert!((7_500..9_500).contains(&on_time.len()), "{} on time", on_time.len());
        assert!((500..1_500).contains(&late.len()), "{} late", late.len());
        assert!((500..1_500).contains(&doubled), "{doubled} doubled");
    }

    #[test]
    fn the_seed_decides() {
        let fates = |seed| {
            let impairment = Impairment { drop_per_million: 500_000, ..Impairment::default() };
            let (mut line, now) = (line(impairment, seed), Instant::now());
            (0..100).for_each(|n| arrive(&mut line, now, n));
            due(&mut line, now)
        };
        assert_eq!(fates(7), fates(7));
        assert_ne!(fates(7), fates(8));
    }

    #[test]
    fn a_rate_spaces_frames() {
        let impairment = Impairment { bytes_per_second: NonZeroU64::new(1_000_000), ..Impairment::default() };
        let (mut line, now) = (line(impairment, 1), Instant::now());
        (0..3).for_each(|n| arrive(&mut line, now, n));
        assert_eq!(due(&mut line, now), [0u64; 0]);
        assert_eq!(due(&mut line, now + MS), [0]);
        assert_eq!(due(&mut line, now + 3 * MS), [1, 2]);
        arrive(&mut line, now + 10 * MS, 3);
        assert_eq!(line.next_due(), Some(now + 11 * MS), "an idle line starts at once");
    }

    #[test]
    fn a_failing_link_gives_out_what_it_holds() {
        let (mut line, now) =
            (line(Impairment { delay: 5 * MS, ..Impairment::default() }, 1), Instant::now());
        (0..3).for_each(|n| arrive(&mut line, now, n));
        line.release_all(now);
        assert_eq!(due(&mut line, now), [0, 1, 2]);
    }
}

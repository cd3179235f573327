//! What becomes of each thing that is sent, and when.

use crate::Impairment;
use core::time::Duration;
use quintet_contract::Random;
use std::collections::BTreeMap;
use std::time::Instant;

/// Things on their way.
#[derive(Debug)]
pub struct Line<T> {
    impairment: Impairment,
    random: Random,
    /// By the time they are due, and then by arrival.
    held: BTreeMap<(Instant, u64), T>,
    arrivals: u64,
    /// When the last one in order is due: jitter does not reorder.
    last_due: Option<Instant>,
    /// When the line has sent what it took.
    free_at: Option<Instant>,
}

/// What became of one thing that was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It will come.
    Held,
    /// It will not.
    Lost,
    /// It will not, for too many bytes waited.
    Overflowed,
}

/// What was drawn for one thing.
struct Draw {
    dropped: bool,
    doubled: bool,
    reordered: bool,
    jitter: Duration,
}

impl<T> Line<T> {
    /// A line on which nothing is under way.
    #[must_use]
    pub fn new(impairment: Impairment, random: Random) -> Self {
        Line { impairment, random, held: BTreeMap::new(), arrivals: 0, last_due: None, free_at: None }
    }

    /// What is wrong with it.
    #[must_use]
    pub fn impairment(&self) -> &Impairment {
        &self.impairment
    }

    /// From now on this is wrong with it. What is on its way comes when it would have come, and nothing overtakes it that is in order.
    pub fn impair(&mut self, impairment: Impairment) {
        self.impairment = impairment;
    }

    /// Takes what is sent, of so many bytes: `item` makes it, once for each time that it will come.
    pub fn arrive(&mut self, now: Instant, bytes: usize, mut item: impl FnMut() -> T) -> Fate {
        let draw = self.draw();
        if self.overflows(now, bytes) {
            return Fate::Overflowed;
        }
        let sent = self.transmit(now, bytes);
        if draw.dropped {
            return Fate::Lost;
        }
        let mut due = sent + self.impairment.delay + draw.jitter;
        if draw.reordered {
            due += self.impairment.reorder_by;
        } else {
            due = due.max(self.last_due.unwrap_or(due));
            self.last_due = Some(due);
        }
        for _ in 0..=u32::from(draw.doubled) {
            self.held.insert((due, self.arrivals), item());
            self.arrivals += 1;
        }
        Fate::Held
    }

    /// The next one that is due.
    pub fn take_due(&mut self, now: Instant) -> Option<T> {
        let first = self.held.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }

    /// Whether one is due.
    #[must_use]
    pub fn is_due(&self, now: Instant) -> bool {
        self.next_due().is_some_and(|due| due <= now)
    }

    /// When the next one is due.
    #[must_use]
    pub fn next_due(&self) -> Option<Instant> {
        self.held.first_key_value().map(|((due, _), _)| *due)
    }

    /// How many are on their way.
    #[must_use]
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// Makes everything due, in the order in which it would have come. Nothing that is sent later waits for it.
    pub fn release_all(&mut self, now: Instant) {
        let held = std::mem::take(&mut self.held);
        self.held = held.into_values().enumerate().map(|(n, item)| ((now, n as u64), item)).collect();
        (self.last_due, self.free_at) = (None, None);
    }

    /// Loses everything that is on its way. How many.
    pub fn discard(&mut self) -> usize {
        (self.last_due, self.free_at) = (None, None);
        std::mem::take(&mut self.held).len()
    }

    /// The same number of draws for every thing, so that one setting does not change what another one does.
    fn draw(&mut self) -> Draw {
        let Impairment { jitter, drop_per_million, duplicate_per_million, reorder_per_million, .. } =
            self.impairment;
        let jitter_ns = u64::try_from(jitter.as_nanos()).unwrap_or(u64::MAX);
        Draw {
            dropped: self.random.chance(drop_per_million),
            doubled: self.random.chance(duplicate_per_million),
            reordered: self.random.chance(reorder_per_million),
            jitter: Duration::from_nanos(self.random.below(jitter_ns.saturating_add(1))),
        }
    }

    /// Whether so many bytes more are too many to wait for the rate. The one that is being sent does not wait.
    fn overflows(&self, now: Instant, bytes: usize) -> bool {
        let Impairment { bytes_per_second: Some(rate), queue_bytes: Some(most), .. } = self.impairment else {
            return false;
        };
        let backlog = self.free_at.map_or(Duration::ZERO, |free| free.saturating_duration_since(now));
        let waiting = backlog.as_nanos() * u128::from(rate.get()) / 1_000_000_000;
        waiting > 0 && waiting + bytes as u128 > u128::from(most.get())
    }

    /// When something of this size has passed the limit of the rate.
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
mod tests;

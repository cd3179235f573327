//! What devices measure.

use crate::picos::Picos;

/// What a device did since the start or the last reset. Plain sums; times in picoseconds unless said otherwise.
///
/// A block counts when its last bit was sent; what was under way at a reset counts from there on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DeviceStatistics {
    /// The time measured.
    pub elapsed: Picos,
    /// How many blocks can be carried at once: 1 on a shared medium, the number of output ports of a switch.
    pub carriers: u32,
    /// The time in which blocks were carried that did not collide, overhead included, summed over the carriers. A
    /// transmission counts from its start, as busy until its collision is heard, and as colliding altogether then.
    pub busy: u128,
    /// The time spent on collisions: from the start of the first of the transmissions to the end of the last jam.
    pub colliding: u128,
    /// Messages requested.
    pub requested: u64,
    /// Messages delivered.
    pub delivered: u64,
    /// Messages given up.
    pub dropped: u64,
    /// Messages that waited at their sender before they were requested, because the device had as many of that way as it may have. The
    /// host counts them, where the device is part of a run.
    pub blocked: u64,
    /// Blocks carried.
    pub blocks: u64,
    /// Bytes of messages in these blocks, no overhead or padding.
    pub bytes: u64,
    /// Collisions, each of two or more transmissions.
    pub collisions: u64,
    /// Messages of which the first bit was sent.
    pub begun: u64,
    /// Their time from request to first bit, summed.
    pub waiting: u128,
    /// Messages requested whose first bit was not sent, integrated over time.
    pub queue: u128,
    /// The most of them at a time.
    pub longest_queue: u64,
    /// Bytes in the output buffers of a switch, integrated over time.
    pub buffered: u128,
    /// The most of them at a time, all ports together.
    pub most_buffered: u64,
}

impl DeviceStatistics {
    /// The share of the time in which the medium carries blocks that arrive: 0 to 1.
    #[must_use]
    pub fn utilisation(&self) -> f64 {
        share(self.busy, u128::from(self.elapsed.0) * u128::from(self.carriers))
    }

    /// The share of the time spent on collisions: 0 to 1.
    #[must_use]
    pub fn collision_share(&self) -> f64 {
        share(self.colliding, u128::from(self.elapsed.0))
    }

    /// The mean time from request to first bit, in seconds; 0 if no message began.
    #[must_use]
    pub fn mean_waiting_seconds(&self) -> f64 {
        share(self.waiting, u128::from(self.begun)) / 1e12
    }

    /// The mean number of messages that wait for their first bit.
    #[must_use]
    pub fn mean_queue(&self) -> f64 {
        share(self.queue, u128::from(self.elapsed.0))
    }
}

#[expect(clippy::cast_precision_loss, reason = "results have fewer digits")]
fn share(part: u128, whole: u128) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// A level over time, and its integral.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Integral {
    pub(crate) level: u64,
    since: Picos,
    sum: u128,
}

impl Integral {
    pub(crate) fn at(&self, now: Picos) -> u128 {
        self.sum + u128::from((now - self.since).0) * u128::from(self.level)
    }

    pub(crate) fn set(&mut self, now: Picos, level: u64) {
        *self = Integral { level, since: now, sum: self.at(now) };
    }

    pub(crate) fn reset(&mut self, now: Picos) {
        *self = Integral { level: self.level, since: now, sum: 0 };
    }
}

/// Keeps a device's statistics.
#[derive(Debug)]
pub(crate) struct Meter {
    since: Picos,
    counts: DeviceStatistics,
    busy: Integral,
    colliding: Integral,
    queue: Integral,
    buffered: Integral,
}

impl Meter {
    pub(crate) fn new(carriers: u32) -> Meter {
        let nothing = Integral::default();
        Meter {
            since: Picos::ZERO,
            counts: DeviceStatistics { carriers, ..DeviceStatistics::default() },
            busy: nothing,
            colliding: nothing,
            queue: nothing,
            buffered: nothing,
        }
    }

    pub(crate) fn statistics(&self, now: Picos) -> DeviceStatistics {
        DeviceStatistics {
            elapsed: now - self.since,
            busy: self.busy.at(now),
            colliding: self.colliding.at(now),
            queue: self.queue.at(now),
            buffered: self.buffered.at(now),
            ..self.counts
        }
    }

    pub(crate) fn reset(&mut self, now: Picos) {
        self.since = now;
        self.counts = DeviceStatistics {
            carriers: self.counts.carriers,
            longest_queue: self.queue.level,
            most_buffered: self.buffered.level,
            ..DeviceStatistics::default()
        };
        for integral in [&mut self.busy, &mut self.colliding, &mut self.queue, &mut self.buffered] {
            integral.reset(now);
        }
    }

    pub(crate) fn requested(&mut self, now: Picos) {
        self.counts.requested += 1;
        self.queue.set(now, self.queue.level + 1);
        self.counts.longest_queue = self.counts.longest_queue.max(self.queue.level);
    }

    /// A first bit left at `at`, `waiting` after its request. Devices that learn only later, at `now`, that it did not
    /// collide take the time since out of the queue again.
    pub(crate) fn begun(&mut self, now: Picos, at: Picos, waiting: Picos) {
        self.counts.begun += 1;
        self.counts.waiting += u128::from(waiting.0);
        self.queue.set(now, self.queue.level.saturating_sub(1));
        self.queue.sum -= u128::from((now - at.max(self.since)).0).min(self.queue.sum);
    }

    pub(crate) fn carried(&mut self, bytes: u64) {
        self.counts.blocks += 1;
        self.counts.bytes = self.counts.bytes.saturating_add(bytes);
    }

    pub(crate) fn delivered(&mut self) {
        self.counts.delivered += 1;
    }

    pub(crate) fn dropped(&mut self, now: Picos, queued: bool) {
        self.counts.dropped += 1;
        if queued {
            self.queue.set(now, self.queue.level.saturating_sub(1));
        }
    }

    /// One more block is carried.
    pub(crate) fn carry(&mut self, now: Picos) {
        self.busy.set(now, self.busy.level + 1);
    }

    /// One block fewer.
    pub(crate) fn rest(&mut self, now: Picos) {
        self.busy.set(now, self.busy.level.saturating_sub(1));
    }

    /// What the shared medium carries since it last rested collides.
    pub(crate) fn spoil(&mut self, now: Picos) {
        if self.busy.level == 0 {
            return;
        }
        self.counts.collisions += 1;
        self.colliding.sum += u128::from((now - self.busy.since).0);
        self.colliding.set(now, 1);
        self.busy = Integral { level: 0, since: now, sum: self.busy.sum };
    }

    /// The shared medium is silent.
    pub(crate) fn silence(&mut self, now: Picos) {
        self.busy.set(now, 0);
        self.colliding.set(now, 0);
    }

    /// The bytes in all output buffers.
    pub(crate) fn buffered(&mut self, now: Picos, bytes: u64) {
        self.buffered.set(now, bytes);
        self.counts.most_buffered = self.counts.most_buffered.max(bytes);
    }
}

//! An output port: what waits for one direction of a link, and what was counted there.

use super::super::meter::Integral;
use crate::picos::Picos;
use std::collections::VecDeque;

/// A part of a message on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    /// The message's place among those under way.
    pub(super) message: u32,
    /// Without overhead.
    pub(super) bytes: u64,
    /// How many links are behind it.
    pub(super) hop: u32,
    /// Whether it is the last of its message.
    pub(super) is_last: bool,
}

/// One end of a link, where it sends.
#[derive(Debug, Default)]
pub(super) struct Port {
    /// Messages at a station, in order; of the first some packets may be sent.
    pub(super) messages: VecDeque<u32>,
    /// Packets at a switch, in order.
    pub(super) packets: VecDeque<Packet>,
    pub(super) sending: Option<Packet>,
    /// Sent, and not there yet.
    pub(super) flying: VecDeque<Packet>,
    /// The port ahead in which it waits for room.
    pub(super) waits_for: Option<u32>,
    /// The ports behind that wait for room in this one.
    pub(super) paused: VecDeque<u32>,
    /// Bytes that the switch holds for it, or has room reserved for.
    pub(super) buffered: u128,
    pub(super) meter: PortMeter,
}

/// What one direction of a link did since the start or the last reset. Times in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PortStatistics {
    /// The time measured.
    pub elapsed: Picos,
    /// The time in which it sent, overhead included.
    pub busy: u128,
    /// Packets sent.
    pub packets: u64,
    /// Their bytes, without overhead.
    pub bytes: u64,
    /// Packets for which there was no room.
    pub dropped: u64,
    /// Packets that were sent and lost on the link.
    pub lost: u64,
    /// Packets whose first bit was not sent, integrated over time.
    pub queue: u128,
    /// The most of them at a time.
    pub longest_queue: u64,
    /// Bytes, overhead included, in the buffer of a switch's port, integrated over time; none at a station.
    pub buffered: u128,
    /// The most of them at a time.
    pub most_buffered: u64,
}

impl PortStatistics {
    /// The share of the time in which it sends: 0 to 1.
    #[must_use]
    pub fn utilisation(&self) -> f64 {
        mean(self.busy, self.elapsed)
    }

    /// The mean number of packets that wait for their first bit.
    #[must_use]
    pub fn mean_queue(&self) -> f64 {
        mean(self.queue, self.elapsed)
    }

    /// The mean number of bytes in the buffer.
    #[must_use]
    pub fn mean_buffered(&self) -> f64 {
        mean(self.buffered, self.elapsed)
    }
}

#[expect(clippy::cast_precision_loss, reason = "results have fewer digits")]
fn mean(sum: u128, elapsed: Picos) -> f64 {
    if elapsed == Picos::ZERO { 0.0 } else { sum as f64 / elapsed.0 as f64 }
}

/// Keeps a port's statistics.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::device) struct PortMeter {
    since: Picos,
    pub(in crate::device) counts: PortStatistics,
    busy: Integral,
    queue: Integral,
    buffered: Integral,
}

impl PortMeter {
    pub(in crate::device) fn statistics(&self, now: Picos) -> PortStatistics {
        PortStatistics {
            elapsed: now - self.since,
            busy: self.busy.at(now),
            queue: self.queue.at(now),
            buffered: self.buffered.at(now),
            ..self.counts
        }
    }

    pub(in crate::device) fn reset(&mut self, now: Picos) {
        self.since = now;
        self.counts = PortStatistics {
            longest_queue: self.queue.level,
            most_buffered: self.buffered.level,
            ..PortStatistics::default()
        };
        [&mut self.busy, &mut self.queue, &mut self.buffered].into_iter().for_each(|sum| sum.reset(now));
    }

    /// So many packets more wait.
    pub(in crate::device) fn queue(&mut self, now: Picos, packets: u64) {
        self.queue.set(now, self.queue.level + packets);
        self.counts.longest_queue = self.counts.longest_queue.max(self.queue.level);
    }

    /// So many packets wait no more.
    pub(in crate::device) fn unqueue(&mut self, now: Picos, packets: u64) {
        self.queue.set(now, self.queue.level.saturating_sub(packets));
    }

    pub(in crate::device) fn begin(&mut self, now: Picos) {
        self.unqueue(now, 1);
        self.busy.set(now, 1);
    }

    pub(in crate::device) fn end(&mut self, now: Picos, bytes: u64) {
        self.busy.set(now, 0);
        self.counts.packets += 1;
        self.counts.bytes = self.counts.bytes.saturating_add(bytes);
    }

    pub(in crate::device) fn buffer(&mut self, now: Picos, bytes: u128) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.buffered.set(now, bytes);
        self.counts.most_buffered = self.counts.most_buffered.max(bytes);
    }
}

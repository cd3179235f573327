//! What a port of a network or a switch did.

use crate::plan::PlannedPort;
use crate::result::RunResult;
use quintet_simulate::device::PortStatistics;
use std::collections::BTreeMap;

/// What one direction of a link did: the port from which it sends. Of a device of kind `switch` packets are blocks.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct PortResult {
    /// The share of time in which it sent, 0 to 1.
    pub utilisation: f64,
    /// Packets that wait for their first bit, in the mean over time.
    pub mean_queue: f64,
    /// The most of them at a time.
    pub longest_queue: u64,
    /// Bytes in the buffer of a switch's port, overhead included, in the mean over time.
    pub mean_buffered: f64,
    /// The most of them at a time.
    pub most_buffered: u64,
    /// Packets sent.
    pub packets: u64,
    /// Their bytes, without overhead.
    pub bytes: u64,
    /// Packets for which there was no room.
    pub dropped: u64,
    /// Packets lost on the link.
    pub lost: u64,
}

impl From<PortStatistics> for PortResult {
    fn from(found: PortStatistics) -> PortResult {
        PortResult {
            utilisation: found.utilisation(),
            mean_queue: found.mean_queue(),
            longest_queue: found.longest_queue,
            mean_buffered: found.mean_buffered(),
            most_buffered: found.most_buffered,
            packets: found.packets,
            bytes: found.bytes,
            dropped: found.dropped,
            lost: found.lost,
        }
    }
}

impl PortResult {
    /// Its numbers by the names that they have behind the port's.
    pub(crate) fn quantities(&self) -> [(&'static str, f64); 9] {
        #[expect(clippy::cast_precision_loss, reason = "results have fewer digits")]
        let count = |value: u64| value as f64;
        [
            ("utilisation", self.utilisation),
            ("queue", self.mean_queue),
            ("longest_queue", count(self.longest_queue)),
            ("buffered", self.mean_buffered),
            ("most_buffered", count(self.most_buffered)),
            ("packets", count(self.packets)),
            ("bytes", count(self.bytes)),
            ("dropped", count(self.dropped)),
            ("lost", count(self.lost)),
        ]
    }

    /// The unit of one of them.
    pub(crate) fn unit(what: &str) -> Option<&'static str> {
        Some(match what {
            "utilisation" => "share",
            "queue" | "longest_queue" | "packets" | "dropped" | "lost" => "packets",
            "buffered" | "most_buffered" | "bytes" => "B",
            _ => return None,
        })
    }

    /// Counts and means are totals, the largest that of the one with the most; utilisation is added up.
    fn add(&mut self, other: &PortResult) {
        self.utilisation += other.utilisation;
        self.mean_queue += other.mean_queue;
        self.longest_queue = self.longest_queue.max(other.longest_queue);
        self.mean_buffered += other.mean_buffered;
        self.most_buffered = self.most_buffered.max(other.most_buffered);
        self.packets += other.packets;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.dropped += other.dropped;
        self.lost += other.lost;
    }
}

/// Adds an entry for each group of ports, whose utilisation is the mean.
pub(crate) fn put_together(ports: &[PlannedPort], result: &mut RunResult) {
    let mut groups: BTreeMap<&str, (PortResult, f64)> = BTreeMap::new();
    for port in ports {
        if let Some((group, found)) = port.group.as_deref().zip(result.ports.get(&port.name)) {
            let (sum, count) = groups.entry(group).or_default();
            sum.add(found);
            *count += 1.0;
        }
    }
    for (group, (sum, count)) in groups {
        let utilisation = sum.utilisation / count;
        result.ports.insert(group.to_owned(), PortResult { utilisation, ..sum });
    }
}

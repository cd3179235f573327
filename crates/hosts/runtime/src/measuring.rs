//! What a node tells of itself in numbers: its host's own, and its protocols'.
//!
//! The host counts with plain additions, under the lock or on the thread that it has anyway. Nothing is put together before somebody asks.

use crate::engine::Engine;
use quintet_contract::{Frame, Metric, tell_all};

/// A number that a node told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Measurement {
    /// Which.
    pub metric: &'static Metric,
    /// How much.
    pub value: u64,
}

static METRICS: [Metric; 8] = [
    Metric::gauge("quintet_links", "Links with other nodes"),
    Metric::counter("quintet_links_made", "Links with other nodes that were made"),
    Metric::counter(
        "quintet_links_failed",
        "Links that ended because of a defect or a shortage, not in order",
    ),
    Metric::counter(
        "quintet_connections_failed",
        "Connections that did not become links: strangers, other versions, garbage",
    ),
    Metric::counter("quintet_link_frames", FRAMES).of("direction", "out"),
    Metric::counter("quintet_link_frames", FRAMES).of("direction", "in"),
    Metric::counter("quintet_link_bytes", BYTES).of("direction", "out"),
    Metric::counter("quintet_link_bytes", BYTES).of("direction", "in"),
];
const FRAMES: &str = "Frames over links";
const BYTES: &str = "Bytes of those frames' bodies and bulk; what links add themselves is not counted";

/// What went over links in one direction.
#[derive(Clone, Copy, Default)]
pub(crate) struct Traffic {
    frames: u64,
    bytes: u64,
}

impl Traffic {
    #[inline]
    pub(crate) fn add(&mut self, bytes: usize) {
        self.frames += 1;
        self.bytes += bytes as u64;
    }

    #[inline]
    pub(crate) fn add_frame(&mut self, frame: &Frame<'_>) {
        self.add(frame.body.len() + frame.bulk.len());
    }
}

/// What the host counts beside.
#[derive(Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) received: Traffic,
    pub(crate) links_failed: u64,
    pub(crate) connections_failed: u64,
}

impl Engine {
    /// Everything that this node tells, each metric once.
    pub(crate) fn measure(&self) -> Vec<Measurement> {
        let mut told: Vec<Measurement> = Vec::new();
        let mut meter =
            |metric: &'static Metric, value| match told.iter_mut().find(|known| known.metric == metric) {
                Some(known) => known.value += value,
                None => told.push(Measurement { metric, value }),
            };
        let (outlets, counts) = (self.outlets(), self.counts());
        let (sent, received) = (outlets.sent(), counts.received);
        let values = [
            outlets.len() as u64,
            self.links_made(),
            counts.links_failed,
            counts.connections_failed,
            sent.frames,
            received.frames,
            sent.bytes,
            received.bytes,
        ];
        tell_all(&METRICS, values, &mut meter);
        self.instances().for_each(|instance| instance.measure(&mut meter));
        told
    }
}

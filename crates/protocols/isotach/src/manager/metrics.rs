//! What a token manager counts.

use super::TokenManager;
use crate::intervals::Intervals;
use quintet_contract::{Meter, Metric, NodeId, Time, tell_all};

#[derive(Clone, Default, Debug)]
pub(crate) struct ManagerCounters {
    pub(crate) isochrons: u64,
    pub(crate) tokens: u64,
    pub(crate) markers: u64,
    pub(crate) marker_frames: u64,
    pub(crate) pulses: u64,
    pub(crate) intervals: Intervals,
    /// When a pulse of the view has ended last.
    last: Option<Time>,
}

const METRICS: [Metric; 6] = [
    Metric::counter("quintet_isotach_ordered_isochrons", "Isochrons that a token manager has stamped"),
    Metric::counter(
        "quintet_isotach_tokens",
        "Tokens that a token manager has sent to the switches beside its own",
    ),
    Metric::counter(
        "quintet_isotach_markers",
        "Isochrons that a token manager has told its nodes to execute, once for each node",
    ),
    Metric::counter("quintet_isotach_marker_frames", "Frames in which markers went"),
    Metric::counter("quintet_isotach_pulses", "Pulses that have ended at a switch"),
    Metric::counter("quintet_isotach_fenced_frames", "Frames of another view that were not taken")
        .of("at", "manager"),
];

impl ManagerCounters {
    /// A pulse has ended, and with it a token was sent to so many switches.
    pub(super) fn pulse(&mut self, now: Time, tokens: usize) {
        self.pulses += 1;
        self.tokens += tokens as u64;
        if let Some(last) = self.last.replace(now) {
            self.intervals.add(now.since(last));
        }
    }

    /// The same in the next view, whose first pulse follows none.
    pub(super) fn into_next_view(self) -> ManagerCounters {
        ManagerCounters { last: None, ..self }
    }

    pub(super) fn tell(&self, fenced: u64, meter: &mut Meter<'_>) {
        let ManagerCounters { isochrons, tokens, markers, marker_frames, pulses, .. } = *self;
        tell_all(&METRICS, [isochrons, tokens, markers, marker_frames, pulses, fenced], meter);
    }
}

impl TokenManager {
    /// Who has not said that it has its part: once for each isochron of a node of this switch that waits for that.
    pub(crate) fn missing(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.nodes.values().flat_map(|node| node.stable.missing())
    }
}

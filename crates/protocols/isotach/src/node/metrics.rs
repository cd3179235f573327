//! What a node counts.

use super::Node;
use crate::codec::Refusal;
use quintet_contract::{Meter, Metric, Token, tell_all};

#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct NodeCounters {
    pub(crate) submitted: u64,
    pub(crate) refused: u64,
    pub(crate) completed: u64,
    pub(crate) lost: u64,
    pub(crate) operations: u64,
    pub(crate) executed: u64,
    pub(crate) parts_at_once: u64,
    pub(crate) parts_waited: u64,
    pub(crate) ran_ahead: u64,
}

const METRICS: [Metric; 10] = [
    Metric::counter(
        "quintet_isotach_submitted_isochrons",
        "Isochrons that a program has submitted and that were taken",
    ),
    Metric::counter(
        "quintet_isotach_refused_isochrons",
        "Isochrons that a program has submitted and that were not taken",
    ),
    Metric::counter(
        "quintet_isotach_completed_isochrons",
        "Isochrons of a node that were executed everywhere",
    ),
    Metric::counter(
        "quintet_isotach_lost_isochrons",
        "Isochrons of a node that were not executed as far as it knows, as a view has ended",
    ),
    Metric::counter("quintet_isotach_operations", "Operations of isochrons that were taken"),
    Metric::counter(
        "quintet_isotach_executed_parts",
        "Parts of isochrons, its own as well, that a node has executed",
    ),
    Metric::counter("quintet_isotach_received_parts", RECEIVED).of("pulse", "over"),
    Metric::counter("quintet_isotach_received_parts", RECEIVED).of("pulse", "to come"),
    Metric::counter(
        "quintet_isotach_ran_ahead_isochrons",
        "Purely local isochrons that no token manager heard of",
    ),
    Metric::counter("quintet_isotach_fenced_frames", "Frames of another view that were not taken")
        .of("at", "node"),
];
const RECEIVED: &str = "Parts of other nodes' isochrons, by whether their pulse was over as they came";

impl NodeCounters {
    pub(super) fn tell(&self, fenced: u64, meter: &mut Meter<'_>) {
        let values = [
            self.submitted,
            self.refused,
            self.completed,
            self.lost,
            self.operations,
            self.executed,
            self.parts_at_once,
            self.parts_waited,
            self.ran_ahead,
            fenced,
        ];
        tell_all(&METRICS, values, meter);
    }
}

impl Node {
    /// What it has counted, and how many frames it has fenced.
    pub(crate) fn counted(&self) -> (NodeCounters, u64) {
        (self.counters, self.fence.fenced)
    }

    /// An isochron of the program is not taken.
    pub(super) fn refuse_isochron(&mut self, token: Token, refusal: &Refusal) {
        self.counters.refused += 1;
        self.refuse(token, refusal);
    }
}

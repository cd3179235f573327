//! What a node counts.

use quintet_contract::{Meter, Metric, tell_all};

#[derive(Default, Debug)]
pub(super) struct Counters {
    pub(super) submitted: u64,
    pub(super) completed: u64,
    pub(super) executed: u64,
    pub(super) ran_ahead: u64,
}

const METRICS: [Metric; 5] = [
    Metric::counter(
        "quintet_isotach_submitted_isochrons",
        "Isochrons that a program has submitted and that were taken",
    ),
    Metric::counter(
        "quintet_isotach_completed_isochrons",
        "Isochrons of a node that were executed everywhere",
    ),
    Metric::counter(
        "quintet_isotach_executed_parts",
        "Parts of isochrons, its own as well, that a node has executed",
    ),
    Metric::counter(
        "quintet_isotach_ran_ahead_isochrons",
        "Purely local isochrons that no token manager heard of",
    ),
    Metric::counter("quintet_isotach_fenced_frames", "Frames of another view that were not taken")
        .of("at", "node"),
];

impl Counters {
    pub(super) fn tell(&self, fenced: u64, meter: &mut Meter<'_>) {
        let Counters { submitted, completed, executed, ran_ahead } = *self;
        tell_all(&METRICS, [submitted, completed, executed, ran_ahead, fenced], meter);
    }
}

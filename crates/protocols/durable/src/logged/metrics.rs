//! What the log tells of itself in numbers.

use super::held::Held;
use crate::log::Writer;
use quintet_contract::{Meter, Metric, tell_all};

static METRICS: [Metric; 5] = [
    Metric::counter("quintet_log_records", "Inputs kept in the log"),
    Metric::counter("quintet_log_syncs", "Batches of them that were made durable"),
    Metric::counter("quintet_log_rewritten", "Times that the log was written anew, as it had grown long"),
    Metric::gauge("quintet_log_bytes", "Bytes of the log"),
    Metric::gauge("quintet_log_held", "Answers that wait for the disk, or for their links"),
];

#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Counters {
    pub(super) records: u64,
    pub(super) syncs: u64,
    pub(super) rewritten: u64,
}

pub(super) fn tell(counters: Counters, writer: &Writer, held: &Held, meter: &mut Meter<'_>) {
    let Counters { records, syncs, rewritten } = counters;
    tell_all(&METRICS, [records, syncs, rewritten, writer.length(), held.count() as u64], meter);
}

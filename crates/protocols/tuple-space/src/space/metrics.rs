//! What the manager tells of itself in numbers.

use super::Space;
use crate::codec::{Collect, CollectInto, Further, More, RequestView};
use quintet_contract::{Meter, Metric, tell_all};

const NAME: &str = "quintet_space_requests";
const TEXT: &str = "Requests that were understood, and were not refused for their token";

const fn requests(operation: &'static str) -> Metric {
    Metric::counter(NAME, TEXT).of("operation", operation)
}

/// What clients may ask, in the order of [`index`].
static REQUESTS: [Metric; 20] = [
    requests("out"),
    requests("take"),
    requests("lease"),
    requests("read"),
    requests("acknowledge"),
    requests("release"),
    requests("renew"),
    requests("cancel"),
    requests("count"),
    requests("status"),
    requests("list"),
    requests("grant"),
    requests("commit"),
    requests("abort"),
    requests("replace"),
    requests("select"),
    requests("watch"),
    requests("look"),
    requests("collect"),
    requests("copy-collect"),
];

static METRICS: [Metric; 11] = [
    Metric::gauge("quintet_space_tuples", "Tuples that can be taken"),
    Metric::gauge(
        "quintet_space_bytes",
        "Bytes of tuples, those under a lease included, as they count for space.max_bytes",
    ),
    Metric::gauge(
        "quintet_space_index_bytes",
        "Bytes of further indexes, which count for space.max_bytes as well",
    ),
    Metric::gauge("quintet_space_tuples_hidden", "Tuples under a lease or in delivery"),
    Metric::gauge("quintet_space_waiters", "Takes and reads that wait for a tuple"),
    Metric::gauge("quintet_space_leases", "Leases held"),
    Metric::gauge("quintet_space_requests_parked", "Puts and acknowledgements that wait for room"),
    Metric::counter("quintet_space_leases_failed", "Leases that ended without an acknowledgement"),
    Metric::counter("quintet_space_dead_letters", "Dead letters made"),
    Metric::counter("quintet_space_tuples_expired", "Tuples that left by themselves, as their time had come"),
    Metric::gauge("quintet_space_signatures", "Signatures of tuples known"),
];

/// Requests so far, by what was asked.
pub(super) type Requests = [u64; REQUESTS.len()];

/// The place of a collection among those that are counted.
fn collection(takes: bool) -> usize {
    18 + usize::from(!takes)
}

/// The place of a request among those that are counted.
pub(super) fn index(request: &RequestView<'_>) -> usize {
    match request {
        RequestView::Out(_) => 0,
        RequestView::Take(query) if query.lease.is_none() => 1,
        RequestView::Take(_) => 2,
        RequestView::Read(_) => 3,
        RequestView::Ack(..) => 4,
        RequestView::Release(_) => 5,
        RequestView::Renew => 6,
        RequestView::Cancel | RequestView::Return => 7,
        RequestView::Count(_) => 8,
        RequestView::Status => 9,
        RequestView::List(_) => 10,
        RequestView::Grant(_) => 11,
        RequestView::Commit(uses, _) if uses.is_commit => 12,
        RequestView::Commit(..) => 13,
        RequestView::Further(Further::Replace(_)) => 14,
        RequestView::Further(Further::Select(_)) => 15,
        RequestView::Further(
            Further::Collect(Collect { takes, .. }) | Further::CollectInto(CollectInto { takes, .. }),
        ) => collection(*takes),
        RequestView::More(More::Watch(_)) => 16,
        RequestView::More(More::Look(_)) => 17,
    }
}

impl Space {
    /// Counts a collection into another space.
    pub(super) fn count_collection(&mut self, takes: bool) {
        self.requests[collection(takes)] += 1;
    }

    pub(super) fn tell_metrics(&self, meter: &mut Meter<'_>) {
        let state = self.counts();
        let values = [
            state.tuples,
            state.bytes,
            state.index_bytes,
            state.hidden,
            state.waiters,
            state.leases,
            state.parked,
            state.redone,
            state.dead_letters,
            self.expired,
            state.signatures,
        ];
        tell_all(&METRICS, values, meter);
        tell_all(&REQUESTS, self.requests, meter);
    }
}

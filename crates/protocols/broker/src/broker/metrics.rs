//! What a broker tells of itself in numbers.

use quintet_contract::Metric;

pub(super) static METRICS: [Metric; 5] = [
    Metric::gauge("quintet_broker_handlers", "Handlers of calls between processes"),
    Metric::gauge("quintet_broker_calls_waiting", "Calls that wait for a handler"),
    Metric::gauge(
        "quintet_broker_bytes",
        "Bytes that calls which are not done with count, with their requests",
    ),
    Metric::counter("quintet_broker_calls", "Calls that were accepted"),
    Metric::counter("quintet_broker_calls_busy", "Calls that were refused as one too many"),
];

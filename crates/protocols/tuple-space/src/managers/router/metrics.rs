//! What a router counts.

use quintet_contract::{Meter, Metric, tell_all};

#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) moved: u64,
    pub(super) fences: u64,
    pub(super) routes: u64,
    pub(super) of_all: u64,
    pub(super) of_several: u64,
}

static METRICS: [Metric; 5] = [
    Metric::counter("quintet_router_moved", "Requests that came back and were asked again"),
    Metric::counter("quintet_router_fences", "Fences between a put at one manager and a request to another"),
    Metric::counter("quintet_router_routes", "Questions to the directory"),
    Metric::counter("quintet_router_asked_of_all", "Requests that were asked of all managers"),
    Metric::counter(
        "quintet_router_asked_of_several",
        "Requests that several managers were asked to do at one instant",
    ),
];

impl Counts {
    pub(super) fn tell(&self, meter: &mut Meter<'_>) {
        let Counts { moved, fences, routes, of_all, of_several } = *self;
        tell_all(&METRICS, [moved, fences, routes, of_all, of_several], meter);
    }
}

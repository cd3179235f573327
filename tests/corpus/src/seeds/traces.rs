//! Parts of traces, as processes of a job leave them on their machines.

use super::{Seed, named};
use quintet_perfetto::{CAME_FROM, Detail, Flow, Perfetto};

/// A process that was given a frame and sent two; the same, killed while it wrote; one that has only begun.
pub(super) fn parts() -> Vec<Seed> {
    let whole = worker();
    let killed = whole[..whole.len() - 5].to_vec();
    let mut begun = Vec::new();
    Perfetto::part(&mut begun, 7, 7 << 32).process(7, "worker 1");
    named("trace_part", vec![("worker", whole), ("killed", killed), ("begun", begun)])
}

fn worker() -> Vec<u8> {
    let mut part = Vec::new();
    let mut trace = Perfetto::part(&mut part, 7, 7 << 32);
    let process = trace.process(7, "worker 1");
    let track = trace.track("frames", Some(process));
    let came = [(CAME_FROM, Detail::Number(0)), ("sent", Detail::Text("take to node 0, 30 bytes"))];
    trace.begin_with(1_000_000, track, "deliver", &came, &[Flow(11), Flow(12), Flow(13)]);
    trace.end(1_000_900, track);
    trace.instant(1_001_000, process, "an end", &[]);
    part
}

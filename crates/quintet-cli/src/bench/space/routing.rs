//! What a router and one of several managers need for a request, beyond what a space that is not spread needs.

use super::super::case::{Better, Case, Group, Prepare, Round, Unit};
use quintet::Error;
use quintet_predict::routed::{Asked, BATCH, Routed};
use std::time::{Duration, Instant};

/// Batches of a round, puts and takes in turn.
const BATCHES: usize = 400;
/// The same while caches fill and tables grow.
const FIRST_BATCHES: usize = 100;

/// What the steps of so many batches took.
#[derive(Default)]
struct Steps {
    /// Passing frames on without a router: that much is in what every client's frame costs.
    forwarding: Duration,
    asking: Duration,
    serving: Duration,
    alone: Duration,
    answering: Duration,
}

pub(super) fn cases() -> Vec<Case> {
    let cases: [(_, Prepare); 3] = [
        ("routing-asking", || rounds(|steps| nanoseconds(steps.asking) - nanoseconds(steps.forwarding))),
        ("routing-serving", || rounds(|steps| nanoseconds(steps.serving) - nanoseconds(steps.alone))),
        ("routing-answering", || {
            rounds(|steps| nanoseconds(steps.answering) - nanoseconds(steps.forwarding))
        }),
    ];
    cases
        .map(|(name, prepare)| Case::new(Group::Space, name, Unit::Nanoseconds, Better::Lower, prepare))
        .into()
}

fn nanoseconds(taken: Duration) -> f64 {
    taken.as_nanos() as f64
}

/// Nanoseconds a request, puts and takes alike.
fn rounds(of: fn(&Steps) -> f64) -> Result<Round, Error> {
    let mut routed = Routed::new();
    time(&mut routed, FIRST_BATCHES);
    Ok(Box::new(move || Ok(of(&time(&mut routed, BATCHES)) / (BATCHES * BATCH) as f64)))
}

fn time(routed: &mut Routed, batches: usize) -> Steps {
    let mut steps = Steps::default();
    for batch in 0..batches {
        routed.prepare(if batch % 2 == 0 { Asked::Puts } else { Asked::Takes });
        steps.forwarding += timed(|| routed.forward());
        routed.again();
        steps.asking += timed(|| routed.ask());
        routed.deliver();
        steps.serving += timed(|| routed.serve());
        routed.deliver();
        steps.answering += timed(|| routed.answer());
        routed.again();
        steps.alone += timed(|| routed.serve_alone());
        routed.deliver();
    }
    steps
}

fn timed(step: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    step();
    begun.elapsed()
}

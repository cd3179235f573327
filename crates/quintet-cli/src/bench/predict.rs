//! What the simulation predicts, beside what is measured in the same turn.
//!
//! Measurements calibrate the costs of work anew in every turn (see `quintet_predict::calibrate`): the cases `fitted-...`, of
//! which the simulation must say what was measured. All others are predictions, with the goal that prediction
//! and measurement are within a fifth of the larger one. Cases `seen-...` follow from no measurement of their own, but how copying is modelled was chosen with their
//! results in view; the rest are held out of both.
//!
//! | file | holds |
//! | --- | --- |
//! | `predict/live.rs` | the same workloads, live |
//! | `predict/farm.rs` | the worker farm, live and predicted |

mod farm;
mod live;

use super::case::{Beside, Better, Case, Group, Prepare, Round, Unit};
use live::Calibrator;
use quintet::{Code, Error};
use quintet_contract::Span;
use quintet_predict::PairPlan;
use quintet_predict::calibrate::{Calibrated, DEPTH, PAUSE, SIZES, SMALL, pair, pair_in_process};

pub(super) use farm::work;

/// A prediction may be so many times what is measured, or that part of it.
const GOAL: f64 = 1.25;
const WAITING: &str = "adaptive";
const PLACEMENT: &str = "own cores";

pub(super) fn cases() -> Vec<Case> {
    let case = |name, predict, live| {
        Case::new(Group::Predict, name, Unit::Nanoseconds, Better::Near, predict)
            .beside(Beside::Itself { name: "measured", prepare: live })
            .under(WAITING, PLACEMENT)
    };
    let fitted: [(_, Prepare, Prepare); 9] = [
        ("fitted-pair-64-inprocess", || predict(|it| pair_in_process(&it.costs, SMALL)), live::in_process),
        ("fitted-pair-64", || pairs(one(SMALL)), || live::one_by_one(SMALL)),
        ("fitted-pair-4k", || pairs(one(SIZES[0])), || live::one_by_one(SIZES[0])),
        ("fitted-pair-16k", || pairs(one(SIZES[1])), || live::one_by_one(SIZES[1])),
        ("fitted-pair-64k", || pairs(one(SIZES[2])), || live::one_by_one(SIZES[2])),
        ("fitted-pair-256k", || pairs(one(SIZES[3])), || live::one_by_one(SIZES[3])),
        ("fitted-pair-1m", || pairs(one(SIZES[4])), || live::one_by_one(SIZES[4])),
        ("fitted-pair-64-paused", || pairs(paused(PAUSE)), || live::paused(PAUSE)),
        ("fitted-pipelined-64", || pairs(many(SMALL, DEPTH)), || live::many(SMALL, DEPTH)),
    ];
    let predicted: [(_, Prepare, Prepare); 21] = [
        ("seen-pair-1k", || pairs(one(1 << 10)), || live::one_by_one(1 << 10)),
        ("seen-pair-3k", || pairs(one(3 << 10)), || live::one_by_one(3 << 10)),
        ("seen-pair-8k", || pairs(one(8 << 10)), || live::one_by_one(8 << 10)),
        ("seen-pair-24k", || pairs(one(24 << 10)), || live::one_by_one(24 << 10)),
        ("seen-pair-96k", || pairs(one(96 << 10)), || live::one_by_one(96 << 10)),
        ("seen-pair-400k", || pairs(one(400 << 10)), || live::one_by_one(400 << 10)),
        ("seen-pair-768k", || pairs(one(768 << 10)), || live::one_by_one(768 << 10)),
        ("seen-pipelined-24k-depth-4", || pairs(many(24 << 10, 4)), || live::many(24 << 10, 4)),
        ("pair-2k", || pairs(one(2 << 10)), || live::one_by_one(2 << 10)),
        ("pair-14k", || pairs(one(14 << 10)), || live::one_by_one(14 << 10)),
        ("pair-48k", || pairs(one(48 << 10)), || live::one_by_one(48 << 10)),
        ("pair-160k", || pairs(one(160 << 10)), || live::one_by_one(160 << 10)),
        ("pair-600k", || pairs(one(600 << 10)), || live::one_by_one(600 << 10)),
        ("pipelined-14k-depth-6", || pairs(many(14 << 10, 6)), || live::many(14 << 10, 6)),
        ("pair-64-paused-2ms", || pairs(paused(LONG_PAUSE)), || live::paused(LONG_PAUSE)),
        ("pipelined-64-depth-8", || pairs(many(SMALL, 8)), || live::many(SMALL, 8)),
        ("pipelined-1k-depth-32", || pairs(many(1 << 10, 32)), || live::many(1 << 10, 32)),
        ("farm-1-worker-200us", || farm::predict(1, 200), || farm::measure(1, 200)),
        ("farm-1-worker-2ms", || farm::predict(1, 2_000), || farm::measure(1, 2_000)),
        ("farm-2-workers-1ms", || farm::predict(2, 1_000), || farm::measure(2, 1_000)),
        ("farm-4-workers-1ms", || farm::predict(4, 1_000), || farm::measure(4, 1_000)),
    ];
    let fitted = fitted.map(|(name, predict, live)| case(name, predict, live));
    fitted
        .into_iter()
        .chain(predicted.map(|(name, predict, live)| case(name, predict, live).goal(GOAL)))
        .collect()
}

const LONG_PAUSE: Span = Span::from_millis(2);
/// Groups that are simulated.
const GROUPS: u64 = 8;

fn one(bytes: usize) -> PairPlan {
    PairPlan { bytes, depth: 0, pause: Span::ZERO, groups: GROUPS }
}

fn many(bytes: usize, depth: u64) -> PairPlan {
    PairPlan { depth, ..one(bytes) }
}

fn paused(pause: Span) -> PairPlan {
    PairPlan { pause, ..one(SMALL) }
}

fn pairs(plan: PairPlan) -> Result<Round, Error> {
    predict(move |calibrated| pair(calibrated, plan))
}

/// Rounds that calibrate, then predict.
fn predict(prediction: impl Fn(&Calibrated) -> Option<f64> + 'static) -> Result<Round, Error> {
    let calibrator = Calibrator::new()?;
    Ok(Box::new(move || {
        let calibrated = calibrator.calibrate()?;
        prediction(&calibrated)
            .ok_or_else(|| Error::new(Code::Mismatch, "the simulated workload did not end"))
    }))
}

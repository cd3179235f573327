//! What the simulation predicts, beside what is measured in the same turn.
//!
//! Five measurements calibrate the costs of work anew in every turn (see `quintet_predict::calibrate`): the cases
//! `fitted-...`, of which the simulation must say what was measured. All other cases are held out: predictions, with the
//! goal that they are right within a fifth.
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
use quintet_predict::calibrate::{Calibrated, DEPTH, LARGE, PAUSE, SMALL, pair, pair_in_process};

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
    let fitted: [(_, Prepare, Prepare); 5] = [
        ("fitted-pair-64-inprocess", || predict(|it| pair_in_process(&it.costs, SMALL)), live::in_process),
        ("fitted-pair-64", || pairs(one(SMALL)), || live::one_by_one(SMALL)),
        ("fitted-pair-1m", || pairs(one(LARGE)), || live::one_by_one(LARGE)),
        ("fitted-pair-64-paused", || pairs(paused(PAUSE)), || live::paused(PAUSE)),
        ("fitted-pipelined-64", || pairs(many(SMALL, DEPTH)), || live::many(SMALL, DEPTH)),
    ];
    let held_out: [(_, Prepare, Prepare); 11] = [
        ("pair-1k", || pairs(one(1 << 10)), || live::one_by_one(1 << 10)),
        ("pair-8k", || pairs(one(8 << 10)), || live::one_by_one(8 << 10)),
        ("pair-64k", || pairs(one(64 << 10)), || live::one_by_one(64 << 10)),
        ("pair-256k", || pairs(one(256 << 10)), || live::one_by_one(256 << 10)),
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
        .chain(held_out.map(|(name, predict, live)| case(name, predict, live).goal(GOAL)))
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

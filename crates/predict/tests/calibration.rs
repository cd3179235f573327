//! Costs are found again from what they predict.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use quintet_contract::Span;
use quintet_predict::calibrate::{
    Calibrated, DEPTH, LARGE, Measured, PAUSE, SMALL, calibrate, pair, pair_in_process,
};
use quintet_predict::{PairPlan, WorkCosts};

const ONE: PairPlan = PairPlan { bytes: SMALL, depth: 0, pause: Span::ZERO, groups: 8 };

fn predicted(by: &Calibrated) -> Measured {
    Measured {
        in_process: pair_in_process(&by.costs, SMALL).unwrap(),
        shared: pair(by, ONE).unwrap(),
        pipelined: pair(by, PairPlan { depth: DEPTH, ..ONE }).unwrap(),
        large: pair(by, PairPlan { bytes: LARGE, ..ONE }).unwrap(),
        paused: pair(by, PairPlan { pause: PAUSE, ..ONE }).unwrap(),
    }
}

#[test]
fn what_was_measured_is_predicted_again() {
    let costs = WorkCosts { call: 180e-9, matching: 180e-9, storing: 180e-9, ..WorkCosts::default() };
    let truth = predicted(&Calibrated { costs, memory_latency: 200e-9 });
    let found = predicted(&calibrate(&truth));
    let both = |of: fn(&Measured) -> f64| of(&found) / of(&truth);
    let fields: [fn(&Measured) -> f64; 5] =
        [|it| it.in_process, |it| it.shared, |it| it.pipelined, |it| it.large, |it| it.paused];
    for (index, ratio) in fields.map(both).into_iter().enumerate() {
        assert!((0.95..1.05).contains(&ratio), "{index}: {ratio}, {truth:?} {found:?}");
    }
}

#[test]
fn what_nothing_predicts_leaves_costs_that_can_be() {
    let nothing = Measured { in_process: 0.0, shared: 0.0, pipelined: 0.0, large: 0.0, paused: 0.0 };
    let found = calibrate(&nothing);
    assert!(found.costs.call >= 0.0 && found.memory_latency >= 0.0, "{found:?}");
}

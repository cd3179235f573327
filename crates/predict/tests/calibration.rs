//! Costs are found again from what they predict.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use quintet_contract::Span;
use quintet_predict::calibrate::{
    Calibrated, DEPTH, Measured, PAUSE, SIZES, SMALL, calibrate, pair, pair_in_process,
};
use quintet_predict::{Copying, Link, PairPlan, WorkCosts};

const ONE: PairPlan = PairPlan { bytes: SMALL, depth: 0, pause: Span::ZERO, groups: 8 };

fn predicted(by: &Calibrated) -> Measured {
    Measured {
        in_process: pair_in_process(&by.costs, SMALL).unwrap(),
        apart: pair(by, ONE).unwrap(),
        pipelined: pair(by, PairPlan { depth: DEPTH, ..ONE }).unwrap(),
        copied: SIZES.map(|bytes| pair(by, PairPlan { bytes, ..ONE }).unwrap()),
        paused: pair(by, PairPlan { pause: PAUSE, ..ONE }).unwrap(),
    }
}

/// As on a machine where small data stay in caches and large data do not.
fn truth(link: Link) -> Calibrated {
    let copying =
        [(4 << 10, 180e-9), (16 << 10, 600e-9), (64 << 10, 3e-6), (256 << 10, 18e-6), (1 << 20, 80e-6)];
    let costs = WorkCosts {
        call: 180e-9,
        matching: 180e-9,
        storing: 180e-9,
        copying: Copying::by_size(copying),
        ..WorkCosts::default()
    };
    Calibrated { link, costs: WorkCosts { patience: link.patience(), ..costs }, latency: latency(link) }
}

fn assert_near(found: f64, truth: f64, what: &str) {
    assert!((0.95..1.05).contains(&(found / truth)), "{what}: {found}, not {truth}");
}

fn latency(link: Link) -> f64 {
    if link == Link::SharedMemory { 200e-9 } else { 2e-6 }
}

#[test]
fn what_was_measured_is_predicted_again_over_every_link() {
    for link in [Link::SharedMemory, Link::Unix, Link::Tcp] {
        is_predicted_again(link);
    }
}

fn is_predicted_again(link: Link) {
    let truth = truth(link);
    let measured = predicted(&truth);
    let calibrated = calibrate(link, &measured);
    let found = predicted(&calibrated);
    assert_near(found.in_process, measured.in_process, "in process");
    assert_near(found.apart, measured.apart, "apart");
    assert_near(found.pipelined, measured.pipelined, "pipelined");
    assert_near(found.paused, measured.paused, "paused");
    for (at, bytes) in SIZES.into_iter().enumerate() {
        assert_near(found.copied[at], measured.copied[at], &format!("{bytes} bytes"));
    }
    for bytes in [10 << 10, 100 << 10, 700 << 10] {
        let [found, truth] = [&calibrated, &truth].map(|by| by.costs.copying.seconds(bytes));
        assert_near(found, truth, &format!("copying {bytes} bytes"));
    }
}

#[test]
fn larger_data_that_were_measured_to_be_faster_cost_no_less() {
    let measured = predicted(&truth(Link::SharedMemory));
    let [first, second, ..] = measured.copied;
    let noisy = Measured { copied: [first, second, second, second / 2.0, second / 4.0], ..measured };
    let copying = calibrate(Link::SharedMemory, &noisy).costs.copying;
    let seconds = SIZES.map(|bytes| copying.seconds(bytes as u64));
    assert!(seconds[0] > 0.0 && seconds.is_sorted(), "{seconds:?}");
    assert!(seconds[3] - seconds[2] < 1e-12 && seconds[4] - seconds[2] < 1e-12, "{seconds:?}");
}

#[test]
fn what_nothing_predicts_leaves_costs_that_can_be() {
    let nothing =
        Measured { in_process: 0.0, apart: 0.0, pipelined: 0.0, copied: [0.0; SIZES.len()], paused: 0.0 };
    let found = calibrate(Link::Tcp, &nothing);
    assert!(found.costs.call >= 0.0 && found.latency >= 0.0, "{found:?}");
    assert!(SIZES.iter().all(|bytes| found.costs.copying.seconds(*bytes as u64) >= 0.0), "{found:?}");
}

//! Costs are found again from what they predict.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use quintet_contract::Span;
use quintet_predict::calibrate::{
    Calibrated, DEPTH, Measured, PAUSE, SMALL, calibrate, pair, pair_in_process, sizes,
};
use quintet_predict::{Copying, Link, PairPlan, WorkCosts};

const ONE: PairPlan = PairPlan { bytes: SMALL, depth: 0, pause: Span::ZERO, groups: 8 };

fn predicted(by: &Calibrated) -> Measured {
    Measured {
        in_process: pair_in_process(&by.costs, SMALL).unwrap(),
        apart: pair(by, ONE).unwrap(),
        pipelined: pair(by, PairPlan { depth: DEPTH, ..ONE }).unwrap(),
        copied: sizes(by.link)
            .iter()
            .map(|bytes| pair(by, PairPlan { bytes: *bytes, ..ONE }).unwrap())
            .collect(),
        paused: pair(by, PairPlan { pause: PAUSE, ..ONE }).unwrap(),
    }
}

/// As on a machine where small data stay in caches and large data do not, and a copy into lent memory is faster than one through a ring.
fn truth(link: Link) -> Calibrated {
    let copying = [
        (3 << 10, 150e-9),
        (4 << 10, 180e-9),
        (16 << 10, 600e-9),
        (64 << 10, 3e-6),
        (256 << 10, 18e-6),
        (384 << 10, 28e-6),
        (512 << 10, 40e-6),
        (768 << 10, 100e-6),
        (1 << 20, 140e-6),
    ];
    let copying = copying.into_iter().filter(|(bytes, _)| sizes(link).contains(bytes));
    let copying: Vec<_> = copying.map(|(bytes, seconds)| (bytes as u64, seconds)).collect();
    let (short, long) = copying.split_at(usize::from(link == Link::SharedMemory));
    let lent = long.iter().map(|(bytes, seconds)| (*bytes, seconds / 2.0));
    let costs = WorkCosts {
        call: 180e-9,
        matching: 180e-9,
        storing: 180e-9,
        copying: Copying::by_size(if short.is_empty() { long } else { short }.to_vec()),
        lending: Copying::by_size(if short.is_empty() { vec![] } else { lent.collect() }),
        patience: link.patience(),
        ..WorkCosts::default()
    };
    let latency = if link == Link::SharedMemory { 200e-9 } else { 2e-6 };
    Calibrated { link, costs, latency }
}

fn assert_near(found: f64, truth: f64, what: &str) {
    assert!((0.95..1.05).contains(&(found / truth)), "{what}: {found}, not {truth}");
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
    for (at, bytes) in sizes(link).iter().enumerate() {
        assert_near(found.copied[at], measured.copied[at], &format!("{bytes} bytes"));
    }
    let seconds = |by: &Calibrated, bytes| match link {
        Link::SharedMemory => by.costs.lending.seconds(bytes),
        Link::Unix | Link::Tcp => by.costs.copying.seconds(bytes),
    };
    for bytes in [10 << 10, 100 << 10, 700 << 10] {
        assert_near(seconds(&calibrated, bytes), seconds(&truth, bytes), &format!("copying {bytes} bytes"));
    }
    let [found, truth] = [&calibrated, &truth].map(|by| by.costs.copying.seconds(2_000));
    assert_near(found, truth, "copying 2000 bytes");
}

/// How many nanoseconds longer a pair takes if copying through the ring takes twice as long, and if copying into lent memory does.
fn longer(bytes: usize) -> [f64; 2] {
    let pair = |copying: f64, lending: f64| {
        let costs = WorkCosts {
            copying: Copying::at_rate(copying),
            lending: Copying::at_rate(lending),
            ..WorkCosts::default()
        };
        let machine = Calibrated { link: Link::SharedMemory, costs, latency: 200e-9 };
        pair(&machine, PairPlan { bytes, ..ONE }).unwrap()
    };
    [pair(5e9, 10e9), pair(10e9, 5e9)].map(|longer| longer - pair(10e9, 10e9))
}

#[test]
fn data_are_copied_at_each_end_of_both_ways_and_what_is_lent_once() {
    let once = |bytes: usize| bytes as f64 * 0.1;
    // Besides data, each frame has a head, copied at each end.
    let heads = 200.0;
    let [copied, lent] = longer(4_095);
    assert!((0.0..heads).contains(&(copied - 4.0 * once(4_095))) && lent.abs() < 1.0, "{copied} {lent}");
    for bytes in [4_096, 1 << 20, 16 << 20] {
        let [copied, lent] = longer(bytes);
        assert!((lent - once(bytes)).abs() < 2.0 && (0.0..heads).contains(&copied), "{copied} {lent}");
    }
    // In fragments: copied at each end, at both at once.
    let [copied, lent] = longer(65 << 20);
    assert!((1.9..4.1).contains(&(lent / once(65 << 20))) && copied.abs() < 1.0, "{copied} {lent}");
}

#[test]
fn larger_data_that_were_measured_to_be_faster_cost_no_less() {
    let mut measured = predicted(&truth(Link::SharedMemory));
    let second = measured.copied[2];
    measured.copied[3..].iter_mut().for_each(|copied| *copied = second);
    measured.copied[4] /= 2.0;
    let lending = calibrate(Link::SharedMemory, &measured).costs.lending;
    let lent = &sizes(Link::SharedMemory)[1..];
    let seconds: Vec<f64> = lent.iter().map(|bytes| lending.seconds(*bytes as u64)).collect();
    assert!(seconds[0] > 0.0 && seconds.is_sorted(), "{seconds:?}");
    assert!(seconds[2..].iter().all(|more| more - seconds[1] < 1e-12), "{seconds:?}");
}

#[test]
fn what_nothing_predicts_leaves_costs_that_can_be() {
    let nothing = Measured { in_process: 0.0, apart: 0.0, pipelined: 0.0, copied: Vec::new(), paused: 0.0 };
    for link in [Link::SharedMemory, Link::Tcp] {
        let found = calibrate(link, &nothing);
        assert!(found.costs.call >= 0.0 && found.latency >= 0.0, "{found:?}");
        let copying = [&found.costs.copying, &found.costs.lending];
        let seconds =
            sizes(link).iter().flat_map(|bytes| copying.map(|copying| copying.seconds(*bytes as u64)));
        assert!(seconds.min_by(f64::total_cmp) >= Some(0.0), "{found:?}");
    }
}

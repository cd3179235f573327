//! What frames cost the processors at both ends.

use super::*;
use quintet_contract::NodeId;
use quintet_simulate::{FrameCosts, Picos, Pieces, ProcessorModel};

/// A sender at `first` microseconds on processor 0, a receiver that works 1 us for each message on processor 1.
fn between(first: f64, costs: FrameCosts) -> Simulation {
    let mut run = Simulation::new(1);
    for node in [1, 2] {
        let processor =
            run.add_processor(ProcessorModel { cycle: Picos(1_000_000), ..ProcessorModel::default() });
        run.place(NodeId(node), processor);
    }
    add(&mut run, 1, starter(first * 1e-6, vec![note(2, 10.0), work(5.0)]));
    add(&mut run, 2, server(vec![work(1.0)]));
    join(&mut run, 1, 2);
    run.set_frame_costs(NodeId(1), NodeId(2), costs);
    run.run_for(Span::from_micros(1_000));
    run
}

/// A receiver that looks for frames for 20 us, on a processor that sleeps after 200 us.
const COSTS: FrameCosts = FrameCosts {
    send: 2.0,
    send_byte: 0.1,
    receive: 3.0,
    receive_byte: 0.2,
    patience: Picos(20_000_000),
    wake_up: 40.0,
    shallow: Picos(200_000_000),
    deep_wake_up: 100.0,
    pieces: None,
};

fn ends(first: f64, costs: FrameCosts) -> (Option<f64>, Option<f64>) {
    let run = between(first, costs);
    (ended(&run, 1), ended(&run, 2))
}

#[test]
fn each_end_pays_for_the_frame_and_its_bytes() {
    // The sender: 2 + 10 x 0.1, then 5; the receiver: 3 + 10 x 0.2, then 1.
    assert_eq!(ends(0.0, COSTS), (Some(8.0), Some(9.0)));
    assert_eq!(ends(0.0, FrameCosts::default()), (Some(5.0), Some(1.0)));
}

#[test]
fn a_receiver_that_sleeps_is_woken() {
    assert_eq!(ends(17.0, COSTS).1, Some(26.0), "it looks for frames up to the 20th microsecond");
    assert_eq!(ends(18.0, COSTS).1, Some(67.0));
    assert_eq!(ends(300.0, COSTS).1, Some(409.0), "its processor slept too");
}

/// 10 bytes in pieces of 4, 4 and 2, each written in half the time in which it is read.
const IN_PIECES: FrameCosts = FrameCosts {
    send_byte: 0.25,
    receive_byte: 0.5,
    pieces: Some(Pieces { bytes: 4, early_wake: 10 }),
    ..COSTS
};

#[test]
fn a_long_frame_is_read_while_it_is_written() {
    // It departs after 2 + 4 x 0.25, and reading it takes longer than writing the rest.
    assert_eq!(ends(0.0, IN_PIECES), (Some(9.5), Some(12.0)));
    // It departs after 2 + 4, its end is written after 6 more; then the last piece is read: 2 x 0.5.
    assert_eq!(ends(0.0, FrameCosts { send_byte: 1.0, ..IN_PIECES }), (Some(17.0), Some(17.0)));
    let short = FrameCosts { pieces: Some(Pieces { bytes: 10, early_wake: 10 }), ..COSTS };
    assert_eq!(ends(0.0, short), ends(0.0, COSTS));
}

#[test]
fn a_receiver_that_sleeps_is_woken_early_for_a_long_frame_only() {
    assert_eq!(ends(18.0, IN_PIECES).1, Some(70.0));
    let late = FrameCosts { pieces: Some(Pieces { bytes: 4, early_wake: 11 }), ..IN_PIECES };
    assert_eq!(ends(18.0, late).1, Some(71.5));
}

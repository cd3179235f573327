//! What frames cost the processors at both ends.

use super::*;
use bytes::Bytes;
use quintet_contract::{Input, Kind, NodeId, Outbox, Protocol, Time, Token};
use quintet_simulate::{FrameCosts, Lending, Picos, Pieces, ProcessorModel};

/// Two nodes, each on a processor with a cycle of a microsecond.
fn apart() -> Simulation {
    let mut run = Simulation::new(1);
    for node in [1, 2] {
        let processor =
            run.add_processor(ProcessorModel { cycle: Picos(1_000_000), ..ProcessorModel::default() });
        run.place(NodeId(node), processor);
    }
    run
}

/// A sender at `first` microseconds on processor 0, a receiver that works 1 us for each message on processor 1.
fn between(first: f64, costs: FrameCosts) -> Simulation {
    let mut run = apart();
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
    lending: None,
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

/// Sends a frame with so much bulk to node 2.
struct SendsBulk(usize);

impl Protocol for SendsBulk {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        if let Input::Started = input {
            out.send_bulk(at(2), Kind(0xf0), Token(1), &[], vec![0; self.0].into()).expect("room");
        }
    }
    fn deadline(&self) -> Option<Time> {
        None
    }
}

/// Keeps what comes.
struct Takes(Bytes);

impl Protocol for Takes {
    fn handle(&mut self, _now: Time, input: Input<'_>, _out: &mut dyn Outbox) {
        if let Input::Frame(_, frame) = input {
            self.0 = frame.bulk.clone();
        }
    }
    fn deadline(&self) -> Option<Time> {
        None
    }
}

/// When both ends have done with a frame of so much bulk, whose header has 32 bytes.
fn ends_with_bulk(bulk: usize, costs: impl Fn(&mut Simulation)) -> (Option<f64>, Option<f64>) {
    let mut run = apart();
    run.add(at(2), Takes(Bytes::new()));
    join(&mut run, 1, 2);
    costs(&mut run);
    run.add(at(1), SendsBulk(bulk));
    run.run_for(Span::from_micros(1_000));
    assert_eq!(run.get::<Takes>(at(2)).map(|takes| takes.0.len()), Some(bulk));
    (ended(&run, 1), ended(&run, 2))
}

#[test]
fn bulk_that_is_lent_costs_its_sender_a_copy_and_its_receiver_nothing() {
    let lending = Some(Lending { from: 100, byte: 0.5 });
    for pieces in [None, Some(Pieces { bytes: 40, early_wake: 0 })] {
        let costs = |run: &mut Simulation| {
            run.set_frame_costs(NodeId(1), NodeId(2), FrameCosts { lending, pieces, ..COSTS });
        };
        // 2 + 32 x 0.1 + 100 x 0.5, then 3 + 32 x 0.2.
        let (sent, received) = ends_with_bulk(100, costs);
        assert_eq!((sent, received), (Some(55.2), Some(64.6 + 40.0)), "it slept");
    }
    let costs = |run: &mut Simulation| {
        run.set_frame_costs(NodeId(1), NodeId(2), FrameCosts { lending, ..COSTS });
    };
    // All of 131 bytes is copied: 2 + 13.1, then 3 + 26.2.
    assert_eq!(ends_with_bulk(99, costs), (Some(15.1), Some(44.3)));
}

#[test]
fn frames_may_cost_something_one_way_only() {
    let towards =
        |from, to| move |run: &mut Simulation| run.set_frame_costs_towards(NodeId(from), NodeId(to), COSTS);
    assert_eq!(ends_with_bulk(99, towards(1, 2)), (Some(15.1), Some(44.3)));
    assert_eq!(ends_with_bulk(99, towards(2, 1)), (Some(0.0), None), "the other way");
}

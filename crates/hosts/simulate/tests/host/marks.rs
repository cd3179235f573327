//! Marks: when activations were ready, and how long those have waited that have not begun.

use crate::{add, at, join, note, server, starter, work};
use quintet_contract::{NodeId, Span};
use quintet_simulate::{
    Distribution, Instruction, LinkModel, Mark, ModuleSpec, Picos, ProcessorModel, Simulation, Timing,
};

const BEGUN: u32 = 0;
const DONE: u32 = 1;

const fn mark(node: u16, number: u32) -> Instruction {
    Instruction::Mark { at: at(node), number }
}

const fn milliseconds(count: u64) -> Picos {
    Picos(count * 1_000_000_000)
}

/// A processor of a thousand cycles a second.
fn slow(run: &mut Simulation, nodes: &[u16], input_controller: bool) {
    let model = ProcessorModel { cycle: milliseconds(1), input_controller, ..ProcessorModel::default() };
    let processor = run.add_processor(model);
    nodes.iter().for_each(|node| run.place(NodeId(*node), processor));
}

/// Due at 0, 1 and 2 ms, it sends, and works for 4 ms. Its link has room for one message, that is under way for 10 ms.
fn sender() -> Simulation {
    let mut run = Simulation::new(1);
    slow(&mut run, &[1], true);
    let instructions = vec![mark(1, BEGUN), note(2, 0.0), work(4.0), mark(1, DONE)];
    let (first, every) = (Distribution::Constant(0.0), Some(Distribution::Constant(1e-3)));
    let timing = Some(Timing { first, every, limit: 3 });
    add(&mut run, 1, ModuleSpec { timing, ..starter(0.0, instructions) });
    add(&mut run, 2, server(vec![]));
    let delay = Span::from_millis(10);
    let link = LinkModel { delay_min: delay, delay_max: delay, window_frames: 1, ..LinkModel::default() };
    run.connect(at(1), at(2), link);
    run
}

#[test]
fn an_activation_that_waited_for_room_was_ready_when_it_was_due() {
    let mut run = sender();
    run.run_for(Span::from_millis(100));
    let marks: Vec<Mark> = run.take_marks().collect();
    let expected = [(BEGUN, 0, 0), (DONE, 0, 4), (BEGUN, 1, 4), (DONE, 1, 14), (BEGUN, 2, 14), (DONE, 2, 24)];
    let on = run.processors_of(NodeId(1))[0];
    let mark = |(number, ready, at)| {
        let (ready, at) = (milliseconds(ready), milliseconds(at));
        Mark { node: NodeId(1), on, number, ready, at }
    };
    assert_eq!(marks, expected.map(mark));
}

#[test]
fn what_has_not_begun_has_waited_since_it_was_ready() {
    let mut run = sender();
    let mut waited_at = |time: u64| {
        run.run_to(milliseconds(time));
        (run.waited(at(1), BEGUN) * 1e3).round()
    };
    // Both that are due wait for the end of the first; then the third for the second, which waits for room, and works.
    assert_eq!([3, 8, 12, 15].map(&mut waited_at), [2.0 + 1.0, 6.0, 10.0, 0.0]);
    run.reset_statistics();
    assert!(run.waited(at(2), BEGUN).abs() < 1e-12);
}

#[test]
fn inputs_that_make_no_activation_ready_do_not_count() {
    let mut run = Simulation::new(1);
    slow(&mut run, &[2, 3], true);
    add(&mut run, 1, starter(1e-3, vec![note(2, 0.0), note(2, 0.0), note(2, 0.0)]));
    let pairs = ModuleSpec { messages: vec![(crate::NOTE, 2)], ..server(vec![mark(2, BEGUN)]) };
    add(&mut run, 2, pairs);
    add(&mut run, 3, starter(0.0, vec![work(20.0)]));
    join(&mut run, 1, 2);
    // The third message waits for a fourth.
    run.run_to(milliseconds(11));
    assert!((run.waited(at(2), BEGUN) - 0.01).abs() < 1e-12, "{}", run.waited(at(2), BEGUN));
    run.reset_statistics();
    run.run_to(milliseconds(13));
    assert!((run.waited(at(2), BEGUN) - 0.002).abs() < 1e-12, "only since counting began");
}

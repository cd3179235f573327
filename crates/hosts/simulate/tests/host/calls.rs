//! Calls of the program that drives a run, and programs of its own in modules' places.

use crate::{NOTE, WORK, add, at, join, note, server, starter, work};
use quintet_contract::NodeId;
use quintet_simulate::device::Class;
use quintet_simulate::{
    Command, Costs, Distribution, LinkModel, Picos, ProcessorModel, Program, Received, Simulation,
};

/// What programs at node 1 call for each message.
const CAME: u64 = 100;

const fn microseconds(count: u64) -> Picos {
    Picos(count * 1_000_000)
}

/// Takes all calls until nothing is pending: when each came.
fn calls(run: &mut Simulation) -> Vec<(u64, Picos)> {
    let mut taken = Vec::new();
    while run.step() {
        while let Some(number) = run.take_call() {
            taken.push((number, run.clock()));
        }
    }
    taken
}

/// A program at node 1, on a processor whose cycle takes a microsecond; a unit of work is a cycle.
fn with_program(run: &mut Simulation) {
    let model = ProcessorModel { cycle: microseconds(1), ..ProcessorModel::default() };
    let processor = run.add_processor(model);
    run.place(NodeId(1), processor);
    run.add(at(1), Program::new(at(1), CAME));
    run.set_costs(at(1), Costs::from([(WORK, Distribution::Constant(1.0))]));
}

#[test]
fn calls_come_in_the_order_of_time_and_of_scheduling() {
    let mut run = Simulation::new(1);
    for (at, number) in [(20, 1), (10, 2), (20, 3)] {
        run.call_at(microseconds(at), number);
    }
    let expected = [(2, microseconds(10)), (1, microseconds(20)), (3, microseconds(20))];
    assert_eq!(calls(&mut run), expected);
}

#[test]
fn a_call_of_another_number_is_another_run() {
    let digest = |number| {
        let mut run = Simulation::new(1);
        run.call_at(Picos(1), number);
        while run.step() {}
        run.digest()
    };
    assert_ne!(digest(1), digest(2));
}

#[test]
fn a_program_shares_its_processor_with_modules() {
    let mut run = Simulation::new(1);
    with_program(&mut run);
    run.place(NodeId(2), run.processors_of(NodeId(1))[0]);
    add(&mut run, 2, starter(0.0, vec![work(5.0)]));
    run.command(at(1), Command::Execute(WORK, 3), 1);
    run.command(at(1), Command::Execute(WORK, 4), 2);
    // The module wakes at time zero as well, after the first command, and before the second one has its turn.
    assert_eq!(calls(&mut run), [(1, microseconds(3)), (2, microseconds(12))]);
}

#[test]
fn a_program_sends_to_modules_and_receives_from_them() {
    let mut run = Simulation::new(1);
    with_program(&mut run);
    add(&mut run, 2, server(vec![work(0.0), note(1, 64.0)]));
    join(&mut run, 1, 2);
    let send = Command::Send { to: at(2), message: NOTE, bytes: 8, class: Class::Asynchronous };
    run.command(at(1), Command::Execute(WORK, 2), 1);
    run.command(at(1), send, 2);
    assert_eq!(calls(&mut run), [1, 2, CAME].map(|number| (number, microseconds(2))));
    let received = Received { message: NOTE, bytes: 64, came: microseconds(2) };
    assert_eq!((run.take_received(at(1)), run.take_received(at(1))), (Some(received), None));
}

#[test]
fn a_program_waits_for_room_and_sends_in_order() {
    let mut run = Simulation::new(1);
    with_program(&mut run);
    add(&mut run, 2, server(vec![]));
    let delay = quintet_contract::Span::from_micros(10);
    let narrow = LinkModel { delay_min: delay, delay_max: delay, window_frames: 1, ..LinkModel::default() };
    run.connect(at(1), at(2), narrow);
    let send = Command::Send { to: at(2), message: NOTE, bytes: 8, class: Class::Asynchronous };
    run.command(at(1), send, 1);
    run.command(at(1), send, 2);
    run.command(at(1), Command::Execute(WORK, 1), 3);
    let expected = [(1, Picos::ZERO), (2, microseconds(10)), (3, microseconds(11))];
    assert_eq!(calls(&mut run), expected);
}

#[test]
fn what_is_told_to_no_program_does_nothing() {
    let mut run = Simulation::new(1);
    run.command(at(1), Command::Execute(WORK, 1), 1);
    add(&mut run, 2, server(vec![]));
    run.command(at(2), Command::Execute(WORK, 1), 1);
    assert_eq!((calls(&mut run), run.take_received(at(2))), (vec![], None));
}

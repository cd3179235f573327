//! Processing elements: cycles, time slices, input and output, queues.

use super::*;
use quintet_contract::{NodeId, Span};
use quintet_simulate::device::{Bus, BusParameters, Framing, Station};
use quintet_simulate::{Picos, ProcessorId, ProcessorModel, Restart};

const MICROSECOND: Picos = Picos(1_000_000);

fn placed(run: &mut Simulation, model: ProcessorModel, nodes: &[u16]) -> ProcessorId {
    let processor = run.add_processor(model);
    for node in nodes {
        run.place(NodeId(*node), processor);
    }
    processor
}

fn one_cycle_a_microsecond() -> ProcessorModel {
    ProcessorModel { cycle: MICROSECOND, ..ProcessorModel::default() }
}

/// A bus of two stations that carries a byte in a microsecond.
fn bus() -> Bus {
    let framing = Framing::serial(8_000_000);
    Bus::new(BusParameters { framing, stations: 2 }).expect("the parameters are possible")
}

#[test]
fn work_takes_cycles_and_others_on_the_processor_wait() {
    let mut run = Simulation::new(1);
    let processor = placed(&mut run, one_cycle_a_microsecond(), &[1, 2]);
    add(&mut run, 1, starter(0.0, vec![work(30.0)]));
    add(&mut run, 2, starter(0.0, vec![work(20.0)]));
    run.run_for(Span::from_micros(100));
    assert_eq!((ended(&run, 1), ended(&run, 2)), (Some(30.0), Some(50.0)));
    assert!((run.processor_statistics(processor).utilisation - 0.5).abs() < 1e-12);
}

#[test]
fn a_time_slice_lets_the_others_run_between() {
    let mut run = Simulation::new(1);
    let slices = ProcessorModel { time_slice: Some(Picos(10_000_000)), ..one_cycle_a_microsecond() };
    placed(&mut run, slices, &[1, 2]);
    add(&mut run, 1, starter(0.0, vec![work(30.0)]));
    add(&mut run, 2, starter(0.0, vec![work(15.0)]));
    run.run_for(Span::from_micros(100));
    // 1: 0-10, 2: 10-20, 1: 20-30, 2: 30-35, 1: 35-45.
    assert_eq!((ended(&run, 1), ended(&run, 2)), (Some(45.0), Some(35.0)));
}

#[test]
fn a_message_departs_after_the_work_before_it() {
    let mut run = Simulation::new(1);
    placed(&mut run, one_cycle_a_microsecond(), &[1]);
    placed(&mut run, one_cycle_a_microsecond(), &[2]);
    add(&mut run, 1, starter(0.0, vec![work(7.0), note(2, 0.0), work(5.0)]));
    add(&mut run, 2, server(vec![work(1.0)]));
    join(&mut run, 1, 2);
    run.run_for(Span::from_micros(100));
    assert_eq!((ended(&run, 1), ended(&run, 2)), (Some(12.0), Some(8.0)));
}

/// A sender of 10 bytes, after a set-up of 3 us, that works 5 us more; a receiver that works 1 us for it.
fn through_the_bus(sender: ProcessorModel) -> Simulation {
    let mut run = Simulation::new(1);
    let set_up = ProcessorModel { io_setup: Picos(3_000_000), ..sender };
    placed(&mut run, set_up, &[1]);
    placed(&mut run, one_cycle_a_microsecond(), &[2]);
    add(&mut run, 1, starter(0.0, vec![note(2, 10.0), work(5.0)]));
    add(&mut run, 2, server(vec![work(1.0)]));
    let device = run.add_device(Box::new(bus()));
    run.connect_through(device, (at(1), Station(0)), (at(2), Station(1)));
    run.run_for(Span::from_micros(100));
    run
}

#[test]
fn an_output_controller_lets_the_processor_go_on_while_the_device_carries() {
    let run = through_the_bus(one_cycle_a_microsecond());
    assert_eq!((ended(&run, 1), ended(&run, 2)), (Some(8.0), Some(14.0)));
}

#[test]
fn without_an_output_controller_the_processor_is_busy_until_the_message_is_there() {
    let run = through_the_bus(ProcessorModel { output_controller: false, ..one_cycle_a_microsecond() });
    assert_eq!((ended(&run, 1), ended(&run, 2)), (Some(18.0), Some(14.0)));
}

/// A receiver that will be busy from 5 to 105 us with its own work when a message of 10 bytes comes at 10 us.
fn a_receiver(receiver: ProcessorModel) -> (Simulation, ProcessorId) {
    let mut run = Simulation::new(1);
    placed(&mut run, one_cycle_a_microsecond(), &[1]);
    let processor = placed(&mut run, receiver, &[2, 3]);
    add(&mut run, 1, starter(0.0, vec![note(2, 10.0)]));
    add(&mut run, 2, server(vec![work(1.0)]));
    add(&mut run, 3, starter(5e-6, vec![work(100.0)]));
    let device = run.add_device(Box::new(bus()));
    run.connect_through(device, (at(1), Station(0)), (at(2), Station(1)));
    (run, processor)
}

/// The same after 200 us.
fn a_busy_receiver(receiver: ProcessorModel) -> (Simulation, ProcessorId) {
    let (mut run, processor) = a_receiver(receiver);
    run.run_for(Span::from_micros(200));
    (run, processor)
}

#[test]
fn a_message_interrupts_what_a_processor_executes() {
    let interrupted = ProcessorModel { interrupt: Picos(4_000_000), ..one_cycle_a_microsecond() };
    let (run, _) = a_busy_receiver(interrupted);
    assert_eq!((ended(&run, 2), ended(&run, 3)), (Some(110.0), Some(109.0)));
}

#[test]
fn without_an_input_controller_a_message_waits_until_the_processor_is_idle() {
    let (run, _) = a_busy_receiver(ProcessorModel { input_controller: false, ..one_cycle_a_microsecond() });
    assert_eq!((ended(&run, 2), ended(&run, 3)), (Some(106.0), Some(105.0)));
    let waiting = run.node_statistics(at(2).node).and_then(|statistics| statistics.waiting.mean());
    assert!(waiting.is_some_and(|seconds| (seconds - 95e-6).abs() < 1e-9), "{waiting:?}");
}

#[test]
fn a_message_that_waits_for_an_idle_processor_is_gone_with_its_node() {
    let (mut run, _) = a_receiver(ProcessorModel { input_controller: false, ..one_cycle_a_microsecond() });
    run.run_for(Span::from_micros(50));
    run.crash(NodeId(2), Span::ZERO);
    run.restart(NodeId(2), Restart::WithMemory);
    run.run_for(Span::from_micros(150));
    assert_eq!((ended(&run, 2), ended(&run, 3)), (None, Some(105.0)));
}

#[test]
fn a_full_queue_loses_messages_and_counts_them() {
    let (run, processor) = a_busy_receiver(ProcessorModel { queue_limit: 0, ..one_cycle_a_microsecond() });
    assert_eq!(ended(&run, 2), None);
    assert_eq!(run.processor_statistics(processor).lost, 1);
}

#[test]
fn what_is_begun_at_once_waits_in_no_queue() {
    let (mut run, processor) = a_receiver(ProcessorModel { queue_limit: 0, ..one_cycle_a_microsecond() });
    run.crash(NodeId(3), Span::ZERO);
    run.run_for(Span::from_micros(200));
    assert_eq!((ended(&run, 2), run.processor_statistics(processor).lost), (Some(11.0), 0));
}

/// Five messages, of which each is to be sent on over a link with room for one, that takes a millisecond: who waits for that has those
/// that come meanwhile wait as well, though the processor has nothing to do.
#[test]
fn messages_behind_one_that_waits_for_room_are_counted() {
    let lost = |queue_limit: usize| {
        let mut run = Simulation::new(1);
        placed(&mut run, one_cycle_a_microsecond(), &[1]);
        let processor = placed(&mut run, ProcessorModel { queue_limit, ..one_cycle_a_microsecond() }, &[2]);
        add(&mut run, 1, starter(0.0, vec![note(2, 10.0); 5]));
        add(&mut run, 2, server(vec![work(1.0), note(3, 0.0)]));
        add(&mut run, 3, server(vec![]));
        let device = run.add_device(Box::new(bus()));
        run.connect_through(device, (at(1), Station(0)), (at(2), Station(1)));
        let delay = Span::from_millis(1);
        let link = LinkModel { delay_min: delay, delay_max: delay, window_frames: 1, ..LinkModel::default() };
        run.connect(at(2), at(3), link);
        run.run_for(Span::from_millis(20));
        run.processor_statistics(processor).lost
    };
    // The first is sent at once; the second waits for room, and the others behind it.
    assert_eq!([0, 1, 2, 3].map(lost), [3, 2, 1, 0]);
}

#[test]
fn a_slow_processor_takes_longer() {
    let mut run = Simulation::new(1);
    let processor = placed(&mut run, one_cycle_a_microsecond(), &[1]);
    run.set_slowness(processor, 2_500);
    add(&mut run, 1, starter(0.0, vec![work(10.0)]));
    run.run_for(Span::from_micros(100));
    assert_eq!(ended(&run, 1), Some(25.0));
}

#[test]
fn what_was_counted_before_the_end_of_the_warm_up_is_forgotten() {
    let mut run = Simulation::new(1);
    let processor = placed(&mut run, one_cycle_a_microsecond(), &[1]);
    add(&mut run, 1, starter(0.0, vec![work(30.0)]));
    run.run_for(Span::from_micros(20));
    run.reset_statistics();
    run.run_for(Span::from_micros(80));
    assert!((run.processor_statistics(processor).utilisation - 0.125).abs() < 1e-12);
}

#[test]
fn who_looks_on_sees_what_runs_what_is_carried_and_what_waits() {
    let mut run = Simulation::new(1);
    let one = placed(&mut run, one_cycle_a_microsecond(), &[1]);
    let two = placed(&mut run, one_cycle_a_microsecond(), &[2]);
    let bus = run.add_device(Box::new(bus()));
    // 1 works until 10 us and sends twice 20 bytes; they come at 30 and 50 us, and each costs 100 us.
    add(&mut run, 1, starter(0.0, vec![work(10.0), note(2, 20.0), note(2, 20.0)]));
    add(&mut run, 2, server(vec![work(100.0)]));
    run.connect_through(bus, (at(1), Station(0)), (at(2), Station(1)));
    let seen = |run: &Simulation| {
        let load = run.device_load(bus);
        let running = [one, two].map(|processor| run.running(processor).map(|node| node.0));
        (running, load.carried, load.waiting, run.waiting_inputs(NodeId(2)))
    };
    let mut after = |micros: u64| {
        run.run_to(Picos(MICROSECOND.0 * micros));
        seen(&run)
    };
    assert_eq!(after(5), ([Some(1), None], 0, 0, 0));
    assert_eq!(after(15), ([None, None], 1, 1, 0));
    assert_eq!(after(40), ([None, Some(2)], 1, 0, 0));
    assert_eq!(after(60), ([None, Some(2)], 0, 0, 1));
    assert_eq!(after(140), ([None, Some(2)], 0, 0, 0));
    assert_eq!(run.messages_after(0).count(), 0, "all have arrived");
}

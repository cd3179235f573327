//! Partitions, crashes, wrong clocks, and time that stands still.

use super::*;
use quintet_contract::{Input, NodeId, Outbox, PeerChange, Protocol, Time};
use quintet_simulate::{Picos, ProcessorModel, Restart, Successor};

/// A module that sends a note to node 2 every 10 us.
fn beacon() -> ModuleSpec {
    let every = Some(Distribution::Constant(10e-6));
    let timing = Timing { first: Distribution::Constant(10e-6), every, limit: u64::MAX };
    ModuleSpec { timing: Some(timing), ..starter(0.0, vec![note(2, 0.0)]) }
}

fn heard(run: &Simulation) -> u64 {
    run.node_statistics(NodeId(2)).map_or(0, |statistics| statistics.activations)
}

fn beacon_and_listener() -> Simulation {
    let mut run = Simulation::new(1);
    add(&mut run, 1, beacon());
    add(&mut run, 2, server(vec![work(1.0)]));
    join(&mut run, 1, 2);
    run
}

#[test]
fn a_partition_loses_frames_until_it_is_mended() {
    let mut run = beacon_and_listener();
    run.run_for(Span::from_micros(35));
    run.partition(&[&[NodeId(1)], &[NodeId(2)]]);
    run.run_for(Span::from_micros(30));
    assert_eq!(heard(&run), 3);
    run.partition(&[]);
    run.run_for(Span::from_micros(30));
    assert_eq!(heard(&run), 6);
}

#[test]
fn a_cut_is_one_way() {
    let mut run = beacon_and_listener();
    run.set_cut(NodeId(2), NodeId(1), true);
    run.run_for(Span::from_micros(35));
    assert_eq!(heard(&run), 3);
}

#[test]
fn a_crash_ends_what_a_node_was_at() {
    let mut run = Simulation::new(1);
    let processor =
        run.add_processor(ProcessorModel { cycle: Picos(1_000_000), ..ProcessorModel::default() });
    for node in [1, 3] {
        run.place(NodeId(node), processor);
    }
    add(&mut run, 1, starter(0.0, vec![work(50.0), note(2, 0.0)]));
    add(&mut run, 2, server(vec![work(1.0)]));
    add(&mut run, 3, starter(0.0, vec![work(10.0)]));
    join(&mut run, 1, 2);
    run.run_for(Span::from_micros(20));
    run.crash(NodeId(1), Span::ZERO);
    run.run_for(Span::from_micros(100));
    assert_eq!(heard(&run), 0, "the note would have departed after the work");
    assert_eq!(ended(&run, 3), Some(30.0), "the processor is free at once");
}

#[test]
fn a_restarted_node_with_memory_goes_on() {
    let mut run = beacon_and_listener();
    run.run_for(Span::from_micros(35));
    run.crash(NodeId(1), Span::ZERO);
    run.run_for(Span::from_micros(30));
    assert_eq!(heard(&run), 3);
    run.restart(NodeId(1), Restart::WithMemory);
    run.run_for(Span::from_micros(1));
    // The times that passed while it was down came at once.
    assert_eq!(heard(&run), 6);
}

/// Notes which peers came and went.
#[derive(Default)]
struct Porter(Vec<bool>);

impl Protocol for Porter {
    fn handle(&mut self, _now: Time, input: Input<'_>, _out: &mut dyn Outbox) {
        if let Input::Peer(_, change) = input {
            self.0.push(matches!(change, PeerChange::Up { .. }));
        }
    }
    fn deadline(&self) -> Option<Time> {
        None
    }
}

#[test]
fn a_node_with_memory_learns_that_its_links_broke() {
    let mut run = Simulation::new(1);
    run.add(at(1), Porter::default());
    run.add(at(2), Porter::default());
    join(&mut run, 1, 2);
    run.crash(NodeId(1), Span::from_micros(5));
    run.run_for(Span::from_micros(10));
    run.restart(NodeId(1), Restart::WithMemory);
    run.run_for(Span::from_micros(10));
    for node in [1, 2] {
        // The first of node 1 was still to come when it was stopped.
        let seen = run.get::<Porter>(at(node)).map(|porter| porter.0.clone());
        assert_eq!(seen.as_deref(), Some(if node == 1 { &[false, true][..] } else { &[true, false, true] }));
    }
}

/// Gives a new peer 20 us, and notes whether they ran out.
#[derive(Default)]
struct Impatient {
    until: Option<Time>,
    gave_up: bool,
}

impl Protocol for Impatient {
    fn handle(&mut self, now: Time, input: Input<'_>, _out: &mut dyn Outbox) {
        match input {
            Input::Peer(_, PeerChange::Up { .. }) => self.until = Some(now + Span::from_micros(20)),
            Input::Peer(_, PeerChange::Down(_)) => self.until = None,
            Input::Wake => (self.until, self.gave_up) = (None, true),
            _ => {}
        }
    }
    fn deadline(&self) -> Option<Time> {
        self.until
    }
}

#[test]
fn a_node_with_memory_learns_that_its_links_broke_before_its_time_has_run_out() {
    let mut run = Simulation::new(1);
    run.add(at(1), Impatient::default());
    run.add(at(2), Porter::default());
    join(&mut run, 1, 2);
    run.run_for(Span::from_micros(10));
    run.crash(NodeId(1), Span::ZERO);
    run.run_for(Span::from_micros(50));
    run.restart(NodeId(1), Restart::WithMemory);
    run.run_for(Span::from_micros(10));
    let gave_up = |run: &Simulation| run.get::<Impatient>(at(1)).map(|node| node.gave_up);
    assert_eq!(gave_up(&run), Some(false));
    run.run_for(Span::from_micros(20));
    assert_eq!(gave_up(&run), Some(true), "the link that is made anew has 20 us as well");
}

#[test]
fn what_a_crashed_node_had_not_sent_gives_its_room_back() {
    let mut run = Simulation::new(1);
    let processor =
        run.add_processor(ProcessorModel { cycle: Picos(1_000_000), ..ProcessorModel::default() });
    run.place(NodeId(1), processor);
    add(&mut run, 1, starter(0.0, vec![work(50.0), note(2, 0.0)]));
    add(&mut run, 2, server(vec![work(1.0)]));
    run.connect(at(1), at(2), LinkModel { window_frames: 1, ..LinkModel::default() });
    run.run_for(Span::from_micros(20));
    run.crash(NodeId(1), Span::ZERO);
    run.restart(NodeId(1), Restart::WithMemory);
    let again = Module::new(starter(0.0, vec![note(2, 0.0)]), Random::new(1, 1));
    run.add(at(1), again);
    run.run_for(Span::from_millis(1));
    assert_eq!(heard(&run), 1, "the link takes one frame at a time");
}

/// Sets a timer and notes what its clock showed then.
#[derive(Default)]
struct Alarm {
    set: Option<Time>,
    rang: Option<Time>,
}

impl Protocol for Alarm {
    fn handle(&mut self, now: Time, input: Input<'_>, _out: &mut dyn Outbox) {
        match input {
            Input::Started => self.set = Some(now + Span::from_secs(1)),
            Input::Wake => (self.set, self.rang) = (None, Some(now)),
            _ => {}
        }
    }
    fn deadline(&self) -> Option<Time> {
        self.set
    }
}

#[test]
fn a_node_lives_by_its_own_clock() {
    let mut run = Simulation::new(1);
    let own = run.add_processor(ProcessorModel::default());
    run.place(NodeId(1), own);
    // An hour ahead, and gaining a millisecond a second.
    run.set_clock(NodeId(1), 3_600_000_000_000, 1_000_000);
    run.add(at(1), Alarm::default());
    let rang = |run: &Simulation| run.get::<Alarm>(at(1)).and_then(|alarm| alarm.rang);
    run.run_for(Span::from_micros(999_000));
    assert_eq!(rang(&run), None);
    run.run_for(Span::from_micros(2));
    assert!(rang(&run).is_some_and(|shown| shown >= Time(3_601_000_000_000)), "{:?}", rang(&run));
}

#[test]
fn a_cycle_that_lets_no_time_pass_is_reported() {
    let mut run = Simulation::new(1);
    let next = |to| vec![Successor { to: at(to), number: 0, weight: None }];
    let again =
        |to| ModuleSpec { timing: None, predecessors: 1, successors: next(to), ..starter(0.0, vec![]) };
    add(&mut run, 1, ModuleSpec { successors: next(2), ..starter(0.0, vec![]) });
    add(&mut run, 2, again(3));
    add(&mut run, 3, again(2));
    for (a, b) in [(1, 2), (2, 3)] {
        join(&mut run, a, b);
    }
    run.run_for(Span::from_secs(1));
    let stall = run.stall().expect("the two start each other for ever");
    assert_eq!(stall.at, Picos::ZERO);
    assert!(stall.to_string().contains("time stands still"), "{stall}");
    assert!(!run.step(), "the run goes no further");
}

#[test]
fn the_same_seed_gives_the_same_run_on_every_machine() {
    let mut run = Simulation::new(7);
    let exponential = Distribution::Exponential { mean: 1e-5 };
    let timing = Timing { first: exponential.clone(), every: Some(exponential), limit: u64::MAX };
    add(&mut run, 1, ModuleSpec { timing: Some(timing), ..starter(0.0, vec![note(2, 0.0)]) });
    add(&mut run, 2, server(vec![work(1.0)]));
    run.set_costs(at(2), Costs::from([(WORK, Distribution::Gamma { shape: 2.0, scale: 4e6 })]));
    run.connect(at(1), at(2), LinkModel::bad());
    run.run_for(Span::from_millis(20));
    assert_eq!(
        format!("{:016x} after {} events", run.digest(), run.events()),
        "9d5560a7cf303879 after 5912 events"
    );
}

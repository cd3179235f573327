//! Nodes on several processors: which instance runs where, and what runs beside what.

use super::*;
use quintet_contract::{Bytes, Disconnect, Input, NodeId, Outbox, OwnedFrame, Port, Protocol, Time, Token};
use quintet_simulate::device::{Bus, BusParameters, Framing, Station};
use quintet_simulate::statistics::Replications;
use quintet_simulate::{Mark, Picos, ProcessorId, ProcessorModel, Restart};
use quintet_wire::registry::USER;

const MICROSECOND: Picos = Picos(1_000_000);
/// The node that is on several processors.
const NODE: NodeId = NodeId(1);

/// The address of the node's instance of a number.
fn instance(number: u16) -> Address {
    Address { node: NODE, port: Port(100 + number) }
}

fn cycle_a_microsecond() -> ProcessorModel {
    ProcessorModel { cycle: MICROSECOND, ..ProcessorModel::default() }
}

/// A run with the node spread over so many processors.
fn spread(count: usize, model: ProcessorModel) -> (Simulation, Vec<ProcessorId>) {
    let mut run = Simulation::new(1);
    let processors: Vec<_> = (0..count).map(|_| run.add_processor(model)).collect();
    run.spread(NODE, &processors);
    (run, processors)
}

/// Work between a mark when it begins and one when it is done.
fn marked(number: u16, cycles: f64) -> Vec<Instruction> {
    let mark = |which| Instruction::Mark { at: instance(number), number: 2 * u32::from(number) + which };
    vec![mark(0), work(cycles), mark(1)]
}

/// Adds an instance that works so many cycles at a time in microseconds; bound to a processor, if one is named.
fn add_worker(run: &mut Simulation, number: u16, first: f64, cycles: f64, on: Option<ProcessorId>) {
    add_module(run, number, starter(first * 1e-6, marked(number, cycles)), on);
}

fn add_module(run: &mut Simulation, number: u16, spec: ModuleSpec, on: Option<ProcessorId>) {
    let module = Module::new(spec, Random::new(1, number.into()));
    match on {
        Some(processor) => run.add_on(instance(number), processor, module),
        None => run.add(instance(number), module),
    }
    run.set_costs(instance(number), Costs::from([(WORK, Distribution::Constant(1.0))]));
}

/// When an instance was at its work: from, to, in microseconds. In the order of the ends.
fn turns(marks: &[Mark], number: u16) -> Vec<(u64, u64)> {
    let at = |which| {
        let ours = marks.iter().filter(move |mark| mark.number == 2 * u32::from(number) + which);
        ours.map(|mark| mark.at.0 / MICROSECOND.0)
    };
    at(0).zip(at(1)).collect()
}

/// The turns of the first instances, after a millisecond.
fn all_turns<const N: usize>(run: &mut Simulation) -> [Vec<(u64, u64)>; N] {
    run.run_for(Span::from_millis(1));
    let marks: Vec<_> = run.take_marks().collect();
    std::array::from_fn(|number| turns(&marks, u16::try_from(number).expect("few")))
}

#[test]
fn instances_run_beside_each_other_on_as_many_processors_as_there_are() {
    let (mut run, processors) = spread(2, cycle_a_microsecond());
    for (number, cycles) in [(0, 30.0), (1, 20.0), (2, 15.0), (3, 1.0)] {
        add_worker(&mut run, number, 0.0, cycles, None);
    }
    assert_eq!(all_turns(&mut run), [[(0, 30)], [(0, 20)], [(20, 35)], [(30, 31)]]);
    let busy = processors.iter().map(|id| run.processor_statistics(*id).utilisation * 1e3);
    assert_eq!(busy.map(f64::round).collect::<Vec<_>>(), [31.0, 35.0]);
    assert_eq!(run.processors_of(NODE), processors);
}

#[test]
fn one_instance_is_never_on_two_processors() {
    let (mut run, _) = spread(3, cycle_a_microsecond());
    let every = Some(Distribution::Constant(5e-6));
    let timing = Some(Timing { first: Distribution::Constant(0.0), every, limit: 3 });
    add_module(&mut run, 0, ModuleSpec { timing, ..starter(0.0, marked(0, 20.0)) }, None);
    add_worker(&mut run, 1, 7.0, 20.0, None);
    assert_eq!(all_turns(&mut run), [vec![(0, 20), (20, 40), (40, 60)], vec![(7, 27)]]);
}

#[test]
fn what_is_bound_to_a_processor_waits_for_that_one_and_takes_turns_there() {
    let slices = ProcessorModel { time_slice: Some(Picos(10_000_000)), ..cycle_a_microsecond() };
    let (mut run, processors) = spread(2, slices);
    add_worker(&mut run, 0, 0.0, 30.0, Some(processors[1]));
    add_worker(&mut run, 1, 0.0, 20.0, Some(processors[1]));
    add_worker(&mut run, 2, 0.0, 10.0, Some(processors[0]));
    // In turn, as on one processor, though the other one is free from 10 us on.
    assert_eq!(all_turns(&mut run), [[(0, 30)], [(30, 50)], [(0, 10)]]);
}

#[test]
fn a_processor_of_its_own_is_enough_to_run_beside_the_rest_of_a_node() {
    let mut run = Simulation::new(1);
    let [main, side] = [0, 1].map(|_| run.add_processor(cycle_a_microsecond()));
    run.place(NODE, main);
    add_worker(&mut run, 0, 0.0, 30.0, None);
    add_worker(&mut run, 1, 0.0, 20.0, None);
    add_worker(&mut run, 2, 0.0, 40.0, Some(side));
    assert_eq!(all_turns(&mut run), [[(0, 30)], [(30, 50)], [(0, 40)]]);
}

#[test]
fn time_slices_move_instances_from_one_processor_to_the_other() {
    let slices = ProcessorModel { time_slice: Some(Picos(10_000_000)), ..cycle_a_microsecond() };
    let (mut run, _) = spread(2, slices);
    (0..3).for_each(|number| add_worker(&mut run, number, 0.0, 30.0, None));
    // 0 and 1, 2 and 0, 1 and 2, 0 and 1, 2.
    assert_eq!(all_turns(&mut run), [[(0, 40)], [(0, 40)], [(10, 50)]]);
}

#[test]
fn an_instance_whose_slice_is_over_goes_on_at_once_where_nothing_runs() {
    let slices = ProcessorModel { time_slice: Some(Picos(10_000_000)), ..cycle_a_microsecond() };
    let (mut run, processors) = spread(2, slices);
    add_worker(&mut run, 0, 0.0, 5.0, Some(processors[1]));
    add_worker(&mut run, 1, 1.0, 20.0, None);
    add_worker(&mut run, 2, 2.0, 20.0, Some(processors[0]));
    // The second runs on the first processor from 1 to 11 us, then on the other one.
    assert_eq!(all_turns(&mut run), [[(0, 5)], [(1, 21)], [(11, 31)]]);
}

/// A sender of 10 bytes to instance 0 that come at 10 us over a bus.
fn add_sender(run: &mut Simulation) {
    let message = Instruction::Send {
        to: instance(0),
        message: NOTE,
        bytes: Distribution::Constant(10.0),
        class: Class::Asynchronous,
    };
    add(run, 9, starter(0.0, vec![message]));
    connect_by_bus(run);
}

/// Joins node 9 with instance 0 by a bus that carries a byte in a microsecond.
fn connect_by_bus(run: &mut Simulation) {
    let framing = Framing::serial(8_000_000);
    let bus = Bus::new(BusParameters { framing, stations: 2 }).expect("the parameters are possible");
    let device = run.add_device(Box::new(bus));
    run.connect_through(device, (at(9), Station(0)), (instance(0), Station(1)));
}

#[test]
fn a_message_interrupts_only_the_processor_on_which_its_instance_is() {
    let interrupted = ProcessorModel { interrupt: Picos(4_000_000), ..cycle_a_microsecond() };
    let (mut run, processors) = spread(2, interrupted);
    add_module(&mut run, 0, server(marked(0, 1.0)), Some(processors[1]));
    add_worker(&mut run, 1, 0.0, 30.0, Some(processors[0]));
    add_worker(&mut run, 2, 0.0, 30.0, Some(processors[1]));
    add_sender(&mut run);
    assert_eq!(all_turns(&mut run), [[(34, 35)], [(0, 30)], [(0, 34)]]);
}

#[test]
fn a_message_for_an_instance_that_may_run_anywhere_goes_to_the_processor_that_is_free() {
    let deaf = ProcessorModel { input_controller: false, ..cycle_a_microsecond() };
    let (mut run, processors) = spread(2, deaf);
    add_module(&mut run, 0, server(marked(0, 1.0)), None);
    add_worker(&mut run, 1, 0.0, 30.0, Some(processors[0]));
    add_sender(&mut run);
    assert_eq!(all_turns(&mut run), [[(10, 11)], [(0, 30)]]);
}

/// Notes the words that it hears.
#[derive(Default)]
struct Listener(Vec<u64>);

impl Protocol for Listener {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        if let Input::Frame(_, frame) = input {
            self.0.push(frame.token.0);
            out.work(WORK, 3);
        }
    }
    fn deadline(&self) -> Option<Time> {
        None
    }
}

#[test]
fn messages_for_an_instance_stay_in_order_whichever_processor_takes_them_in() {
    for seed in 0..100 {
        let mut random = Random::new(seed, 1);
        let deaf = ProcessorModel { input_controller: false, ..cycle_a_microsecond() };
        let (mut run, processors) = spread(2, deaf);
        run.add(instance(0), Listener::default());
        run.set_costs(instance(0), Costs::from([(WORK, Distribution::Constant(1.0))]));
        for number in 1..9 {
            let (first, cycles) = (random.below(400) as f64, 1.0 + random.below(60) as f64);
            let on = processors[random.below(2) as usize];
            add_worker(&mut run, number, first, cycles, Some(on));
        }
        run.add(at(9), Passing(instance(0)));
        connect_by_bus(&mut run);
        for word in 0..30 {
            let frame =
                OwnedFrame { kind: USER.kind(0), token: Token(word), body: Bytes::new(), bulk: Bytes::new() };
            run.inject(at(9), frame);
        }
        run.run_for(Span::from_millis(10));
        let heard = run.get::<Listener>(instance(0)).map(|listener| listener.0.clone());
        assert_eq!(heard, Some((0..30).collect()), "seed {seed}");
    }
}

#[test]
fn the_processor_that_sends_waits_for_a_device_and_no_other() {
    let (mut run, processors) =
        spread(2, ProcessorModel { output_controller: false, ..cycle_a_microsecond() });
    let mut instructions = marked(0, 5.0);
    let message = Instruction::Send {
        to: at(9),
        message: NOTE,
        bytes: Distribution::Constant(10.0),
        class: Class::Asynchronous,
    };
    instructions.insert(1, message);
    add_module(&mut run, 0, starter(0.0, instructions), Some(processors[1]));
    add_worker(&mut run, 1, 0.0, 3.0, Some(processors[0]));
    add_worker(&mut run, 2, 4.0, 3.0, Some(processors[1]));
    add(&mut run, 9, server(vec![work(1.0)]));
    connect_by_bus(&mut run);
    assert_eq!(all_turns(&mut run), [[(0, 15)], [(0, 3)], [(15, 18)]]);
}

#[test]
fn a_crash_ends_what_a_node_was_at_on_all_its_processors() {
    let (mut run, processors) = spread(2, cycle_a_microsecond());
    (0..4).for_each(|number| add_worker(&mut run, number, 0.0, 50.0, None));
    let other = Address::new(2, 1024);
    run.place(other.node, processors[1]);
    run.run_for(Span::from_micros(20));
    run.crash(NODE, Span::ZERO);
    run.restart(NODE, Restart::Fresh(Vec::new()));
    add(&mut run, 2, starter(0.0, vec![work(5.0)]));
    let turns: [Vec<(u64, u64)>; 4] = all_turns(&mut run);
    assert_eq!(turns, [const { Vec::new() }; 4]);
    assert_eq!(ended(&run, 2), Some(25.0));
}

#[test]
fn a_restarted_node_runs_where_it_did() {
    let (mut run, processors) = spread(2, cycle_a_microsecond());
    for (number, on) in [(0, Some(processors[1])), (1, Some(processors[1])), (2, None)] {
        add_worker(&mut run, number, 0.0, 50.0, on);
    }
    run.crash(NODE, Span::ZERO);
    let again = |number: u16| -> (Port, Box<dyn quintet_simulate::Hosted>) {
        let module = Module::new(starter(0.0, marked(number, 10.0)), Random::new(1, number.into()));
        (instance(number).port, Box::new(module))
    };
    run.restart(NODE, Restart::Fresh((0..3).map(again).collect()));
    for number in 0..3 {
        run.set_costs(instance(number), Costs::from([(WORK, Distribution::Constant(1.0))]));
    }
    assert_eq!(all_turns(&mut run), [[(0, 10)], [(10, 20)], [(0, 10)]]);
}

/// Has the link closed on which it hears the first word, and counts all that it hears.
#[derive(Default)]
struct Strict {
    heard: u32,
}

impl Protocol for Strict {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        if let Input::Frame(from, _) = input {
            self.heard += 1;
            out.work(WORK, 20);
            out.disconnect(from, Disconnect::ForGood);
        }
    }
    fn deadline(&self) -> Option<Time> {
        None
    }
}

/// Passes on to an address what it hears from its callers.
struct Passing(Address);

impl Protocol for Passing {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        if let Input::Frame(_, frame) = input {
            out.send(self.0, frame.kind, frame.token, frame.body).expect("the link is there and has room");
        }
    }
    fn deadline(&self) -> Option<Time> {
        None
    }
}

#[test]
fn what_waits_for_other_processors_is_dropped_with_the_link_that_one_instance_closes() {
    let (mut run, processors) = spread(2, cycle_a_microsecond());
    let cost = Costs::from([(WORK, Distribution::Constant(1.0))]);
    let mut joined = Vec::new();
    let sender = |number| Address::new(2, 50 + number);
    for number in 0..2 {
        run.add_on(instance(number), processors[usize::from(number)], Strict::default());
        run.set_costs(instance(number), cost.clone());
        run.add(sender(number), Passing(instance(number)));
        joined.push((sender(number).port, instance(number).port));
    }
    let direct = LinkModel { delay_min: Span::ZERO, delay_max: Span::ZERO, ..LinkModel::default() };
    run.attach(NodeId(2), NODE, &joined, direct);
    let frame = || OwnedFrame { kind: USER.kind(0), token: Token(0), body: Bytes::new(), bulk: Bytes::new() };
    run.inject(sender(0), frame());
    run.run_for(Span::from_micros(10));
    // The second instance hears one, is at its work for 20 us, and another one waits when the first has the link closed.
    (0..2).for_each(|_| run.inject(sender(1), frame()));
    run.run_for(Span::from_millis(1));
    let heard = [0, 1].map(|number| run.get::<Strict>(instance(number)).map(|strict| strict.heard));
    assert_eq!(heard, [Some(1), Some(1)]);
}

/// Instances with work of their own at times of their own, on processors with or without time slices: every instance does one thing after
/// the other, nothing is lost, and no more runs at once than there are processors.
#[test]
fn whatever_the_work_is_it_is_done_once_and_in_order() {
    for seed in 0..200 {
        let mut random = Random::new(seed, 1);
        let count = 1 + random.below(4) as usize;
        let time_slice = random.chance(500_000).then(|| Picos(MICROSECOND.0 * (1 + random.below(20))));
        let (mut run, processors) = spread(count, ProcessorModel { time_slice, ..cycle_a_microsecond() });
        let mut all = Vec::new();
        for number in 0..1 + random.below(6) as u16 {
            let (cycles, limit) = (1 + random.below(30), 1 + random.below(5));
            let every = Some(Distribution::Constant(random.below(40) as f64 * 1e-6));
            let first = Distribution::Constant(random.below(50) as f64 * 1e-6);
            let timing = Some(Timing { first, every, limit });
            let on = random.chance(300_000).then(|| processors[random.below(count as u64) as usize]);
            let spec = ModuleSpec { timing, ..starter(0.0, marked(number, cycles as f64)) };
            add_module(&mut run, number, spec, on);
            all.push((number, cycles, limit));
        }
        run.run_for(Span::from_millis(10));
        let marks: Vec<_> = run.take_marks().collect();
        for (number, cycles, limit) in &all {
            let turns = turns(&marks, *number);
            assert_eq!(turns.len() as u64, *limit, "seed {seed}: {turns:?}");
            assert!(turns.iter().all(|(from, to)| to - from >= *cycles), "seed {seed}: {turns:?}");
            assert!(turns.is_sorted_by(|before, after| before.1 <= after.0), "seed {seed}: {turns:?}");
        }
        let busy: f64 = processors.iter().map(|id| run.processor_statistics(*id).utilisation * 1e4).sum();
        let asked: u64 = all.iter().map(|(_, cycles, limit)| cycles * limit).sum();
        assert!((busy - asked as f64).abs() < 1e-6, "seed {seed}: {busy} of {asked}");
    }
}

/// Sends customers to instance 0 at exponential intervals.
struct Source {
    random: Random,
    every: Distribution,
    next: Time,
}

impl Protocol for Source {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        if let Input::Wake = input {
            out.send(instance(0), USER.kind(0), Token(0), &[]).expect("the link has room for all");
            self.next = Time(now.0 + Picos::from_seconds(self.every.sample(&mut self.random)).time().0);
        }
    }
    fn deadline(&self) -> Option<Time> {
        Some(self.next)
    }
}

/// Works for each customer.
struct Server;

impl Protocol for Server {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        if let Input::Frame(..) = input {
            out.work(WORK, 1);
        }
    }
    fn deadline(&self) -> Option<Time> {
        None
    }
}

/// How long a customer is there in the mean, in seconds: services of a second on so many processors that are busy for `load` of their time.
fn stay(processors: usize, load: f64, seed: u64) -> f64 {
    let mut run = Simulation::new(seed);
    let model = ProcessorModel { cycle: Picos::from_seconds(1.0), ..ProcessorModel::default() };
    let all: Vec<_> = (0..processors).map(|_| run.add_processor(model)).collect();
    run.spread(NODE, &all);
    let source = at(2);
    run.add_parallel(instance(0), processors, Server);
    run.set_costs(instance(0), Costs::from([(WORK, Distribution::Exponential { mean: 1.0 })]));
    let every = Distribution::Exponential { mean: 1.0 / (load * processors as f64) };
    run.add(source, Source { random: Random::new(seed, 9), every, next: Time(0) });
    let direct = LinkModel { delay_min: Span::ZERO, delay_max: Span::ZERO, ..LinkModel::default() };
    run.attach(source.node, NODE, &[(source.port, instance(0).port)], direct);
    run.run_for(Span::from_secs(100));
    run.reset_statistics();
    run.run_for(Span::from_secs(1_000));
    run.node_statistics(NODE).and_then(|statistics| statistics.response.mean()).expect("some were there")
}

/// Of 20 means of 10 runs, how many have an interval of 95% that covers the exact stay.
fn covered(processors: usize, load: f64, exact: f64) -> usize {
    let seeds: Vec<u64> = (0..200).collect();
    let covers = |seeds: &[u64]| {
        let mut runs = Replications::new();
        seeds.iter().for_each(|seed| runs.add(stay(processors, load, *seed)));
        runs.interval(0.95).expect("there are ten runs").contains(exact)
    };
    seeds.chunks(10).filter(|seeds| covers(seeds)).count()
}

/// M/M/2 (Erlang): the mean stay is 1 / (1 - load^2) services. One server of twice the speed would make it 1.25 services, two with a queue
/// each 2.5.
#[test]
fn the_stay_with_two_processors_is_covered_by_its_confidence_intervals() {
    let covered = covered(2, 0.6, 1.0 / (1.0 - 0.6 * 0.6));
    assert!(covered >= 16, "{covered} of 20; fewer than 16 do by chance once in 400 times");
}

/// M/M/3: of a customer's three servers at load 0.8, 2.4 erlangs, all are busy with probability 0.6472; then he waits 1 / (3 - 2.4) services.
#[test]
fn the_stay_with_three_processors_is_covered_by_its_confidence_intervals() {
    let (load, servers) = (2.4, 3.0);
    let all_busy = load * load * load / 6.0 / (1.0 - load / servers);
    let waits = all_busy / (1.0 + load + load * load / 2.0 + all_busy);
    let covered = covered(3, 0.8, 1.0 + waits / (servers - load));
    assert!(covered >= 16, "{covered} of 20; fewer than 16 do by chance once in 400 times");
}

/// When each activation of a module was ready, when it began, and where: it takes so many cycles for each message, which come at these
/// microseconds, and handles at most so many at once.
fn at_once(processors: usize, most: usize, came: &[u64], cycles: f64) -> Vec<(u64, u64, usize)> {
    let (mut run, all) = spread(processors, cycle_a_microsecond());
    run.add_parallel(instance(0), most, Module::new(server(marked(0, cycles)), Random::new(1, 0)));
    run.set_costs(instance(0), Costs::from([(WORK, Distribution::Constant(1.0))]));
    for (number, at_micros) in (10..).zip(came) {
        let first = *at_micros as f64 * 1e-6;
        let message = Instruction::Send {
            to: instance(0),
            message: NOTE,
            bytes: Distribution::Constant(0.0),
            class: Class::Asynchronous,
        };
        add(&mut run, number, starter(first, vec![message]));
        let direct = LinkModel { delay_min: Span::ZERO, delay_max: Span::ZERO, ..LinkModel::default() };
        run.attach(NodeId(number), NODE, &[(at(number).port, instance(0).port)], direct);
    }
    run.run_for(Span::from_millis(1));
    let micros = |time: Picos| time.0 / MICROSECOND.0;
    let place = |id: ProcessorId| all.iter().position(|other| *other == id).expect("it is one of them");
    let begun = run.take_marks().filter(|mark| mark.number == 0);
    begun.map(|mark| (micros(mark.ready), micros(mark.at), place(mark.on))).collect()
}

#[test]
fn activations_of_one_instance_run_beside_each_other_the_first_come_first() {
    // Ready, begun, and where.
    let begun = at_once(2, 2, &[0, 1, 2, 3, 4], 10.0);
    assert_eq!(begun, [(0, 0, 0), (1, 1, 1), (2, 10, 0), (3, 11, 1), (4, 20, 0)]);
    let begun = at_once(3, 2, &[0, 1, 2, 3], 10.0);
    assert_eq!(
        begun,
        [(0, 0, 0), (1, 1, 1), (2, 10, 0), (3, 11, 1)],
        "two at a time, though there are three processors"
    );
    let begun = at_once(2, 5, &[0, 0, 0, 50], 10.0);
    assert_eq!(
        begun,
        [(0, 0, 0), (0, 0, 1), (0, 10, 0), (50, 50, 0)],
        "never more than there are processors"
    );
}

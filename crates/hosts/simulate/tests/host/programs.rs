//! Modules that decide: variables, conditions, repetitions; what they ask and wait for; what is given up.

use crate::{NOTE, add, at, join, note, server, starter, work};
use quintet_contract::{NodeId, Span};
use quintet_simulate::device::Class;
use quintet_simulate::{
    Distribution, Formula, Instruction, LinkModel, MessageType, Module, ModuleSpec, Operation, Picos,
    ProcessorModel, Simulation, Timing,
};

const HINT: MessageType = MessageType(77);

fn seconds(value: f64) -> Option<Distribution> {
    Some(Distribution::Constant(value))
}

fn ask(to: u16, timeout: Option<Distribution>, late: usize) -> Instruction {
    Instruction::Ask {
        to: at(to),
        message: NOTE,
        bytes: Distribution::Constant(0.0),
        class: Class::Asynchronous,
        timeout,
        late,
    }
}

fn pause(length: f64, next: usize) -> Instruction {
    Instruction::Wait { message: None, timeout: seconds(length), late: next }
}

fn hint(to: u16) -> Instruction {
    let Instruction::Send { to, bytes, class, .. } = note(to, 0.0) else { unreachable!("a note is sent") };
    Instruction::Send { to, message: HINT, bytes, class }
}

const REPLY: Instruction =
    Instruction::Reply { bytes: Distribution::Constant(0.0), class: Class::Asynchronous, ways: Vec::new() };

fn mark(node: u16, number: u32) -> Instruction {
    Instruction::Mark { at: at(node), number }
}

fn variable(number: usize) -> Formula {
    Formula::Variable(number)
}

fn plus(left: Formula, right: f64) -> Formula {
    Formula::two(Operation::Plus, left, Formula::Constant(right))
}

/// A run whose nodes 1 to `nodes` have processors with a cycle of a millisecond, all joined.
fn run_of(specs: Vec<ModuleSpec>) -> Simulation {
    let mut run = Simulation::new(1);
    let nodes = 1..=u16::try_from(specs.len()).expect("there are few");
    for (node, spec) in nodes.clone().zip(specs) {
        let model = ProcessorModel { cycle: Picos(1_000_000_000), ..ProcessorModel::default() };
        let processor = run.add_processor(model);
        run.place(NodeId(node), processor);
        add(&mut run, node, spec);
    }
    for one in nodes.clone() {
        (one + 1..=*nodes.end()).for_each(|other| join(&mut run, one, other));
    }
    run
}

/// The marks: number, node, and when, in milliseconds.
fn marks(run: &mut Simulation) -> Vec<(u32, u16, u64)> {
    run.run_for(Span::from_secs(10));
    run.take_marks().map(|mark| (mark.number, mark.node.0, mark.at.0 / 1_000_000_000)).collect()
}

fn value(run: &Simulation, node: u16, number: usize) -> f64 {
    run.get::<Module>(at(node)).and_then(|module| module.variable(number)).expect("there is such a variable")
}

#[test]
fn whoever_asks_waits_for_the_reply_and_its_processor_does_not() {
    // Node 1 asks node 2, which takes 5 ms; meanwhile another activation of node 1 runs.
    let asker = vec![mark(1, 0), work(1.0), ask(2, None, 0), mark(1, 1)];
    let every = Some(Distribution::Constant(2e-3));
    let timing = Some(Timing { first: Distribution::Constant(0.0), every, limit: 2 });
    let asker = ModuleSpec { timing, ..starter(0.0, asker) };
    let mut run = run_of(vec![asker, server(vec![work(5.0), REPLY])]);
    // Asked at 1 and at 3 ms; answered at 6 and at 11 ms.
    assert_eq!(marks(&mut run), [(0, 1, 0), (0, 1, 2), (1, 1, 6), (1, 1, 11)]);
}

#[test]
fn a_shared_module_answers_whoever_asked_it() {
    // 1 and 2 ask 3, which asks 4; 4 passes on to 5, which answers 3.
    let user = |node| starter(0.0, vec![ask(3, None, 0), mark(node, 9)]);
    let middle = server(vec![work(1.0), ask(4, None, 0), REPLY]);
    let through = server(vec![note(5, 0.0)]);
    let mut run = run_of(vec![user(1), user(2), middle, through, server(vec![work(10.0), REPLY])]);
    assert_eq!(marks(&mut run), [(9, 1, 11), (9, 2, 21)]);
}

#[test]
fn what_was_worked_before_is_over_when_something_is_decided() {
    // Node 1 counts after 5 ms of work, node 2 asks for the count by a message that comes after 3 and after 8 ms.
    let counts = vec![work(5.0), Instruction::Set(0, plus(variable(0), 1.0))];
    let counts = ModuleSpec { variables: vec![0.0], ..starter(0.0, counts) };
    let mut run = run_of(vec![counts]);
    run.run_for(Span::from_millis(3));
    assert_eq!(value(&run, 1, 0), 0.0);
    run.run_for(Span::from_millis(3));
    assert_eq!(value(&run, 1, 0), 1.0);
}

#[test]
fn an_activation_goes_on_before_those_that_wait_for_the_processor() {
    // Two modules on one processor are ready at 0: the second begins when the first is done, decision and all.
    let mut run = Simulation::new(1);
    let model = ProcessorModel { cycle: Picos(1_000_000_000), ..ProcessorModel::default() };
    let processor = run.add_processor(model);
    for node in [1, 2] {
        run.place(NodeId(node), processor);
    }
    let first = vec![work(2.0), Instruction::Set(0, Formula::Constant(1.0)), work(2.0), mark(1, 0)];
    add(&mut run, 1, ModuleSpec { variables: vec![0.0], ..starter(0.0, first) });
    add(&mut run, 2, starter(0.0, vec![mark(2, 0)]));
    assert_eq!(marks(&mut run), [(0, 1, 4), (0, 2, 4)]);
}

#[test]
fn conditions_choose_and_repetitions_repeat() {
    let program = vec![
        Instruction::Repeat(Formula::Constant(3.0)),
        Instruction::Again(7),
        Instruction::Set(0, plus(variable(0), 1.0)),
        // Every turn but the second: 1 ms more.
        Instruction::Unless(Formula::two(Operation::Equal, variable(0), Formula::Constant(2.0)), 5),
        Instruction::Jump(1),
        work(1.0),
        Instruction::Jump(1),
        mark(1, 0),
        Instruction::Repeat(Formula::Constant(0.0)),
        Instruction::Again(11),
        mark(1, 7),
        mark(1, 1),
    ];
    let mut run = run_of(vec![ModuleSpec { variables: vec![0.0], ..starter(0.0, program) }]);
    assert_eq!(marks(&mut run), [(0, 1, 2), (1, 1, 2)]);
    assert_eq!(value(&run, 1, 0), 3.0);
}

#[test]
fn who_waits_too_long_goes_on_elsewhere_and_a_late_reply_is_nobodys() {
    // The first answer takes 5 ms, longer than the 3 ms for which node 1 waits. It asks again at 3 ms: that answer comes at 10 ms. The
    // first one, at 5 ms, must not count for the second.
    let program = vec![ask(2, seconds(3e-3), 2), mark(1, 8), mark(1, 1), ask(2, None, 0), mark(1, 2)];
    let mut run = run_of(vec![starter(0.0, program), server(vec![work(5.0), REPLY])]);
    assert_eq!(marks(&mut run), [(1, 1, 3), (2, 1, 10)]);
}

#[test]
fn a_reply_in_time_stops_the_clock() {
    let program = vec![ask(2, seconds(8e-3), 3), mark(1, 1), pause(10e-3, 4), mark(1, 8), mark(1, 2)];
    let mut run = run_of(vec![starter(0.0, program), server(vec![work(5.0), REPLY])]);
    assert_eq!(marks(&mut run), [(1, 1, 5), (2, 1, 15)]);
}

#[test]
fn a_message_that_comes_before_it_is_waited_for_is_not_lost() {
    let wait = || Instruction::Wait { message: Some(HINT), timeout: None, late: 0 };
    let program = vec![note(2, 0.0), work(5.0), wait(), mark(1, 1), wait(), mark(1, 2)];
    let mut run = run_of(vec![starter(0.0, program), server(vec![hint(1), work(9.0), hint(1)])]);
    assert_eq!(marks(&mut run), [(1, 1, 5), (2, 1, 9)]);
}

#[test]
fn what_is_cancelled_ends_and_only_what_works_for_the_same() {
    // 1 and 2 ask 3, which pauses for 10 ms and answers. 1 is answered by 4 at 2 ms, which cancels what 3 does for 1.
    let user = |node, to: u16| starter(0.0, vec![ask(to, None, 0), mark(node, 9)]);
    let both = server(vec![note(3, 0.0), work(2.0), Instruction::Cancel { at: at(3) }, REPLY]);
    let third = vec![pause(10e-3, 1), mark(3, 3), REPLY];
    let mut run = run_of(vec![user(1, 4), user(2, 3), server(third), both]);
    assert_eq!(marks(&mut run), [(9, 1, 2), (3, 3, 10), (9, 2, 10)]);
}

#[test]
fn whoever_works_for_nobody_cancels_all() {
    let third = server(vec![pause(10e-3, 1), mark(3, 3)]);
    let stop = starter(5e-3, vec![Instruction::Cancel { at: at(3) }]);
    let mut run = run_of(vec![starter(0.0, vec![note(3, 0.0), note(3, 0.0)]), stop, third]);
    assert_eq!(marks(&mut run), []);
}

#[test]
fn a_program_in_which_no_time_passes_is_a_stall() {
    let program = vec![Instruction::Set(0, plus(variable(0), 1.0)), Instruction::Jump(0)];
    let mut run = run_of(vec![ModuleSpec { variables: vec![0.0], ..starter(0.0, program) }]);
    run.run_for(Span::from_secs(1));
    assert!(run.stall().is_some());
}

#[test]
fn activations_under_way_and_inputs_that_wait_are_counted() {
    // Three notes at once: the first activation finds 1 under way and 2 waiting, the others their own.
    let program = vec![
        Instruction::Set(0, Formula::two(Operation::Max, variable(0), Formula::Queue)),
        Instruction::Set(1, Formula::two(Operation::Max, variable(1), Formula::Active)),
        pause(5e-3, 3),
        mark(2, 0),
    ];
    let target = ModuleSpec { variables: vec![0.0, 0.0], ..server(program) };
    let sender = starter(0.0, vec![note(2, 0.0), note(2, 0.0), note(2, 0.0)]);
    let mut run = run_of(vec![sender, target]);
    assert_eq!(marks(&mut run), [(0, 2, 5); 3]);
    assert_eq!(value(&run, 2, 1), 3.0);
    // A program that works has the others wait behind it.
    let busy = ModuleSpec {
        variables: vec![0.0],
        ..server(vec![
            work(5.0),
            Instruction::Set(0, Formula::two(Operation::Max, variable(0), Formula::Queue)),
        ])
    };
    let sender = starter(0.0, vec![note(2, 0.0), note(2, 0.0), note(2, 0.0)]);
    let mut run = run_of(vec![sender, busy]);
    run.run_for(Span::from_secs(1));
    assert_eq!(value(&run, 2, 0), 2.0);
}

#[test]
fn who_asks_waits_for_room_first() {
    let mut run = Simulation::new(1);
    let both = starter(0.0, vec![note(2, 0.0), ask(2, None, 0), mark(1, 1)]);
    add(&mut run, 1, both);
    add(&mut run, 2, server(vec![REPLY]));
    let delay = Span::from_millis(10);
    let link = LinkModel { delay_min: delay, delay_max: delay, window_frames: 1, ..LinkModel::default() };
    run.connect(at(1), at(2), link);
    assert_eq!(marks(&mut run), [(1, 1, 30)]);
}

/// What a run marks in which node 1, told by a note, sends two to node 2 over a link that carries one at a time, each for 10 ms. The
/// program decides or does not; `others` are the nodes from 3 on, which are joined with it and each other.
fn marks_without_room(decides: bool, others: &[ModuleSpec]) -> Vec<(u32, u16, u64)> {
    let decision = if decides { vec![Instruction::Jump(1)] } else { vec![] };
    let notes = vec![note(2, 0.0), note(2, 0.0), mark(1, 1)];
    let mut run = Simulation::new(1);
    add(&mut run, 1, server([decision, notes].concat()));
    add(&mut run, 2, server(vec![]));
    let delay = Span::from_millis(10);
    let link = LinkModel { delay_min: delay, delay_max: delay, window_frames: 1, ..LinkModel::default() };
    run.connect(at(1), at(2), link);
    for (node, spec) in (3..).zip(others) {
        add(&mut run, node, spec.clone());
        [1].into_iter().chain(3..node).for_each(|other| join(&mut run, other, node));
    }
    marks(&mut run)
}

#[test]
fn who_waits_for_room_ends_as_well_when_it_is_cancelled() {
    // At 5 ms one activation waits for room and one behind it; both end. The next, at 7 ms, sends its notes at 10 and 20 ms.
    let stop = vec![note(1, 0.0), note(1, 0.0), pause(5e-3, 3), Instruction::Cancel { at: at(1) }];
    let next = vec![pause(2e-3, 5), note(1, 0.0)];
    let others = [starter(0.0, [stop, next].concat())];
    for decides in [false, true] {
        assert_eq!(marks_without_room(decides, &others), [(1, 1, 20)], "decides: {decides}");
    }
}

#[test]
fn who_waits_for_room_ends_only_if_it_works_for_the_same() {
    // What node 1 does for node 3 ends at 5 ms, and what it does for nobody does not, whichever of them is first.
    let asks = starter(1e-3, vec![ask(4, None, 0)]);
    let stops = server(vec![note(1, 0.0), pause(4e-3, 2), Instruction::Cancel { at: at(1) }]);
    for decides in [false, true] {
        for (first, end) in [(0.0, 10), (2e-3, 21)] {
            let others = [asks.clone(), stops.clone(), starter(first, vec![note(1, 0.0)])];
            let found = marks_without_room(decides, &others);
            assert_eq!(found, [(1, 1, end)], "decides: {decides}, first: {first}");
        }
    }
}

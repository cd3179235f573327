//! One memory that does one isochron after the other: whether programs could have been told what they were told by it.
//!
//! It is given what programs know: the operations of each isochron, in the order in which they were submitted, and what its reads gave. The order in which
//! isochrons were executed is used to try the right one first, and proves nothing here. Of those that were not answered what they wrote may be read by others: whether they
//! were executed is what nodes say.

use super::ledger::World;
use super::programs::{Fate, Program, Submitted};
use quintet_contract::{Bytes, NodeId};
use quintet_isotach::codec::ReadValue;
use quintet_isotach::{Operation, Place, Variable};
use quintet_linearizability::{Event, Fault, Object, check_within};
use std::collections::BTreeMap;

/// States that are looked at: what is right is found within as many as there are isochrons.
const MOST_STATES: usize = 50_000;
/// All answers are behind all questions: so nothing but the order of each program counts.
const ANSWERED: u64 = 1 << 32;

/// The variables of a view, all of zeros in the beginning.
struct Memory;

/// What an isochron does, in its order.
type Steps = Vec<Step>;

enum Step {
    Write(Variable, Value),
    Read(Variable, Value),
}

/// A value that was written; none: zeros, as in the beginning.
type Value = Option<Bytes>;

impl Object for Memory {
    type State = BTreeMap<Variable, Value>;
    type Act = Steps;

    fn apply(&self, state: &Self::State, steps: &Steps) -> impl IntoIterator<Item = Self::State> {
        let mut state = state.clone();
        for step in steps {
            match step {
                Step::Write(variable, value) => _ = state.insert(*variable, value.clone()),
                Step::Read(variable, value) => {
                    if state.get(variable).unwrap_or(&None) != value {
                        return None;
                    }
                }
            }
        }
        Some(state)
    }

    fn is_not_overtaken(&self, _: &Steps) -> bool {
        true
    }
}

/// Looks for an order.
///
/// # Errors
/// As [`check_within`].
pub(super) fn check(
    world: &World,
    unheard: impl Fn(NodeId, &[Operation]) -> Option<Place>,
) -> Result<(), Fault> {
    let mut history: Vec<(Option<Place>, Event<Steps>)> = Vec::new();
    let ended = world.ended.iter().map(|(node, program)| (node, program));
    // Programs of one node in its several lives are several clients.
    for (client, (node, program)) in world.programs.iter().chain(ended).enumerate() {
        for (asked, one) in program.submitted.values().enumerate() {
            let place = place(one).or_else(|| unheard(*node, &one.operations));
            if place.is_none() {
                continue;
            }
            if let Some(act) = steps(one, program, asked) {
                let answered = place.map(|_| ANSWERED);
                history.push((
                    place,
                    Event { client: client.try_into().expect("few"), act, asked: asked as u64, answered },
                ));
            }
        }
    }
    history.sort_by_key(|(place, _)| *place);
    let ranked = |(number, (_, mut event)): (usize, (_, Event<Steps>))| {
        event.answered = event.answered.map(|answered| answered + number as u64);
        event
    };
    let history: Vec<Event<Steps>> = history.into_iter().enumerate().map(ranked).collect();
    check_within(&Memory, &history, MOST_STATES)
}

fn place(one: &Submitted) -> Option<Place> {
    if let Fate::Completed(_, place, _) = &one.fate { Some(*place) } else { None }
}

/// What an isochron did; none if that is nothing.
fn steps(one: &Submitted, program: &Program, at: usize) -> Option<Steps> {
    let mut values = match &one.fate {
        Fate::Refused => return None,
        Fate::Open => [].iter(),
        Fate::Completed(_, _, values) => values.iter(),
    };
    let mut steps = Vec::new();
    for (place, operation) in one.operations.iter().enumerate() {
        match operation {
            Operation::Send { .. } | Operation::Assign(..) => {}
            Operation::Write(variable, value) => steps.push(Step::Write(*variable, written(value))),
            Operation::Sched(variable) => {
                let value = assigned(program, (at, place), *variable);
                steps.push(Step::Write(*variable, value.and_then(|value| written(&value))));
            }
            // What was aborted says nothing.
            Operation::Read(variable) => {
                if let Some(ReadValue::Value(value)) = values.next() {
                    steps.push(Step::Read(*variable, written(value)));
                }
            }
        }
    }
    (!steps.is_empty()).then_some(steps)
}

fn written(value: &Bytes) -> Value {
    value.iter().any(|byte| *byte != 0).then(|| value.clone())
}

/// What the program gave for a place that it reserved: the next value for that variable. If it gave none, all who read it were told so.
fn assigned(program: &Program, (at, place): (usize, usize), variable: Variable) -> Option<Bytes> {
    let behind = program.submitted.values().skip(at).enumerate();
    let given = behind.filter(|(_, one)| one.fate != Fate::Refused).flat_map(|(further, one)| {
        let skipped = if further == 0 { place + 1 } else { 0 };
        one.operations.iter().skip(skipped)
    });
    let mut given = given.filter_map(|operation| match operation {
        Operation::Assign(of, value) if *of == variable => Some(value.clone()),
        _ => None,
    });
    given.next()
}

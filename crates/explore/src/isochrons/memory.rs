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
use quintet_linearizability::{Fault, Memory, Step, Told, check_within, in_program_order};

/// States that are looked at: what is right is found within as many as there are isochrons.
const MOST_STATES: usize = 50_000;

/// What an isochron does, in its order.
type Steps = Vec<Step<Variable, Value>>;

/// A value that was written; none: zeros, as in the beginning.
type Value = Option<Bytes>;

/// Looks for an order.
///
/// # Errors
/// As [`check_within`].
pub(super) fn check(
    world: &World,
    unheard: impl Fn(NodeId, &[Operation]) -> Option<Place>,
) -> Result<(), Fault> {
    let mut told = Vec::new();
    let ended = world.ended.iter().map(|(node, program)| (node, program));
    // Programs of one node in its several lives are several.
    for (number, (node, program)) in world.programs.iter().chain(ended).enumerate() {
        for (asked, one) in program.submitted.values().enumerate() {
            let place = place(one).or_else(|| unheard(*node, &one.operations));
            let act = steps(one, program, asked).filter(|_| place.is_some());
            let program = number.try_into().expect("few");
            told.extend(act.map(|act| Told { program, act, answered: place }));
        }
    }
    check_within(&Memory::default(), &in_program_order(told), MOST_STATES)
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

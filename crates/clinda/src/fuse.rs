//! Which puts go to the space with the take in front of them, in one request.
//!
//! The space can take a tuple and put others in its place at one instant. A program that takes and then puts can do no more than the same instant between the
//! two, if what is put is known before the take is over, and is the same then. So the `out`s that follow an `in`, each a statement directly behind the other, go with it if
//! their values are constants and variables that nobody else can store into while the `in` waits, and that it does not store into itself. Nothing may go wrong between
//! the two either: an `in` whose array may be too long for its place ends the program before the `out`.

use crate::field::{Count, Field};
use crate::operation::Verb;
use crate::standing::Named;
use crate::unit::{Operation, Unit};
use std::collections::BTreeMap;

/// As many puts as go with one take: `CLINDA_MOST_PUTS` of the run-time.
const MAX_PUTS: usize = 16;

/// By the number of each `in` with which puts go: theirs.
pub(crate) fn fused(unit: &Unit) -> BTreeMap<usize, Vec<usize>> {
    let takes = (0..unit.operations.len()).filter(|number| may_bring_puts(&unit.operations[*number]));
    let with = takes.map(|take| (take, puts_behind(unit, take)));
    with.filter(|(_, puts)| !puts.is_empty()).collect()
}

/// Whether the `in` does nothing but wait and store: nothing can fail behind the wait.
fn may_bring_puts(operation: &Operation) -> bool {
    operation.call.verb == Verb::In && operation.standing.is_quiet && operation.fields.iter().all(fits)
}

/// Whether what comes for a field always has room where it is stored.
fn fits(field: &Field) -> bool {
    match field {
        Field::Array(array) => !matches!(array.count, Count::Any { .. } | Count::Counted { .. }),
        _ => true,
    }
}

fn puts_behind(unit: &Unit, take: usize) -> Vec<usize> {
    let stored = stored(&unit.operations[take]);
    let behind = (take..).take_while(|number| unit.is_next_statement(*number)).map(|number| number + 1);
    behind.take_while(|number| is_known_before(&unit.operations[*number], &stored)).take(MAX_PUTS).collect()
}

/// The names of variables into which an operation stores. What else it stores into is no private variable.
fn stored(operation: &Operation) -> Vec<&str> {
    let formals = named_fields(operation).filter(|(field, _)| field.is_formal());
    formals.filter_map(|(_, named)| named.value.as_ref()).map(|variable| variable.name.as_str()).collect()
}

/// Whether this is an `out` whose values are the same before an operation that stores into these variables and behind it.
fn is_known_before(operation: &Operation, stored: &[&str]) -> bool {
    let is_known = |(field, named): (&Field, &Named)| match field {
        Field::Text(_) | Field::Value { constant: Some(_), .. } => true,
        Field::Value { .. } => named
            .value
            .as_ref()
            .is_some_and(|variable| variable.is_private && !stored.contains(&variable.name.as_str())),
        _ => false,
    };
    operation.call.verb == Verb::Out && named_fields(operation).all(is_known)
}

fn named_fields(operation: &Operation) -> impl Iterator<Item = (&Field, &Named)> {
    operation.fields.iter().zip(&operation.standing.fields)
}

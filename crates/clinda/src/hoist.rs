//! Which reads can be begun before the operations that stand in front of them.
//!
//! A `rd` of tuples that the program never takes finds the same one whenever it is begun: the oldest stays the oldest, and where there is none the first that
//! comes is that. So it may be begun before others, and its answer comes while these are waited for. It is begun with the first of the operations that stand
//! directly in front of it, each a statement of its own, if none of these stores anything that its template has: then control goes from the one to
//! the other, and the values are those.

use crate::diagnostic::Place;
use crate::field::{Array, Count, Element, Field};
use crate::operation::{Length, Verb, Written};
use crate::program::Program;
use crate::standing::{Named, Variable};
use crate::unit::{Operation, Unit};
use std::collections::BTreeSet;

/// What is begun earlier than it is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Hoist {
    /// Nothing: each operation is over before the next one is begun.
    #[default]
    Nothing,
    /// `out` does not wait: what comes next waits for it where the order asks for that.
    Puts,
    /// The same, and reads of what the program never takes are begun early. Only for all files of a program together.
    PutsAndReads,
}

/// Where the reads stand of partitions from which the program takes nothing.
pub(crate) fn kept_reads(program: &Program) -> BTreeSet<Place> {
    let analysis = program.analysis();
    let kept = analysis.partitions().iter().filter(|partition| !partition.is_taken());
    let reads = kept.flat_map(|partition| partition.operations()).filter(|used| used.verb == Verb::Rd);
    reads.map(|used| used.place.clone()).collect()
}

/// The reads of a file, of those that are `kept`, that are begun early, each with the operation with which it is.
pub(crate) fn early_reads(unit: &Unit, kept: &BTreeSet<Place>) -> Vec<(usize, usize)> {
    let can_be_early = |operation: &Operation| {
        kept.contains(&unit.source.place(operation.call.range.start))
            && fields(operation)
                .all(|(field, _, named)| is_stored_plainly(field) || is_plain_value(field, named))
    };
    let reads = (0..unit.operations.len()).filter(|number| can_be_early(&unit.operations[*number]));
    reads.filter_map(|read| Some((read, first_in_front(unit, read)?))).collect()
}

/// The first of the statements in front of an operation that it may be begun before; none if there is none.
fn first_in_front(unit: &Unit, number: usize) -> Option<usize> {
    let wanted = values(&unit.operations[number]);
    let keeps = |before: &usize| {
        let stored = stored(&unit.operations[*before]);
        stored.is_some_and(|names| names.iter().all(|name| !wanted.contains(name)))
    };
    let in_front = (0..number).rev().take_while(|before| unit.is_next_statement(*before));
    in_front.take_while(keeps).last()
}

/// The fields of an operation, as they are written, and what they name.
fn fields(operation: &Operation) -> impl Iterator<Item = (&Field, &Written, &Named)> {
    let named = operation.fields.iter().zip(&operation.call.fields).zip(&operation.standing.fields);
    named.map(|((field, written), named)| (field, written, named))
}

/// The names of variables whose values a template has.
fn values(operation: &Operation) -> Vec<&str> {
    let values = fields(operation).filter(|(field, ..)| !field.is_formal());
    values.filter_map(|(_, _, named)| name(named.value.as_ref())).collect()
}

/// The names of what an operation stores into; none if it may store elsewhere.
fn stored(operation: &Operation) -> Option<Vec<&str>> {
    let mut names = Vec::new();
    if !operation.standing.is_quiet {
        return None;
    }
    let formals = fields(operation).filter(|(field, ..)| field.is_formal());
    for (field, written, named) in formals {
        match field {
            Field::Formal { is_anonymous: true, .. } => continue,
            Field::Formal { .. } => names.push(name(named.value.as_ref())?),
            Field::Array(array) if is_declared(array) => {
                names.push(name(named.value.as_ref())?);
                if let Length::Of(..) = &written.length {
                    names.push(name(named.length.as_ref())?);
                }
            }
            _ => return None,
        }
    }
    Some(names)
}

fn name(variable: Option<&Variable>) -> Option<&str> {
    variable.map(|variable| variable.name.as_str())
}

/// Whether the room of a formal array is known: then it is an array and no pointer to who knows what.
fn is_declared(array: &Array) -> bool {
    match array.count {
        Count::Fixed(_) | Count::Whole(_) => true,
        Count::Any { room } | Count::Counted { room, .. } => room.is_some(),
        Count::Given => false,
    }
}

/// Whether a formal needs nothing but itself to be asked for.
fn is_stored_plainly(field: &Field) -> bool {
    match field {
        Field::Formal { .. } => true,
        Field::Array(array) => {
            array.is_formal && matches!(array.element, Element::Scalar(_)) && array.count != Count::Given
        }
        _ => false,
    }
}

/// Whether a value is the same as long as nobody stores into its variable.
fn is_plain_value(field: &Field, named: &Named) -> bool {
    match field {
        Field::Text(_) | Field::Value { constant: Some(_), .. } => true,
        Field::Value { .. } => named.value.is_some(),
        _ => false,
    }
}

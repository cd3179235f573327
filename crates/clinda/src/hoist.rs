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
            && operation.fields.iter().zip(&operation.call.fields).all(|(field, written)| {
                field.is_formal() && is_stored_plainly(field) || is_plain_value(unit, field, written)
            })
    };
    let reads = (0..unit.operations.len()).filter(|number| can_be_early(&unit.operations[*number]));
    reads.filter_map(|read| Some((read, first_in_front(unit, read)?))).collect()
}

/// The first of the statements in front of an operation that it may be begun before; none if there is none.
fn first_in_front(unit: &Unit, number: usize) -> Option<usize> {
    let wanted = values(unit, &unit.operations[number]);
    let mut first = None;
    let mut behind = number;
    while let Some(before) = behind.checked_sub(1) {
        let operation = &unit.operations[before];
        let between = operation.call.range.end..unit.operations[behind].call.range.start;
        let is_next = unit.source.text().get(between).is_some_and(|text| text.trim() == ";");
        let stored = stored(unit, operation);
        let keeps = stored.is_some_and(|names| names.iter().all(|name| !wanted.contains(name)));
        if !is_next || !begins_a_statement(unit, operation) || !keeps {
            break;
        }
        (first, behind) = (Some(before), before);
    }
    first
}

/// Whether nothing but the end of a statement, or the brace of a block, stands in front: else a condition may.
fn begins_a_statement(unit: &Unit, operation: &Operation) -> bool {
    let before = unit.source.text()[..operation.call.range.start].trim_end();
    before.ends_with([';', '{', '}'])
}

/// The names of variables whose values a template has.
fn values<'a>(unit: &'a Unit, operation: &'a Operation) -> Vec<&'a str> {
    let fields = operation.fields.iter().zip(&operation.call.fields);
    fields.filter(|(field, _)| !field.is_formal()).map(|(_, written)| unit.words(&written.value)).collect()
}

/// The names of what an operation stores into; none if it may store elsewhere.
fn stored<'a>(unit: &'a Unit, operation: &'a Operation) -> Option<Vec<&'a str>> {
    let mut names = Vec::new();
    for (field, written) in operation.fields.iter().zip(&operation.call.fields) {
        let words = unit.words(&written.value);
        match field {
            // What calls and other expressions change is not known.
            Field::Call(_) => return None,
            Field::Text(_) | Field::Value { constant: Some(_), .. } => continue,
            Field::Value { .. } if is_name(words) => continue,
            Field::Array(Array { is_formal: false, .. })
                if is_name(words) && has_plain_length(unit, written) =>
            {
                continue;
            }
            Field::Formal { is_anonymous: true, .. } => continue,
            Field::Formal { .. } if is_name(words) => names.push(words),
            Field::Array(array) if array.is_formal && is_name(words) && is_declared(array) => {
                names.push(words);
                if let Length::Of(_, length) = &written.length {
                    let length = unit.words(length);
                    is_name(length).then(|| names.push(length))?;
                }
            }
            _ => return None,
        }
    }
    Some(names)
}

fn has_plain_length(unit: &Unit, written: &Written) -> bool {
    match &written.length {
        Length::Of(_, length) => {
            unit.words(length).chars().all(|letter| letter.is_alphanumeric() || letter == '_')
        }
        Length::None | Length::Whole(_) => true,
    }
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
        Field::Array(array) => matches!(array.element, Element::Scalar(_)) && array.count != Count::Given,
        _ => false,
    }
}

/// Whether a value is the same as long as nobody stores into its variable.
fn is_plain_value(unit: &Unit, field: &Field, written: &Written) -> bool {
    match field {
        Field::Text(_) | Field::Value { constant: Some(_), .. } => true,
        Field::Value { .. } => is_name(unit.words(&written.value)),
        _ => false,
    }
}

fn is_name(words: &str) -> bool {
    words.starts_with(|first: char| first.is_alphabetic() || first == '_')
        && words.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
}

//! The fields by whose values tuples can be spread over several managers of a space, from all operations of the program together.
//!
//! A space decides for all tuples of the same types at once, whatever constants tell partitions apart. So a field can be the key if every template of these types gives a
//! value for it, and not all the same: a variable, or constants of which each names a partition of its own, which then is whole at one manager.

use crate::field::{Array, Element, Field};
use crate::types::Scalar;
use crate::whole::Whole;
use std::collections::BTreeSet;

/// What a space tells apart of the type of a field. Scalars are named as the run-time names them: types of C that are one to the space are one here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Text,
    Scalar(&'static str),
    /// Of these elements, each of which has so many dimensions.
    Array(&'static str, usize),
}

/// The key of all tuples of some types.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Key {
    pub(crate) types: Vec<Kind>,
    /// Its field, counted from 0.
    pub(crate) field: usize,
}

impl Kind {
    /// None: an array of structs, whose size only the C compiler knows.
    fn of(field: &Field) -> Option<Kind> {
        Some(match field {
            Field::Text(_) => Kind::Text,
            Field::Value { scalar, .. } | Field::Formal { scalar, .. } => Kind::Scalar(scalar.code()),
            Field::Call(call) => Kind::Scalar(call.result.code()),
            Field::Record { .. } => Kind::Array(Scalar::UnsignedChar.code(), 0),
            Field::Array(Array { element: Element::Scalar(scalar), inner, .. }) => {
                Kind::Array(scalar.code(), inner.len())
            }
            Field::Array(_) => return None,
        })
    }
}

/// The keys of a program, in the order in which it first names the types.
pub(crate) fn keys(program: &Whole) -> Vec<Key> {
    let mut templates: Vec<(Vec<Kind>, Vec<&[Field]>)> = Vec::new();
    for operation in program.operations().filter(|operation| !operation.verb.is_producer()) {
        let kinds: Option<Vec<Kind>> = operation.fields.iter().map(Kind::of).collect();
        let Some(types) = kinds else { continue };
        match templates.iter_mut().find(|(known, _)| *known == types) {
            Some((_, uses)) => uses.push(&operation.fields),
            None => templates.push((types, vec![&operation.fields])),
        }
    }
    let key = |(types, uses): (Vec<Kind>, Vec<&[Field]>)| {
        let best = (0..types.len()).rev().max_by_key(|field| values(&uses, *field))?;
        (values(&uses, best) > 1).then_some(Key { types, field: best })
    };
    templates.into_iter().filter_map(key).collect()
}

/// How many values templates give for a field, as far as the program says: none if one gives none, many if one gives a variable.
fn values(templates: &[&[Field]], field: usize) -> usize {
    let mut constants = BTreeSet::new();
    let mut values = 0;
    for template in templates {
        match &template[field] {
            Field::Value { constant: None, .. } => values = usize::MAX,
            Field::Text(words) | Field::Value { constant: Some(words), .. } => {
                constants.insert(words.as_str());
            }
            _ => return 0,
        }
    }
    values.max(constants.len())
}

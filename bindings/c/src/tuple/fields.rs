//! The fields of a tuple or a template: values lie as they are put and as they come, so that neither copies them.

use quintet::{Field, MAX_TUPLE_FIELDS, Tuple, Value};

pub(super) enum Fields {
    /// Values, at least one and no more than can be put.
    Tuple(Tuple),
    /// None, or such that were not values only when the last one was added, or too many.
    List(Vec<Field>),
}

impl Default for Fields {
    fn default() -> Fields {
        Fields::List(Vec::new())
    }
}

impl Fields {
    pub(super) fn of(values: Vec<Value>) -> Fields {
        if values.is_empty() || values.len() > MAX_TUPLE_FIELDS {
            return Fields::List(values.into_iter().map(Field::Actual).collect());
        }
        Fields::Tuple(Tuple::new(values).expect("there are as many values as a tuple may have"))
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Fields::Tuple(tuple) => tuple.values().len(),
            Fields::List(fields) => fields.len(),
        }
    }

    /// The field of this number. It shares its data.
    pub(super) fn get(&self, index: usize) -> Option<Field> {
        match self {
            Fields::Tuple(tuple) => tuple.values().get(index).cloned().map(Field::Actual),
            Fields::List(fields) => fields.get(index).cloned(),
        }
    }

    /// All of them. They share their data.
    pub(super) fn to_list(&self) -> Vec<Field> {
        match self {
            Fields::Tuple(tuple) => tuple.values().iter().cloned().map(Field::Actual).collect(),
            Fields::List(fields) => fields.clone(),
        }
    }

    pub(super) fn push(&mut self, field: Field) {
        *self = match (core::mem::take(self), field) {
            (Fields::Tuple(tuple), Field::Actual(value)) => {
                let mut values = tuple.into_values();
                values.push(value);
                Fields::of(values)
            }
            (Fields::Tuple(tuple), field) => {
                let mut fields: Vec<Field> = tuple.into_iter().map(Field::Actual).collect();
                fields.push(field);
                Fields::List(fields)
            }
            (Fields::List(fields), Field::Actual(value)) if fields.is_empty() => Fields::of(vec![value]),
            (Fields::List(mut fields), field) => {
                fields.push(field);
                Fields::List(fields)
            }
        };
    }

    /// Keeps the first ones, so many of them.
    pub(super) fn truncate(&mut self, count: usize) {
        *self = match core::mem::take(self) {
            Fields::Tuple(tuple) => {
                let mut values = tuple.into_values();
                values.truncate(count);
                Fields::of(values)
            }
            Fields::List(mut fields) => {
                fields.truncate(count);
                Fields::List(fields)
            }
        };
    }
}

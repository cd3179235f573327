//! The fields of a tuple or a template: values lie as they are put and as they come, so that neither copies them.

use core::num::NonZeroUsize;
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
        match (self, field) {
            (Fields::Tuple(tuple), Field::Actual(value)) if tuple.values().len() < MAX_TUPLE_FIELDS => {
                tuple.push(value).expect("there is room for another value");
            }
            (Fields::List(fields), field) if !fields.is_empty() => fields.push(field),
            (fields, Field::Actual(value)) if fields.len() == 0 => *fields = Fields::of(vec![value]),
            (fields, field) => {
                let mut list = fields.to_list();
                list.push(field);
                *fields = Fields::List(list);
            }
        }
    }

    /// Keeps the first ones, so many of them.
    pub(super) fn truncate(&mut self, count: usize) {
        match (self, NonZeroUsize::new(count)) {
            (Fields::Tuple(tuple), Some(count)) => tuple.truncate(count),
            (fields @ Fields::Tuple(_), None) => *fields = Fields::default(),
            (Fields::List(fields), _) => fields.truncate(count),
        }
    }
}

//! Fields with their types: what a tuple of the space will have there.

use crate::types::Scalar;

/// A field of an operation.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Field {
    /// A text that stands in the program: the words of its literals.
    Text(String),
    /// A scalar value, and its words if they are a constant.
    Value { scalar: Scalar, constant: Option<String> },
    /// A formal for a scalar; anonymous, it stores nothing.
    Formal { scalar: Scalar, is_anonymous: bool },
    /// A struct or union, as it lies in memory: its name.
    Record { record: String, is_formal: bool },
    /// An array.
    Array(Array),
    /// In an eval: a call that a process of its own makes.
    Call(Call),
}

/// An array as a field.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Array {
    pub(crate) element: Element,
    /// Lengths of the elements, where these are arrays themselves.
    pub(crate) inner: Vec<u64>,
    pub(crate) count: Count,
    pub(crate) is_formal: bool,
}

/// What an array has.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Element {
    Scalar(Scalar),
    /// A struct or union of this name.
    Record(String),
}

/// How many elements.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Count {
    /// So many, always: a declared array without a colon.
    Fixed(u64),
    /// `a:`, the declared length.
    Whole(u64),
    /// `a:n`, what an expression says.
    Given,
    /// `?a:`, any number for which there is room, if that is known.
    Any { room: Option<u64> },
    /// `?a:n`, the same, and the number goes to `n`, of this type.
    Counted { room: Option<u64>, count: Scalar },
}

/// A call in an eval.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Call {
    pub(crate) function: String,
    pub(crate) arguments: Vec<Scalar>,
    pub(crate) result: Scalar,
}

impl Field {
    pub(crate) fn is_formal(&self) -> bool {
        match self {
            Field::Formal { .. } => true,
            Field::Record { is_formal, .. } => *is_formal,
            Field::Array(array) => array.is_formal,
            Field::Text(_) | Field::Value { .. } | Field::Call(_) => false,
        }
    }

    /// Whether it is the same each time the operation is made: a constant, or a formal.
    pub(crate) fn is_fixed(&self) -> bool {
        match self {
            Field::Array(array) => array.is_formal && array.count != Count::Given,
            field => field.is_formal() || field.constant().is_some(),
        }
    }

    /// The words of a constant.
    pub(crate) fn constant(&self) -> Option<&str> {
        match self {
            Field::Text(words) => Some(words),
            Field::Value { constant, .. } => constant.as_deref(),
            _ => None,
        }
    }

    /// The type that has to agree, for people and for comparing: `int32`, `float64[]`, `int32[3][4]`, `struct point`.
    pub(crate) fn wire(&self) -> String {
        match self {
            Field::Text(_) => "text".to_owned(),
            Field::Value { scalar, .. } | Field::Formal { scalar, .. } => scalar.wire().to_owned(),
            Field::Call(call) => call.result.wire().to_owned(),
            Field::Record { record, .. } => record.clone(),
            Field::Array(array) => array.wire(),
        }
    }

    /// As other files have to know it: with what it may agree, and nothing of how it is passed.
    pub(crate) fn noted(&self) -> Field {
        match self {
            Field::Text(_) | Field::Record { .. } => self.clone(),
            Field::Value { scalar, constant } => {
                Field::Value { scalar: scalar.noted(), constant: constant.clone() }
            }
            Field::Formal { scalar, .. } => Field::Formal { scalar: scalar.noted(), is_anonymous: true },
            Field::Array(array) => Field::Array(array.noted()),
            Field::Call(call) => Field::Value { scalar: call.result.noted(), constant: None },
        }
    }

    /// Whether a template's field with this type may find one of that.
    pub(crate) fn may_match(&self, wanted: &Field) -> bool {
        match (self, wanted) {
            (Field::Array(one), Field::Array(other)) => one.may_match(other),
            _ => self.wire() == wanted.wire(),
        }
    }
}

impl Array {
    fn noted(&self) -> Array {
        let element = match &self.element {
            Element::Scalar(scalar) => Element::Scalar(scalar.noted()),
            record @ Element::Record(_) => record.clone(),
        };
        let count = self.exactly().map_or(Count::Given, Count::Fixed);
        Array { element, inner: self.inner.clone(), count, is_formal: self.is_formal }
    }

    fn wire(&self) -> String {
        let element = match &self.element {
            Element::Scalar(scalar) => scalar.wire(),
            Element::Record(record) => record,
        };
        let count = self.exactly().map_or(String::new(), |count| count.to_string());
        let inner: String = self.inner.iter().map(|length| format!("[{length}]")).collect();
        format!("{element}[{count}]{inner}")
    }

    /// The number of its elements, if the program says it.
    pub(crate) fn exactly(&self) -> Option<u64> {
        match self.count {
            Count::Fixed(count) | Count::Whole(count) => Some(count),
            Count::Given | Count::Any { .. } | Count::Counted { .. } => None,
        }
    }

    fn may_match(&self, other: &Array) -> bool {
        let wire = |array: &Array| match &array.element {
            Element::Scalar(scalar) => scalar.wire().to_owned(),
            Element::Record(record) => record.clone(),
        };
        let counts = self.exactly().zip(other.exactly());
        wire(self) == wire(other) && self.inner == other.inner && counts.is_none_or(|(one, two)| one == two)
    }
}

//! What is passed for a field: the arguments where the operation stands, and the parameters of the function that it becomes.

use crate::field::{Array, Count, Element, Field};
use crate::operation::{Length, Written};
use crate::types::Scalar;
use std::ops::Range;

/// The arguments for a field; none for what the function knows by itself. `render` gives a part of the source.
pub(crate) fn arguments(
    field: &Field,
    written: &Written,
    render: &impl Fn(&Range<usize>) -> String,
) -> Vec<String> {
    let value = || render(&written.value);
    match field {
        Field::Text(_)
        | Field::Value { constant: Some(_), .. }
        | Field::Formal { is_anonymous: true, .. } => Vec::new(),
        Field::Value { .. } => vec![value()],
        Field::Formal { .. } => vec![address(&value())],
        Field::Record { .. } => {
            let value = value();
            vec![address(&value), format!("sizeof({value})")]
        }
        Field::Array(array) => {
            let mut arguments = vec![value()];
            if let Element::Record(_) = array.element {
                arguments.push(format!("sizeof(*{})", in_parentheses(&arguments[0])));
            }
            match (&array.count, &written.length) {
                (Count::Given, Length::Of(_, length)) => arguments.push(render(length)),
                (Count::Counted { .. }, Length::Of(_, length)) => arguments.push(address(&render(length))),
                _ => {}
            }
            arguments
        }
        // The arguments of the function that is called: what stands between its parentheses.
        Field::Call(call) if call.arguments.is_empty() => Vec::new(),
        Field::Call(_) => {
            let call = value();
            let inner = call.split_once('(').map_or("", |(_, rest)| rest);
            vec![inner.strip_suffix(')').unwrap_or(inner).trim().to_owned()]
        }
    }
}

/// Whether the template has a value for it that is passed.
pub(crate) fn is_of_template(field: &Field) -> bool {
    matches!(field, Field::Value { constant: None, .. })
}

/// Whether this is one name, member or element.
fn is_plain(words: &str) -> bool {
    words.chars().all(|letter| letter.is_alphanumeric() || "_.[]".contains(letter))
}

fn in_parentheses(words: &str) -> String {
    if is_plain(words) { words.to_owned() } else { format!("({words})") }
}

fn address(words: &str) -> String {
    format!("&{}", in_parentheses(words))
}

/// The parameters for the field of this number, counted from 1, which agree with its [`arguments`].
pub(crate) fn parameters(field: &Field, number: usize) -> Vec<String> {
    match field {
        Field::Text(_)
        | Field::Value { constant: Some(_), .. }
        | Field::Formal { is_anonymous: true, .. } => Vec::new(),
        Field::Value { scalar, .. } => vec![format!("{} field_{number}", scalar.c_name())],
        Field::Formal { scalar, .. } => vec![format!("{} *field_{number}", scalar.pointed_to())],
        Field::Record { is_formal, .. } => {
            let constant = if *is_formal { "" } else { "const " };
            vec![format!("{constant}void *field_{number}"), format!("size_t size_{number}")]
        }
        Field::Array(array) => array_parameters(array, number),
        Field::Call(call) => {
            let parameter = |(index, scalar): (usize, &Scalar)| {
                format!("{} {}", scalar.c_name(), argument_name(number, index))
            };
            call.arguments.iter().enumerate().map(parameter).collect()
        }
    }
}

/// The name of an argument of the call in a field.
pub(crate) fn argument_name(number: usize, index: usize) -> String {
    format!("argument_{number}_{}", index + 1)
}

fn array_parameters(array: &Array, number: usize) -> Vec<String> {
    let constant = if array.is_formal { "" } else { "const " };
    let of = match &array.element {
        Element::Scalar(scalar) if array.inner.is_empty() => scalar.pointed_to(),
        _ => "void",
    };
    let mut parameters = vec![format!("{constant}{of} *field_{number}")];
    if let Element::Record(_) = array.element {
        parameters.push(format!("size_t size_{number}"));
    }
    match &array.count {
        Count::Given => parameters.push(format!("long count_{number}")),
        Count::Counted { count, .. } => parameters.push(format!("{} *count_{number}", count.c_name())),
        _ => {}
    }
    parameters
}

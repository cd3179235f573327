//! The function that an operation becomes.

use super::parameter::{argument_name, parameters};
use super::{comment, early, function_name, fused, live, place};
use crate::field::{Array, Count, Element, Field};
use crate::operation::Verb;
use crate::plan::Plan;
use crate::types::Scalar;
use crate::unit::{Operation, Unit};

pub(crate) fn emit(unit: &Unit, plan: &Plan, number: usize, operation: &Operation) -> String {
    let verb = operation.call.verb;
    let parts = fused::parts(unit, plan, number);
    let numbered = parts.iter().flat_map(|(first, part)| fields_from(*first, part));
    let all: Vec<String> = numbered.flat_map(|(number, field)| parameters(field, number)).collect();
    let list = if all.is_empty() { "void".to_owned() } else { all.join(", ") };
    let comments: String = parts.iter().map(|(_, part)| comment(unit, part)).collect();
    let body = match verb {
        _ if parts.len() > 1 => fused::consumer(unit, operation, &parts[1..]),
        Verb::Out => producer(unit, plan, operation),
        Verb::Eval => live::producer(unit, number, operation),
        _ if plan.early.contains(&number) => early::consumer(number, operation),
        _ => consumer(unit, operation),
    };
    let site = match verb {
        Verb::Eval => live::declaration(number),
        _ if plan.early.contains(&number) => early::declaration(unit, number, operation),
        _ => String::new(),
    };
    format!("{comments}{site}static int {}({list})\n{{\n{body}}}\n", function_name(number, verb))
}

/// The fields of an operation with their numbers, from 1.
pub(super) fn fields(operation: &Operation) -> impl Iterator<Item = (usize, &Field)> {
    fields_from(1, operation)
}

/// The same, from this number: where they stand behind those of another operation.
pub(super) fn fields_from(first: usize, operation: &Operation) -> impl Iterator<Item = (usize, &Field)> {
    (first..).zip(&operation.fields)
}

fn producer(unit: &Unit, plan: &Plan, operation: &Operation) -> String {
    let put = if plan.puts_ahead { "clinda_out_ahead" } else { "clinda_out" };
    kept(unit, (1, operation), "tuple") + &format!("    {put}(&tuple);\n    return 1;\n")
}

fn consumer(unit: &Unit, operation: &Operation) -> String {
    let verb = operation.call.verb;
    let mut body = kept(unit, (1, operation), "wanted");
    body.push_str(&format!("    clinda_tuple found = clinda_{}(&wanted);\n", verb.name()));
    if verb.is_predicate() {
        body.push_str("    if (found.fields == NULL)\n        return 0;\n");
    }
    body + &results(operation)
}

/// A tuple that each thread makes once: fields at its beginning that are always the same are added that time, the others each time. The operation with the number of its first
/// field.
pub(super) fn kept(unit: &Unit, (first, operation): (usize, &Operation), tuple: &str) -> String {
    let address = format!("&{tuple}");
    let additions: Vec<String> =
        fields_from(first, operation).map(|(number, field)| addition(&address, number, field)).collect();
    let count = operation.fields.iter().take_while(|field| field.is_fixed()).count();
    let (first, others) = additions.split_at(count);
    let begin = format!("clinda_begin({address})");
    let begin = match first {
        [] => format!("    {begin};\n"),
        [one] => format!("    if ({begin})\n    {one}"),
        several => {
            let lines: String = several.iter().map(|line| format!("    {line}")).collect();
            format!("    if ({begin}) {{\n{lines}    }}\n")
        }
    };
    let place = place(unit, operation);
    let fixed = if others.is_empty() { "CLINDA_ALL".to_owned() } else { count.to_string() };
    format!(
        "    static __thread clinda_tuple {tuple} = {{.place = {place}, .fixed = {fixed}}};\n\n{begin}{}",
        others.concat()
    )
}

/// Stores what was found, and tells that there was something.
pub(super) fn results(operation: &Operation) -> String {
    let stored: String =
        fields(operation).map(|(number, field)| retrieval("&found", number - 1, number, field)).collect();
    stored + "    clinda_free(&found);\n    return 1;\n"
}

/// Adds a field, a value or a formal, from its parameters.
pub(super) fn addition(tuple: &str, number: usize, field: &Field) -> String {
    match field {
        Field::Text(words) => format!("    clinda_text({tuple}, {words});\n"),
        Field::Value { scalar, constant: Some(words) } => {
            let (code, of) = (scalar.code(), scalar.c_name());
            format!("    clinda_value({tuple}, {code}, &({of}){{{words}}});\n")
        }
        Field::Value { scalar, .. } => value(tuple, scalar.code(), &format!("field_{number}")),
        Field::Formal { scalar, .. } => formal(tuple, scalar.code()),
        Field::Record { is_formal: false, .. } => format!(
            "    clinda_array({tuple}, CLINDA_UNSIGNED_CHAR, (long)size_{number}, 0, NULL, field_{number});\n"
        ),
        Field::Record { .. } => {
            format!("    clinda_formal_array({tuple}, CLINDA_UNSIGNED_CHAR, size_{number}, 0, NULL);\n")
        }
        Field::Array(array) => array_addition(tuple, number, array),
        Field::Call(call) => {
            let argument = |(index, scalar): (usize, &Scalar)| {
                value(tuple, scalar.code(), &argument_name(number, index))
            };
            call.arguments.iter().enumerate().map(argument).collect()
        }
    }
}

fn value(tuple: &str, code: &str, variable: &str) -> String {
    format!("    clinda_value({tuple}, {code}, &{variable});\n")
}

pub(super) fn formal(tuple: &str, code: &str) -> String {
    format!("    clinda_formal({tuple}, {code});\n")
}

/// The type of an array's elements, and the lengths that each of them has.
fn elements(array: &Array, number: usize) -> (&'static str, String) {
    let mut lengths: Vec<String> = array.inner.iter().map(u64::to_string).collect();
    let code = match &array.element {
        Element::Scalar(scalar) => scalar.code(),
        Element::Record(_) => {
            lengths.push(format!("size_{number}"));
            "CLINDA_UNSIGNED_CHAR"
        }
    };
    let shape = match lengths.len() {
        0 => "0, NULL".to_owned(),
        count => format!("{count}, (const size_t[]){{{}}}", lengths.join(", ")),
    };
    (code, shape)
}

fn array_addition(tuple: &str, number: usize, array: &Array) -> String {
    let (code, shape) = elements(array, number);
    let count = match &array.count {
        Count::Fixed(count) | Count::Whole(count) => count.to_string(),
        Count::Given => format!("count_{number}"),
        Count::Any { .. } | Count::Counted { .. } => "CLINDA_ANY".to_owned(),
    };
    match array.is_formal {
        true => format!("    clinda_formal_array({tuple}, {code}, {count}, {shape});\n"),
        false => format!("    clinda_array({tuple}, {code}, {count}, {shape}, field_{number});\n"),
    }
}

/// Stores what was found, where the field is a formal. `index` is its place in the tuple.
fn retrieval(tuple: &str, index: usize, number: usize, field: &Field) -> String {
    match field {
        Field::Formal { is_anonymous: false, scalar } => {
            format!("    clinda_get({tuple}, {index}, {}, field_{number});\n", scalar.code())
        }
        Field::Record { is_formal: true, .. } => {
            format!("    clinda_get_array({tuple}, {index}, size_{number}, field_{number});\n")
        }
        Field::Array(array) if array.is_formal => {
            let known = |room: Option<u64>| room.map_or("CLINDA_ANY".to_owned(), |room| room.to_string());
            let (room, count) = match &array.count {
                Count::Counted { room, count } => {
                    (known(*room), format!("*count_{number} = ({})", count.c_name()))
                }
                Count::Any { room } => (known(*room), String::new()),
                Count::Fixed(count) | Count::Whole(count) => (count.to_string(), String::new()),
                Count::Given => (known(None), String::new()),
            };
            format!("    {count}clinda_get_array({tuple}, {index}, {room}, field_{number});\n")
        }
        _ => String::new(),
    }
}

//! What carries out an eval: its live tuple has the values that only run time knows, and from these and from what the calls return another
//! process makes the tuple.

use super::function::{addition, fields, formal};
use super::parameter::argument_name;
use super::{c_text, comment, place};
use crate::field::{Array, Call, Count, Element, Field};
use crate::unit::{Operation, Unit};

fn site(number: usize) -> String {
    format!("clinda_site_{}", number + 1)
}

/// Makes the site known to the function that begins evals, which stands before it.
pub(super) fn declaration(number: usize) -> String {
    format!("static clinda_site {};\n", site(number))
}

/// The body of the function that begins an eval.
pub(super) fn producer(unit: &Unit, number: usize, operation: &Operation) -> String {
    let mut body = format!("    clinda_tuple live = clinda_begin_live({});\n\n", place(unit, operation));
    for (number, field) in fields(operation).filter(|(_, field)| field.constant().is_none()) {
        body.push_str(&addition("&live", number, field));
    }
    body + &format!("    clinda_eval(&live, &{});\n    return 1;\n", site(number))
}

/// What stands behind the program: for each eval the function that carries it out, and what makes them known.
pub(super) fn emit(unit: &Unit) -> String {
    let mut text = String::new();
    let mut registrations = String::new();
    for (number, operation) in unit.evals() {
        let calls = calls(operation).count();
        let name = c_text(&unit.source.place(operation.call.range.start).to_string());
        text.push_str(&format!(
            "\n{}static void clinda_run_{}(clinda_live *live)\n{{\n{}}}\n\n\
             static clinda_site {} = {{.name = {name}, .calls = {calls}, .run = clinda_run_{}}};\n",
            comment(unit, operation),
            number + 1,
            run(unit, operation),
            site(number),
            number + 1
        ));
        registrations.push_str(&format!("    clinda_register(&{});\n", site(number)));
    }
    if registrations.is_empty() {
        return text;
    }
    text + &format!(
        "\n__attribute__((constructor)) static void clinda_register_sites(void)\n{{\n{registrations}}}\n"
    )
}

/// The calls of an eval, with the numbers of their fields.
fn calls(operation: &Operation) -> impl Iterator<Item = (usize, &Call)> {
    fields(operation).filter_map(|(number, field)| match field {
        Field::Call(call) => Some((number, call)),
        _ => None,
    })
}

fn run(unit: &Unit, operation: &Operation) -> String {
    let mut body = template(operation);
    body.push_str(&each_call(operation));
    body.push_str(&format!("    clinda_tuple tuple = clinda_new({});\n\n", place(unit, operation)));
    let (mut index, mut which) = (0, 0);
    for (number, field) in fields(operation) {
        match field {
            Field::Call(call) => {
                body.push_str(&format!(
                    "    clinda_add_result(&tuple, live, {which}, {});\n",
                    call.result.code()
                ));
                which += 1;
            }
            field if field.constant().is_some() => body.push_str(&addition("&tuple", number, field)),
            _ => body.push_str(&format!("    clinda_copy(&tuple, found, CLINDA_LIVE_FIELDS + {index});\n")),
        }
        index += places(field);
    }
    body + "    clinda_done(live, &tuple);\n"
}

/// How many fields of the live tuple a field has.
fn places(field: &Field) -> usize {
    match field {
        Field::Call(call) => call.arguments.len(),
        field => usize::from(field.constant().is_none()),
    }
}

/// Finds the live tuple: all its fields are formals.
fn template(operation: &Operation) -> String {
    let mut text = "    clinda_tuple wanted = clinda_begin_find(live);\n\n".to_owned();
    for (_, field) in fields(operation) {
        text.push_str(&match field {
            Field::Value { scalar, constant: None } => formal("&wanted", scalar.code()),
            Field::Array(array) => any_array(&array.element, array),
            Field::Record { .. } => formal_array("CLINDA_UNSIGNED_CHAR", &[]),
            Field::Call(call) => {
                call.arguments.iter().map(|scalar| formal("&wanted", scalar.code())).collect()
            }
            _ => String::new(),
        });
    }
    text + "    const clinda_tuple *found = clinda_find(live, &wanted);\n"
}

/// A formal for an array of any lengths: only its number of dimensions and its elements have to agree.
fn formal_array(code: &str, inner: &[&str]) -> String {
    let shape = match inner.len() {
        0 => "0, NULL".to_owned(),
        count => format!("{count}, (const size_t[]){{{}}}", inner.join(", ")),
    };
    format!("    clinda_formal_array(&wanted, {code}, CLINDA_ANY, {shape});\n")
}

fn any_array(element: &Element, array: &Array) -> String {
    // Fixed or not, one with this number is there only once.
    debug_assert!(
        !matches!(array.count, Count::Any { .. } | Count::Counted { .. }),
        "an eval has no formals"
    );
    let mut inner = vec!["CLINDA_ANY"; array.inner.len()];
    match element {
        Element::Scalar(scalar) => formal_array(scalar.code(), &inner),
        Element::Record(_) => {
            inner.push("CLINDA_ANY");
            formal_array("CLINDA_UNSIGNED_CHAR", &inner)
        }
    }
}

/// For each call: its arguments, and what it returns. A process makes one of them; another one has the results of all.
fn each_call(operation: &Operation) -> String {
    let (mut text, mut index, mut which) = (String::new(), 0, 0);
    for (number, field) in fields(operation) {
        if let Field::Call(call) = field {
            text.push_str(&one_call(number, call, which, index));
            which += 1;
        }
        index += places(field);
    }
    text + "    if (!clinda_is_complete(live))\n        return;\n"
}

fn one_call(number: usize, call: &Call, which: usize, index: usize) -> String {
    let names: Vec<String> = (0..call.arguments.len()).map(|at| argument_name(number, at)).collect();
    let mut text = format!("    if (clinda_is_for(live, {which})) {{\n");
    for (scalar, name) in call.arguments.iter().zip(&names) {
        text.push_str(&format!("        {} {name};\n", scalar.c_name()));
    }
    for (at, name) in names.iter().enumerate() {
        let code = call.arguments[at].code();
        text.push_str(&format!(
            "        clinda_get(found, CLINDA_LIVE_FIELDS + {}, {code}, &{name});\n",
            index + at
        ));
    }
    let (of, code) = (call.result.c_name(), call.result.code());
    text.push_str(&format!("        {of} result = {}({});\n", call.function, names.join(", ")));
    text + &format!("        clinda_returned(live, {code}, &result);\n    }}\n")
}

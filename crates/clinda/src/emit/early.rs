//! The functions of a read that is begun early: one begins it, the one at its place begins it if that was not done, and waits for it.

use super::function::{fields, kept, results};
use super::parameter::{is_of_template, parameters};
use crate::unit::{Operation, Unit};

/// The name of the function that begins it.
pub(super) fn name(number: usize) -> String {
    format!("clinda_begin_rd_{}", number + 1)
}

/// The name of what was begun.
fn begun(number: usize) -> String {
    format!("clinda_early_{}", number + 1)
}

/// What stands before the function of the read.
pub(super) fn declaration(unit: &Unit, number: usize, operation: &Operation) -> String {
    let values = fields(operation).filter(|(_, field)| is_of_template(field));
    let list: Vec<String> = values.flat_map(|(number, field)| parameters(field, number)).collect();
    let list = if list.is_empty() { "void".to_owned() } else { list.join(", ") };
    let template = kept(unit, (1, operation), "wanted");
    let (name, begun) = (name(number), begun(number));
    format!(
        "static clinda_early {begun};\n\nstatic void {name}({list})\n{{\n{template}    clinda_rd_early(&{begun}, &wanted);\n}}\n\n"
    )
}

/// The body of the read itself.
pub(super) fn consumer(number: usize, operation: &Operation) -> String {
    let values = fields(operation).filter(|(_, field)| is_of_template(field));
    let arguments: Vec<String> = values.map(|(number, _)| format!("field_{number}")).collect();
    let (name, begun) = (name(number), begun(number));
    format!(
        "    if (!clinda_is_begun(&{begun}))\n        {name}({});\n    clinda_tuple found = clinda_rd_begun(&{begun});\n{}",
        arguments.join(", "),
        results(operation)
    )
}

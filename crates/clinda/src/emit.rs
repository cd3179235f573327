//! Writes a file as plain C: the source as it is, in which operations are calls of functions that stand before it.
//!
//! | file | holds |
//! | --- | --- |
//! | `emit.rs` | the parts of the file, and the source with its operations replaced |
//! | `emit/parameter.rs` | what is passed for a field |
//! | `emit/function.rs` | the function that an operation becomes |
//! | `emit/early.rs` | the functions of a read that is begun early |
//! | `emit/fused.rs` | the function of a take with which puts go |
//! | `emit/keys.rs` | a file beside them: what a program tells of its keys before its first operation |
//! | `emit/live.rs` | what carries out an eval |
//! | `emit/note.rs` | what a link reads of a file |

mod early;
mod function;
mod fused;
mod keys;
mod live;
mod note;
mod parameter;

use crate::keys::Key;
use crate::note::Note;
use crate::operation::Verb;
use crate::plan::Plan;
use crate::unit::{Defined, Operation, Unit};
use std::collections::BTreeSet;
use std::ops::Range;

/// The C of a file. `evaluated` are functions that any file of the program evals: one of these that ends without `return` returns 0.
pub(crate) fn emit(unit: &Unit, plan: &Plan, evaluated: &BTreeSet<&str>) -> String {
    let name = unit.source.name();
    let mut text = format!(
        "/* Written by quintet clc from {}: the operations, and then the program. */\n\n#include \"clinda.h\"\n",
        commented(name)
    );
    let numbered = unit.operations.iter().enumerate();
    for (number, operation) in numbered.filter(|(number, _)| !plan.fused.contains(number)) {
        text.push('\n');
        text.push_str(&function::emit(unit, plan, number, operation));
    }
    let edited = Edited::new(unit, plan, evaluated);
    text.push_str(&format!("\n#line 1 {}\n", c_text(name)));
    text.push_str(&edited.render(0..unit.source.text().len()));
    text.push('\n');
    // From here on lines are those of this file again.
    let line = text.matches('\n').count() + 2;
    let end = live::emit(unit) + &unit.real_main().map(entry).unwrap_or_default();
    let note = note::section(&Note::of(unit));
    text.push_str(&format!("#line {line} {}\n{end}{note}", c_text(&written_name(name))));
    text
}

/// The C of what a whole program tells of its keys.
pub(crate) fn keys(keys: &[Key]) -> String {
    format!(
        "/* Written by quintet clc from all files of the program. */\n\n#include \"clinda.h\"\n\n{}",
        keys::function(keys)
    )
}

/// The name of the C of a source.
fn written_name(source: &str) -> String {
    let name = source.rsplit('/').next().unwrap_or(source);
    format!("{}.c", name.strip_suffix(".cl").unwrap_or(name))
}

/// A text as C writes it.
fn c_text(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A text within a comment.
fn commented(text: &str) -> String {
    text.replace("/*", "/ *").replace("*/", "* /")
}

/// Where an operation stands, for its errors: "jmatrix.cl:63: in".
fn place(unit: &Unit, operation: &Operation) -> String {
    let line = unit.source.line(operation.call.range.start);
    c_text(&format!("{}:{line}: {}", unit.source.name(), operation.call.verb.name()))
}

/// The comment before what was written for an operation.
fn comment(unit: &Unit, operation: &Operation) -> String {
    let range = operation.call.range.clone();
    let line = unit.source.line(range.start);
    let words = commented(&unit.source.on_one_line(range));
    format!("/* {}:{line}: {words} */\n", commented(unit.source.name()))
}

/// The name of the function that an operation is.
fn function_name(number: usize, verb: Verb) -> String {
    format!("clinda_{}_{}", verb.name(), number + 1)
}

/// The part of the program that calls `real_main`, whatever that takes and returns.
fn entry(real_main: &Defined) -> String {
    let function = &real_main.function;
    let (arguments, unused) = match function.parameters {
        0 => ("", "    (void)argc;\n    (void)argv;\n"),
        1 => ("argc", "    (void)argv;\n"),
        _ => ("argc, argv", ""),
    };
    let call = match function.signature.result.scalar() {
        Some(_) => format!("    return real_main({arguments});\n"),
        None => format!("    real_main({arguments});\n    return 0;\n"),
    };
    format!("\nint clinda_real_main(int argc, char **argv)\n{{\n{unused}{call}}}\n")
}

/// A source in which something is replaced.
struct Edited<'a> {
    unit: &'a Unit,
    plan: &'a Plan,
    /// In the order of the source; those within an operation follow it.
    replacements: Vec<Replacement>,
}

struct Replacement {
    range: Range<usize>,
    by: Substitute,
}

enum Substitute {
    /// The operation of this number.
    Operation(usize),
    /// At the end of a function that has a result and may end without one.
    Return,
}

impl<'a> Edited<'a> {
    fn new(unit: &'a Unit, plan: &'a Plan, evaluated: &BTreeSet<&str>) -> Edited<'a> {
        let operations = unit.operations.iter().enumerate().map(|(number, operation)| Replacement {
            range: operation.call.range.clone(),
            by: Substitute::Operation(number),
        });
        let ends = unit.functions.iter().filter_map(|defined| {
            let function = &defined.function;
            let is_begun = function.name == "real_main" || evaluated.contains(function.name.as_str());
            let is_open = !function.returns_at_its_end && function.signature.result.scalar().is_some();
            let at = defined.closing.filter(|_| is_begun && is_open)?;
            Some(Replacement { range: at..at, by: Substitute::Return })
        });
        let mut replacements: Vec<Replacement> = operations.chain(ends).collect();
        replacements.sort_by_key(|replacement| replacement.range.start);
        Edited { unit, plan, replacements }
    }

    /// A part of the source, with what is replaced in it.
    fn render(&self, range: Range<usize>) -> String {
        let source = self.unit.source.text();
        let first = self.replacements.partition_point(|found| found.range.start < range.start);
        let within = self.replacements[first..].iter().take_while(|found| found.range.end <= range.end);
        let (mut text, mut at) = (String::new(), range.start);
        for replacement in within {
            // Who lies within another was rendered with it.
            if replacement.range.start < at {
                continue;
            }
            text.push_str(&source[at..replacement.range.start]);
            match replacement.by {
                Substitute::Operation(number) => text.push_str(&self.call(number)),
                Substitute::Return => text.push_str("return 0; "),
            }
            at = replacement.range.end;
        }
        text.push_str(&source[at..range.end]);
        text
    }

    /// An operation as a call, of as many lines as it has.
    fn call(&self, number: usize) -> String {
        let operation = &self.unit.operations[number];
        let render = |range: &Range<usize>| self.render(range.clone());
        let puts = self.plan.with.get(&number).into_iter().flatten().map(|put| &self.unit.operations[*put]);
        let arguments: Vec<String> = core::iter::once(operation)
            .chain(puts)
            .flat_map(|operation| operation.fields.iter().zip(&operation.call.fields))
            .flat_map(|(field, written)| parameter::arguments(field, written, &render))
            .collect();
        let call = match self.plan.fused.contains(&number) {
            true => "((void)0".to_owned(),
            false => format!("{}({}", function_name(number, operation.call.verb), arguments.join(", ")),
        };
        let lines = |text: &str| text.matches('\n').count();
        let missing = lines(self.unit.words(&operation.call.range)).saturating_sub(lines(&call));
        let call = call + &"\n".repeat(missing) + ")";
        let early: Vec<String> =
            self.plan.before.get(&number).into_iter().flatten().map(|early| self.early(*early)).collect();
        if early.is_empty() { call } else { format!("({}, {call})", early.join(", ")) }
    }

    /// What begins a read before its place.
    fn early(&self, number: usize) -> String {
        let operation = &self.unit.operations[number];
        let fields = operation.fields.iter().zip(&operation.call.fields);
        let values = fields.filter(|(field, _)| parameter::is_of_template(field));
        let values: Vec<&str> = values.map(|(_, written)| self.unit.words(&written.value)).collect();
        format!("{}({})", early::name(number), values.join(", "))
    }
}

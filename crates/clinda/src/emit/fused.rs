//! The function of an `in` with which the `out`s behind it go: it has the fields of all of them, one behind the other.

use super::function::{kept, results};
use crate::plan::Plan;
use crate::unit::{Operation, Unit};

/// The operation of this number, and the puts that go with it, each with the number of its first field.
pub(super) fn parts<'a>(unit: &'a Unit, plan: &Plan, number: usize) -> Vec<(usize, &'a Operation)> {
    let puts = plan.with.get(&number).into_iter().flatten();
    let mut first = 1;
    let numbered = |number: &usize| {
        let operation = &unit.operations[*number];
        let of = (first, operation);
        first += operation.fields.len();
        of
    };
    core::iter::once(&number).chain(puts).map(numbered).collect()
}

/// The body of the take, with these puts.
pub(super) fn consumer(unit: &Unit, operation: &Operation, puts: &[(usize, &Operation)]) -> String {
    let mut body = kept(unit, (1, operation), "wanted");
    let mut names = Vec::new();
    for (count, put) in (1..).zip(puts) {
        let name = format!("put_{count}");
        body.push_str(&kept(unit, *put, &name));
        names.push(format!("&{name}"));
    }
    let (count, names) = (names.len(), names.join(", "));
    body.push_str(&format!(
        "    clinda_tuple found = clinda_in_out(&wanted, {count}, (const clinda_tuple *[]){{{names}}});\n"
    ));
    body + &results(operation)
}

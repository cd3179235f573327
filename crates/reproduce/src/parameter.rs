//! Numbers of a model, and where each is from.

use crate::page;
use core::fmt;
use serde_json::{Value, json};
use std::fmt::Write;

/// Where a number is from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// The paper says it.
    Given,
    /// It follows from what the paper says, or is a property of what it names.
    Inferred,
    /// It was chosen so that a printed value comes out.
    Fitted,
    /// Nothing in the paper says it.
    Assumed,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Origin::Given => "given",
            Origin::Inferred => "inferred",
            Origin::Fitted => "fitted",
            Origin::Assumed => "assumed",
        })
    }
}

/// A number of the model, for a report.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Parameter {
    /// What it is.
    pub name: &'static str,
    /// Its value.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
    /// Where it is from.
    pub origin: Origin,
    /// Why it has this value.
    pub because: &'static str,
}

/// A parameter.
pub(crate) const fn parameter(
    name: &'static str,
    (value, unit): (f64, &'static str),
    origin: Origin,
    because: &'static str,
) -> Parameter {
    Parameter { name, value, unit, origin, because }
}

impl Parameter {
    /// As an object of a report.
    pub(crate) fn object(&self) -> Value {
        json!({
            "parameter": self.name, "value": self.value, "unit": self.unit,
            "origin": self.origin.to_string(), "because": self.because,
        })
    }
}

/// All of a model as a table of a page.
pub(crate) fn table(parameters: &[Parameter]) -> String {
    let mut table = "<table><tr><th>parameter<th>value<th>origin<th>because</tr>\n".to_owned();
    for Parameter { name, value, unit, origin, because } in parameters {
        let because = page::escape(because);
        let _ = writeln!(table, "<tr><td>{name}<td class=\"n\">{value} {unit}<td>{origin}<td>{because}</tr>");
    }
    table + "</table>\n"
}

//! Expressions: numbers with units, parameters, `+ - * /`, parentheses, `ceil floor min max`.
//!
//! A unit binds to the value just before it: `a / 4096 B` divides by 4096 bytes. Dimensions are computed with the values,
//! so that `8 B / 10 Mb/s` is a time, and `8 B + 1 ms` is an error.
//!
//! ```text
//! sum     = product { ("+" | "-") product }
//! product = value { ("*" | "/") value }
//! value   = "-" value | primary [ unit ]
//! primary = number | parameter | function "(" sum { "," sum } ")" | "(" sum ")"
//! ```
//!
//! The formulas of modules have variables besides, and wherever a sum may stand a condition:
//!
//! ```text
//! condition  = both { "or" both }
//! both       = { "not" } comparison { "and" { "not" } comparison }
//! comparison = sum [ ( "<" | "<=" | ">" | ">=" | "==" | "!=" ) sum ]
//! ```

mod error;
mod evaluation;
mod words;

pub use error::{ExpressionError, Fault};

use crate::dimension::Dimension;
use evaluation::{Evaluation, Names, Term};
use quintet_simulate::Formula;
use std::collections::BTreeMap;

/// Bytes of an expression at most.
const LONGEST: usize = 1_000;

/// A number with its dimension, in base units.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Measured {
    /// In base units.
    pub value: f64,
    /// What it measures.
    pub dimension: Dimension,
}

/// The value of an expression.
///
/// # Errors
/// Text that is no expression, a name that is no parameter, dimensions that cannot be added, a result that is no number.
pub fn evaluate(text: &str, parameters: &BTreeMap<String, f64>) -> Result<Measured, ExpressionError> {
    let Term { formula, dimension } = read(text, Names { parameters, variables: None })?;
    let value = formula.constant().expect("without variables everything is constant");
    Ok(Measured { value, dimension })
}

/// The formula of a module with these variables, and what it measures.
///
/// # Errors
/// Those of [`evaluate`].
pub(crate) fn formula(
    text: &str,
    parameters: &BTreeMap<String, f64>,
    variables: &BTreeMap<String, usize>,
) -> Result<(Formula, Dimension), ExpressionError> {
    let Term { formula, dimension } = read(text, Names { parameters, variables: Some(variables) })?;
    Ok((formula, dimension))
}

/// Whether a name stands for something in every formula.
pub(crate) fn is_taken(name: &str) -> bool {
    evaluation::SEEN.contains(&name) || ["and", "or", "not"].contains(&name)
}

fn read(text: &str, names: Names<'_>) -> Result<Term, ExpressionError> {
    if text.len() > LONGEST {
        return Err(ExpressionError { at: LONGEST + 1, fault: Fault::TooLong { limit: LONGEST } });
    }
    Evaluation::new(text, names)?.run()
}

#[cfg(test)]
mod tests;

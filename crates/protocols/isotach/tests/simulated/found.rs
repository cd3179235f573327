//! What is found to be wrong.

use core::fmt;
use quintet_isotach::{Halt, Violation};

/// What is wrong with a run.
#[derive(Debug)]
pub(crate) enum Found {
    Violation(Violation),
    Halted(Halt),
    /// Something was said that is not so.
    Other(String),
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Found::Violation(violation) => violation.fmt(f),
            Found::Halted(halt) => halt.fmt(f),
            Found::Other(text) => f.write_str(text),
        }
    }
}

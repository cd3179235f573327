//! What is wrong with an expression, and where in it.

use crate::dimension::Dimension;
use core::fmt;

/// Why an expression has no value. The author's fault.
#[derive(Clone, PartialEq, Debug)]
pub struct ExpressionError {
    /// At which character, counted from 1.
    pub at: usize,
    /// What is wrong there.
    pub fault: Fault,
}

/// What is wrong.
#[derive(Clone, PartialEq, Debug)]
pub enum Fault {
    /// Something else was expected.
    Unexpected {
        /// What stands there; none at the end.
        found: Option<String>,
        /// What could.
        expected: &'static str,
    },
    /// A name that is neither parameter nor unit nor function.
    UnknownName {
        /// The name.
        name: String,
        /// A similar one that is known.
        nearest: Option<String>,
    },
    /// A function has another number of arguments.
    Arguments {
        /// The function.
        function: &'static str,
        /// How many it has.
        expected: usize,
        /// How many were found.
        found: usize,
    },
    /// Two dimensions that cannot be added, subtracted or compared.
    Mixed {
        /// The first one's.
        left: Dimension,
        /// The second one's.
        right: Dimension,
    },
    /// A unit behind a value that has a dimension already.
    TwoUnits {
        /// The unit.
        unit: &'static str,
    },
    /// The result is no finite number: a division by zero, or too large.
    NotFinite,
    /// More parentheses within parentheses than are read.
    TooDeep {
        /// How many may be.
        limit: usize,
    },
    /// Longer than is read.
    TooLong {
        /// Bytes that may be.
        limit: usize,
    },
}

impl fmt::Display for ExpressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "character {}: {}", self.at, self.fault)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Unexpected { found: Some(found), expected } => {
                write!(f, "found {found}, expected {expected}")
            }
            Fault::Unexpected { found: None, expected } => write!(f, "the text ends, expected {expected}"),
            Fault::UnknownName { name, nearest } => {
                write!(f, "{name} is no parameter, unit or function")?;
                nearest.as_ref().map_or(Ok(()), |nearest| write!(f, "; did you mean {nearest}?"))
            }
            Fault::Arguments { function, expected, found } => {
                write!(f, "{function} takes {expected}, found {found}")
            }
            Fault::Mixed { left, right } => write!(f, "{left} and {right} do not go together"),
            Fault::TwoUnits { unit } => write!(f, "{unit} follows a value that has a unit"),
            Fault::NotFinite => f.write_str("no finite number"),
            Fault::TooDeep { limit } => write!(f, "more than {limit} parentheses within each other"),
            Fault::TooLong { limit } => write!(f, "longer than {limit} bytes"),
        }
    }
}

impl core::error::Error for ExpressionError {}

//! What a program does wrong with isochrons.

use crate::isonet::Variable;
use core::fmt;
use quintet_contract::NodeId;

/// Why an operation or an isochron is refused. Nothing of it happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Misuse {
    /// An isochron is begun within another.
    Nested {
        /// Operations of the one that is open.
        operations: usize,
    },
    /// No isochron was begun.
    NotBegun,
    /// An isochron was begun and never ended.
    NeverEnded {
        /// Its operations, which are lost.
        operations: usize,
    },
    /// An isochron without operations.
    Empty,
    /// More than an isochron has.
    TooLarge {
        /// Of what.
        what: &'static str,
        /// How many.
        count: usize,
        /// How many there may be.
        limit: usize,
    },
    /// A message is for a node that is at no switch.
    UnknownNode {
        /// The node.
        node: NodeId,
    },
    /// There is no such variable.
    UnknownVariable {
        /// Its number.
        variable: Variable,
    },
    /// A value has another size than its variable.
    WrongSize {
        /// The variable.
        variable: Variable,
        /// Bytes that were given.
        given: usize,
        /// Bytes that the variable has.
        size: usize,
    },
    /// This node reserves a place of a variable while another waits for its value.
    ReservedTwice {
        /// The variable.
        variable: Variable,
    },
    /// A value is given for a place that this node has not reserved.
    NotReserved {
        /// The variable.
        variable: Variable,
    },
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Misuse::Nested { operations } => write!(
                f,
                "an isochron of {operations} operations is open: end or abandon it before another is begun"
            ),
            Misuse::NotBegun => f.write_str("no isochron was begun: begin one first"),
            Misuse::NeverEnded { operations } => {
                write!(
                    f,
                    "an isochron of {operations} operations was never ended, and nothing of it happened"
                )
            }
            Misuse::Empty => f.write_str("the isochron has no operation: add one, or abandon it"),
            Misuse::TooLarge { what, count, limit } => {
                write!(f, "the isochron has {count} {what}, above the limit of {limit}: make it several")
            }
            Misuse::UnknownNode { node } => write!(f, "node {} is at no switch of the topology", node.0),
            Misuse::UnknownVariable { variable } => write!(f, "there is no variable {}", variable.0),
            Misuse::WrongSize { variable, given, size } => {
                write!(f, "variable {} has {size} bytes, and {given} were given", variable.0)
            }
            Misuse::ReservedTwice { variable } => write!(
                f,
                "this node has reserved a place of variable {}: assign its value before another is reserved",
                variable.0
            ),
            Misuse::NotReserved { variable } => {
                write!(f, "this node has reserved no place of variable {}: schedule it first", variable.0)
            }
        }
    }
}

impl core::error::Error for Misuse {}

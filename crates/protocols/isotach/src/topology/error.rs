//! Why a description is no topology.

use core::fmt;
use quintet_contract::NodeId;

/// What is wrong with a topology, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TopologyError {
    /// No node is at any switch.
    NoNode,
    /// More than a topology has.
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many.
        count: usize,
        /// How many there may be.
        limit: usize,
    },
    /// Two switches have one name.
    SwitchTwice {
        /// The name.
        name: String,
    },
    /// One node stands for two switches.
    ManagerTwice {
        /// The node.
        node: NodeId,
        /// The switches.
        switches: [String; 2],
    },
    /// A node is at two switches, or twice at one.
    NodeTwice {
        /// The node.
        node: NodeId,
        /// The switches.
        switches: [String; 2],
    },
    /// A wire names a switch that is not described.
    NoSuchSwitch {
        /// The name.
        name: String,
    },
    /// A wire closes a cycle.
    Cycle {
        /// The switches that it joins.
        wire: [String; 2],
    },
    /// There is no way between two switches.
    Apart {
        /// The switches.
        switches: [String; 2],
    },
    /// A line of the text says nothing that is known.
    Line {
        /// Which line, from 1.
        number: usize,
        /// What is wrong with it.
        problem: String,
    },
}

impl TopologyError {
    /// The line, from 1, of the text that [`Topology::parse`](super::Topology::parse) refused with this; none where it is no single one that is wrong. A message of
    /// [`TopologyError::Line`] begins with it.
    #[must_use]
    pub fn line_in(&self, text: &str) -> Option<usize> {
        super::text::line_of(text, self)
    }
}

impl fmt::Display for TopologyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TopologyError::NoNode => f.write_str("no node is at any switch: name those that take part"),
            TopologyError::TooMany { what, count, limit } => {
                write!(f, "{count} {what}, above the limit of {limit}")
            }
            TopologyError::SwitchTwice { name } => {
                write!(f, "two switches are called {name}: give each a name of its own")
            }
            TopologyError::ManagerTwice { node, switches: [one, other] } => write!(
                f,
                "node {} stands for the switches {one} and {other}: a node stands for one at most",
                node.0
            ),
            TopologyError::NodeTwice { node, switches: [one, other] } => {
                write!(f, "node {} is at {one} and at {other}: a node has one place", node.0)
            }
            TopologyError::NoSuchSwitch { name } => {
                write!(f, "a wire names the switch {name}, which is not described: add a line for it")
            }
            TopologyError::Cycle { wire: [one, other] } => write!(
                f,
                "the wire between {one} and {other} closes a cycle: switches form a tree, so leave it out"
            ),
            TopologyError::Apart { switches: [one, other] } => {
                write!(f, "{other} cannot be reached from {one}: a wire is missing")
            }
            TopologyError::Line { number, problem } => write!(f, "line {number}: {problem}"),
        }
    }
}

impl core::error::Error for TopologyError {}

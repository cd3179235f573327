//! What all nodes of a view know alike: the topology, and which variables have copies where.

use crate::isochron::Operation;
use crate::limits::MAX_VALUE_BYTES;
use crate::topology::Topology;
use core::fmt;
use quintet_contract::NodeId;
use std::collections::{BTreeMap, BTreeSet};

/// A shared variable's number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Variable(pub u32);

/// Of a shared variable: how large it is, and who has it. It begins as zeros.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Bytes of its value: 1 to [`MAX_VALUE_BYTES`].
    pub bytes: usize,
    /// The copy set: nodes that keep the value. One at least.
    pub copies: BTreeSet<NodeId>,
}

/// When an isochron gets its stamp. (The names are those of Totem: Amir, Moser, Melliar-Smith, Agarwal, Ciarfella, 1995.)
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Delivery {
    /// Once all its receivers have said that they have their parts: whoever dies then, all that survive can execute it. Three links between a sender and a
    /// receiver, one after the other.
    #[default]
    Safe,
    /// As soon as its parts have left: two links. If its sender's machine dies then, some survivors may have executed it and others never get their parts:
    /// those that lack one learn it when the next view begins, and cannot go on in it with what they have.
    Agreed,
}

/// The topology and the variables. (An isonet is a network that keeps isotach logical time.)
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Isonet {
    topology: Topology,
    delivery: Delivery,
    variables: BTreeMap<Variable, Shape>,
}

/// Why variables cannot be shared so.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ShapeError {
    /// A value of no bytes, or of more than there may be.
    Size {
        /// The variable.
        variable: Variable,
        /// Its bytes.
        bytes: usize,
    },
    /// Nobody has it.
    NoCopy {
        /// The variable.
        variable: Variable,
    },
    /// A copy is at a node that is at no switch.
    UnknownNode {
        /// The variable.
        variable: Variable,
        /// The node.
        node: NodeId,
    },
}

impl Isonet {
    /// Variables on the nodes of a topology.
    ///
    /// # Errors
    /// [`ShapeError`]: a variable has no size or no copy that there may be.
    pub fn new(topology: Topology, variables: BTreeMap<Variable, Shape>) -> Result<Isonet, ShapeError> {
        for (variable, Shape { bytes, copies }) in &variables {
            let variable = *variable;
            if !(1..=MAX_VALUE_BYTES).contains(bytes) {
                return Err(ShapeError::Size { variable, bytes: *bytes });
            }
            if copies.is_empty() {
                return Err(ShapeError::NoCopy { variable });
            }
            if let Some(node) = copies.iter().find(|node| topology.switch_of(**node).is_none()) {
                return Err(ShapeError::UnknownNode { variable, node: *node });
            }
        }
        Ok(Isonet { topology, delivery: Delivery::default(), variables })
    }

    /// The same with another delivery.
    #[must_use]
    pub fn with_delivery(self, delivery: Delivery) -> Isonet {
        Isonet { delivery, ..self }
    }

    /// When isochrons get their stamps.
    #[must_use]
    pub fn delivery(&self) -> Delivery {
        self.delivery
    }

    /// The topology.
    #[must_use]
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// A variable's shape.
    #[must_use]
    pub fn shape(&self, variable: Variable) -> Option<&Shape> {
        self.variables.get(&variable)
    }

    /// The variables, ascending.
    pub fn variables(&self) -> impl Iterator<Item = (Variable, &Shape)> {
        self.variables.iter().map(|(variable, shape)| (*variable, shape))
    }

    /// The same variables in another topology, as a next view has them: copies at nodes that it does not have are gone, and so are variables without a copy.
    #[must_use]
    pub fn among(&self, topology: Topology) -> Isonet {
        let left = |(variable, shape): (&Variable, &Shape)| {
            let is_there = |node: &&NodeId| topology.switch_of(**node).is_some();
            let copies: BTreeSet<NodeId> = shape.copies.iter().filter(is_there).copied().collect();
            (!copies.is_empty()).then_some((*variable, Shape { bytes: shape.bytes, copies }))
        };
        let variables = self.variables.iter().filter_map(left).collect();
        Isonet { topology, delivery: self.delivery, variables }
    }

    /// The copy that a node reads: its own, else the nearest, of several the one with the lowest number.
    #[must_use]
    pub fn copy_for(&self, node: NodeId, variable: Variable) -> Option<NodeId> {
        let copies = &self.shape(variable)?.copies;
        let distance = |copy: &NodeId| self.topology.distance(node, *copy);
        if copies.contains(&node) { Some(node) } else { copies.iter().copied().min_by_key(distance) }
    }

    /// Who has a part of an isochron of a node.
    #[must_use]
    pub fn receivers(&self, sender: NodeId, operations: &[Operation]) -> BTreeSet<NodeId> {
        let mut receivers = BTreeSet::new();
        for operation in operations {
            match operation {
                Operation::Send { to, .. } => _ = receivers.insert(*to),
                Operation::Read(variable) => receivers.extend(self.copy_for(sender, *variable)),
                Operation::Write(variable, _)
                | Operation::Sched(variable)
                | Operation::Assign(variable, _) => {
                    receivers.extend(self.shape(*variable).into_iter().flat_map(|shape| &shape.copies));
                }
            }
        }
        receivers
    }
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ShapeError::Size { variable, bytes } => {
                write!(f, "variable {} has {bytes} bytes: it may have 1 to {MAX_VALUE_BYTES}", variable.0)
            }
            ShapeError::NoCopy { variable } => {
                write!(f, "nobody has a copy of variable {}: name one node at least", variable.0)
            }
            ShapeError::UnknownNode { variable, node } => {
                write!(
                    f,
                    "variable {} is to have a copy at node {}, which is at no switch",
                    variable.0, node.0
                )
            }
        }
    }
}

impl core::error::Error for ShapeError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn isonet(bytes: usize, copies: &[u16]) -> Result<Isonet, ShapeError> {
        let text = "switch a at 0: 0 1\nswitch b at 2: 2 3\nwire a b\n";
        let topology = Topology::parse(text).expect("it is a tree");
        let copies = copies.iter().copied().map(NodeId).collect();
        Isonet::new(topology, BTreeMap::from([(Variable(7), Shape { bytes, copies })]))
    }

    #[test]
    fn the_nearest_copy_is_read() {
        let copy = |copies: &[u16], from| {
            isonet(8, copies).expect("it is one").copy_for(NodeId(from), Variable(7)).map(|node| node.0)
        };
        assert_eq!((copy(&[1, 2], 2), copy(&[0, 1, 2], 3), copy(&[2, 3], 0)), (Some(2), Some(2), Some(2)));
        assert_eq!(copy(&[0, 1], 0), Some(0));
    }

    #[test]
    fn a_variable_has_a_size_and_copies_where_nodes_are() {
        let (variable, node) = (Variable(7), NodeId(9));
        assert_eq!(isonet(0, &[1]), Err(ShapeError::Size { variable, bytes: 0 }));
        assert_eq!(isonet(4097, &[1]), Err(ShapeError::Size { variable, bytes: 4097 }));
        assert_eq!(isonet(8, &[]), Err(ShapeError::NoCopy { variable }));
        assert_eq!(isonet(8, &[1, 9]), Err(ShapeError::UnknownNode { variable, node }));
        assert!(isonet(4096, &[0, 3]).is_ok());
    }
}

//! The nodes of a run, found by their number in one step.

use crate::node::Node;
use quintet_contract::NodeId;

/// All nodes.
#[derive(Default)]
pub(crate) struct Nodes {
    nodes: Vec<Node>,
    /// By number: one more than the place in `nodes`; 0 for none.
    places: Vec<u32>,
}

impl Nodes {
    pub(crate) fn get(&self, id: NodeId) -> Option<&Node> {
        let place = *self.places.get(usize::from(id.0))?;
        self.nodes.get((place as usize).checked_sub(1)?)
    }

    pub(crate) fn get_mut(&mut self, id: NodeId) -> Option<&mut Node> {
        let place = *self.places.get(usize::from(id.0))?;
        self.nodes.get_mut((place as usize).checked_sub(1)?)
    }

    /// Adds a node whose number is free.
    pub(crate) fn insert(&mut self, id: NodeId, node: Node) {
        let number = usize::from(id.0);
        if number >= self.places.len() {
            self.places.resize(number + 1, 0);
        }
        self.nodes.push(node);
        self.places[number] = u32::try_from(self.nodes.len()).expect("there are at most 65536 numbers");
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Node> {
        self.nodes.iter_mut()
    }
}

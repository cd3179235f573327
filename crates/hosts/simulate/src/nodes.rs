//! The nodes of a run, found by their number in one step.

use crate::ids::NodePlace;
use crate::node::Node;
use core::ops::{Index, IndexMut};
use quintet_contract::NodeId;

/// All nodes.
#[derive(Default)]
pub(crate) struct Nodes {
    nodes: Vec<Node>,
    /// By number: one more than the place in `nodes`; 0 for none.
    places: Vec<u32>,
}

impl Nodes {
    pub(crate) fn find(&self, id: NodeId) -> Option<NodePlace> {
        self.places.get(usize::from(id.0))?.checked_sub(1).map(NodePlace)
    }

    pub(crate) fn get(&self, id: NodeId) -> Option<&Node> {
        self.find(id).map(|place| &self[place])
    }

    pub(crate) fn get_mut(&mut self, id: NodeId) -> Option<&mut Node> {
        self.find(id).map(|place| &mut self[place])
    }

    /// Where the next node will be.
    pub(crate) fn next_place(&self) -> NodePlace {
        NodePlace(u32::try_from(self.nodes.len()).expect("there are at most 65536 numbers"))
    }

    /// Adds a node whose number is free.
    pub(crate) fn insert(&mut self, node: Node) {
        let number = usize::from(node.id.0);
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

impl Index<NodePlace> for Nodes {
    type Output = Node;
    fn index(&self, place: NodePlace) -> &Node {
        &self.nodes[place.0 as usize]
    }
}

impl IndexMut<NodePlace> for Nodes {
    fn index_mut(&mut self, place: NodePlace) -> &mut Node {
        &mut self.nodes[place.0 as usize]
    }
}

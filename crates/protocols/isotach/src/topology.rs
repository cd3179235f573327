//! Switches, how they are joined, and which nodes are at which.

mod error;
mod text;
mod tree;

pub use error::TopologyError;

use crate::limits::{MAX_NODES, MAX_SWITCHES, MAX_TOPOLOGY_BYTES};
use quintet_contract::NodeId;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tree::Tree;

/// A switch as it is described: a name, the node that stands for it, the nodes at it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Switch {
    /// Its name.
    pub name: String,
    /// The node whose process has the switch's token manager. It may be one of `nodes`, and of no other switch.
    pub manager: NodeId,
    /// The nodes that are at it: who sends and executes isochrons.
    pub nodes: Vec<NodeId>,
}

/// A tree of switches with nodes. All nodes of a view have the same; a copy of it is a few pointers, and takes memory of its own where it is changed.
///
/// ```
/// use quintet_contract::NodeId;
/// use quintet_isotach::Topology;
///
/// let two = Topology::parse("switch left at 0: 0 1\nswitch right at 2: 2 3\nwire left right\n")?;
/// assert_eq!(two.distance(NodeId(0), NodeId(1)), Some(1));
/// assert_eq!(two.distance(NodeId(0), NodeId(3)), Some(2));
/// # Ok::<(), quintet_isotach::TopologyError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Topology {
    switches: Arc<Vec<Switch>>,
    tree: Arc<Tree>,
    /// The switch of each node.
    place: Arc<BTreeMap<NodeId, usize>>,
    /// The switch that each manager keeps.
    kept_by: Arc<BTreeMap<NodeId, usize>>,
}

impl Topology {
    /// One switch, which `manager` stands for: the distance of all nodes is 1.
    ///
    /// # Errors
    /// There is no node, a node stands there twice, or there are too many.
    pub fn lan(manager: NodeId, nodes: &[NodeId]) -> Result<Topology, TopologyError> {
        let switch = Switch { name: "lan".to_owned(), manager, nodes: nodes.to_vec() };
        Topology::new(vec![switch], &[])
    }

    /// Switches, joined by `wires` between switches of these names.
    ///
    /// # Errors
    /// [`TopologyError`]: it is no tree of switches with nodes that have one place each, or its [text](Topology::to_text) is longer than what is told of a view.
    pub fn new(switches: Vec<Switch>, wires: &[(String, String)]) -> Result<Topology, TopologyError> {
        at_most("switches", switches.len(), MAX_SWITCHES)?;
        at_most("nodes", switches.iter().map(|switch| switch.nodes.len()).sum(), MAX_NODES)?;
        let kept_by = Arc::new(managers(&switches)?);
        let place = Arc::new(places(&switches)?);
        let tree = Tree::new(join(&switches, wires)?).map_err(|lost| TopologyError::Apart {
            switches: [switches[0].name.clone(), switches[lost].name.clone()],
        })?;
        let topology = Topology { switches: Arc::new(switches), tree: Arc::new(tree), place, kept_by };
        at_most("bytes of text", topology.to_text().len(), MAX_TOPOLOGY_BYTES)?;
        Ok(topology)
    }

    /// Reads a description: lines `switch NAME at NODE: NODE NODE ...` and `wire NAME NAME`. Nodes from one to another are `NODE-NODE`; what follows `#` is a comment.
    ///
    /// # Errors
    /// [`TopologyError`]: a line says something else, or as [`Topology::new`].
    pub fn parse(text: &str) -> Result<Topology, TopologyError> {
        let (switches, wires) = text::read(text)?;
        Topology::new(switches, &wires)
    }

    /// The description that [`Topology::parse`] reads: of all that it reads as this topology, one.
    #[must_use]
    pub fn to_text(&self) -> String {
        text::write(self)
    }

    /// The switches.
    #[must_use]
    pub fn switches(&self) -> &[Switch] {
        &self.switches
    }

    /// The switches that one is joined with.
    ///
    /// # Panics
    /// If there is no such switch.
    #[must_use]
    pub fn neighbours(&self, switch: usize) -> &[usize] {
        self.tree.neighbours(switch)
    }

    /// The nodes, ascending.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.place.keys().copied()
    }

    /// How many nodes there are.
    #[must_use]
    pub fn node_count(&self) -> usize {
        self.place.len()
    }

    /// The switch that a node is at.
    #[must_use]
    pub fn switch_of(&self, node: NodeId) -> Option<usize> {
        self.place.get(&node).copied()
    }

    /// The switch that a node stands for.
    #[must_use]
    pub fn switch_kept_by(&self, manager: NodeId) -> Option<usize> {
        self.kept_by.get(&manager).copied()
    }

    /// The logical distance of two nodes: the switches on the way, 1 at least. O(log n) in the switches.
    #[must_use]
    pub fn distance(&self, from: NodeId, to: NodeId) -> Option<u32> {
        Some(self.tree.hops(self.switch_of(from)?, self.switch_of(to)?) + 1)
    }

    /// The same switches without some of the nodes, of which it has others. None if its text becomes too long, as lists of nodes do that are torn.
    pub(crate) fn without(&self, gone: &BTreeSet<NodeId>) -> Option<Topology> {
        let mut topology = self.clone();
        Arc::make_mut(&mut topology.place).retain(|node, _| !gone.contains(node));
        let switches = Arc::make_mut(&mut topology.switches);
        switches.iter_mut().for_each(|switch| switch.nodes.retain(|node| !gone.contains(node)));
        topology.if_it_can_be_told()
    }

    /// The same with further nodes: each at the switch of the name that it was at before, or, if there is none, at the first. None if there are too many.
    pub(crate) fn with(&self, nodes: impl Iterator<Item = NodeId>, before: &Topology) -> Option<Topology> {
        let mut topology = self.clone();
        let named: BTreeMap<&str, usize> =
            self.switches.iter().zip(0..).map(|(switch, at)| (switch.name.as_str(), at)).collect();
        for node in nodes {
            let name = before.switch_of(node).map(|switch| before.switches[switch].name.as_str());
            let at = name.and_then(|name| named.get(name)).copied().unwrap_or(0);
            Arc::make_mut(&mut topology.switches)[at].nodes.push(node);
            Arc::make_mut(&mut topology.place).insert(node, at);
        }
        topology.if_it_can_be_told()
    }

    fn if_it_can_be_told(self) -> Option<Topology> {
        let is_within = self.place.len() <= MAX_NODES && self.to_text().len() <= MAX_TOPOLOGY_BYTES;
        is_within.then_some(self)
    }

    /// The neighbour of `at` through which the way to another switch goes. O(log n) in the switches.
    ///
    /// # Panics
    /// If there are no such switches, or they are one.
    #[must_use]
    pub fn next(&self, at: usize, to: usize) -> usize {
        assert!(at != to, "there is no way from a switch to itself");
        self.tree.next(at, to)
    }
}

fn at_most(what: &'static str, count: usize, limit: usize) -> Result<(), TopologyError> {
    if count <= limit { Ok(()) } else { Err(TopologyError::TooMany { what, count, limit }) }
}

/// The switch that each manager keeps, if all switches can be told apart by names and managers.
fn managers(switches: &[Switch]) -> Result<BTreeMap<NodeId, usize>, TopologyError> {
    let (mut names, mut kept_by) = (BTreeSet::new(), BTreeMap::new());
    for (index, Switch { name, manager, .. }) in switches.iter().enumerate() {
        if !names.insert(name) {
            return Err(TopologyError::SwitchTwice { name: name.clone() });
        }
        if let Some(first) = kept_by.insert(*manager, index) {
            let switches = [switches[first].name.clone(), name.clone()];
            return Err(TopologyError::ManagerTwice { node: *manager, switches });
        }
    }
    Ok(kept_by)
}

/// The switch of each node, if each has one.
fn places(switches: &[Switch]) -> Result<BTreeMap<NodeId, usize>, TopologyError> {
    let mut place = BTreeMap::new();
    for (index, switch) in switches.iter().enumerate() {
        for node in &switch.nodes {
            if let Some(first) = place.insert(*node, index) {
                let switches = [switches[first].name.clone(), switch.name.clone()];
                return Err(TopologyError::NodeTwice { node: *node, switches });
            }
        }
    }
    if place.is_empty() { Err(TopologyError::NoNode) } else { Ok(place) }
}

/// The neighbours of each switch, if the wires close no cycle.
fn join(switches: &[Switch], wires: &[(String, String)]) -> Result<Vec<Vec<usize>>, TopologyError> {
    // More wires than a tree has close a cycle; the first that does is named.
    let mut neighbours: Vec<Vec<usize>> = vec![Vec::new(); switches.len()];
    let mut groups: Vec<usize> = (0..switches.len()).collect();
    let named: BTreeMap<&str, usize> =
        switches.iter().zip(0..).map(|(switch, at)| (switch.name.as_str(), at)).collect();
    let find = |name: &String| {
        let index = named.get(name.as_str()).copied();
        index.ok_or_else(|| TopologyError::NoSuchSwitch { name: name.clone() })
    };
    for (one, other) in wires {
        let (from, to) = (find(one)?, find(other)?);
        let (kept, joined) = (group_of(from, &mut groups), group_of(to, &mut groups));
        if kept == joined {
            return Err(TopologyError::Cycle { wire: [one.clone(), other.clone()] });
        }
        groups[joined] = kept;
        neighbours[from].push(to);
        neighbours[to].push(from);
    }
    neighbours.iter_mut().for_each(|of| of.sort_unstable());
    Ok(neighbours)
}

/// The group of switches that one is joined with, by its first. Who was asked is nearer to that afterwards.
fn group_of(mut switch: usize, groups: &mut [usize]) -> usize {
    while groups[switch] != switch {
        groups[switch] = groups[groups[switch]];
        switch = groups[switch];
    }
    switch
}

#[cfg(test)]
pub(crate) mod tests;

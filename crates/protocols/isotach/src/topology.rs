//! Switches, how they are joined, and which nodes are at which.

mod error;
mod text;

pub use error::TopologyError;

use crate::limits::{MAX_NODES, MAX_SWITCHES};
use quintet_contract::NodeId;
use std::collections::{BTreeMap, BTreeSet};

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

/// A tree of switches with nodes. All nodes of a view have the same.
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
    switches: Vec<Switch>,
    /// Of each switch, those that it is joined with, ascending.
    neighbours: Vec<Vec<usize>>,
    /// The switch of each node.
    place: BTreeMap<NodeId, usize>,
    /// The next switch on the way from one to another: `next[from][to]`.
    next: Vec<Vec<usize>>,
    /// Wires on that way.
    hops: Vec<Vec<u32>>,
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
    /// [`TopologyError`]: it is no tree of switches with nodes that have one place each.
    pub fn new(switches: Vec<Switch>, wires: &[(String, String)]) -> Result<Topology, TopologyError> {
        let place = places(&switches)?;
        let neighbours = join(&switches, wires)?;
        let (mut next, mut hops) = (Vec::new(), Vec::new());
        for from in 0..switches.len() {
            let (next_of, hops_of) = routes(from, &switches, &neighbours)?;
            next.push(next_of);
            hops.push(hops_of);
        }
        Ok(Topology { switches, neighbours, place, next, hops })
    }

    /// Reads a description: lines `switch NAME at NODE: NODE NODE ...` and `wire NAME NAME`. What follows `#` is a comment.
    ///
    /// # Errors
    /// [`TopologyError`]: a line says something else, or as [`Topology::new`].
    pub fn parse(text: &str) -> Result<Topology, TopologyError> {
        let (switches, wires) = text::read(text)?;
        Topology::new(switches, &wires)
    }

    /// The description that [`Topology::parse`] reads.
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
        &self.neighbours[switch]
    }

    /// The nodes, ascending.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.place.keys().copied()
    }

    /// The switch that a node is at.
    #[must_use]
    pub fn switch_of(&self, node: NodeId) -> Option<usize> {
        self.place.get(&node).copied()
    }

    /// The switch that a node stands for.
    #[must_use]
    pub fn switch_kept_by(&self, manager: NodeId) -> Option<usize> {
        self.switches.iter().position(|switch| switch.manager == manager)
    }

    /// The logical distance of two nodes: the switches on the way, 1 at least.
    #[must_use]
    pub fn distance(&self, from: NodeId, to: NodeId) -> Option<u32> {
        Some(self.hops[self.switch_of(from)?][self.switch_of(to)?] + 1)
    }

    /// The same switches without some of the nodes, of which it has others.
    pub(crate) fn without(&self, gone: &BTreeSet<NodeId>) -> Topology {
        let mut topology = self.clone();
        topology.place.retain(|node, _| !gone.contains(node));
        topology.switches.iter_mut().for_each(|switch| switch.nodes.retain(|node| !gone.contains(node)));
        topology
    }

    /// The same with further nodes: each at the switch of the name that it was at before, or, if there is none, at the first. None if there are too many.
    pub(crate) fn with(&self, nodes: impl Iterator<Item = NodeId>, before: &Topology) -> Option<Topology> {
        let mut topology = self.clone();
        for node in nodes {
            let name = before.switch_of(node).map(|switch| &before.switches[switch].name);
            let at = topology.switches.iter().position(|switch| Some(&switch.name) == name).unwrap_or(0);
            topology.switches[at].nodes.push(node);
            topology.place.insert(node, at);
        }
        (topology.place.len() <= MAX_NODES).then_some(topology)
    }

    /// The neighbour of `at` through which the way to another switch goes.
    ///
    /// # Panics
    /// If there are no such switches, or they are one.
    #[must_use]
    pub fn next(&self, at: usize, to: usize) -> usize {
        assert!(at != to, "there is no way from a switch to itself");
        self.next[at][to]
    }
}

/// The switch of each node, if each has one.
fn places(switches: &[Switch]) -> Result<BTreeMap<NodeId, usize>, TopologyError> {
    let (mut place, mut managers) = (BTreeMap::new(), BTreeMap::new());
    at_most("switches", switches.len(), MAX_SWITCHES)?;
    at_most("nodes", switches.iter().map(|switch| switch.nodes.len()).sum(), MAX_NODES)?;
    let name = |index: usize| switches[index].name.clone();
    for (index, switch) in switches.iter().enumerate() {
        if switches[..index].iter().any(|other| other.name == switch.name) {
            return Err(TopologyError::SwitchTwice { name: name(index) });
        }
        if let Some(first) = managers.insert(switch.manager, index) {
            let switches = [name(first), name(index)];
            return Err(TopologyError::ManagerTwice { node: switch.manager, switches });
        }
        for node in &switch.nodes {
            if let Some(first) = place.insert(*node, index) {
                return Err(TopologyError::NodeTwice { node: *node, switches: [name(first), name(index)] });
            }
        }
    }
    if place.is_empty() {
        return Err(TopologyError::NoNode);
    }
    Ok(place)
}

fn at_most(what: &'static str, count: usize, limit: usize) -> Result<(), TopologyError> {
    if count <= limit { Ok(()) } else { Err(TopologyError::TooMany { what, count, limit }) }
}

/// The neighbours of each switch, if the wires close no cycle.
fn join(switches: &[Switch], wires: &[(String, String)]) -> Result<Vec<Vec<usize>>, TopologyError> {
    // More wires than a tree has close a cycle; the first that does is named.
    let mut neighbours: Vec<Vec<usize>> = vec![Vec::new(); switches.len()];
    let mut group: Vec<usize> = (0..switches.len()).collect();
    for (one, other) in wires {
        let find = |name: &String| {
            let index = switches.iter().position(|switch| switch.name == *name);
            index.ok_or_else(|| TopologyError::NoSuchSwitch { name: name.clone() })
        };
        let (from, to) = (find(one)?, find(other)?);
        if group[from] == group[to] {
            return Err(TopologyError::Cycle { wire: [one.clone(), other.clone()] });
        }
        let (kept, joined) = (group[from], group[to]);
        group.iter_mut().filter(|of| **of == joined).for_each(|of| *of = kept);
        neighbours[from].push(to);
        neighbours[to].push(from);
    }
    neighbours.iter_mut().for_each(|of| of.sort_unstable());
    Ok(neighbours)
}

/// The first step from a switch to each other, and the wires on the way.
fn routes(
    from: usize,
    switches: &[Switch],
    neighbours: &[Vec<usize>],
) -> Result<(Vec<usize>, Vec<u32>), TopologyError> {
    let mut next = vec![from; switches.len()];
    let mut hops = vec![u32::MAX; switches.len()];
    hops[from] = 0;
    let mut reached = vec![from];
    let mut at = 0;
    while let Some(switch) = reached.get(at).copied() {
        for neighbour in &neighbours[switch] {
            if hops[*neighbour] == u32::MAX {
                hops[*neighbour] = hops[switch] + 1;
                next[*neighbour] = if switch == from { *neighbour } else { next[switch] };
                reached.push(*neighbour);
            }
        }
        at += 1;
    }
    if let Some(lost) = hops.iter().position(|hops| *hops == u32::MAX) {
        let names = [switches[from].name.clone(), switches[lost].name.clone()];
        return Err(TopologyError::Apart { switches: names });
    }
    Ok((next, hops))
}

#[cfg(test)]
mod tests;

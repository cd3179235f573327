//! Topologies and variables: of the first view, as the run's seed says, and of those that follow.

use quintet_contract::{NodeId, Random};
use quintet_isotach::{Delivery, Isonet, Shape, Switch, Topology, Variable};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// The first so many are token managers, or spare ones; all others are nodes with programs.
pub(super) const MANAGERS: u16 = 4;

pub(super) fn is_manager(node: NodeId) -> bool {
    node.0 <= MANAGERS
}

fn small(random: &mut Random, below: u64) -> u16 {
    u16::try_from(random.below(below)).expect("small")
}

/// What the first view is of, in a run of so many nodes and token managers: one to four switches, one to four variables.
pub(super) fn first(seed: u64, all: u16, delivery: Delivery) -> Arc<Isonet> {
    let random = &mut Random::new(seed, 1);
    // The lowest digit, so that a search for smaller runs finds one switch.
    let switches = 1 + u16::try_from(seed % u64::from(MANAGERS)).expect("few");
    let manager = |switch: u16| NodeId(1 + switch);
    let mut described: Vec<Switch> = (0..switches)
        .map(|switch| Switch { name: name(switch), manager: manager(switch), nodes: Vec::new() })
        .collect();
    let nodes = MANAGERS + 1..=all;
    for node in nodes.clone() {
        described[usize::from(small(random, switches.into()))].nodes.push(NodeId(node));
    }
    let wires: Vec<_> =
        (1..switches).map(|switch| (name(small(random, switch.into())), name(switch))).collect();
    let topology = Topology::new(described, &wires).expect("it is a tree");
    let variables = variables(random, MANAGERS + 1..=all);
    let isonet = Isonet::new(topology, variables).expect("they can be shared");
    Arc::new(isonet.with_delivery(delivery))
}

/// The same of members at one switch, whose pulse the first of them keeps.
pub(super) fn of_members(seed: u64, all: u16) -> Arc<Isonet> {
    let members: Vec<NodeId> = (1..=all).map(NodeId).collect();
    let topology = Topology::lan(NodeId(1), &members).expect("it has nodes");
    let variables = variables(&mut Random::new(seed, 1), 1..=all);
    Arc::new(Isonet::new(topology, variables).expect("they can be shared"))
}

/// One to four variables, each with a copy at some of these nodes.
fn variables(random: &mut Random, nodes: RangeInclusive<u16>) -> BTreeMap<Variable, Shape> {
    let mut variables = BTreeMap::new();
    for number in 0..=random.below(4) {
        let mut copies: BTreeSet<NodeId> =
            nodes.clone().filter(|_| random.chance(400_000)).map(NodeId).collect();
        let count = u64::from(nodes.end() + 1 - nodes.start());
        copies.insert(NodeId(nodes.start() + small(random, count)));
        let bytes = 1 + usize::from(small(random, 12));
        variables.insert(Variable(u32::try_from(number).expect("few")), Shape { bytes, copies });
    }
    variables
}

fn name(switch: u16) -> String {
    format!("s{switch}")
}

/// A next view of an isonet: without some of its nodes, and with others that come back. Another token manager stands in for one that is gone, or, if `is_flat`, all are at one switch then. None if nobody
/// is left, or no token manager.
pub(super) fn next(
    first: &Isonet,
    topology: &Topology,
    (gone, back): (&BTreeSet<NodeId>, &BTreeSet<NodeId>),
    is_flat: bool,
) -> Option<Arc<Isonet>> {
    let mut spare: BTreeSet<NodeId> =
        (1..=MANAGERS).map(NodeId).filter(|node| !gone.contains(node)).collect();
    let managers = || topology.switches().iter().map(|switch| switch.manager);
    let is_whole = managers().all(|manager| !gone.contains(&manager));
    managers().for_each(|manager| _ = spare.remove(&manager));
    let nodes: Vec<NodeId> = topology.nodes().filter(|node| !gone.contains(node)).collect();
    let missing = managers().filter(|manager| gone.contains(manager)).count();
    let next = if nodes.is_empty() {
        return None;
    } else if is_whole || !is_flat && missing <= spare.len() {
        with_others(topology, gone, spare)
    } else {
        let stays = managers().find(|manager| !gone.contains(manager));
        Topology::lan(stays.or(spare.pop_first())?, &nodes).expect("some node stays")
    };
    Some(Arc::new(first.among(with(&next, back, first.topology()))))
}

/// The same with further nodes: each at the switch that it was at in the beginning, or, if there is none of its name, at the first.
fn with(topology: &Topology, back: &BTreeSet<NodeId>, first: &Topology) -> Topology {
    let mut switches = topology.switches().to_vec();
    for node in back {
        let name = first.switch_of(*node).map(|switch| &first.switches()[switch].name);
        let at = switches.iter().position(|switch| Some(&switch.name) == name).unwrap_or(0);
        switches[at].nodes.push(*node);
    }
    Topology::new(switches, &wires(topology)).expect("it is the tree that it was")
}

/// What joins the switches, by their names.
fn wires(topology: &Topology) -> Vec<(String, String)> {
    let wired = |switch: usize| {
        let beside = topology.neighbours(switch).iter().filter(move |other| switch < **other);
        beside.map(move |other| (switch, *other))
    };
    let name = |switch: usize| topology.switches()[switch].name.clone();
    (0..topology.switches().len()).flat_map(wired).map(|(a, b)| (name(a), name(b))).collect()
}

/// The same switches, with others for the managers that are gone.
fn with_others(topology: &Topology, gone: &BTreeSet<NodeId>, mut spare: BTreeSet<NodeId>) -> Topology {
    let mut switches = topology.switches().to_vec();
    for switch in &mut switches {
        switch.nodes.retain(|node| !gone.contains(node));
        if gone.contains(&switch.manager) {
            switch.manager = spare.pop_first().expect("there are enough");
        }
    }
    Topology::new(switches, &wires(topology)).expect("it is the tree that it was")
}

//! What a run is of: a random tree of switches, nodes, variables.

use quintet_contract::{NodeId, Random};
use quintet_isotach::{Delivery, Isonet, Shape, Switch, Topology, Variable};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Switches are at nodes of their own, so that they outlive any node.
const FIRST_MANAGER: u16 = 100;

fn small(random: &mut Random, below: u64) -> u16 {
    u16::try_from(random.below(below)).expect("small")
}

/// One to four switches, two to six nodes, one to four variables.
pub(crate) fn isonet(random: &mut Random, delivery: Delivery) -> Arc<Isonet> {
    let switches = 1 + small(random, 4);
    let name = |switch: u16| format!("s{switch}");
    let mut described: Vec<Switch> = (0..switches)
        .map(|switch| Switch { name: name(switch), manager: NodeId(FIRST_MANAGER + switch), nodes: vec![] })
        .collect();
    let nodes = 2 + small(random, 5);
    for node in 0..nodes {
        described[usize::from(small(random, switches.into()))].nodes.push(NodeId(node));
    }
    let wires: Vec<_> =
        (1..switches).map(|switch| (name(small(random, switch.into())), name(switch))).collect();
    let topology = Topology::new(described, &wires).expect("it is a tree");
    let mut variables = BTreeMap::new();
    for number in 0..=random.below(4) {
        let mut copies: BTreeSet<NodeId> =
            (0..nodes).filter(|_| random.chance(400_000)).map(NodeId).collect();
        copies.insert(NodeId(small(random, nodes.into())));
        let bytes = 1 + usize::from(small(random, 12));
        variables.insert(Variable(u32::try_from(number).expect("small")), Shape { bytes, copies });
    }
    let isonet = Isonet::new(topology, variables).expect("they can be shared");
    Arc::new(isonet.with_delivery(delivery))
}

/// The same with one switch, whose pulse the first node keeps.
pub(crate) fn of_members(isonet: &Isonet) -> Arc<Isonet> {
    let nodes: Vec<NodeId> = isonet.topology().nodes().collect();
    Arc::new(isonet.among(Topology::lan(nodes[0], &nodes).expect("it has nodes")))
}

/// What is left of an isonet when some have gone. If a token manager is among them, all are at one switch, of another manager.
pub(crate) fn without(isonet: &Isonet, gone: &BTreeSet<NodeId>, view: u16) -> Arc<Isonet> {
    let topology = isonet.topology();
    let nodes: Vec<NodeId> = topology.nodes().filter(|node| !gone.contains(node)).collect();
    let managers = || topology.switches().iter().map(|switch| switch.manager);
    let topology = if managers().all(|manager| !gone.contains(&manager)) {
        without_nodes(topology, gone)
    } else {
        let another = managers().find(|manager| !gone.contains(manager));
        let manager = another.unwrap_or(NodeId(2 * FIRST_MANAGER + view));
        Topology::lan(manager, &nodes).expect("some node stays")
    };
    let variables = isonet.variables().filter_map(|(variable, shape)| {
        let mut shape = shape.clone();
        shape.copies.retain(|node| !gone.contains(node));
        (!shape.copies.is_empty()).then_some((variable, shape))
    });
    let left = Isonet::new(topology, variables.collect()).expect("they can be shared");
    Arc::new(left.with_delivery(isonet.delivery()))
}

fn without_nodes(topology: &Topology, gone: &BTreeSet<NodeId>) -> Topology {
    let text = topology.to_text();
    let lines = text.lines().map(|line| match line.split_once(':') {
        Some((front, nodes)) => {
            let stays = |node: &&str| node.parse().is_ok_and(|node| !gone.contains(&NodeId(node)));
            let nodes: Vec<&str> = nodes.split_whitespace().filter(stays).collect();
            format!("{front}: {}\n", nodes.join(" "))
        }
        None => format!("{line}\n"),
    });
    Topology::parse(&lines.collect::<String>()).expect("some node stays")
}

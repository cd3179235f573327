//! Configurations of stacks.

use super::{Seed, named};
use quintet_contract::{Incarnation, NodeId};
use quintet_isotach::{Isonet, Shape, Topology, Variable, View};
use quintet_session::Reliability;
use quintet_stack::{IsotachConfig, StackConfig};
use std::sync::Arc;

pub(super) fn configurations() -> Vec<Seed> {
    let server = StackConfig::of_server(7, Incarnation(1), 42);
    let mut lossy = StackConfig::of_client(7, Incarnation(2), 42);
    lossy.links.insert(NodeId(0), Reliability::LOSSY);
    lossy.links.insert(NodeId(3), Reliability::Link);
    let member = isonet(&server);
    let (server, lossy) = (server.to_bytes(), lossy.to_bytes());
    let older = [&[0, 0], &server[2..]].concat();
    named(
        "stack_config",
        vec![("server", server), ("lossy-links", lossy), ("older-version", older), ("isonet-member", member)],
    )
}

/// A member of an isonet.
fn isonet(server: &StackConfig) -> Vec<u8> {
    let topology = Topology::lan(NodeId(0), &[NodeId(0), NodeId(1)]).expect("it has nodes");
    let shape = Shape { bytes: 8, copies: [NodeId(0), NodeId(1)].into() };
    let isonet = Arc::new(Isonet::new(topology, [(Variable(3), shape)].into()).expect("it is shared"));
    let (me, view) = (NodeId(1), View(1));
    let member = IsotachConfig { me, view, isonet, joins: None, keeps_witness: false };
    StackConfig { isotach: Some(member), ..server.clone() }.to_bytes()
}

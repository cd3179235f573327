//! Configurations of stacks.

use super::{Seed, named};
use quintet_contract::{Incarnation, NodeId};
use quintet_session::Reliability;
use quintet_stack::StackConfig;

pub(super) fn configurations() -> Vec<Seed> {
    let server = StackConfig::of_server(7, Incarnation(1), 42);
    let mut lossy = StackConfig::of_client(7, Incarnation(2), 42);
    lossy.links.insert(NodeId(0), Reliability::LOSSY);
    lossy.links.insert(NodeId(3), Reliability::Link);
    let (server, lossy) = (server.to_bytes(), lossy.to_bytes());
    let older = [&[0, 0], &server[2..]].concat();
    named("stack_config", vec![("server", server), ("lossy-links", lossy), ("older-version", older)])
}

//! Configurations of stacks.

use super::{Seed, named};
use quintet_contract::{Address, Incarnation};
use quintet_session::Reliability;
use quintet_stack::StackConfig;

pub(super) fn configurations() -> Vec<Seed> {
    let server = StackConfig::of_server(7, Incarnation(1), 42);
    let mut lossy = StackConfig::of_client(7, Incarnation(2), 42);
    lossy.links.insert(Address::new(0, 16), Reliability::LOSSY);
    lossy.links.insert(Address::new(3, 16), Reliability::Link);
    let (server, lossy) = (server.to_bytes(), lossy.to_bytes());
    let older = [&[0, 0], &server[2..]].concat();
    named("stack_config", vec![("server", server), ("lossy-links", lossy), ("older-version", older)])
}

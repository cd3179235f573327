//! The queue again, of processes in Python: generators beside generators of the same words.

use super::super::case::{Beside, Better, Case, Group, Prepare, Round, Unit};
use super::super::peer::Peer;
use super::super::script;
use quintet::Error;

/// What measures, beside the peers' folder.
const SCRIPT: &str = "benches/python/quintet_processes.py";
const STORE: Peer = Peer::new("simpy", "simpy_models.py", "mm1");
const RESOURCE: Peer = Peer::new("simpy", "simpy_models.py", "resource");

pub(super) fn cases() -> Vec<Case> {
    let case = |name, peer, prepare: Prepare| {
        Case::new(Group::Simulate, name, Unit::PerSecond("customers"), Better::Higher, prepare)
            .beside(Beside::Program(peer))
            .goal(3.)
    };
    vec![case("processes-mm1", STORE, store), case("processes-resource", RESOURCE, resource)]
}

/// A source and a server, a store between them.
fn store() -> Result<Round, Error> {
    Ok(Box::new(|| script::round(SCRIPT, "mm1", &[])))
}

/// Each customer is a process, which requests the server.
fn resource() -> Result<Round, Error> {
    Ok(Box::new(|| script::round(SCRIPT, "resource", &[])))
}

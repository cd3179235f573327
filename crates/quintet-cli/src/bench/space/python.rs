//! The pair from Python.

use super::super::case::{Beside, Better, Case, Group, Prepare, Round, Unit};
use super::super::peer::Peer;
use super::super::script;
use super::served::Served;
use super::{PLACEMENT, WAITING};
use quintet::Error;

/// What measures, beside the peers' folder.
const SCRIPT: &str = "benches/python/quintet_pair.py";
const REDIS: Peer = Peer::new("redis-py", "redis_pair.py", "pair-64");
const REDIS_LARGE: Peer = Peer::new("redis-py", "redis_pair.py", "pair-1m");

pub(super) fn cases() -> Vec<Case> {
    let pair = |name, peer: Peer, prepare: Prepare| {
        Case::new(Group::Space, name, Unit::Nanoseconds, Better::Lower, prepare)
            .beside(Beside::Program(peer))
            .under(WAITING, PLACEMENT)
    };
    vec![
        pair("python-pair-shm", REDIS, small).goal(0.1),
        pair("pair-1m-shm", REDIS_LARGE, large).goal(0.1),
        pair("pair-1m-views-shm", REDIS_LARGE, large_views).goal(0.1),
    ]
}

/// A name and 64 bytes, each out and take awaited, the space in another process: 20,000 pairs a round, their median in
/// nanoseconds.
fn small() -> Result<Round, Error> {
    prepare("pair-64")
}

/// The same with an array of 1 MiB of float64, 312 pairs a round.
fn large() -> Result<Round, Error> {
    prepare("pair-1m")
}

/// The same with an array of `quintet.empty` a pair, which is copied nowhere. Nobody fills it, and nobody reads what was taken.
fn large_views() -> Result<Round, Error> {
    prepare("pair-1m-views")
}

fn prepare(case: &'static str) -> Result<Round, Error> {
    let served = Served::start()?;
    let address = served.address().to_string();
    Ok(served.rounds(move || script::round(SCRIPT, case, &["--address", &address])))
}

//! The pair from Python.

use super::super::case::{Beside, Better, Case, Group, Prepare, Round, Unit};
use super::super::peer::{Peer, Statistic};
use super::served::Served;
use super::{PLACEMENT, WAITING};
use crate::python::default_python;
use quintet::{Code, Error};
use std::path::Path;
use std::process::Command;

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
    Ok(served.rounds(move || round(case, &address)))
}

/// Runs the script, which stays on the processor of whoever starts it.
fn round(case: &str, address: &str) -> Result<f64, Error> {
    let failed = |why: String| Error::new(Code::Resource, format!("{SCRIPT}: {why}"));
    if !Path::new(SCRIPT).exists() {
        return Err(failed("not here; start this in the repository's root".to_owned()));
    }
    let mut command = Command::new(default_python());
    command.args([SCRIPT, "--rounds", "1", "--case", case, "--address", address]);
    let output = command.output().map_err(|error| failed(format!("Python cannot be started: {error}")))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    Statistic::Middle
        .find(&String::from_utf8_lossy(&output.stdout))
        .ok_or_else(|| failed("it said nothing that is known here".to_owned()))
}

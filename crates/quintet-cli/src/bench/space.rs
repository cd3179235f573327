//! A tuple put and taken again, each awaited: what Redis does with RPUSH and BLPOP.

use super::Round;
use super::row::median;
use crate::companion::Companion;
use crate::connection::refused;
use crate::pinning::{Pin, allowed};
use quintet::{Code, Error, Lab, Space, Template, Tuple, template, tuple};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::{Duration, Instant};

/// Pairs of a round.
const PAIRS: u64 = 20_000;
/// Pairs that are timed together in this process, where reading the clock would weigh.
const GROUP: u64 = 16;
const PAYLOAD: [u8; 64] = [7; 64];
const LEASE: Duration = Duration::from_secs(10);

/// The space in this process.
pub(super) fn in_process() -> Result<Round, Error> {
    let space = Lab::embedded().space();
    pairs(&space, PAIRS / 10)?;
    Ok(Box::new(move || pairs(&space, PAIRS)))
}

/// The space in another process.
pub(super) fn shared_memory() -> Result<Round, Error> {
    let folder = tempfile::Builder::new().prefix("quintet-").tempdir().map_err(refused("make a folder"))?;
    let socket = folder.path().join("space");
    // A child stays where its parent was when it was started.
    let there = allowed()?.get(1).copied().map(Pin::to).transpose()?;
    let server = serve(&socket)?;
    drop(there);
    let space = Lab::connect(&socket, 0, LEASE)?.space();
    pairs(&space, PAIRS / 10)?;
    Ok(Box::new(move || {
        // Both live as long as the rounds.
        let _ = (&server, &folder);
        pairs(&space, PAIRS)
    }))
}

fn serve(socket: &Path) -> Result<Companion, Error> {
    let arguments = ["serve".into(), "--cluster".into(), "0".into(), "--socket".into(), socket.into()];
    let mut server = Companion::start(arguments)?;
    let mut line = String::new();
    if let Some(output) = server.output() {
        BufReader::new(output).read_line(&mut line).map_err(refused("hear from the server"))?;
    }
    if line.is_empty() {
        return Err(Error::new(Code::PeerDied, "the server did not start"));
    }
    Ok(server)
}

/// The median of the groups, in nanoseconds a pair.
fn pairs(space: &Space, count: u64) -> Result<f64, Error> {
    let (tuple, template): (Tuple, Template) = (tuple!["pair", &PAYLOAD], template!["pair", ?[u8]]);
    let mut groups = Vec::new();
    for _ in 0..count.div_ceil(GROUP) {
        let started = Instant::now();
        for _ in 0..GROUP {
            space.out(tuple.clone())?;
            space.take(&template)?;
        }
        groups.push(started.elapsed().as_nanos() as f64 / GROUP as f64);
    }
    Ok(median(groups).unwrap_or(0.))
}

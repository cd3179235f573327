//! A tuple put and taken again, each awaited: what Redis does with RPUSH and BLPOP.

use super::Round;
use super::row::median;
use crate::companion::Companion;
use crate::connection::refused;
use crate::pinning::{Pin, allowed};
use quintet::{Array, ArrayOf, Code, Error, Lab, Space, Template, Tuple, template, tuple};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::{Duration, Instant};

/// Numbers of float64 in 1 MiB.
const MEBIBYTE_NUMBERS: usize = 1 << 17;
const LEASE: Duration = Duration::from_secs(10);

/// What is put and taken, and how often.
struct Pairs {
    tuple: Tuple,
    template: Template,
    /// Pairs of a round.
    count: u64,
    /// Pairs that are timed together, where reading the clock would weigh.
    group: u64,
}

/// 64 bytes, in this process.
pub(super) fn small_in_process() -> Result<Round, Error> {
    let (space, pairs) = (Lab::embedded().space(), Pairs::small());
    pairs.warm_up(&space)?;
    Ok(Box::new(move || pairs.round(&space)))
}

/// 64 bytes, the space in another process.
pub(super) fn small_in_shared_memory() -> Result<Round, Error> {
    shared_memory(Pairs::small())
}

/// 1 MiB of float64, the space in another process.
pub(super) fn large_in_shared_memory() -> Result<Round, Error> {
    shared_memory(Pairs::large()?)
}

fn shared_memory(pairs: Pairs) -> Result<Round, Error> {
    let folder = tempfile::Builder::new().prefix("quintet-").tempdir().map_err(refused("make a folder"))?;
    let socket = folder.path().join("space");
    // A child stays where its parent was when it was started.
    let there = allowed()?.get(1).copied().map(Pin::to).transpose()?;
    let server = serve(&socket)?;
    drop(there);
    let space = Lab::connect(&socket, 0, LEASE)?.space();
    pairs.warm_up(&space)?;
    Ok(Box::new(move || {
        // Both live as long as the rounds.
        let _ = (&server, &folder);
        pairs.round(&space)
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

impl Pairs {
    fn small() -> Pairs {
        let (tuple, template) = (tuple!["pair", &[7u8; 64]], template!["pair", ?[u8]]);
        Pairs { tuple, template, count: 20_000, group: 16 }
    }

    fn large() -> Result<Pairs, Error> {
        let array = Array::from_elements(&[MEBIBYTE_NUMBERS as u64], &[0.5f64; MEBIBYTE_NUMBERS])?;
        let (tuple, template) = (tuple!["pair", array], template!["pair", ?ArrayOf<f64, 1>]);
        Ok(Pairs { tuple, template, count: 200, group: 1 })
    }

    fn warm_up(&self, space: &Space) -> Result<(), Error> {
        (0..self.count / 10).try_for_each(|_| self.pair(space))
    }

    fn pair(&self, space: &Space) -> Result<(), Error> {
        space.out(self.tuple.clone())?;
        space.take(&self.template).map(|_| ())
    }

    /// The median of the groups, in nanoseconds a pair.
    fn round(&self, space: &Space) -> Result<f64, Error> {
        let mut groups = Vec::new();
        for _ in 0..self.count.div_ceil(self.group) {
            let started = Instant::now();
            (0..self.group).try_for_each(|_| self.pair(space))?;
            groups.push(started.elapsed().as_nanos() as f64 / self.group as f64);
        }
        Ok(median(groups).unwrap_or(0.))
    }
}

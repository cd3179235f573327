//! The rounds of a case, in turn with the rounds of what is beside it.

use super::case::{Beside, Case, Group, Round};
use super::peer::Peer;
use super::quiet::Watch;
use super::row::{Row, Turn};
use crate::pinning::{Pin, allowed};
use quintet::Error;
use std::path::Path;

/// What takes turns with a case, ready to run.
enum Companions<'a> {
    Programs { peers: &'a [Peer], folder: &'a Path, missing: Vec<Option<String>> },
    Itself(Round),
}

/// Measures a case so many times, each time followed by what is beside it.
///
/// # Errors
/// What a round of ours failed with. A peer that fails is told in the row.
pub(super) fn measure<'a>(case: &'a Case, rounds: u64, folder: &Path) -> Result<Row<'a>, Error> {
    let mut round = (case.prepare)()?;
    let mut companions = Companions::of(&case.beside, folder)?;
    // What is compared with a prediction has to have been measured undisturbed.
    let mut watch = if case.group == Group::Predict { Some(Watch::start()?) } else { None };
    let mut look = || watch.iter_mut().try_for_each(Watch::look);
    let mut turns = Vec::new();
    for _ in 0..rounds {
        look()?;
        let ours = if case.is_pinned { pinned(&mut round)? } else { round()? };
        look()?;
        turns.push(Turn { ours, beside: companions.round()? });
        look()?;
    }
    let (beside, missing) = (case.beside.names(), companions.missing());
    Ok(Row { case, beside, turns, missing, quiet: watch.map(Watch::end) })
}

/// A round of ours with the asking side on the first processor. Peers choose their own.
fn pinned(round: &mut Round) -> Result<f64, Error> {
    let _pin = allowed()?.first().copied().map(Pin::to).transpose()?;
    round()
}

impl<'a> Companions<'a> {
    fn of(beside: &'a Beside, folder: &'a Path) -> Result<Companions<'a>, Error> {
        let peers = match beside {
            Beside::Nothing => &[],
            Beside::Program(peer) => std::slice::from_ref(peer),
            Beside::Programs(peers) => *peers,
            Beside::Itself { prepare, .. } => return Ok(Companions::Itself(prepare()?)),
        };
        Ok(Companions::Programs { peers, folder, missing: vec![None; peers.len()] })
    }

    /// One figure each. Who failed once is not asked again.
    fn round(&mut self) -> Result<Vec<Option<f64>>, Error> {
        match self {
            Companions::Itself(round) => Ok(vec![Some(pinned(round)?)]),
            Companions::Programs { peers, folder, missing } => {
                let both = peers.iter().zip(missing);
                Ok(both.map(|(peer, missing)| figure(peer, folder, missing)).collect())
            }
        }
    }

    /// Who is missing, and why.
    fn missing(self) -> Option<String> {
        let Companions::Programs { peers, missing, .. } = self else { return None };
        let both = peers.iter().zip(missing);
        let all: Vec<String> =
            both.filter_map(|(peer, why)| why.map(|why| format!("{}: {why}", peer.name))).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }
}

fn figure(peer: &Peer, folder: &Path, missing: &mut Option<String>) -> Option<f64> {
    if missing.is_some() {
        return None;
    }
    peer.round(folder).map_err(|why| *missing = Some(why)).ok()
}

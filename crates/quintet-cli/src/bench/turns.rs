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
    Itself { round: Round, is_pinned: bool },
}

/// Measures a case so many times, each time followed by what is beside it. Of cases that share a name only the first is measured, and
/// what is beside any of them is in each turn: a row for each.
///
/// # Errors
/// What a round of ours failed with. A peer that fails is told in the row.
pub(super) fn measure<'a>(cases: &[&'a Case], rounds: u64, folder: &Path) -> Result<Vec<Row<'a>>, Error> {
    let Some(case) = cases.first() else { return Ok(Vec::new()) };
    let mut round = (case.prepare)()?;
    let beside = cases.iter().map(|case| Companions::of(case, folder));
    let mut beside = beside.collect::<Result<Vec<_>, _>>()?;
    // What is compared with a prediction has to have been measured undisturbed.
    let mut watch = if case.group == Group::Predict { Some(Watch::start()?) } else { None };
    let mut look = || watch.iter_mut().try_for_each(Watch::look);
    let mut turns: Vec<Vec<Turn>> = cases.iter().map(|_| Vec::new()).collect();
    for _ in 0..rounds {
        look()?;
        let ours = run(&mut round, case.is_pinned)?;
        look()?;
        for (turns, companions) in turns.iter_mut().zip(&mut beside) {
            turns.push(Turn { ours, beside: companions.round()? });
        }
        look()?;
    }
    let quiet = watch.map(Watch::end);
    let parts = cases.iter().zip(turns).zip(beside);
    let row = |((case, turns), companions): ((&&'a Case, _), Companions<'_>)| {
        let (beside, missing) = (case.beside.names(), companions.missing());
        Row { case, beside, turns, missing, quiet }
    };
    Ok(parts.map(row).collect())
}

/// A round of ours, with the asking side on the first processor or wherever it is. Peers choose their own.
fn run(round: &mut Round, is_pinned: bool) -> Result<f64, Error> {
    let first = if is_pinned { allowed()?.first().copied() } else { None };
    let _pin = first.map(Pin::to).transpose()?;
    round()
}

impl<'a> Companions<'a> {
    fn of(case: &'a Case, folder: &'a Path) -> Result<Companions<'a>, Error> {
        let peers = match &case.beside {
            Beside::Nothing => &[],
            Beside::Program(peer) => std::slice::from_ref(peer),
            Beside::Programs(peers) => *peers,
            Beside::Itself { prepare, .. } => {
                return Ok(Companions::Itself { round: prepare()?, is_pinned: case.is_pinned });
            }
        };
        Ok(Companions::Programs { peers, folder, missing: vec![None; peers.len()] })
    }

    /// One figure each. Who failed once is not asked again.
    fn round(&mut self) -> Result<Vec<Option<f64>>, Error> {
        match self {
            Companions::Itself { round, is_pinned } => Ok(vec![Some(run(round, *is_pinned)?)]),
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

#[cfg(test)]
mod tests {
    use super::super::case::{Better, Unit};
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    static MEASURED: AtomicU32 = AtomicU32::new(0);

    /// The how-manieth measurement it is.
    fn counted() -> Result<Round, Error> {
        Ok(Box::new(|| Ok(f64::from(MEASURED.fetch_add(1, Relaxed)))))
    }

    fn case(peer: Peer) -> Case {
        Case::new(Group::Link, "x", Unit::Nanoseconds, Better::Lower, counted).beside(Beside::Program(peer))
    }

    #[test]
    fn what_shares_a_name_is_measured_once_beside_everything() {
        let (one, other) = (case(super::super::peer::UCX), case(super::super::peer::LINES));
        let rows = measure(&[&one, &other], 3, Path::new("/nonexistent")).expect("three turns");
        let ours = |row: &Row<'_>| row.turns.iter().map(|turn| turn.ours).collect::<Vec<_>>();
        assert_eq!(rows.iter().map(ours).collect::<Vec<_>>(), [[0., 1., 2.]; 2]);
        assert_eq!(rows.iter().map(|row| row.beside[0]).collect::<Vec<_>>(), ["ucx", "limit-ping-pong"]);
        assert!(measure(&[], 3, Path::new("/nonexistent")).expect("nothing to do").is_empty());
    }
}

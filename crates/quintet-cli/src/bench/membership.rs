//! What being a cluster costs its machines, in simulation: one seed gives one figure, on every machine.

use super::case::{Better, Case, Group, Prepare, Round, Unit};
use quintet::{Code, Error};
use quintet_agent::LIVENESS;
use quintet_predict::membership::{ClusterCost, measure};

/// Which figure of a cluster's costs.
type Figure = fn(&ClusterCost) -> f64;

/// The cases of clusters of so many machines.
macro_rules! clusters {
    ($($size:literal),+) => {
        [$([
            of(concat!("agents-", $size), Unit::Nanoseconds, || prepare($size, |cost| cost.change_nanos)),
            of(concat!("agents-", $size, "-change-bytes"), Unit::Bytes, || prepare($size, |cost| cost.change_bytes)),
            of(concat!("agents-", $size, "-idle-frames"), Unit::PerSecond("frames"), || prepare($size, |cost| cost.idle_frames)),
            of(concat!("agents-", $size, "-idle-bytes"), Unit::BytesPerSecond, || prepare($size, |cost| cost.idle_bytes)),
        ]),+]
    };
}

pub(super) fn cases() -> Vec<Case> {
    clusters!(3, 5, 10, 20, 50).into_iter().flatten().collect()
}

fn of(name: &'static str, unit: Unit, prepare: Prepare) -> Case {
    Case::new(Group::Membership, name, unit, Better::Lower, prepare)
}

/// One simulated cluster a round, of that seed: the first round of every run is the same.
fn prepare(size: u16, figure: Figure) -> Result<Round, Error> {
    let mut seed = 0;
    Ok(Box::new(move || {
        seed += 1;
        let cost = measure(size, LIVENESS, seed);
        let missing = || {
            let text = format!("{size} simulated machines are no cluster after a minute, seed {seed}");
            Error::new(Code::Mismatch, text)
        };
        cost.as_ref().map(figure).ok_or_else(missing)
    }))
}

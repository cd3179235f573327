//! The engine of a served space: what clients that do nothing cost the one that is busy.

use super::case::{Beside, Better, Case, Group, Prepare, Round, Unit};
use super::space::pair::Pairs;
use super::space::served::Served;
use super::space::{PLACEMENT, WAITING};
use crate::descriptors;
use quintet::Error;

/// What a pair may take among idle clients, in times of what it takes without.
const GOAL: f64 = 1.3;
/// Descriptors of a connection over shared memory at one of its ends, at most.
const DESCRIPTORS_EACH: u64 = 7;
/// Those of everything else.
const OTHER_DESCRIPTORS: u64 = 64;

const ALONE: Prepare = || prepare(1);

pub(super) fn cases() -> Vec<Case> {
    let more: [(_, Prepare); 3] =
        [("links-10", || prepare(10)), ("links-100", || prepare(100)), ("links-1000", || prepare(1_000))];
    let case = |name, prepare| {
        Case::new(Group::Engine, name, Unit::Nanoseconds, Better::Lower, prepare).under(WAITING, PLACEMENT)
    };
    let beside = || Beside::Itself { name: "1", prepare: ALONE };
    let more = more.map(|(name, prepare)| case(name, prepare).beside(beside()).goal(GOAL));
    [case("links-1", ALONE)].into_iter().chain(more).collect()
}

/// One of `links` clients puts and takes a name and 64 bytes, 20,000 pairs a round, over shared memory; the others, connected to
/// the same space before it, do nothing. The median in nanoseconds a pair.
fn prepare(links: u64) -> Result<Round, Error> {
    descriptors::raise();
    descriptors::need(DESCRIPTORS_EACH * links + OTHER_DESCRIPTORS, "the clients")?;
    let served = Served::start()?;
    let idle = (1..links).map(|_| served.connect()).collect::<Result<Vec<_>, _>>()?;
    let (busy, pairs) = (served.connect()?, Pairs::small());
    pairs.warm_up(&busy)?;
    Ok(served.rounds(move || {
        // Stay connected.
        let _ = &idle;
        pairs.round(&busy)
    }))
}

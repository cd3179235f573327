//! One of many waiting takers woken.

use super::super::case::{Beside, Better, Case, Group, Prepare, Round, Unit};
use super::served::Served;
use super::{Jumps, PLACEMENT, WAITING, median_of_groups};
use quintet::{Code, Error, Pending, Space, template, tuple};
use std::time::Duration;

/// Wake-ups of a round.
const WAKES: u64 = 5_000;
/// Wake-ups that are timed together: reading the clock would weigh.
const GROUP: u64 = 16;
/// What it may take among more takers, in times of what it takes among ten.
const GOAL: f64 = 2.;

const LEAST: Prepare = || prepare(10);

pub(super) fn cases() -> Vec<Case> {
    let more: [(_, Prepare); 4] = [
        ("blocked-100", || prepare(100)),
        ("blocked-1000", || prepare(1_000)),
        ("blocked-10000", || prepare(10_000)),
        ("blocked-50000", || prepare(50_000)),
    ];
    let case = |name, prepare| {
        Case::new(Group::Space, name, Unit::Nanoseconds, Better::Lower, prepare).under(WAITING, PLACEMENT)
    };
    let beside = || Beside::Itself { name: "10", prepare: LEAST };
    let more = more.map(|(name, prepare)| case(name, prepare).beside(beside()).goal(GOAL));
    [case("blocked-10", LEAST)].into_iter().chain(more).collect()
}

/// `takers` takes wait over one connection to a space in another process, each for another number. A tuple is put for one of
/// them, chosen by chance, which gets it and then waits again: 5,000 such wake-ups a round, their median in nanoseconds.
fn prepare(takers: u64) -> Result<Round, Error> {
    let served = Served::start()?;
    let space = served.connect()?;
    let mut waiting = (0..takers).map(|number| wait_for(&space, number)).collect::<Result<Vec<_>, _>>()?;
    let mut jumps = Jumps::new();
    let mut wake = move || wake(&space, &mut waiting, jumps.below(takers));
    (0..WAKES / 10).try_for_each(|_| wake())?;
    Ok(served.rounds(move || median_of_groups(WAKES, GROUP, &mut wake)))
}

fn wait_for(space: &Space, number: u64) -> Result<Pending, Error> {
    space.begin().take(&template!["wake", number])
}

fn wake(space: &Space, waiting: &mut [Pending], number: u64) -> Result<(), Error> {
    space.out(tuple!["wake", number])?;
    let taker = usize::try_from(number).ok().and_then(|place| waiting.get_mut(place));
    let taker =
        taker.ok_or_else(|| Error::new(Code::BadValue, format!("no taker has the number {number}")))?;
    let woken = taker.wait(Duration::MAX);
    *taker = wait_for(space, number)?;
    woken.map_or(Ok(()), |outcome| outcome.map(|_| ()))
}

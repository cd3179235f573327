//! Messages of all members to all members, in one order: isochrons beside a fixed sequencer that is made of plain messages.

use super::super::case::{Beside, Better, Case, Group, Prepare, Round, Unit};
use super::super::link::Over;
use super::member::{Task, Way};
use super::net::Net;
use super::{PLACEMENT, WAITING};
use quintet::Error;
use std::time::Instant;

/// Multicasts of a round, shared out among the members.
const COUNT: usize = 6_000;
const BYTES: usize = 64;
/// At least as fast as the sequencer, whose messages are lost with it.
const GOAL: f64 = 1.;
/// Multicasts of a member that are under way.
const WINDOW: usize = 16;

macro_rules! case {
    ($name:literal, $members:literal) => {
        ($name, || prepare($members, Way::Isochrons(1)), || prepare($members, Way::Sequencer))
    };
}

pub(super) fn cases() -> Vec<Case> {
    let cases: [(_, Prepare, Prepare); 3] = [
        case!("ordered-multicast-3-shm", 3),
        case!("ordered-multicast-4-shm", 4),
        case!("ordered-multicast-8-shm", 8),
    ];
    cases
        .map(|(name, prepare, beside)| {
            Case::new(Group::Isotach, name, Unit::PerSecond("messages"), Better::Higher, prepare)
                .beside(Beside::Itself { name: "sequencer", prepare: beside })
                .goal(GOAL)
                .under(WAITING, PLACEMENT)
                .on_all_processors()
        })
        .into()
}

/// Multicasts a second of all members together.
fn prepare(members: u16, way: Way) -> Result<Round, Error> {
    let net = Net::start(Over::Shm, members)?;
    let all = usize::from(members);
    let receivers: Vec<u16> = (0..members).collect();
    let task = |count| Task { way, bytes: BYTES, count, window: WINDOW, receivers: receivers.clone() };
    net.all_do(0..members, &task(COUNT / all / 10))?;
    let task = task(COUNT / all);
    Ok(net.rounds(move |net| {
        let started = Instant::now();
        net.all_do(0..members, &task)?;
        Ok((COUNT / all * all) as f64 / started.elapsed().as_secs_f64())
    }))
}

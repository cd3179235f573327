//! Pairs of which many are under way at one time.

use super::super::case::{Beside, Better, Case, Group, Prepare, Round, Unit};
use super::super::link::Over;
use super::super::peer::{Peer, redis_over_tcp};
use super::super::row::median;
use super::served::Served;
use super::{PLACEMENT, WAITING};
use quintet::{Error, Pending, Space, Template, Tuple, template, tuple};
use std::time::Instant;

/// Pairs that are under way together, the peer's number.
const DEPTH: usize = 64;
/// Groups of a round: 20,032 pairs.
const GROUPS: usize = 313;
/// 64 pairs written to Redis at once, then their answers read; a pair counts as a message.
const REDIS: Peer = Peer::new("redis-c", "redis_pair", "pipelined-64-depth-64");
const REDIS_TCP: Peer = redis_over_tcp("pipelined-64-depth-64-tcp");
/// Over a socket, beside Redis over the same.
const SOCKET_GOAL: f64 = 4.;

pub(super) fn cases() -> Vec<Case> {
    let case = |name, peer, prepare: Prepare| {
        Case::new(Group::Space, name, Unit::PerSecond("pairs"), Better::Higher, prepare)
            .beside(Beside::Program(peer))
            .under(WAITING, PLACEMENT)
    };
    vec![
        case("pipelined-shm", REDIS, || prepare(Over::Shm)).goal(7.),
        case("pipelined-unix", REDIS, || prepare(Over::Unix)).goal(SOCKET_GOAL),
        case("pipelined-tcp", REDIS_TCP, || prepare(Over::Tcp)).goal(SOCKET_GOAL),
    ]
}

/// Pairs of a name and 64 bytes a second, over one connection to a space in another process: 64 times a put and a take are
/// begun, then the 128 are awaited. The median of 313 such groups.
fn prepare(over: Over) -> Result<Round, Error> {
    let served = Served::start_over(over)?;
    let space = served.connect()?;
    let (tuple, template) = ([tuple!["pair", &[7u8; 64]]], template!["pair", ?[u8]]);
    let mut under_way = Vec::with_capacity(2 * DEPTH);
    (0..GROUPS / 10).try_for_each(|_| group(&space, &tuple, &template, &mut under_way))?;
    Ok(served.rounds(move || {
        let mut rates = Vec::with_capacity(GROUPS);
        for _ in 0..GROUPS {
            let started = Instant::now();
            group(&space, &tuple, &template, &mut under_way)?;
            rates.push(DEPTH as f64 / started.elapsed().as_secs_f64());
        }
        Ok(median(rates).unwrap_or(0.))
    }))
}

fn group(
    space: &Space,
    tuple: &[Tuple],
    template: &Template,
    under_way: &mut Vec<Pending>,
) -> Result<(), Error> {
    for _ in 0..DEPTH {
        under_way.push(space.begin().out(tuple)?);
        under_way.push(space.begin().take(template)?);
    }
    under_way.drain(..).try_for_each(|pending| pending.finish().map(|_| ()))
}

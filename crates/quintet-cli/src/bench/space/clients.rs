//! Pairs of several clients at the same time, each with a thread and a connection of its own.

use super::super::case::{Beside, Better, Case, Group, Prepare, Round, Unit};
use super::super::link::Over;
use super::super::peer::{Peer, redis_over_tcp};
use super::WAITING;
use super::served::Served;
use crate::connection::refused;
use quintet::{Code, Error, Space, template, tuple};
use std::sync::RwLock;
use std::thread;
use std::time::Instant;

/// Pairs of a round, shared out among the clients; the peer does as many.
const PAIRS: usize = 20_000;
const PLACEMENT: &str = "clients on one core, the space on another";

pub(super) fn cases() -> Vec<Case> {
    let more: [(_, Prepare); 4] = [
        ("clients-1-tcp", || prepare(1)),
        ("clients-4-tcp", || prepare(4)),
        ("clients-16-tcp", || prepare(16)),
        ("clients-64-tcp", || prepare(64)),
    ];
    more.map(|(name, prepare)| {
        let peer: Peer = redis_over_tcp(name);
        Case::new(Group::Space, name, Unit::PerSecond("pairs"), Better::Higher, prepare)
            .beside(Beside::Program(peer))
            .goal(1.)
            .under(WAITING, PLACEMENT)
    })
    .into()
}

/// Pairs of a name and 64 bytes a second, of all clients together, the space in another process.
fn prepare(clients: usize) -> Result<Round, Error> {
    let served = Served::start_over(Over::Tcp)?;
    let clients = (0..clients).map(|_| served.connect()).collect::<Result<Vec<_>, _>>()?;
    rate(&clients, PAIRS / 20, pair)?;
    Ok(served.rounds(move || rate(&clients, PAIRS, pair)))
}

/// How many of so many operations a second are done, from the first client's start to the last one's end, each doing its share. `operate` is told of
/// which client it is, and the how manieth.
pub(super) fn rate(
    clients: &[Space],
    count: usize,
    operate: impl Fn(&Space, usize, usize) -> Result<(), Error> + Sync,
) -> Result<f64, Error> {
    let share = count / clients.len();
    let gate = RwLock::new(());
    let times = thread::scope(|scope| {
        // Those who are ready wait for it, so that all begin together; a failure lets them go, too.
        let closed = gate.write();
        let (gate, operate) = (&gate, &operate);
        let begin = |(client, space)| {
            let share = move || do_share(share, gate, |number| operate(space, client, number));
            thread::Builder::new().spawn_scoped(scope, share)
        };
        let threads = clients.iter().enumerate().map(begin).collect::<Result<Vec<_>, _>>();
        drop(closed);
        let ended = |_| Error::new(Code::PeerDied, "a client ended early");
        let threads = threads.map_err(refused("start a client's thread"))?;
        threads.into_iter().map(|thread| thread.join().map_err(ended)?).collect::<Result<Vec<_>, Error>>()
    })?;
    let first = times.iter().map(|(started, _)| *started).min();
    let last = times.iter().map(|(_, ended)| *ended).max();
    let taken = first.zip(last).map_or(0., |(first, last)| (last - first).as_secs_f64());
    Ok((share * clients.len()) as f64 / taken)
}

/// When a client began, and when it was done.
fn do_share(
    count: usize,
    gate: &RwLock<()>,
    operate: impl FnMut(usize) -> Result<(), Error>,
) -> Result<(Instant, Instant), Error> {
    drop(gate.read());
    let started = Instant::now();
    (0..count).try_for_each(operate)?;
    Ok((started, Instant::now()))
}

/// A name and 64 bytes, put and taken.
pub(super) fn pair(space: &Space, _client: usize, _number: usize) -> Result<(), Error> {
    space.out(tuple!["pair", &[7u8; 64]])?;
    space.take(&template!["pair", ?[u8]]).map(drop)
}

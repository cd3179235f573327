//! Tuples that are read and changed at one instant, by clients with one each or by all with the same; and one that many read.

use super::super::case::{Beside, Better, Case, Group, Prepare, Round, Unit};
use super::super::link::Over;
use super::super::peer::Peer;
use super::WAITING;
use super::clients::rate;
use super::served::Served;
use quintet::{Code, Error, Space, template, tuple};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

const PLACEMENT: &str = "clients on one core, the space on another";
const CROWD: usize = 16;
/// Updates of a round, shared out among the clients, and untimed ones; as the peer does.
const TIMED: usize = 8_000;
const UNTIMED: usize = 800;
const OPTIONS: &[&str] = &["--iterations", "8000", "--warmup", "800"];
/// How long the others may take for one tuple.
const LIMIT: Duration = Duration::from_secs(30);
/// An optimistic transaction of Redis, which two round trips take as a group does.
const GROUP_GOAL: f64 = 2.;

pub(super) fn cases() -> Vec<Case> {
    let case = |name, what, prepare: Prepare, peer, of_peer| {
        Case::new(Group::Space, name, Unit::PerSecond(what), Better::Higher, prepare)
            .beside(Beside::Program(Peer::new(peer, "redis_updates", of_peer).with(OPTIONS)))
            .under(WAITING, PLACEMENT)
    };
    let group = |name, prepare| case(name, "updates", prepare, "redis-watch", name).goal(GROUP_GOAL);
    let counter = |peer, of_peer| case("counter-16", "updates", one_counter, peer, of_peer);
    vec![
        group("group-1", || counters_of_their_own(1)),
        group("group-16", || counters_of_their_own(CROWD)),
        counter("redis-watch", "counter-16"),
        counter("redis-incr", "counter-16-incr"),
        case("readers-16", "reads", readers, "redis-stream", "readers-16"),
    ]
}

/// Counters that are taken and put again, one more, in a group: each client its own, over a Unix socket.
fn counters_of_their_own(clients: usize) -> Result<Round, Error> {
    let served = Served::start_over(Over::Unix)?;
    let clients = (0..clients).map(|_| served.connect()).collect::<Result<Vec<_>, _>>()?;
    for (client, space) in clients.iter().enumerate() {
        space.out(tuple!["counter", client as u64, 0i64])?;
    }
    rate(&clients, UNTIMED, in_a_group)?;
    Ok(served.rounds(move || rate(&clients, TIMED, in_a_group)))
}

fn in_a_group(space: &Space, client: usize, _number: usize) -> Result<(), Error> {
    let group = space.group();
    let count: i64 = group.take(&template!["counter", client as u64, ?i64])?[2].clone().try_into()?;
    group.out(tuple!["counter", client as u64, count + 1])?;
    group.commit()
}

/// One counter of all clients, read and then replaced by one more where nobody was quicker; else it is done again.
fn one_counter() -> Result<Round, Error> {
    let served = Served::start_over(Over::Unix)?;
    let clients = (0..CROWD).map(|_| served.connect()).collect::<Result<Vec<_>, _>>()?;
    clients.iter().take(1).try_for_each(|space| space.out(tuple!["counter", 0i64]))?;
    rate(&clients, UNTIMED, by_replacing)?;
    Ok(served.rounds(move || rate(&clients, TIMED, by_replacing)))
}

fn by_replacing(space: &Space, _client: usize, _number: usize) -> Result<(), Error> {
    loop {
        let count: i64 = space.read(&template!["counter", ?i64])?[1].clone().try_into()?;
        let next = [tuple!["counter", count + 1]];
        if space.replace_if(&template!["counter", count], &next)?.is_some() {
            return Ok(());
        }
    }
}

/// A tuple that one client replaces when all sixteen have read it, itself among them; each waits for the next one before it is put.
fn readers() -> Result<Round, Error> {
    let served = Served::start_over(Over::Unix)?;
    let clients = (0..CROWD).map(|_| served.connect()).collect::<Result<Vec<_>, _>>()?;
    clients.iter().take(1).try_for_each(|space| space.out(tuple!["news", 0i64]))?;
    let mut first = 1;
    let mut read = move |reads: usize| {
        let (told, are_told) = channel();
        let (begin, told, are_told) = (first, Mutex::new(told), Mutex::new(are_told));
        first += (reads / CROWD) as i64;
        let read = |space: &Space, client, number| {
            read_version(space, client == 0, begin + number as i64, (&told, &are_told))
        };
        rate(&clients, reads, read)
    };
    read(UNTIMED)?;
    Ok(served.rounds(move || read(TIMED)))
}

/// Reads one version of it; who writes puts it first, and waits until all others have it.
fn read_version(
    space: &Space,
    writes: bool,
    version: i64,
    (told, are_told): (&Mutex<Sender<()>>, &Mutex<Receiver<()>>),
) -> Result<(), Error> {
    let ended = || Error::new(Code::PeerDied, "a reader has not read what was put");
    let template = template!["news", version];
    if !writes {
        space.read_within(&template, LIMIT)?;
        let told = told.lock().map_err(|_| ended())?;
        return told.send(()).map_err(|_| ended());
    }
    space.replace(&template!["news", ?i64], &[tuple!["news", version]])?;
    space.read(&template)?;
    let are_told = are_told.lock().map_err(|_| ended())?;
    (1..CROWD).try_for_each(|_| are_told.recv_timeout(LIMIT).map_err(|_| ended()))
}

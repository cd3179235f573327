//! Pairs of clients whose every operation is synced on the disk before it is answered.
//!
//! What is compared has equal durability and lies in the same file system: Redis syncs its file of commands before it answers
//! (`appendfsync always`), SQLite its log (WAL, `synchronous=FULL`).

use super::super::case::{Beside, Better, Case, Group, Prepare, Round, Unit};
use super::super::peer::Peer;
use super::WAITING;
use super::clients::{pair, rate};
use super::served::Served;
use quintet::Error;

const PLACEMENT: &str = "clients on one core, the space on another";
/// Pairs of a round, and untimed ones, shared out among the clients; as the peers do.
const ONE: Pairs = Pairs { clients: 1, timed: 1_600, untimed: 160 };
const CROWD: Pairs = Pairs { clients: 16, timed: 4_800, untimed: 480 };
const OF_ONE: &[&str] = &["--iterations", "1600", "--warmup", "160"];
const OF_CROWD: &[&str] = &["--iterations", "4800", "--warmup", "480"];

/// How many clients do how many pairs together.
#[derive(Clone, Copy)]
struct Pairs {
    clients: usize,
    timed: usize,
    untimed: usize,
}

pub(super) fn cases() -> Vec<Case> {
    let redis = |case, options| Peer::new("redis-c-always", "redis_logged", case).with(options);
    let sqlite = |case, options| Peer::new("sqlite-full", "sqlite_logged", case).with(options);
    let limit = Peer::new("limit-sync", "limit_sync", "pair-sync").with(OF_ONE);
    let case = |name, prepare: Prepare, peer| {
        Case::new(Group::Space, name, Unit::PerSecond("pairs"), Better::Higher, prepare)
            .beside(Beside::Program(peer))
            .under(WAITING, PLACEMENT)
    };
    let one = |peer| case("logged-1", || prepare(ONE), peer);
    let crowd = |peer| case("logged-16", || prepare(CROWD), peer);
    vec![
        one(redis("logged-1", OF_ONE)).goal(1.),
        one(sqlite("logged-1", OF_ONE)).goal(1.),
        one(limit),
        crowd(redis("logged-16", OF_CROWD)).goal(2.),
        crowd(sqlite("logged-16", OF_CROWD)).goal(2.),
        crowd(limit),
    ]
}

/// Pairs of a name and 64 bytes a second, of all clients together, over a Unix socket to a space with a log in another process.
fn prepare(pairs: Pairs) -> Result<Round, Error> {
    let served = Served::start_logged()?;
    let clients = (0..pairs.clients).map(|_| served.connect()).collect::<Result<Vec<_>, _>>()?;
    rate(&clients, pairs.untimed, pair)?;
    Ok(served.rounds(move || rate(&clients, pairs.timed, pair)))
}

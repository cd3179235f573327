//! Pairs of several clients at the same time, the space spread over one manager or several, as threads of one process or as processes.

use super::super::case::{Better, Case, Group, Prepare, Round, Unit};
use super::WAITING;
use super::clients::rate;
use super::served::Served;
use quintet::{Error, Space, template, tuple};

/// Pairs of a round, shared out among the clients.
const PAIRS: usize = 20_000;
const CLIENTS: usize = 4;
const PLACEMENT: &str = "clients and managers on any core";

pub(super) fn cases() -> Vec<Case> {
    let cases: [(_, Prepare); 5] = [
        ("managers-1", || prepare(Served::start_managers(1)?)),
        ("managers-2", || prepare(Served::start_managers(2)?)),
        ("managers-4", || prepare(Served::start_managers(4)?)),
        ("managers-2-processes", || prepare(Served::start_partitioned(2)?)),
        ("managers-4-processes", || prepare(Served::start_partitioned(4)?)),
    ];
    cases
        .map(|(name, prepare)| {
            Case::new(Group::Space, name, Unit::PerSecond("pairs"), Better::Higher, prepare)
                .under(WAITING, PLACEMENT)
        })
        .into()
}

/// Pairs of a name, a number and 64 bytes a second, of four clients together, each number of one client: the number is the key by which
/// several managers spread them.
fn prepare(served: Served) -> Result<Round, Error> {
    let clients = (0..CLIENTS).map(|_| served.connect()).collect::<Result<Vec<_>, _>>()?;
    rate(&clients, PAIRS / 20, pair)?;
    Ok(served.rounds(move || rate(&clients, PAIRS, pair)))
}

fn pair(space: &Space, client: usize, number: usize) -> Result<(), Error> {
    let key = i64::try_from(client * PAIRS + number % 1_000).unwrap_or(i64::MAX);
    space.out(tuple!["pair", key, &[7u8; 64]])?;
    space.take(&template!["pair", key, ?[u8]]).map(drop)
}

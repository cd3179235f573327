//! Pairs and searches of several clients at the same time, the space spread over one manager or several, as threads of one process or as processes.

use super::super::case::{Beside, Better, Case, Group, Prepare, Round, Unit};
use super::WAITING;
use super::clients::rate;
use super::served::Served;
use quintet::{Code, Error, Field, Space, Tuple, template, tuple};

/// Pairs of a round, shared out among the clients.
const PAIRS: usize = 20_000;
const CLIENTS: usize = 4;
/// Searches of a round, shared out among these: so many that each manager has some to do as a rule.
const SEARCHES: usize = 4_000;
const SEARCHERS: usize = 16;
/// Boards of pieces, each with so many: a search looks at half of one board.
const BOARDS: usize = 32;
const PIECES: usize = 1_000;
/// What two managers shall do in the time of one, where both processors are all there are.
const GOAL: f64 = 1.6;
const PLACEMENT: &str = "clients and managers on any core";

pub(super) fn cases() -> Vec<Case> {
    let cases: [(_, Prepare); 5] = [
        ("managers-1", || prepare(Served::start_managers(1)?)),
        ("managers-2", || prepare(Served::start_managers(2)?)),
        ("managers-4", || prepare(Served::start_managers(4)?)),
        ("managers-2-processes", || prepare(Served::start_partitioned(2)?)),
        ("managers-4-processes", || prepare(Served::start_partitioned(4)?)),
    ];
    let case = |name, what, prepare| {
        Case::new(Group::Space, name, Unit::PerSecond(what), Better::Higher, prepare)
            .under(WAITING, PLACEMENT)
            .on_all_processors()
    };
    let two: [(_, Prepare); 2] = [
        ("managers-2-searches", || searches(Served::start_managers(2)?)),
        ("managers-2-processes-searches", || searches(Served::start_partitioned(2)?)),
    ];
    let one = || Beside::Itself { name: "one manager", prepare: || searches(Served::start_managers(1)?) };
    let two = two.map(|(name, prepare)| case(name, "searches", prepare).beside(one()).goal(GOAL));
    cases.map(|(name, prepare)| case(name, "pairs", prepare)).into_iter().chain(two).collect()
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

/// Searches a second, of sixteen clients together: whether a piece of a board lies in a rectangle. The board is the key by which several managers spread them, and
/// one manager compares half of its pieces, which takes many times as long as the request and its answer.
fn searches(served: Served) -> Result<Round, Error> {
    let clients = (0..SEARCHERS).map(|_| served.connect()).collect::<Result<Vec<_>, _>>()?;
    for board in 0..BOARDS {
        let pieces: Vec<Tuple> = (0..PIECES).map(|piece| piece_of(board, piece)).collect();
        clients[0].out_many(&pieces, None)?;
    }
    rate(&clients, SEARCHES / 20, search)?;
    Ok(served.rounds(move || rate(&clients, SEARCHES, search)))
}

/// They lie on a diagonal.
fn piece_of(board: usize, piece: usize) -> Tuple {
    tuple!["piece", board as i64, piece as f64, piece as f64]
}

/// Half of the pieces are in one range of the rectangle, half in the other, and none in both.
fn search(space: &Space, client: usize, number: usize) -> Result<(), Error> {
    let board = (client + number * 7) % BOARDS;
    let middle = (PIECES / 2) as f64;
    let template = template!["piece", board as i64, Field::range(..middle), Field::range(middle..)];
    match space.read_if(&template)? {
        None => Ok(()),
        Some(piece) => Err(Error::new(Code::BadValue, format!("{piece:?} lies where none does"))),
    }
}

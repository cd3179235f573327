//! Frames over a link, with the other side in another process.
//!
//! | file | holds |
//! | --- | --- |
//! | `link/child.rs` | a link to another process of this program, and what that process does |
//! | `link/echo.rs` | round trips, both sides on a processor of their own |
//! | `link/shared.rs` | round trips of several pairs on two processors |
//! | `link/stream.rs` | frames and bulk one way |
//! | `link/sockets.rs` | the same over Unix sockets and TCP |
//! | `link/tls.rs` | the same over TLS, beside TCP and the cipher alone |
//! | `link/idle.rs` | what waiting costs |
//!
//! What is timed is the link as a host drives it: a frame encoded in the ring, taken out and checked, and handed to who asked.

mod child;
mod echo;
mod idle;
mod shared;
mod sockets;
mod stream;
mod tls;

use super::case::{Beside, Better, Case, Group, Prepare, Unit};
use super::peer::{self, Peer};
use quintet::{Code, Error};
use quintet_contract::{Address, Frame, Kind, Token};
use quintet_link::{End, LinkError, Route};
use std::time::Duration;

pub(crate) use child::SideArguments;
pub(super) use child::{Over, arguments, identified};
pub(crate) use echo::EchoLink;
pub(super) use idle::share;

const BODY: [u8; 64] = [7; 64];
/// Frames taken at once at most.
const BURST: usize = 16;
const ROUTE: Route =
    Route { from: Address::new(1, 1024), to: Address::new(2, 1024), kind: Kind(0xf0), token: Token(1) };

/// How a link waits unless it is told otherwise: it spins, yields, sleeps, and learns which pays.
const ADAPTIVE: &str = "adaptive";
/// It looks again and again, and never sleeps.
const SPINNING: &str = "spinning";
const OWN_CORES: &str = "own cores";
/// How long a side waits for the other one to answer when it connects.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

const UCX_RATE: Peer = Peer::new("ucx", "ucx_shm", "rate-64");
const BULK_64K: &[Peer] = &[
    Peer::new("ucx", "ucx_shm", "bulk-64k"),
    Peer::new("ucx-cma", "ucx_shm", "bulk-64k-cma"),
    Peer::new("openmpi", "mpi_shm", "bulk-64k"),
    Peer::new("openmpi-cma", "mpi_shm", "bulk-64k-cma").with(&["--single-copy", "cma"]),
];
const BULK_1M: &[Peer] = &[
    Peer::new("ucx", "ucx_shm", "bulk-1m"),
    Peer::new("ucx-cma", "ucx_shm", "bulk-1m-cma"),
    Peer::new("openmpi", "mpi_shm", "bulk-1m"),
    Peer::new("openmpi-cma", "mpi_shm", "bulk-1m-cma").with(&["--single-copy", "cma"]),
];

pub(super) fn cases() -> Vec<Case> {
    let mut cases = vec![
        round_trip(peer::LINES, 1.8),
        round_trip(peer::UCX, 1.),
        round_trip(peer::OPEN_MPI, 1.),
        round_trip(peer::ICEORYX2, 1.),
    ];
    cases.extend(shared::cases());
    cases.extend([
        one_way("shm-rate-64", Unit::PerSecond("messages"), || stream::small(Over::Shm))
            .beside(Beside::Program(UCX_RATE))
            .goal(4.),
        one_way("shm-bulk-64k", Unit::BytesPerSecond, || stream::bulk_64k(Over::Shm))
            .beside(Beside::Programs(BULK_64K))
            .goal(1.),
        one_way("shm-bulk-1m", Unit::BytesPerSecond, || stream::bulk_1m(Over::Shm))
            .beside(Beside::Programs(BULK_1M))
            .goal(1.),
        Case::new(Group::Link, "idle", Unit::Share, Better::Lower, idle::prepare)
            .goal(0.002)
            .under(ADAPTIVE, "one server, one client"),
    ]);
    cases.extend(sockets::cases());
    cases.extend(tls::cases());
    cases
}

fn round_trip(peer: Peer, goal: f64) -> Case {
    Case::new(Group::Link, "shm-rtt-64", Unit::Nanoseconds, Better::Lower, || echo::prepare(Over::Shm, false))
        .beside(Beside::Program(peer))
        .goal(goal)
        .under(ADAPTIVE, OWN_CORES)
}

fn one_way(name: &'static str, unit: Unit, prepare: Prepare) -> Case {
    Case::new(Group::Link, name, unit, Better::Higher, prepare).under(ADAPTIVE, OWN_CORES)
}

/// Sends one small frame and tells the peer.
fn send(end: &mut End) -> Result<(), Error> {
    let room = end.sender.begin(ROUTE, BODY.len());
    room.map_err(|error| Error::new(Code::Unreachable, error.to_string()))?.copy_from_slice(&BODY);
    end.sender.commit(BODY.len());
    end.sender.flush().map_err(lost)
}

/// Hands at most so many frames to `deliver` and says how many there were; waits if there are none.
fn receive(end: &mut End, limit: usize, mut deliver: impl FnMut(Frame<'_>)) -> Result<usize, Error> {
    let count = end.receiver.poll(limit, &mut |_, frame| deliver(frame)).map_err(lost)?;
    if count == 0 {
        end.receiver.wait(None);
    }
    Ok(count)
}

fn lost(error: LinkError) -> Error {
    Error::new(Code::PeerDied, format!("{error:?}"))
}

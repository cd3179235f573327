//! `quintet bench`: what operations take, beside what a peer or the machine's limit takes in the same run.
//!
//! The rounds of a case and of its peer take turns, and a ratio is taken within each turn: a machine's pace drifts, and
//! only neighbours in time compare. See benches/peers/README.md.

pub(crate) mod link;
mod peer;
mod row;
mod space;

use crate::pinning::{Pin, allowed};
use clap::{Args, ValueEnum};
use peer::Peer;
use quintet::Error;
use row::{Row, Turn};
use std::path::PathBuf;
use std::process::ExitCode;

pub(crate) use link::{EchoArguments, echo};

#[derive(Args)]
#[command(
    after_help = "Build with --release, and the peers with make -C benches/peers.\n\nExample:\n  quintet bench space --rounds 11 --json"
)]
pub(crate) struct Arguments {
    /// Only these
    #[arg(value_enum)]
    group: Option<Group>,
    /// How often each case is measured
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    rounds: u64,
    /// Where the peers are built
    #[arg(long, default_value = "benches/peers/build", value_name = "FOLDER")]
    peers: PathBuf,
    /// Print a JSON object a case, one a line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Group {
    Link,
    Space,
}

/// A case: how it is measured, and beside what.
struct Case {
    group: Group,
    name: &'static str,
    peer: Option<Peer>,
    /// Makes what is measured; each call of what it makes is a round, in nanoseconds.
    prepare: fn() -> Result<Round, Error>,
}

/// Measures one round.
type Round = Box<dyn FnMut() -> Result<f64, Error>>;

fn cases() -> [Case; 7] {
    let round_trip = |peer| Case { group: Group::Link, name: "shm-rtt-64", peer, prepare: link::prepare };
    [
        round_trip(Some(peer::LINES)),
        round_trip(Some(peer::UCX)),
        round_trip(Some(peer::OPEN_MPI)),
        round_trip(Some(peer::ICEORYX2)),
        Case {
            group: Group::Space,
            name: "pair-64-inprocess",
            peer: Some(peer::REDIS),
            prepare: space::small_in_process,
        },
        Case {
            group: Group::Space,
            name: "pair-64-shm",
            peer: Some(peer::REDIS),
            prepare: space::small_in_shared_memory,
        },
        Case {
            group: Group::Space,
            name: "pair-1m-shm",
            peer: Some(peer::REDIS_LARGE),
            prepare: space::large_in_shared_memory,
        },
    ]
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    for case in cases() {
        if arguments.group.is_none_or(|group| group == case.group) {
            let row = measure(&case, arguments)?;
            if arguments.json {
                println!("{}", row.as_json());
            } else {
                println!("{row}");
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn measure(case: &Case, arguments: &Arguments) -> Result<Row, Error> {
    let mut round = (case.prepare)()?;
    let here = allowed()?.first().copied();
    let mut missing = None;
    let mut turns = Vec::new();
    for _ in 0..arguments.rounds {
        let pin = here.map(Pin::to).transpose()?;
        let ours = round()?;
        // The peer chooses its own processors.
        drop(pin);
        let peer = case
            .peer
            .as_ref()
            .filter(|_| missing.is_none())
            .and_then(|peer| peer.round(&arguments.peers).map_err(|why| missing = Some(why)).ok());
        turns.push(Turn { ours, peer });
    }
    let group = match case.group {
        Group::Link => "link",
        Group::Space => "space",
    };
    Ok(Row { bench: group, case: case.name, peer: case.peer.as_ref().map(|peer| peer.name), turns, missing })
}

//! What others that send cost a pair of members: round trips while four send to one of the two, or two others to each other, and plain messages beside the tokens of isochrons.
//! Where the others send plain messages in place of isochrons no token passes, and what is lost is the processors' that all share.

use super::super::case::{Better, Case, Prepare, Round, Unit};
use super::super::link::Over;
use super::load::{APART, CROWD, Load, MEMBERS};
use super::net::Net;
use super::task::Way;
use super::{PLAIN, case};
use quintet::Error;

/// Messages of each of those who send meanwhile.
const COUNT: usize = 20_000;
const ISOCHRONS: Way = Way::Isochrons(1);
/// Of plain messages beside tokens: less than 5 % is lost.
const RATE_GOAL: f64 = 0.95;
const TIME_GOAL: f64 = 1.05;

const TIME: (Unit, Better) = (Unit::Nanoseconds, Better::Lower);
const RATE: (Unit, Better) = (Unit::BytesPerSecond, Better::Higher);
const OF_PLAIN: &str = "others send plain messages";
const AT_REST: &str = "others at rest";

/// Isochrons among those of others, and plain messages among plain ones.
macro_rules! round_trips {
    ($name:literal, $load:ident, $bytes:expr) => {
        (
            $name,
            || round_trips($load, (ISOCHRONS, Some(ISOCHRONS)), $bytes),
            || round_trips($load, (Way::Plain, Some(Way::Plain)), $bytes),
        )
    };
}

/// Plain messages while others send isochrons, plain messages, and nothing.
macro_rules! beside_tokens {
    ($trips:literal, $stream:literal, $bytes:expr) => {
        [
            (
                $trips,
                (TIME, TIME_GOAL),
                || round_trips(APART, (Way::Plain, Some(ISOCHRONS)), $bytes),
                || round_trips(APART, (Way::Plain, Some(Way::Plain)), $bytes),
                || round_trips(APART, (Way::Plain, None), $bytes),
            ),
            (
                $stream,
                (RATE, RATE_GOAL),
                || streams(Some(ISOCHRONS), $bytes),
                || streams(Some(Way::Plain), $bytes),
                || streams(None, $bytes),
            ),
        ]
    };
}

pub(super) fn cases() -> Vec<Case> {
    let among: [(_, Prepare, Prepare); 4] = [
        round_trips!("isochron-rtt-64-contention-4-shm", CROWD, 64),
        round_trips!("isochron-rtt-1k-contention-4-shm", CROWD, 1 << 10),
        round_trips!("isochron-rtt-64-beside-stream-shm", APART, 64),
        round_trips!("isochron-rtt-1k-beside-stream-shm", APART, 1 << 10),
    ];
    let among = among.map(|(name, isochrons, plain)| case(name, TIME, isochrons, (PLAIN, plain)));
    let beside: [[(_, _, Prepare, Prepare, Prepare); 2]; 2] = [
        beside_tokens!("plain-rtt-64-beside-isochrons-shm", "plain-stream-64-beside-isochrons-shm", 64),
        beside_tokens!("plain-rtt-1k-beside-isochrons-shm", "plain-stream-1k-beside-isochrons-shm", 1 << 10),
    ];
    let beside_both = |(name, (what, goal), isochrons, plain, rest)| {
        [(OF_PLAIN, plain), (AT_REST, rest)].map(|others| case(name, what, isochrons, others).goal(goal))
    };
    among.into_iter().chain(beside.into_iter().flatten().flat_map(beside_both)).collect()
}

/// Members that have done so before.
fn round_trips(load: Load, ways: (Way, Option<Way>), bytes: usize) -> Result<Round, Error> {
    let net = Net::start(Over::Shm, MEMBERS)?;
    load.round_trip(&net, ways, bytes, COUNT / 10)?;
    Ok(net.rounds(move |net| load.round_trip(net, ways, bytes, COUNT)))
}

/// Likewise.
fn streams(of_others: Option<Way>, bytes: usize) -> Result<Round, Error> {
    let net = Net::start(Over::Shm, MEMBERS)?;
    APART.plain_stream(&net, of_others, bytes, COUNT / 10)?;
    Ok(net.rounds(move |net| APART.plain_stream(net, of_others, bytes, COUNT)))
}

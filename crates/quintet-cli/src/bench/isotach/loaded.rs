//! What others that send cost a pair of members: round trips while four send to one of the two, or two others to each other, and plain messages beside the tokens of isochrons.
//! Beside tokens the pair has a processor and the others have another, as hosts have their own: what the pair loses, tokens take. Where the others send plain
//! messages in place of isochrons no token passes.

use super::super::case::{Better, Case, Prepare, Round, Unit};
use super::super::link::Over;
use super::load::{APART, AWAY, AWAY_FIRST, CROWD, Load, MEMBERS};
use super::net::Net;
use super::task::Way;
use super::{PLAIN, WAITING, case};
use quintet::Error;

/// Messages of each of those who send meanwhile.
const COUNT: usize = 20_000;
const ISOCHRONS: Way = Way::Isochrons(1);
/// Of plain messages beside tokens: less than 5 % is lost.
const RATE_GOAL: f64 = 0.95;
const TIME_GOAL: f64 = 1.05;

const TIME: (Unit, Better) = (Unit::Nanoseconds, Better::Lower);
const RATE: (Unit, Better) = (Unit::BytesPerSecond, Better::Higher);
const PLACEMENT: &str = "the two on one processor, all others on another";
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
    ($trips:literal, $stream:literal, $pair:ident, $bytes:expr) => {
        [
            (
                $trips,
                (TIME, TIME_GOAL),
                || $pair.round_trips(Some(ISOCHRONS), $bytes),
                || $pair.round_trips(Some(Way::Plain), $bytes),
                || $pair.round_trips(None, $bytes),
            ),
            (
                $stream,
                (RATE, RATE_GOAL),
                || $pair.streams(Some(ISOCHRONS), $bytes),
                || $pair.streams(Some(Way::Plain), $bytes),
                || $pair.streams(None, $bytes),
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
    let beside: [[(_, _, Prepare, Prepare, Prepare); 2]; 3] = [
        beside_tokens!(
            "plain-rtt-64-beside-isochrons-shm",
            "plain-stream-64-beside-isochrons-shm",
            OTHERS,
            64
        ),
        beside_tokens!(
            "plain-rtt-1k-beside-isochrons-shm",
            "plain-stream-1k-beside-isochrons-shm",
            OTHERS,
            1 << 10
        ),
        beside_tokens!(
            "plain-rtt-64-manager-beside-isochrons-shm",
            "plain-stream-64-manager-beside-isochrons-shm",
            MANAGER,
            64
        ),
    ];
    let beside_both = |(name, (what, goal), isochrons, plain, rest)| {
        [(OF_PLAIN, plain), (AT_REST, rest)]
            .map(|others| case(name, what, isochrons, others).goal(goal).under(WAITING, PLACEMENT))
    };
    among.into_iter().chain(beside.into_iter().flatten().flat_map(beside_both)).collect()
}

/// Members that have done so before.
fn round_trips(load: Load, ways: (Way, Option<Way>), bytes: usize) -> Result<Round, Error> {
    let net = Net::start(Over::Shm, MEMBERS)?;
    load.round_trip(&net, ways, bytes, COUNT / 10)?;
    Ok(net.rounds(move |net| load.round_trip(net, ways, bytes, COUNT)))
}

/// Two members on a processor of their own, of which this process is the first.
struct Pair {
    me: u16,
    load: Load,
}

/// One of them has the token manager beside it.
const MANAGER: Pair = Pair { me: 0, load: APART };
const OTHERS: Pair = Pair { me: AWAY_FIRST, load: AWAY };

impl Pair {
    /// Plain round trips of members that have made some before.
    fn round_trips(&'static self, of_others: Option<Way>, bytes: usize) -> Result<Round, Error> {
        let net = Net::start_pair_apart(Over::Shm, self.me, MEMBERS)?;
        let ways = (Way::Plain, of_others);
        self.load.round_trip(&net, ways, bytes, COUNT / 10)?;
        Ok(net.rounds(move |net| self.load.round_trip(net, ways, bytes, COUNT)))
    }

    /// Likewise.
    fn streams(&'static self, of_others: Option<Way>, bytes: usize) -> Result<Round, Error> {
        let net = Net::start_pair_apart(Over::Shm, self.me, MEMBERS)?;
        self.load.plain_stream(&net, of_others, bytes, COUNT / 10)?;
        Ok(net.rounds(move |net| self.load.plain_stream(net, of_others, bytes, COUNT)))
    }
}

//! Long data that are packed by who puts them, beside the same as they are: over a slow wire, and where it does not pay.

use super::super::case::{Beside, Better, Case, Group, Prepare, Round, Unit};
use super::super::link::Over;
use super::pair::Pairs;
use super::served::Served;
use super::{Jumps, WAITING};
use crate::connection::refused;
use quintet::{Array, ArrayOf, Code, Error, Lab, LinkAddress, LinkConfig, Packing, Space, template, tuple};
use quintet_testbed::Wire;
use std::net::ToSocketAddrs;
use std::time::Duration;

/// Numbers of float64 in 1 MiB.
const MEBIBYTE_NUMBERS: usize = 1 << 17;
/// What the slow wire carries at most, in bytes a second each way: 100 Mbit/s.
const RATE: usize = 12_500_000;
/// MiB that the pairs of a round put.
const SLOW_MEBIBYTES: usize = 8;
const FAST_MEBIBYTES: usize = 50;
/// Over a slow wire smooth numbers shall take half the time at most.
const GOAL: f64 = 0.5;
const LEASE: Duration = Duration::from_secs(10);
const PLACEMENT: &str = "client and space on own cores, the wire on any";

/// How the numbers of an array follow each other.
#[derive(Clone, Copy)]
enum Numbers {
    /// Each differs little from the one before.
    Smooth,
    /// Nothing makes them shorter.
    Random,
}

/// What is between client and space.
#[derive(Clone, Copy)]
enum Between {
    SlowWire,
    Loopback,
}

pub(super) fn cases() -> Vec<Case> {
    use Between::{Loopback, SlowWire};
    use Numbers::{Random, Smooth};
    use Packing::{Always, Auto, Never};
    let pair = |name, packed: Prepare, as_it_is: Prepare| {
        Case::new(Group::Space, name, Unit::Nanoseconds, Better::Lower, packed)
            .beside(Beside::Itself { name: "as it is", prepare: as_it_is })
            .under(WAITING, PLACEMENT)
    };
    let slow: Prepare = || pairs(1, Smooth, SlowWire, Never);
    let stored = Case::new(Group::Space, "packed-1m-stored", Unit::Bytes, Better::Lower, || stored(Always))
        .beside(Beside::Itself { name: "as it is", prepare: || stored(Never) });
    vec![
        pair("packed-1m-slow", || pairs(1, Smooth, SlowWire, Always), slow).goal(GOAL),
        pair("packed-1m-auto-slow", || pairs(1, Smooth, SlowWire, Auto), slow).goal(GOAL),
        pair(
            "packed-8m-auto-slow",
            || pairs(8, Smooth, SlowWire, Auto),
            || pairs(8, Smooth, SlowWire, Never),
        )
        .goal(GOAL),
        pair(
            "packed-1m-random-slow",
            || pairs(1, Random, SlowWire, Always),
            || pairs(1, Random, SlowWire, Never),
        ),
        pair("packed-1m-tcp", || pairs(1, Smooth, Loopback, Always), || pairs(1, Smooth, Loopback, Never)),
        stored,
    ]
}

/// Pairs of a name and so many MiB of float64, put and taken by one client over TCP: the median in nanoseconds.
fn pairs(mebibytes: usize, numbers: Numbers, between: Between, packing: Packing) -> Result<Round, Error> {
    let served = Served::start_over(Over::Tcp)?;
    let (address, all) = match between {
        Between::SlowWire => (slowed(served.address())?, SLOW_MEBIBYTES),
        Between::Loopback => (served.address().clone(), FAST_MEBIBYTES),
    };
    let pairs = Pairs::of_array(numbers.array(mebibytes)?, (all / mebibytes) as u64);
    let space = connect(address, packing)?;
    // While nothing is known of the network, `auto` sends as it is.
    pairs.round(&space)?;
    Ok(served.rounds(move || pairs.round(&space)))
}

/// What the space counts for a tuple of a name and 1 MiB of smooth numbers.
fn stored(packing: Packing) -> Result<Round, Error> {
    let served = Served::start_over(Over::Tcp)?;
    let space = connect(served.address().clone(), packing)?;
    let array = Numbers::Smooth.array(1)?;
    Ok(served.rounds(move || {
        let before = space.status()?.bytes;
        space.out(tuple!["row", array.clone()])?;
        let after = space.status()?.bytes;
        space.take(&template!["row", ?ArrayOf<f64, 1>])?;
        Ok((after - before) as f64)
    }))
}

fn connect(address: LinkAddress, packing: Packing) -> Result<Space, Error> {
    let link = LinkConfig { packing, ..LinkConfig::default() };
    Ok(Lab::connect_with(address, 0, LEASE, link)?.space())
}

/// Where a slow wire to this address is dialled.
fn slowed(address: &LinkAddress) -> Result<LinkAddress, Error> {
    let LinkAddress::Tcp { host, port } = address else {
        return Err(Error::new(Code::BadValue, "a wire leads to an address of TCP"));
    };
    let there = (host.as_str(), *port).to_socket_addrs().map_err(refused("look up an address"))?.next();
    let there = there.ok_or_else(|| Error::new(Code::BadValue, "the address is none"))?;
    let wire = Wire::to(there).map_err(refused("lay a wire"))?;
    wire.set_rate(RATE);
    Ok(LinkAddress::Tcp { host: wire.address().ip().to_string(), port: wire.address().port() })
}

impl Numbers {
    fn array(self, mebibytes: usize) -> Result<Array, Error> {
        let (count, mut jumps) = (mebibytes * MEBIBYTE_NUMBERS, Jumps::new());
        let mut number = |at| match self {
            // Sixteen are alike, as in a picture or a table.
            Numbers::Smooth => (at / 16) as f64,
            Numbers::Random => f64::from_bits(jumps.below(1 << 32) << 32 | jumps.below(1 << 32)),
        };
        let numbers: Vec<f64> = (0..count).map(&mut number).collect();
        Ok(Array::from_elements(&[count as u64], &numbers)?)
    }
}

//! A tuple put and taken again, each awaited: what Redis does with RPUSH and BLPOP.

use super::super::case::{Beside, Better, Case, Group, Prepare, Round, Unit};
use super::super::link::Over;
use super::super::peer::{self, Peer};
use super::served::Served;
use super::{PLACEMENT, WAITING, median_of_groups};
use quintet::{
    Array, ArrayOf, Buffer, Code, ElementType, Error, Lab, Space, Template, Tuple, Value, template, tuple,
};
use std::hint::black_box;

/// Small pairs of a round, and those that are timed together: reading the clock would weigh.
const SMALL_PAIRS: u64 = 20_000;
const GROUP: u64 = 16;
/// Their bytes.
const SMALL: usize = 64;
/// Numbers of float64 in 1 MiB.
const MEBIBYTE_NUMBERS: usize = 1 << 17;
/// What a pair of at most 1 KiB over shared memory may take, in nanoseconds.
const SHARED_GOAL: f64 = 2_000.;
/// Over a socket, beside Redis over the same.
const SOCKET_GOAL: f64 = 0.6;

/// Over TLS, beside Redis over the same.
const TLS_GOAL: f64 = 0.5;

/// What is put and taken, and how often.
pub(in crate::bench) struct Pairs {
    tuple: Tuple,
    template: Template,
    /// Pairs of a round.
    count: u64,
    /// Pairs that are timed together, where reading the clock would weigh.
    group: u64,
}

pub(super) fn cases() -> Vec<Case> {
    let case =
        |name, prepare: Prepare| Case::new(Group::Space, name, Unit::Nanoseconds, Better::Lower, prepare);
    let pair = |name, peer: Peer, prepare| case(name, prepare).beside(Beside::Program(peer));
    let served = |name, peer, prepare| pair(name, peer, prepare).under(WAITING, PLACEMENT);
    let alone = |name, prepare| case(name, prepare).goal(SHARED_GOAL).under(WAITING, PLACEMENT);
    let beside_rinda =
        |name, prepare| case(name, prepare).beside(Beside::Programs(peer::RINDA)).under(WAITING, PLACEMENT);
    vec![
        pair("pair-64-inprocess", peer::REDIS, small_in_process).goal(0.01),
        served("pair-64-shm", peer::REDIS, small_in_shared_memory).goal(0.035),
        served("pair-16-shm", peer::REDIS_16, of_16),
        alone("pair-16-shm", of_16),
        served("pair-1k-shm", peer::REDIS_1K, of_1k),
        alone("pair-1k-shm", of_1k),
        served("pair-64k-shm", peer::REDIS_64K, || of_bytes(64 << 10, 5_000, 1)),
        served("pair-64-unix", peer::REDIS, || small_over(Over::Unix)).goal(SOCKET_GOAL),
        beside_rinda("pair-64-unix", || small_over(Over::Unix)),
        served("pair-64-tcp", peer::REDIS_TCP, || small_over(Over::Tcp)).goal(SOCKET_GOAL),
        served("pair-64-tls", peer::REDIS_TLS, || small_over(Over::Tls)).goal(TLS_GOAL),
        served("pair-1m-shm-rust", peer::REDIS_LARGE, || large_in_shared_memory(MEBIBYTE_NUMBERS, 200)),
        served("pair-1m-views-shm-rust", peer::REDIS_LARGE, || large_views(MEBIBYTE_NUMBERS, 200)),
        served("pair-16m-shm-rust", peer::REDIS_LARGEST, || {
            large_in_shared_memory(16 * MEBIBYTE_NUMBERS, 20)
        }),
        served("pair-16m-views-shm-rust", peer::REDIS_LARGEST, || large_views(16 * MEBIBYTE_NUMBERS, 20)),
    ]
}

/// A name and 64 bytes, in this process: 20,000 pairs a round.
pub(super) fn small_in_process() -> Result<Round, Error> {
    let (space, pairs) = (Lab::embedded().space(), Pairs::small());
    pairs.warm_up(&space)?;
    Ok(Box::new(move || pairs.round(&space)))
}

/// The same over shared memory.
pub(super) fn small_in_shared_memory() -> Result<Round, Error> {
    small_over(Over::Shm)
}

/// A name and 16 bytes over shared memory.
fn of_16() -> Result<Round, Error> {
    of_bytes(16, SMALL_PAIRS, GROUP)
}

/// A name and 1 KiB over shared memory.
fn of_1k() -> Result<Round, Error> {
    of_bytes(1 << 10, SMALL_PAIRS, GROUP)
}

fn of_bytes(bytes: usize, count: u64, group: u64) -> Result<Round, Error> {
    served(Over::Shm, Pairs::of_bytes(bytes, count, group))
}

/// A name and 64 bytes, the space in another process.
fn small_over(over: Over) -> Result<Round, Error> {
    served(over, Pairs::small())
}

/// A name and so many float64, the space in another process: `count` pairs a round.
fn large_in_shared_memory(numbers: usize, count: u64) -> Result<Round, Error> {
    served(Over::Shm, Pairs::large(numbers, count)?)
}

/// The same with the array in memory that is lent, got anew for each pair and not filled.
fn large_views(numbers: usize, count: u64) -> Result<Round, Error> {
    let served = Served::start_over(Over::Shm)?;
    let (space, template) = (served.connect()?, template!["pair", ?ArrayOf<f64, 1>]);
    let pair = move || {
        let buffer = Buffer::new(numbers * size_of::<f64>())
            .ok_or_else(|| Error::new(Code::Resource, "there is no memory that can be lent"))?;
        let array = Array::new(ElementType::F64, vec![numbers as u64], buffer.freeze())?;
        space.out(tuple!["pair", array])?;
        space.take(&template).map(|_| ())
    };
    Ok(served.rounds(move || median_of_groups(count, 1, &pair)))
}

/// An array of 64 bytes that a program has, put by it in a tuple that it makes for each pair, and copied out of the one that it takes: in this process.
pub(super) fn made_anew_in_process() -> Result<Round, Error> {
    let space = Lab::embedded().space();
    let pair = of_made_anew(space);
    Ok(Box::new(move || median_of_groups(SMALL_PAIRS, GROUP, &pair)))
}

/// The same over shared memory.
pub(super) fn made_anew_in_shared_memory() -> Result<Round, Error> {
    let served = Served::start_over(Over::Shm)?;
    let pair = of_made_anew(served.connect()?);
    Ok(served.rounds(move || median_of_groups(SMALL_PAIRS, GROUP, &pair)))
}

fn of_made_anew(space: Space) -> impl Fn() -> Result<(), Error> {
    let template = template!["pair", ?ArrayOf<u8, 1>];
    let sent = [7u8; SMALL];
    move || {
        let made = Array::from_elements(&[SMALL as u64], black_box(&sent))?;
        space.out(tuple!["pair", made])?;
        let taken = space.take(&template)?;
        let mut received = [0u8; SMALL];
        if let Value::Array(array) = &taken[1] {
            received.copy_from_slice(array.data());
        }
        black_box(received);
        Ok(())
    }
}

fn served(over: Over, pairs: Pairs) -> Result<Round, Error> {
    let served = Served::start_over(over)?;
    let space = served.connect()?;
    pairs.warm_up(&space)?;
    Ok(served.rounds(move || pairs.round(&space)))
}

impl Pairs {
    /// A name and 64 bytes, 20,000 times.
    pub(in crate::bench) fn small() -> Pairs {
        Pairs::of_bytes(SMALL, SMALL_PAIRS, GROUP)
    }

    fn of_bytes(bytes: usize, count: u64, group: u64) -> Pairs {
        let (tuple, template) = (tuple!["pair", vec![7u8; bytes]], template!["pair", ?[u8]]);
        Pairs { tuple, template, count, group }
    }

    fn large(numbers: usize, count: u64) -> Result<Pairs, Error> {
        Ok(Pairs::of_array(Array::from_elements(&[numbers as u64], &vec![0.5f64; numbers])?, count))
    }

    /// A name and this array of float64, so many times.
    pub(super) fn of_array(array: Array, count: u64) -> Pairs {
        let (tuple, template) = (tuple!["pair", array], template!["pair", ?ArrayOf<f64, 1>]);
        Pairs { tuple, template, count, group: 1 }
    }

    /// A tenth of them, untimed.
    pub(in crate::bench) fn warm_up(&self, space: &Space) -> Result<(), Error> {
        (0..self.count / 10).try_for_each(|_| self.pair(space))
    }

    fn pair(&self, space: &Space) -> Result<(), Error> {
        space.out(self.tuple.clone())?;
        space.take(&self.template).map(|_| ())
    }

    /// The median of the groups, in nanoseconds a pair.
    pub(in crate::bench) fn round(&self, space: &Space) -> Result<f64, Error> {
        median_of_groups(self.count, self.group, || self.pair(space))
    }
}

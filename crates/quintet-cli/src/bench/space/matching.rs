//! A tuple taken from among many by the values of some fields, and put back.

use super::super::case::{Beside, Better, Case, Group, Prepare, Round, Unit};
use super::super::row::median;
use super::served::Served;
use super::{Jumps, PLACEMENT, WAITING};
use quintet::{Error, Field, Space, Template, Tuple, template, tuple};
use std::time::Instant;

/// Pairs of a round.
const PAIRS: usize = 5_000;
/// Pairs that are timed together: reading the clock would weigh.
const GROUP: usize = 16;
/// Tuples that are put at once while the space is filled.
const BATCH: u64 = 1_000;
/// What it may take among more tuples, in times of what it takes among a thousand.
const GOAL: f64 = 2.;

/// Which fields of the template have values or ranges. Each value alone says which tuple is meant.
#[derive(Clone, Copy)]
enum Key {
    /// A text.
    First,
    /// A number, the third of four.
    Middle,
    /// Two numbers, the second and the third.
    Two,
    /// A range of the third, in which ten lie.
    Range,
    /// A range of the third without an end, in which half of them lie as a rule.
    Open,
}

pub(super) fn cases() -> Vec<Case> {
    let least = [
        ("match-1e3-first", FIRST),
        ("match-1e3-middle", MIDDLE),
        ("match-1e3-two", TWO),
        ("match-1e3-range", RANGE),
        ("match-1e3-open", OPEN),
    ];
    let more: [(_, Prepare, _); 15] = [
        ("match-1e4-first", || prepare(10_000, Key::First), FIRST),
        ("match-1e4-middle", || prepare(10_000, Key::Middle), MIDDLE),
        ("match-1e4-two", || prepare(10_000, Key::Two), TWO),
        ("match-1e5-first", || prepare(100_000, Key::First), FIRST),
        ("match-1e5-middle", || prepare(100_000, Key::Middle), MIDDLE),
        ("match-1e5-two", || prepare(100_000, Key::Two), TWO),
        ("match-1e6-first", || prepare(1_000_000, Key::First), FIRST),
        ("match-1e6-middle", || prepare(1_000_000, Key::Middle), MIDDLE),
        ("match-1e6-two", || prepare(1_000_000, Key::Two), TWO),
        ("match-1e4-range", || prepare(10_000, Key::Range), RANGE),
        ("match-1e4-open", || prepare(10_000, Key::Open), OPEN),
        ("match-1e5-range", || prepare(100_000, Key::Range), RANGE),
        ("match-1e5-open", || prepare(100_000, Key::Open), OPEN),
        ("match-1e6-range", || prepare(1_000_000, Key::Range), RANGE),
        ("match-1e6-open", || prepare(1_000_000, Key::Open), OPEN),
    ];
    let case = |name, prepare| {
        Case::new(Group::Space, name, Unit::Nanoseconds, Better::Lower, prepare).under(WAITING, PLACEMENT)
    };
    let beside = |least| Beside::Itself { name: "1e3", prepare: least };
    let more = more.map(|(name, prepare, least)| case(name, prepare).beside(beside(least)).goal(GOAL));
    least.map(|(name, prepare)| case(name, prepare)).into_iter().chain(more).collect()
}

const FIRST: Prepare = || prepare(1_000, Key::First);
const MIDDLE: Prepare = || prepare(1_000, Key::Middle);
const TWO: Prepare = || prepare(1_000, Key::Two);
const RANGE: Prepare = || prepare(1_000, Key::Range);
const OPEN: Prepare = || prepare(1_000, Key::Open);

/// One tuple of `tuples`, chosen by chance, is taken by its key from a space in another process and put back: 5,000 such pairs
/// a round, their median in nanoseconds. The tuples have one signature (text, i64, i64, f64); no two share a value.
fn prepare(tuples: u64, key: Key) -> Result<Round, Error> {
    let served = Served::start()?;
    let space = served.connect()?;
    fill(&space, tuples)?;
    let mut jumps = Jumps::new();
    // The first template with such a key makes the index.
    group(&space, key, tuples, &mut jumps)?;
    round(&space, key, tuples, &mut jumps)?;
    Ok(served.rounds(move || round(&space, key, tuples, &mut jumps)))
}

fn fill(space: &Space, tuples: u64) -> Result<(), Error> {
    for first in (0..tuples).step_by(BATCH as usize) {
        let batch: Vec<Tuple> = (first..tuples.min(first + BATCH)).map(numbered).collect();
        space.out_many(&batch, None)?;
    }
    Ok(())
}

/// The fields of the tuple with this number.
fn fields(number: u64) -> (String, i64, i64) {
    // An odd factor gives each number another product, and products that do not rise with them.
    let scattered = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).cast_signed();
    (format!("name-{number}"), scattered, number.cast_signed())
}

fn numbered(number: u64) -> Tuple {
    let (name, scattered, plain) = fields(number);
    tuple![name, scattered, plain, number as f64]
}

impl Key {
    fn template(self, number: u64) -> Template {
        let (name, scattered, plain) = fields(number);
        match self {
            Key::First => template![name, ?i64, ?i64, ?f64],
            Key::Middle => template![?str, ?i64, plain, ?f64],
            Key::Two => template![?str, scattered, plain, ?f64],
            Key::Range => template![?str, ?i64, Field::range(plain..plain + 10), ?f64],
            Key::Open => template![?str, ?i64, Field::range(plain..), ?f64],
        }
    }
}

fn round(space: &Space, key: Key, tuples: u64, jumps: &mut Jumps) -> Result<f64, Error> {
    let groups = (0..PAIRS.div_ceil(GROUP)).map(|_| group(space, key, tuples, jumps));
    Ok(median(groups.collect::<Result<_, _>>()?).unwrap_or(0.))
}

/// Nanoseconds a pair, the templates made before.
fn group(space: &Space, key: Key, tuples: u64, jumps: &mut Jumps) -> Result<f64, Error> {
    let templates: [Template; GROUP] = std::array::from_fn(|_| key.template(jumps.below(tuples)));
    let started = Instant::now();
    for template in &templates {
        space.out(space.take(template)?)?;
    }
    Ok(started.elapsed().as_nanos() as f64 / GROUP as f64)
}

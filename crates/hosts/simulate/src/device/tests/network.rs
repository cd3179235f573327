//! Networks of several hops: against formulas, recursions and chains that are solved here, and what holds for every one of them.

mod chain;
mod hops;
mod properties;
mod recursion;
mod routes;

use super::super::*;
use super::bench::{Bench, MICRO, MILLI, SECOND, asynchronous};
use quintet_contract::Random;

/// Of the rate of one byte in a microsecond.
const RATE: f64 = 8e6;

/// Stations at both ends and so many switches between them, in a row: links 0 to n have these parameters but for their ends.
fn row(links: &[LinkParameters]) -> NetworkParameters {
    let last = links.len() as u32;
    let placed = |(number, link): (u32, &LinkParameters)| LinkParameters {
        ends: [number, number + 1],
        ..link.clone()
    };
    NetworkParameters {
        packet_bytes: u64::MAX,
        latencies: vec![Picos::ZERO; links.len() + 1],
        stations: vec![0, last],
        links: (0..).zip(links).map(placed).collect(),
        stated: Vec::new(),
    }
}

/// A link of this rate in bytes a microsecond.
fn link(rate: f64) -> LinkParameters {
    LinkParameters::new([0, 1], rate * RATE)
}

fn network(parameters: NetworkParameters) -> Bench {
    Bench::new(Network::new(parameters).expect("a network that can be"), 1)
}

/// An exponential draw of this mean.
fn exponential(random: &mut Random, mean: f64) -> f64 {
    crate::distribution::Distribution::Exponential { mean }.sample(random)
}

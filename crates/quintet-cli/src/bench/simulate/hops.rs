//! Packets over several hops: stations at both ends of a row of switches.

use super::super::case::{Better, Case, Group, Round, Unit};
use super::{check, module, server, source};
use quintet::{Code, Error};
use quintet_contract::Address;
use quintet_simulate::device::{LinkParameters, Network, NetworkParameters, Station, WhenFull};
use quintet_simulate::{Picos, Simulation};
use std::time::Instant;

/// Half of them send.
const STATIONS: u16 = 20;
/// Packets of a round.
const PACKETS: u64 = 200_000;
const WARM_UP: u64 = 10_000;
const BYTES: f64 = 1_000.0;
/// From one packet of a station to its next, in seconds: ten stations load the middle, of 1 Gb/s, by 0.8.
const BETWEEN: f64 = STATIONS as f64 / 2.0 * 8e-6 / 0.8;

pub(super) fn cases() -> Vec<Case> {
    vec![Case::new(Group::Simulate, "hops-4", Unit::PerSecond("packets"), Better::Higher, prepare)]
}

/// Packets a second that cross four links each, all of them measured: to a switch, over two links between three, and to a station.
fn prepare() -> Result<Round, Error> {
    simulate(WARM_UP)?;
    Ok(Box::new(|| {
        let started = Instant::now();
        simulate(PACKETS)?;
        Ok(PACKETS as f64 / started.elapsed().as_secs_f64())
    }))
}

/// Stations 0 to 9 at the first of three switches, 10 to 19 at the last.
fn network() -> Result<Network, Error> {
    let stations = u32::from(STATIONS);
    let (first, last) = (stations, stations + 2);
    let link = |ends| LinkParameters {
        delay: Picos(1_000_000),
        buffer_bytes: 1 << 20,
        when_full: WhenFull::Drop,
        ..LinkParameters::new(ends, 1e9)
    };
    let near = |station| link([station, if station < stations / 2 { first } else { last }]);
    let between = [link([first, first + 1]), link([first + 1, last])];
    let parameters = NetworkParameters {
        packet_bytes: 1_500,
        latencies: vec![Picos(500_000); usize::from(STATIONS) + 3],
        stations: (0..stations).collect(),
        links: (0..stations).map(near).chain(between).collect(),
        stated: Vec::new(),
    };
    Network::new(parameters).map_err(|error| Error::new(Code::BadValue, error.to_string()))
}

/// Simulates so many packets: each is received, or finds no room.
fn simulate(packets: u64) -> Result<(), Error> {
    let sender = |station| Address::new(1 + station, 1024);
    let receiver = |station| Address::new(1 + station, 1025);
    let mut run = Simulation::new(1);
    let network = run.add_device(Box::new(network()?));
    let senders = STATIONS / 2;
    for station in 0..senders {
        let share = (packets + u64::from(station)) / u64::from(senders);
        let (from, to) = (sender(station), receiver(station + senders));
        run.add(from, module(from, source(to, BYTES, BETWEEN, share)));
        run.add(to, module(to, server(Vec::new())));
        run.connect_through(network, (from, Station(station)), (to, Station(station + senders)));
    }
    while run.step() {}
    let statistics = run.device_statistics(network);
    check(statistics.delivered + statistics.dropped, packets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_packet_comes_to_its_end() {
        simulate(1_000).expect("all are received or dropped");
    }
}

//! Stations on one Ethernet, as NETWORK II.5 models it: a window in which requests collide.

use super::super::case::{Beside, Better, Case, Group, Round, Unit};
use super::super::peer::Peer;
use super::{check, module, server, source};
use quintet::{Code, Error};
use quintet_contract::Address;
use quintet_simulate::device::{BackOff, Collision, CollisionParameters, Contention, Framing, Station};
use quintet_simulate::{Picos, Simulation};
use std::time::Instant;

const STATIONS: u16 = 20;
/// Frames of a round.
const FRAMES: u64 = 100_000;
const WARM_UP: u64 = 5_000;
const BYTES: f64 = 1_000.0;
/// From one frame of a station to its next, in seconds: 20 stations offer half of the rate.
const BETWEEN: f64 = STATIONS as f64 * 800e-6 / 0.5;

const SIMPY: Peer = Peer::new("simpy", "simpy_models.py", "csma-20");

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::new(Group::Simulate, "csma-20", Unit::PerSecond("frames"), Better::Higher, prepare)
            .beside(Beside::Program(SIMPY))
            .goal(20.),
    ]
}

/// Frames a second on a medium of 10 Mb/s that 20 stations load by half, with frames of 1,000 bytes to the next station.
fn prepare() -> Result<Round, Error> {
    simulate(WARM_UP)?;
    Ok(Box::new(|| {
        let started = Instant::now();
        simulate(FRAMES)?;
        Ok(FRAMES as f64 / started.elapsed().as_secs_f64())
    }))
}

fn medium() -> Result<Collision, Error> {
    let contention = Contention::Interval { low: 0, high: 1024, unit: Picos(100_000) };
    let parameters = CollisionParameters {
        framing: Framing::serial(10_000_000),
        stations: STATIONS,
        collision_window: Picos(9_600_000),
        contention,
        back_off: BackOff::TEN_MEGABIT,
        jam_time: Picos(3_200_000),
    };
    Collision::new(parameters).map_err(|error| Error::new(Code::BadValue, error.to_string()))
}

/// Simulates so many frames: each is received, or given up after 16 collisions.
fn simulate(frames: u64) -> Result<(), Error> {
    let sender = |station| Address::new(1 + station, 1024);
    let receiver = |station| Address::new(1 + station, 1025);
    let mut run = Simulation::new(1);
    let medium = run.add_device(Box::new(medium()?));
    for station in 0..STATIONS {
        let next = (station + 1) % STATIONS;
        let share = (frames + u64::from(station)) / u64::from(STATIONS);
        let (from, to) = (sender(station), receiver(station));
        run.add(from, module(from, source(receiver(next), BYTES, BETWEEN, share)));
        run.add(to, module(to, server(Vec::new())));
    }
    for station in 0..STATIONS {
        let next = (station + 1) % STATIONS;
        run.connect_through(medium, (sender(station), Station(station)), (receiver(next), Station(next)));
    }
    while run.step() {}
    let statistics = run.device_statistics(medium);
    check(statistics.delivered + statistics.dropped, frames)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_frame_comes_to_its_end() {
        simulate(1_000).expect("all are received or given up");
    }
}

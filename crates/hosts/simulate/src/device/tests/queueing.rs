//! The bus against queueing theory.

use super::super::*;
use super::bench::{Bench, MICRO, SECOND, asynchronous};
use quintet_contract::Random;

fn bus(words_per_block: u32) -> Bus {
    let framing = Framing { words_per_block, ..Framing::serial(8_000_000) };
    Bus::new(BusParameters { framing, stations: 3 }).unwrap()
}

/// An exponential length of time by inversion.
fn exponential(mean: f64, random: &mut Random) -> f64 {
    -mean * libm::log(1.0 - (random.bits() >> 11) as f64 / (1u64 << 53) as f64)
}

/// M/D/1 (Pollaczek and Khinchine): the mean wait is load / (2 (1 - load)) services.
#[test]
fn waiting_times_are_those_of_a_single_server() {
    for load in [0.3, 0.6, 0.8] {
        let mut bench = Bench::new(bus(0), 1);
        let mut random = Random::new(2, 3);
        let service = 100e-6;
        let mut now = 0.0;
        for ticket in 0..100_000 {
            now += exponential(service / load, &mut random);
            bench.request(Picos::from_seconds(now), asynchronous(ticket, 0, 1, 100));
        }
        bench.drain();
        let expected = service * load / (2.0 * (1.0 - load));
        let statistics = bench.statistics();
        let found = statistics.mean_waiting_seconds();
        assert!((found / expected - 1.0).abs() < 0.04, "load {load}: {found} for {expected}");
        assert!((statistics.utilisation() / load - 1.0).abs() < 0.02);
        let queue = expected * load / service;
        assert!((statistics.mean_queue() / queue - 1.0).abs() < 0.05, "Little's law");
    }
}

#[test]
fn blocks_of_two_messages_take_turns() {
    let mut bench = Bench::new(bus(10), 1);
    bench.request(Picos::ZERO, asynchronous(1, 0, 1, 30));
    bench.request(Picos(MICRO), asynchronous(2, 1, 2, 15));
    bench.drain();
    assert_eq!(bench.delivered(2), Picos(35 * MICRO), "1, 2, 1, the rest of 2");
    assert_eq!(bench.delivered(1), Picos(45 * MICRO));
    let statistics = bench.statistics();
    assert_eq!((statistics.blocks, statistics.bytes, statistics.busy), (5, 45, 45 * u128::from(MICRO)));
    assert_eq!(statistics.waiting, 9 * u128::from(MICRO));
    assert_eq!(statistics.longest_queue, 1);
}

#[test]
fn the_thesis_busses_take_a_word_a_cycle() {
    let sbus =
        Framing { cycle_time: Picos(60_000), bits_per_cycle: 32, cycles_per_word: 1, ..Framing::serial(1) };
    let mut bench = Bench::new(Bus::new(BusParameters { framing: sbus, stations: 2 }).unwrap(), 1);
    bench.request(Picos::ZERO, asynchronous(1, 0, 1, 4_096));
    bench.drain();
    assert_eq!(bench.delivered(1), Picos(1_024 * 60_000));
}

#[test]
fn a_bus_without_stations_is_refused() {
    let parameters = BusParameters { framing: Framing::serial(SECOND), stations: 0 };
    assert_eq!(parameters.check(), Err(DeviceError::NoStations));
}

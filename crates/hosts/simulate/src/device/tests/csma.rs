//! CSMA/CD against Metcalfe and Boggs 1976, and against what was measured on cables.

use super::super::*;
use super::bench::{Bench, MICRO, MILLI, SECOND, asynchronous};

/// The table of Metcalfe and Boggs 1976: stations, then the efficiency of packets of 4096, 1024, 512 and 48 bits. It was
/// computed from the formula, with a slot of 16 us at 3 Mb/s.
const METCALFE_BOGGS: [(u16, [f64; 4]); 3] = [
    (2, [0.9884, 0.9552, 0.9143, 0.5000]),
    (10, [0.9818, 0.9310, 0.8709, 0.3874]),
    (256, [0.9803, 0.9257, 0.8616, 0.3686]),
];
const PACKET_BITS: [u64; 4] = [4096, 1024, 512, 48];

fn theory(stations: u16, bits: u64) -> f64 {
    let q = f64::from(stations);
    let acquired = libm::pow(1.0 - 1.0 / q, q - 1.0);
    let slots = (1.0 - acquired) / acquired;
    let packet = bits as f64 / 3e6;
    packet / (packet + slots * 16e-6)
}

#[test]
fn the_optimal_policy_reaches_the_published_efficiency() {
    for (stations, row) in METCALFE_BOGGS {
        for (bits, published) in PACKET_BITS.into_iter().zip(row) {
            let slot_time = Picos(16 * MICRO);
            let parameters = SlottedParameters { framing: Framing::serial(3_000_000), stations, slot_time };
            let mut bench = Bench::new(Slotted::new(parameters).unwrap(), 1);
            let packets = if stations == 256 { 3_000 } else { 10_000 };
            let end = Picos((bits * 333_333 + 27 * MICRO) * packets);
            let found = bench.saturate(bits / 8, Picos::ZERO, Picos::ZERO, end).utilisation();
            assert!((published - theory(stations, bits)).abs() < 0.0006, "{stations} {bits}: the formula");
            assert!((found - published).abs() < 0.01, "{stations} {bits}: {found:.4} for {published:.4}");
            println!("Q={stations} {bits} bits: {found:.4}, published {published:.4}");
        }
    }
}

/// The stations of the measurements of Boggs, Mogul and Kent 1988 stood in four clusters on one cable.
fn clusters(stations: u16, metres: f64) -> Vec<f64> {
    (0..stations)
        .map(|station| f64::from(station % 4) * metres / 3.0 + 2.5 * f64::from(station / 4))
        .collect()
}

/// Each host asks for its next frame 100 us after its last was delivered: those measured needed some such time between
/// frames. One that is ready at once captures the cable for runs of frames, and nearly hides its length.
fn cable(positions: Vec<f64>, bytes: u64) -> DeviceStatistics {
    let mut bench = Bench::new(Ethernet::new(EthernetParameters::ten_megabit(positions)).unwrap(), 1);
    bench.saturate(bytes, Picos(100 * MICRO), Picos(500 * MILLI), Picos(3 * SECOND))
}

/// All bits of frames, with their gap, as a share of the rate: what an Ethernet without collisions brings to 1.
fn with_gap(statistics: &DeviceStatistics) -> f64 {
    statistics.utilisation() + statistics.blocks as f64 * 9.6e-6 / statistics.elapsed.as_seconds()
}

/// Boggs, Mogul and Kent 1988 measured that an Ethernet at full load carries close to its rate with large frames, and
/// with the shortest far more than the 1/e that contending in slots of 51.2 us would leave: their cable is much
/// shorter than the longest that the slot allows for. Shares of 10 Mb/s, the preamble counted, the gap not.
#[test]
fn a_real_cable_beats_the_full_slot() {
    let large = cable(clusters(24, 900.0), 1_500);
    let short = cable(clusters(24, 900.0), 46);
    println!("24 stations, 900 m: 1518 bytes {:.4}, with gap {:.4}", large.utilisation(), with_gap(&large));
    println!("24 stations, 900 m: 64 bytes {:.4}, with gap {:.4}", short.utilisation(), with_gap(&short));
    assert!((0.94..0.99).contains(&large.utilisation()), "{}", large.utilisation());
    assert!(with_gap(&large) > 0.95, "{}", with_gap(&large));
    assert!((0.65..0.85).contains(&short.utilisation()), "{}", short.utilisation());
}

#[test]
fn efficiency_falls_with_the_cable_s_length() {
    let mut last = 1.0;
    for metres in [0.0, 900.0, 2_500.0] {
        let found = cable(clusters(24, metres), 46).utilisation();
        println!("24 stations, {metres} m, 64 bytes: {found:.4}");
        assert!(found < last - 0.01, "{metres} m: {found} after {last}");
        last = found;
    }
}

#[test]
fn one_station_sends_frames_a_gap_apart() {
    let mut bench = Bench::new(Ethernet::new(EthernetParameters::ten_megabit(vec![0.0, 231.0])).unwrap(), 1);
    bench.request(Picos::ZERO, asynchronous(1, 0, 1, 1_501));
    bench.request(Picos::ZERO, asynchronous(2, 0, 1, 100));
    bench.drain();
    let (longest, padded) = ((8 + 1_518) * 800_000, (8 + 64) * 800_000);
    let gap = 9_600_000;
    assert_eq!(bench.delivered(1), Picos(longest + gap + padded + MICRO), "1 us along the cable");
    assert_eq!(bench.delivered(2), Picos(longest + gap + padded + gap + (8 + 118) * 800_000 + MICRO));
    assert_eq!(bench.statistics().collisions, 0);
}

/// Two stations 2 us apart; the second begins 1 us after the first. The first hears it at 3 us, the second at 2 us; both
/// finish the preamble (6.4 us) and jam (3.2 us).
#[test]
fn a_collision_lasts_as_long_as_on_the_cable() {
    let mut bench = Bench::new(Ethernet::new(EthernetParameters::ten_megabit(vec![0.0, 462.0])).unwrap(), 1);
    bench.request(Picos::ZERO, asynchronous(1, 0, 1, 46));
    bench.request(Picos(MICRO), asynchronous(2, 1, 0, 46));
    while bench.next_at() <= Picos(10_600_000) {
        bench.step();
    }
    assert_eq!((bench.statistics().collisions, bench.statistics().colliding), (1, 10_600_000));
    bench.drain();
    assert_eq!(bench.statistics().delivered, 2);
}

/// The second station would have heard the first: it waits for it and for the gap.
#[test]
fn a_station_that_hears_a_carrier_defers() {
    let mut bench = Bench::new(Ethernet::new(EthernetParameters::ten_megabit(vec![0.0, 462.0])).unwrap(), 1);
    bench.request(Picos::ZERO, asynchronous(1, 0, 1, 46));
    bench.request(Picos(2 * MICRO + 1), asynchronous(2, 1, 0, 46));
    bench.drain();
    let frame = 72 * 800_000;
    assert_eq!(bench.delivered(1), Picos(frame + 2 * MICRO));
    assert_eq!(bench.delivered(2), Picos(frame + 2 * MICRO + 9_600_000 + frame + 2 * MICRO));
    assert_eq!(bench.statistics().collisions, 0);
}

#[test]
fn a_cable_on_which_collisions_go_unnoticed_is_refused() {
    let good = EthernetParameters::ten_megabit(vec![0.0, 2_500.0]);
    assert_eq!(good.check(), Ok(()));
    let long = EthernetParameters { positions_metres: vec![0.0, 6_300.0], ..good.clone() };
    assert!(matches!(long.check(), Err(DeviceError::CableTooLong { .. })));
    let nowhere = EthernetParameters { positions_metres: vec![0.0, f64::NAN], ..good.clone() };
    assert!(matches!(nowhere.check(), Err(DeviceError::Position { station: 1, .. })));
    let still = EthernetParameters { metres_per_second: 0.0, ..good.clone() };
    assert_eq!(still.check(), Err(DeviceError::Speed { metres_per_second: 0.0 }));
    let frame = FrameFormat { longest_bytes: 18, ..FrameFormat::STANDARD };
    assert!(matches!(
        EthernetParameters { frame, ..good.clone() }.check(),
        Err(DeviceError::FrameFormat { .. })
    ));
    let nobody = EthernetParameters { positions_metres: vec![], ..good };
    assert_eq!(nobody.check(), Err(DeviceError::NoStations));
}

/// The Ethernet of Thomas 1991, appendix A; the unit of the contention interval is not given there.
fn thesis(contention: Contention) -> CollisionParameters {
    CollisionParameters {
        framing: Framing {
            words_per_block: 1_518,
            block_overhead: Picos(16 * MICRO),
            ..Framing::serial(10_000_000)
        },
        stations: 4,
        collision_window: Picos(9_600_000),
        contention,
        back_off: BackOff::TEN_MEGABIT,
        jam_time: Picos(3_200_000),
    }
}

const INTERVAL: Contention = Contention::Interval { low: 0, high: 1_024, unit: Picos(51_200_000) };

#[test]
fn a_request_in_the_window_collides_and_one_after_it_waits() {
    for (gap, collisions) in [(9_599_999, 1), (9_600_000, 0)] {
        let mut bench = Bench::new(Collision::new(thesis(Contention::Defer)).unwrap(), 1);
        bench.request(Picos::ZERO, asynchronous(1, 0, 1, 1_518));
        bench.request(Picos(gap), asynchronous(2, 2, 1, 1_518));
        bench.drain();
        let statistics = bench.statistics();
        assert_eq!((statistics.delivered, statistics.collisions.min(1)), (2, collisions));
        let block = 1_518 * 800_000 + 16 * MICRO;
        if collisions == 0 {
            assert_eq!([bench.delivered(1), bench.delivered(2)], [Picos(block), Picos(2 * block)]);
        } else {
            assert!(statistics.colliding >= u128::from(gap + 3_200_000));
        }
    }
}

/// Two that always collide are given up at the retry limit.
#[test]
fn the_retry_limit_drops() {
    let back_off = BackOff { retry_limit: 1, ..BackOff::TEN_MEGABIT };
    let parameters = CollisionParameters { back_off, ..thesis(INTERVAL) };
    let mut bench = Bench::new(Collision::new(parameters).unwrap(), 1);
    bench.request(Picos::ZERO, asynchronous(1, 0, 1, 1));
    bench.request(Picos::ZERO, asynchronous(2, 2, 1, 1));
    bench.drain();
    for ticket in [1, 2] {
        assert_eq!(
            bench.done[&ticket],
            (Picos::ZERO, Outcome::Dropped { ticket, why: DropCause::RetryLimit })
        );
    }
    assert_eq!(bench.statistics().collisions, 1);
}

#[test]
fn the_contention_interval_is_drawn_evenly_and_again_while_the_medium_is_busy() {
    let mut waits = Vec::new();
    for seed in 0..400 {
        let mut bench = Bench::new(Collision::new(thesis(INTERVAL)).unwrap(), seed);
        bench.request(Picos::ZERO, asynchronous(1, 0, 1, 1_518));
        bench.request(Picos(20 * MICRO), asynchronous(2, 2, 1, 1));
        bench.drain();
        waits.push((bench.delivered(2) - Picos(36_800_000)).as_seconds() / 51.2e-6);
    }
    let mean = waits.iter().sum::<f64>() / 400.0;
    assert!((mean - 524.0).abs() < 45.0, "1023 / 2 slots, and those redrawn: {mean}");
    assert!(waits.iter().all(|wait| (wait - libm::round(*wait)).abs() < 1e-6), "whole slots");
}

#[test]
fn a_contention_interval_without_waiting_is_refused() {
    let never = Contention::Interval { low: 0, high: 1, unit: Picos(SECOND) };
    assert_eq!(thesis(never).check(), Err(DeviceError::ContentionInterval { low: 0, high: 1 }));
    let still = Contention::Interval { low: 0, high: 2, unit: Picos::ZERO };
    assert!(matches!(thesis(still).check(), Err(DeviceError::Zero { .. })));
}

//! What holds for every device under any requests.

use super::super::*;
use super::bench::{Bench, MICRO, MILLI};
use quintet_contract::Random;

/// A device of each kind with parameters drawn at random, and messages up to how many bytes it is worth trying.
fn models(random: &mut Random) -> Vec<(DeviceModel, u64)> {
    let stations = 1 + random.below(6) as u16;
    let mut below = |bound| random.below(bound);
    let framing = Framing {
        cycle_time: Picos(1 + below(200_000)),
        bits_per_cycle: 1 + below(32) as u32,
        cycles_per_word: 8 + below(3) as u32,
        word_overhead: Picos(below(2) * 1_000),
        words_per_block: below(2) as u32 * (1 + below(1_500) as u32),
        block_overhead: Picos(below(3) * MICRO),
    };
    let blocks = Framing { words_per_block: 1 + below(400) as u32, ..framing };
    let back_off = BackOff { slot_time: Picos(1 + below(50 * MICRO)), retry_limit: 1 + below(5) as u32 };
    let contention = match below(2) {
        0 => Contention::Defer,
        _ => Contention::Interval { low: 0, high: 2 + below(30) as u32, unit: Picos(1 + below(MICRO)) },
    };
    let (collision_window, jam_time) = (Picos(below(20 * MICRO)), Picos(below(5 * MICRO)));
    let positions = (0..stations).map(|_| below(2_500) as f64).collect();
    let ethernet = EthernetParameters { back_off, ..EthernetParameters::ten_megabit(positions) };
    let synchronous_allocations = (0..stations).map(|_| Picos(below(MILLI))).collect::<Vec<_>>();
    let mut ring = RingParameters {
        framing: blocks,
        synchronous_allocations,
        token_passing_time: Picos(1 + below(20 * MICRO)),
        target_rotation_time: Picos::ZERO,
    };
    if let Err(DeviceError::RotationTime { least, .. }) = ring.check() {
        ring.target_rotation_time = least + Picos(below(3 * MILLI));
    }
    let switch = SwitchParameters {
        framing,
        cycle_times: (0..stations).map(|_| Picos(1 + below(200_000))).collect(),
        latency: Picos(below(30 * MICRO)),
        forwarding: match below(2) {
            0 => Forwarding::StoreAndForward,
            _ => Forwarding::CutThrough { header_bytes: below(64) },
        },
        buffer_bytes: 1 + below(6_000),
        when_full: if below(2) == 0 { WhenFull::Drop } else { WhenFull::Pause },
    };
    let spoke = |station| LinkParameters {
        buffer_bytes: switch.buffer_bytes,
        ..LinkParameters::new(
            [u32::from(station), u32::from(stations)],
            8e12 / switch.cycle_times[0].0 as f64,
        )
    };
    let network = NetworkParameters {
        packet_bytes: 1 + below(4_000),
        latencies: vec![switch.latency; usize::from(stations) + 1],
        stations: (0..u32::from(stations)).collect(),
        links: (0..stations).map(spoke).collect(),
        stated: Vec::new(),
    };
    vec![
        (DeviceModel::Bus(BusParameters { framing, stations }), 4_000),
        (
            DeviceModel::Collision(CollisionParameters {
                framing,
                stations,
                collision_window,
                contention,
                back_off,
                jam_time,
            }),
            4_000,
        ),
        (DeviceModel::Ethernet(ethernet), 4_000),
        (DeviceModel::Slotted(SlottedParameters { framing, stations, slot_time: Picos(16 * MICRO) }), 4_000),
        (DeviceModel::Ring(ring), 4_000),
        (DeviceModel::Switch(switch), 4_000),
        (DeviceModel::Network(network), 4_000),
        (DeviceModel::Pool(PoolParameters { servers: stations }), 4_000),
    ]
}

/// Requests at random times, many at the same one; some from and to stations that are not there.
fn requests(bench: &mut Bench, random: &mut Random, largest: u64) {
    let stations = u64::from(bench.device.stations());
    let mut now = Picos::ZERO;
    for ticket in 0..random.below(120) {
        now += Picos(random.below(3) * random.below(2 * MILLI));
        let station = |random: &mut Random| {
            let missing = u64::from(random.chance(50_000));
            Station(random.below(stations + missing) as u16)
        };
        let message = Message {
            ticket,
            from: station(random),
            to: station(random),
            bytes: random.below(2) * random.below(largest),
            class: if random.chance(300_000) { Class::Synchronous } else { Class::Asynchronous },
            work: Picos(random.below(2) * random.below(MILLI)),
        };
        bench.request(now, message);
    }
}

fn check(bench: &Bench, what: &str) {
    let statistics = bench.statistics();
    assert_eq!(bench.done.len(), bench.requests.len(), "{what}: each message has one outcome");
    let (mut delivered, mut dropped, mut counts) = (0, 0, [0, 0]);
    for (_, outcome) in bench.done.values() {
        let bytes = bench.requests[&outcome.ticket()].1.bytes;
        match outcome {
            Outcome::Delivered { .. } => (delivered += bytes, counts[0] += 1),
            Outcome::Dropped { .. } => (dropped += bytes, counts[1] += 1),
        };
    }
    assert_eq!([statistics.delivered, statistics.dropped], counts, "{what}");
    assert_eq!(statistics.requested, bench.requests.len() as u64, "{what}");
    assert!((delivered..=delivered + dropped).contains(&statistics.bytes), "{what}: bytes are conserved");
    assert!(statistics.begun >= statistics.delivered && statistics.begun <= statistics.requested, "{what}");
    let elapsed = u128::from(statistics.elapsed.0);
    assert_eq!(statistics.elapsed, bench.now);
    assert!(statistics.busy <= elapsed * u128::from(statistics.carriers), "{what}: busy");
    if statistics.carriers == 1 {
        assert!(statistics.busy + statistics.colliding <= elapsed, "{what}: busy or colliding, not both");
    }
    assert!(statistics.queue <= elapsed * u128::from(statistics.longest_queue), "{what}: queue");
    assert_eq!(statistics.buffered == 0, statistics.most_buffered == 0 || elapsed == 0, "{what}: buffered");
}

/// The queue is empty again, and no time more is counted.
fn check_rest(bench: &Bench, what: &str) {
    let (now, later) = (bench.statistics(), bench.device.statistics(bench.now + Picos(MILLI)));
    assert_eq!(
        (now.busy, now.colliding, now.queue, now.buffered),
        (later.busy, later.colliding, later.queue, later.buffered),
        "{what}"
    );
}

/// The time all blocks of a message take on a shared medium.
fn medium_time(model: &DeviceModel, mut bytes: u64) -> Option<u128> {
    let framing = match model {
        DeviceModel::Bus(parameters) => parameters.framing,
        DeviceModel::Collision(parameters) => parameters.framing,
        DeviceModel::Slotted(parameters) => parameters.framing,
        DeviceModel::Ring(parameters) => parameters.framing,
        _ => Framing::serial(10_000_000),
    };
    let (largest, time): (u64, &dyn Fn(u64) -> Picos) = match model {
        DeviceModel::Switch(_) | DeviceModel::Network(_) | DeviceModel::Pool(_) => return None,
        DeviceModel::Ethernet(_) => (1_500, &|bytes| Picos((8 + (bytes + 18).max(64)) * 800_000)),
        _ => (framing.block_bytes(), &|bytes| framing.block_time(bytes)),
    };
    let mut sum = u128::from(time(bytes.min(largest)).0);
    while bytes > largest {
        bytes -= largest;
        sum += u128::from(time(bytes.min(largest)).0);
    }
    Some(sum)
}

/// If two transmissions that arrive overlapped, the medium would be busy for less than their sum.
#[test]
fn transmissions_that_arrive_do_not_overlap() {
    let mut compared = 0;
    for seed in 0..300 {
        let mut random = Random::new(seed, 12);
        for (model, largest) in models(&mut random) {
            let what = format!("seed {seed}: {model:?}");
            let mut bench = Bench::of(model.clone().build().unwrap(), seed);
            requests(&mut bench, &mut random, largest);
            bench.drain();
            let partly = bench.done.iter().any(|(ticket, (_, outcome))| {
                let retries = Outcome::Dropped { ticket: *ticket, why: DropCause::RetryLimit };
                *outcome == retries && bench.requests[ticket].1.bytes > 0
            });
            let sum = bench
                .done
                .iter()
                .filter(|(_, (_, outcome))| matches!(outcome, Outcome::Delivered { .. }))
                .map(|(ticket, _)| medium_time(&model, bench.requests[ticket].1.bytes))
                .sum::<Option<u128>>();
            if let (Some(sum), false) = (sum, partly) {
                assert_eq!(bench.statistics().busy, sum, "{what}");
                compared += 1;
            }
        }
    }
    assert!(compared > 900, "{compared} runs compared");
}

#[test]
fn any_requests_keep_the_contract() {
    for seed in 0..400 {
        let mut random = Random::new(seed, 7);
        for (model, largest) in models(&mut random) {
            let what = format!("seed {seed}: {model:?}");
            assert_eq!(model.check(), Ok(()), "{what}");
            let mut bench = Bench::of(model.build().unwrap(), seed);
            requests(&mut bench, &mut random, largest);
            bench.drain();
            check(&bench, &what);
            check_rest(&bench, &what);
        }
    }
}

/// The queue integral is the sum of the waiting times (Little), when nothing is dropped and all began.
#[test]
fn queue_and_waiting_agree() {
    for seed in 0..100 {
        let mut random = Random::new(seed, 8);
        for (model, largest) in models(&mut random) {
            let what = format!("seed {seed}: {model:?}");
            let mut bench = Bench::of(model.build().unwrap(), seed);
            requests(&mut bench, &mut random, largest);
            bench.drain();
            let statistics = bench.statistics();
            if statistics.dropped == 0 {
                assert_eq!(statistics.queue, statistics.waiting, "{what}");
            }
        }
    }
}

/// What two halves measure, told apart by a reset, adds up to the whole.
#[test]
fn a_reset_loses_no_time_but_a_collision_under_way() {
    for seed in 0..100 {
        for kind in 0..6 {
            let run = |reset: bool| {
                let mut random = Random::new(seed, 9);
                let (model, largest) = models(&mut random).swap_remove(kind);
                let collides = matches!(model, DeviceModel::Collision(_) | DeviceModel::Ethernet(_));
                let mut bench = Bench::of(model.build().unwrap(), seed);
                requests(&mut bench, &mut random, largest);
                let mut sums = DeviceStatistics::default();
                while bench.step().is_some() {
                    if reset && bench.now > Picos(20 * MILLI) && sums.elapsed == Picos::ZERO {
                        sums = bench.statistics();
                        bench.device.reset_statistics(bench.now);
                    }
                }
                let rest = bench.statistics();
                let busy = if collides { 0 } else { sums.busy + rest.busy };
                let counts = [sums.blocks + rest.blocks, sums.delivered + rest.delivered];
                (sums.elapsed + rest.elapsed, busy, sums.buffered + rest.buffered, counts)
            };
            assert_eq!(run(false), run(true), "seed {seed}, kind {kind}");
        }
    }
}

#[test]
fn huge_messages_and_no_bytes_do_no_harm() {
    for seed in 0..50 {
        let mut random = Random::new(seed, 10);
        for (model, _) in models(&mut random) {
            let mut bench = Bench::of(model.build().unwrap(), seed);
            for (ticket, bytes) in [u64::MAX, 0, u64::MAX, 0, 1, u64::MAX].into_iter().enumerate() {
                bench.request(
                    Picos(ticket as u64 % 3),
                    super::bench::asynchronous(ticket as u64, 0, 0, bytes),
                );
            }
            for _ in 0..1_000 {
                bench.step();
            }
            let statistics = bench.statistics();
            assert!(statistics.busy <= u128::from(bench.now.0) * u128::from(statistics.carriers));
        }
    }
}

#[test]
fn a_run_is_the_same_from_the_same_seed() {
    let run = |seed| {
        let mut random = Random::new(3, 11);
        let mut all = Vec::new();
        for (model, largest) in models(&mut random) {
            let mut bench = Bench::of(model.build().unwrap(), seed);
            requests(&mut bench, &mut random, largest);
            bench.drain();
            all.push((bench.done.clone(), bench.statistics()));
        }
        all
    };
    assert!(run(5) == run(5));
    assert!(run(5) != run(6), "collisions are drawn");
}

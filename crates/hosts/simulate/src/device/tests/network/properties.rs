//! What holds for every network under any requests.

use super::*;

/// Stations and switches, each joined to one that came before it and some of them to others; without others there is no circle.
fn random_network(random: &mut Random, circles: bool) -> NetworkParameters {
    let switches = 1 + random.below(5) as u32;
    let stations = 2 + random.below(6) as u32;
    let mut links = Vec::new();
    let mut add = |random: &mut Random, ends: [u32; 2]| {
        links.push(LinkParameters {
            delay: Picos(random.below(2) * random.below(20 * MICRO)),
            loss_per_million: random.below(2) as u32 * 30_000,
            overhead_bytes: random.below(40),
            shortest_bytes: random.below(2) * 64,
            cost: 1 + random.below(3) as u32,
            buffer_bytes: 600 + random.below(3_000),
            when_full: if circles || random.below(2) == 0 { WhenFull::Drop } else { WhenFull::Pause },
            ..LinkParameters::new(ends, RATE * (1 + random.below(20)) as f64)
        });
    };
    for switch in 1..switches {
        let other = random.below(u64::from(switch)) as u32;
        add(random, [switch, other]);
    }
    for station in 0..stations {
        let switch = random.below(u64::from(switches)) as u32;
        add(random, [switches + station, switch]);
    }
    if circles && switches > 1 {
        for _ in 0..random.below(4) {
            let one = random.below(u64::from(switches)) as u32;
            add(random, [one, (one + 1) % switches]);
        }
    }
    NetworkParameters {
        packet_bytes: 1 + random.below(500),
        latencies: (0..switches + stations)
            .map(|_| Picos(random.below(2) * random.below(5 * MICRO)))
            .collect(),
        stations: (switches..switches + stations).collect(),
        links,
        stated: Vec::new(),
    }
}

fn requests(bench: &mut Bench, random: &mut Random) {
    let stations = u64::from(bench.device.stations());
    let mut now = 0;
    for ticket in 0..random.below(150) {
        now += random.below(3) * random.below(100 * MICRO);
        let mut station = || random.below(stations) as u16;
        let (from, to) = (station(), station());
        bench.request(Picos(now), asynchronous(ticket, from, to, random.below(2) * random.below(3_000)));
    }
}

#[test]
fn every_message_comes_to_one_end_and_every_packet_is_accounted_for() {
    let (mut delivered, mut dropped, mut lost) = (0, 0, 0);
    for seed in 0..300 {
        let random = &mut Random::new(seed, 1);
        let parameters = random_network(random, seed % 2 == 0);
        let ports = 2 * parameters.links.len();
        let limits: Vec<u64> = parameters.links.iter().map(|link| link.buffer_bytes).collect();
        let mut bench = network(parameters);
        requests(&mut bench, random);
        bench.drain();
        let statistics = bench.statistics();
        assert_eq!(bench.done.len(), bench.requests.len(), "seed {seed}: each message has one outcome");
        assert_eq!(statistics.delivered + statistics.dropped, statistics.requested, "seed {seed}");
        let arrived = bench.done.values().filter(|(_, outcome)| matches!(outcome, Outcome::Delivered { .. }));
        assert_eq!(statistics.delivered, arrived.count() as u64, "seed {seed}");
        let found = |index| bench.device.port(bench.now, index).expect("a port");
        let busy: u128 = (0..ports).map(|index| found(index).busy).sum();
        assert_eq!(busy, statistics.busy, "seed {seed}: the network is busy where its ports are");
        for index in 0..ports {
            let (port, later) =
                (found(index), bench.device.port(bench.now + Picos(MILLI), index).expect("a port"));
            assert!(port.busy <= u128::from(bench.now.0), "seed {seed}, port {index}");
            assert!(port.most_buffered <= limits[index / 2], "seed {seed}, port {index}: room is kept to");
            let still = (port.busy, port.queue, port.buffered) == (later.busy, later.queue, later.buffered);
            assert!(still, "seed {seed}, port {index}: nothing is left");
            (dropped, lost) = (dropped + port.dropped, lost + port.lost);
        }
        delivered += statistics.delivered;
    }
    assert!(delivered > 5_000 && dropped > 300 && lost > 300, "{delivered}, {dropped}, {lost}");
}

/// Messages between two stations keep their order.
#[test]
fn messages_of_one_way_arrive_in_order() {
    for seed in 0..100 {
        let random = &mut Random::new(seed, 2);
        let mut bench = network(random_network(random, seed % 2 == 0));
        requests(&mut bench, random);
        bench.drain();
        let mut last = std::collections::BTreeMap::new();
        for (ticket, (_, message)) in &bench.requests {
            if let (at, Outcome::Delivered { .. }) = bench.done[ticket] {
                let before = last.insert((message.from.0, message.to.0), at);
                assert!(before.is_none_or(|before| before <= at), "seed {seed}, message {ticket}");
            }
        }
    }
}

#[test]
fn a_run_is_the_same_again_and_requests_nobody_can_make_do_not_panic() {
    let run = |seed| {
        let random = &mut Random::new(seed, 3);
        let mut bench = network(random_network(random, true));
        requests(&mut bench, random);
        bench.request(Picos::ZERO, asynchronous(1_000, 60_000, 0, 5));
        bench.request(Picos::ZERO, asynchronous(1_001, 0, u16::MAX, u64::MAX));
        bench.drain();
        bench.done
    };
    for seed in 0..20 {
        assert_eq!(run(seed), run(seed));
    }
}

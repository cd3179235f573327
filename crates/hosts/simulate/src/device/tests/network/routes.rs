//! Ways: the cheapest, those among equals, stated ones.

use super::*;

/// Points with so many links between them at random.
fn random_network(random: &mut Random) -> NetworkParameters {
    let points = 2 + random.below(9) as u32;
    let stations = 1 + random.below(u64::from(points)) as u32;
    let ends = |random: &mut Random| {
        let one = random.below(u64::from(points)) as u32;
        [one, (one + 1 + random.below(u64::from(points) - 1) as u32) % points]
    };
    let links = (0..random.below(20)).map(|_| {
        let mut link = LinkParameters::new(ends(random), RATE);
        link.cost = random.below(4) as u32;
        link
    });
    let links = links.collect();
    NetworkParameters {
        packet_bytes: 100,
        latencies: vec![Picos::ZERO; points as usize],
        stations: (0..stations).collect(),
        links,
        stated: Vec::new(),
    }
}

/// The least cost and the fewest links among the cheapest ways, by trying all sequences of relaxations (Bellman and Ford).
fn cheapest(network: &NetworkParameters, from: u32, to: u32) -> Option<(u64, u64)> {
    let mut best = vec![None; network.latencies.len()];
    best[from as usize] = Some((0, 0));
    for _ in 0..network.latencies.len() {
        for link in &network.links {
            for [one, other] in [link.ends, [link.ends[1], link.ends[0]]] {
                let forwards = one == from || one as usize >= network.stations.len();
                let Some((cost, count)) = best[one as usize].filter(|_| forwards) else { continue };
                let found = (cost + u64::from(link.cost), count + 1);
                if best[other as usize].is_none_or(|known| found < known) {
                    best[other as usize] = Some(found);
                }
            }
        }
    }
    best[to as usize]
}

#[test]
fn ways_are_the_cheapest_and_lead_where_they_should_and_back() {
    let random = &mut Random::new(11, 0);
    let (mut ways, mut none) = (0, 0);
    for _ in 0..400 {
        let network = random_network(random);
        let mut routing = Routing::new(&network);
        let stations = network.stations.len() as u32;
        for (from, to) in (0..stations).flat_map(|from| (0..stations).map(move |to| (from, to))) {
            let found = routing.way(from, to);
            let counted = found.as_ref().map(|links| {
                let cost = links.iter().map(|link| u64::from(network.links[*link as usize].cost)).sum();
                (cost, links.len() as u64)
            });
            assert_eq!(counted, cheapest(&network, from, to), "{from} to {to} of {network:?}");
            let Some(links) = found else {
                none += 1;
                continue;
            };
            ways += 1;
            assert!(routing.leads(from, to, &links));
            let back: Vec<u32> = links.into_iter().rev().collect();
            assert_eq!(routing.way(to, from), Some(back));
        }
    }
    assert!(ways > 1_000 && none > 100, "{ways} ways, {none} without one");
}

/// A square: stations 0 and 3, switches 1 and 2; two ways of the same length.
fn square() -> NetworkParameters {
    let link = |ends| LinkParameters::new(ends, RATE);
    NetworkParameters {
        packet_bytes: u64::MAX,
        latencies: vec![Picos::ZERO; 4],
        stations: vec![0, 3],
        links: vec![link([0, 2]), link([2, 3]), link([0, 1]), link([1, 3])],
        stated: Vec::new(),
    }
}

#[test]
fn among_equals_the_first_last_link_decides() {
    assert_eq!(Routing::new(&square()).way(0, 3), Some(vec![0, 1]));
    let mut other = square();
    other.links.swap(1, 3);
    assert_eq!(Routing::new(&other).way(0, 3), Some(vec![2, 1]));
}

#[test]
fn a_stated_way_has_stations_of_its_own() {
    let mut parameters = square();
    parameters.stations = vec![0, 3, 0, 3];
    parameters.stated = vec![(2, 3, vec![2, 3])];
    let mut bench = network(parameters.clone());
    for (ticket, (from, to)) in (1..).zip([(0, 1), (2, 3), (3, 2)]) {
        bench.request(Picos(ticket * MILLI), asynchronous(ticket, from, to, 10));
    }
    bench.drain();
    let packets: Vec<u64> =
        (0..8).map(|port| bench.device.port(bench.now, port).expect("a port").packets).collect();
    assert_eq!(packets, [1, 0, 1, 0, 1, 1, 1, 1]);

    for wrong in [vec![2], vec![3, 2], vec![0, 3], vec![9], vec![2, 3, 3, 3]] {
        parameters.stated = vec![(2, 3, wrong.clone())];
        assert_eq!(parameters.check(), Err(DeviceError::Topology), "{wrong:?}");
    }
}

#[test]
fn stations_forward_nothing() {
    let link = |ends| LinkParameters::new(ends, RATE);
    let parameters = NetworkParameters {
        links: vec![link([0, 1]), link([1, 2])],
        stations: vec![0, 1, 2],
        latencies: vec![Picos::ZERO; 3],
        ..square()
    };
    let mut bench = network(parameters);
    bench.request(Picos::ZERO, asynchronous(1, 0, 2, 10));
    bench.drain();
    assert_eq!(bench.done[&1].1, Outcome::Dropped { ticket: 1, why: DropCause::NoStation });
}

#[test]
fn what_cannot_be_is_refused() {
    let with = |change: &dyn Fn(&mut NetworkParameters)| {
        let mut parameters = square();
        change(&mut parameters);
        parameters.check()
    };
    let topology = Err(DeviceError::Topology);
    assert_eq!(with(&|_| ()), Ok(2));
    assert_eq!(with(&|network| network.links[0].ends = [0, 4]), topology);
    assert_eq!(with(&|network| network.links[0].ends = [2, 2]), topology);
    assert_eq!(with(&|network| network.stations.push(4)), topology);
    assert_eq!(with(&|network| network.stations.clear()), Err(DeviceError::NoStations));
    let zero = |parameter| Err(DeviceError::Zero { parameter });
    assert_eq!(with(&|network| network.packet_bytes = 0), zero("largest packet"));
    assert_eq!(with(&|network| network.links[2].buffer_bytes = 0), zero("buffer of an output port"));
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(with(&|network| network.links[3].bits_per_second = rate), zero("rate of a link"));
    }
}

//! Beside the network a second program, which knows of no ports and no events: the departures of each packet, computed one from
//! the other (Lindley 1952; with finite buffers the recursion of tandem queues with blocking, Perros 1994).

use super::*;

/// When packets of these sizes, there at these times, are delivered over two links of these rates (bytes a microsecond). Before the
/// second there is room for `room` packets, that being sent included; the first waits for room before it sends.
fn departures(arrivals: &[u64], sizes: &[u64], rates: [f64; 2], room: usize) -> Vec<u64> {
    let time = |size: u64, rate: f64| (size as f64 * MICRO as f64 / rate).round() as u64;
    let (mut first, mut second): (Vec<u64>, Vec<u64>) = (Vec::new(), Vec::new());
    for (index, (&at, &size)) in arrivals.iter().zip(sizes).enumerate() {
        let free = first.last().copied().unwrap_or(0);
        let has_room = index.checked_sub(room).map_or(0, |ahead| second[ahead]);
        let sent = at.max(free).max(has_room) + time(size, rates[0]);
        let started = sent.max(second.last().copied().unwrap_or(0));
        first.push(sent);
        second.push(started + time(size, rates[1]));
    }
    second
}

fn random_arrivals(random: &mut Random, count: usize, mean: f64) -> Vec<u64> {
    let mut now = 0.0;
    let mut next = || {
        now += exponential(random, mean) * MICRO as f64;
        now as u64
    };
    (0..count).map(|_| next()).collect()
}

#[test]
fn packets_depart_when_the_recursion_says() {
    let random = &mut Random::new(5, 0);
    for case in 0..40 {
        let room = 1 + random.below(5) as usize;
        let bytes = 1 + random.below(300);
        let rates = [0.5 + random.below(4) as f64 / 2.0, 0.5 + random.below(4) as f64 / 2.0];
        let second = LinkParameters {
            buffer_bytes: room as u64 * bytes,
            when_full: WhenFull::Pause,
            ..link(rates[1])
        };
        let mut bench = network(row(&[link(rates[0]), second]));
        let arrivals = random_arrivals(random, 300, bytes as f64);
        for (ticket, at) in (0..).zip(&arrivals) {
            bench.request(Picos(*at), asynchronous(ticket, 0, 1, bytes));
        }
        bench.drain();
        let found: Vec<u64> = (0..300).map(|ticket| bench.delivered(ticket).0).collect();
        assert_eq!(found, departures(&arrivals, &[bytes; 300], rates, room), "case {case}, room for {room}");
    }
}

/// Without a limit of room, and with sizes that vary: each packet has the same size on both links.
#[test]
fn packets_of_any_sizes_depart_when_the_recursion_says() {
    let random = &mut Random::new(6, 0);
    for rates in [[1.0, 1.0], [2.0, 1.0], [1.0, 2.0]] {
        let mut bench = network(row(&rates.map(link)));
        let arrivals = random_arrivals(random, 1_000, 120.0);
        let sizes: Vec<u64> = (0..1_000).map(|_| random.below(200)).collect();
        for ((ticket, at), size) in (0..).zip(&arrivals).zip(&sizes) {
            bench.request(Picos(*at), asynchronous(ticket, 0, 1, *size));
        }
        bench.drain();
        let found: Vec<u64> = (0..1_000).map(|ticket| bench.delivered(ticket).0).collect();
        assert_eq!(found, departures(&arrivals, &sizes, rates, usize::MAX), "{rates:?}");
    }
}

/// Two links with times s and t of every packet: the wait in both together is that of M/D/1 at the slower one, whichever comes first
/// (Friedman 1965). At load r and time s that is r s / (2 (1 - r)).
#[test]
fn waiting_over_two_hops_is_that_of_the_slower_one_in_either_order() {
    let (count, bytes) = (200_000, 100);
    for rates in [[1.0, 2.0], [2.0, 1.0], [1.0, 1.0]] {
        let mut bench = network(row(&rates.map(link)));
        let arrivals = random_arrivals(&mut Random::new(7, 0), count, bytes as f64 / 0.6);
        for (ticket, at) in (0..).zip(&arrivals) {
            bench.request(Picos(*at), asynchronous(ticket, 0, 1, bytes));
        }
        bench.drain();
        let stay = |(ticket, at): (u64, &u64)| (bench.delivered(ticket).0 - at) as f64 / MICRO as f64;
        let mean = (0..).zip(&arrivals).map(stay).sum::<f64>() / count as f64;
        let served: f64 = rates.iter().map(|rate| bytes as f64 / rate).sum();
        let expected = 0.6 / (2.0 * 0.4) * bytes as f64;
        // Runs of this length have a deviation of about 1 %.
        assert!((mean - served - expected).abs() < 0.04 * expected, "{rates:?}: {}", mean - served);
    }
}

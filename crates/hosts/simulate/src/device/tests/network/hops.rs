//! Single messages, whose times are added up by hand; what ports count; loss.

use super::*;

#[test]
fn a_message_takes_each_hop_whole_and_one_after_the_other() {
    // 1,000 bytes and 20 of overhead at 1, 2 and 4 bytes a microsecond; 5 us of delay each; 3 us in each of two switches.
    let links = [1.0, 2.0, 4.0].map(|rate| LinkParameters {
        overhead_bytes: 20,
        delay: Picos(5 * MICRO),
        ..link(rate)
    });
    let parameters = NetworkParameters { latencies: vec![Picos(3 * MICRO); 4], ..row(&links) };
    let mut bench = network(parameters);
    bench.request(Picos(MICRO), asynchronous(1, 0, 1, 1_000));
    bench.request(Picos(SECOND), asynchronous(2, 1, 0, 1_000));
    bench.drain();
    let way = 1_020 + 510 + 255 + 3 * 5 + 2 * 3;
    assert_eq!(bench.delivered(1), Picos((1 + way) * MICRO));
    assert_eq!(bench.delivered(2), Picos(SECOND + way * MICRO), "the way back is as long");
}

#[test]
fn packets_of_a_message_follow_each_other_over_the_hops() {
    // 4 packets of 250 us on each of 3 links: the last one leaves the first link after 1,000 us and takes 250 us twice more.
    let mut bench =
        network(NetworkParameters { packet_bytes: 250, ..row(&[link(1.0), link(1.0), link(1.0)]) });
    bench.request(Picos::ZERO, asynchronous(1, 0, 1, 1_000));
    bench.drain();
    assert_eq!(bench.delivered(1), Picos(1_500 * MICRO));
    let statistics = bench.statistics();
    assert_eq!((statistics.blocks, statistics.bytes, statistics.delivered), (4, 1_000, 1));
    for number in [0, 2, 4] {
        let port = bench.device.port(bench.now, number).expect("a port");
        assert_eq!(
            (port.packets, port.bytes, port.busy),
            (4, 1_000, u128::from(1_000 * MICRO)),
            "port {number}"
        );
        assert_eq!(
            bench.device.port(bench.now, number + 1).map(|port| port.packets),
            Some(0),
            "nothing goes back"
        );
    }
    assert_eq!(bench.device.port(bench.now, 0).map(|port| port.longest_queue), Some(4));
    assert_eq!(bench.device.port(bench.now, 6), None);
}

#[test]
fn short_packets_are_padded_and_empty_messages_are_packets_too() {
    let mut bench = network(row(&[LinkParameters { shortest_bytes: 64, overhead_bytes: 18, ..link(1.0) }]));
    for (ticket, bytes) in [(1, 0), (2, 46), (3, 47)] {
        bench.request(Picos(ticket * MILLI), asynchronous(ticket, 0, 1, bytes));
    }
    bench.drain();
    let times = [1, 2, 3].map(|ticket| bench.delivered(ticket) - Picos(ticket * MILLI));
    assert_eq!(times, [64, 64, 65].map(|bytes| Picos(bytes * MICRO)));
}

#[test]
fn what_has_no_room_is_dropped_and_what_can_never_have_it_is_refused() {
    // Three packets at once at a port that holds two; a fourth that is too long for it.
    let slow = LinkParameters { buffer_bytes: 200, ..link(0.1) };
    let mut bench = network(row(&[link(1.0), slow]));
    for ticket in 1..=3 {
        bench.request(Picos::ZERO, asynchronous(ticket, 0, 1, 100));
    }
    bench.request(Picos::ZERO, asynchronous(4, 0, 1, 201));
    bench.drain();
    // The third is in after 300 us; the first leaves after 1,100.
    let why = DropCause::BufferFull;
    assert_eq!(bench.done[&3], (Picos(300 * MICRO), Outcome::Dropped { ticket: 3, why }));
    assert_eq!(bench.done[&4], (Picos::ZERO, Outcome::Dropped { ticket: 4, why }));
    assert_eq!([1, 2].map(|ticket| bench.delivered(ticket)), [Picos(1_100 * MICRO), Picos(2_100 * MICRO)]);
    let port = bench.device.port(bench.now, 2).expect("a port");
    assert_eq!((port.dropped, port.most_buffered), (1, 200));
}

#[test]
fn a_message_that_loses_a_packet_is_lost_and_its_rest_is_not_sent() {
    let slow = LinkParameters { buffer_bytes: 200, ..link(0.1) };
    let mut bench = network(NetworkParameters { packet_bytes: 100, ..row(&[link(1.0), slow]) });
    bench.request(Picos::ZERO, asynchronous(1, 0, 1, 1_000));
    bench.request(Picos::ZERO, asynchronous(2, 0, 1, 50));
    bench.drain();
    assert_eq!(bench.done[&1].0, Picos(300 * MICRO), "the third packet has no room");
    let first = bench.device.port(bench.now, 0).expect("a port");
    // A fourth was being sent when the third was dropped, at the same instant or later; then the other message goes.
    assert!((4..=5).contains(&first.packets), "{first:?}");
    assert_eq!(first.queue, {
        // What was not sent waited until the message was given up.
        let waited: u64 = (1..=2).map(|packet| packet * 100).sum::<u64>() + 7 * 300 + 300;
        u128::from(waited * MICRO)
    });
}

#[test]
fn each_packet_is_lost_by_itself() {
    let lossy = LinkParameters { loss_per_million: 100_000, ..link(1.0) };
    let mut bench = network(row(&[lossy.clone(), lossy]));
    let messages = 20_000;
    for ticket in 0..messages {
        bench.request(Picos(ticket * 10 * MICRO), asynchronous(ticket, 0, 1, 1));
    }
    bench.drain();
    // 0.9^2 arrive; the deviation of their share is 0.0028.
    let part = bench.statistics().delivered as f64 / messages as f64;
    assert!((part - 0.81).abs() < 4.0 * 0.0028, "{part}");
    let [first, second] = [0, 2].map(|port| bench.device.port(bench.now, port).expect("a port"));
    assert_eq!(second.packets, messages - first.lost, "the second link carries what the first did not lose");
    assert_eq!(bench.statistics().dropped, first.lost + second.lost);
}

/// Packets from all ports of a switch to all others, drawn evenly: those that queue at inputs get 58.6 % of the outputs, those that
/// queue at outputs all of them (Karol, Hluchyj and Morgan 1987).
#[test]
fn a_switch_that_queues_at_its_outputs_uses_them_fully() {
    let stations = 8_u32;
    let parameters = NetworkParameters {
        packet_bytes: u64::MAX,
        latencies: vec![Picos::ZERO; stations as usize + 1],
        stations: (0..stations).collect(),
        links: (0..stations)
            .map(|station| LinkParameters { ends: [station, stations], ..link(1.0) })
            .collect(),
        stated: Vec::new(),
    };
    let (mut bench, mut random, mut ticket) = (network(parameters), Random::new(3, 0), 0);
    for slot in 0..4_000 {
        for from in 0..8 {
            ticket += 1;
            bench.request(Picos(slot * 100 * MICRO), asynchronous(ticket, from, random.below(8) as u16, 100));
        }
    }
    while bench.next_at() < Picos(4_000 * 100 * MICRO) {
        bench.step();
    }
    // A message of a station to itself takes no link; of the others each output has 7/8 of what it can carry.
    for station in 0..stations {
        let out = bench.device.port(bench.now, 2 * station as usize + 1).expect("a port");
        assert!((out.utilisation() - 0.875).abs() < 0.03, "{station}: {}", out.utilisation());
    }
}

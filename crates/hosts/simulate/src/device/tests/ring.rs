//! The timed token against Jain 1990 and the standard's bounds.

use super::super::*;
use super::bench::{Bench, MICRO, MILLI, asynchronous};
use std::collections::BTreeMap;

/// D = 1 ms over 16 stations, T = 8 ms. Blocks of 70 us divide T - D: none overruns its time.
fn jain(stations: u16, walk: u64, target: u64) -> RingParameters {
    RingParameters {
        framing: Framing { words_per_block: 875, ..Framing::serial(100_000_000) },
        synchronous_allocations: vec![Picos::ZERO; usize::from(stations)],
        token_passing_time: Picos(walk / u64::from(stations)),
        target_rotation_time: Picos(target),
    }
}

#[test]
fn efficiency_is_jain_s() {
    for (n, d, t) in
        [(16, MILLI, 8 * MILLI), (4, MILLI, 8 * MILLI), (16, MILLI, 15 * MILLI), (2, 2 * MILLI, 9 * MILLI)]
    {
        let mut bench = Bench::new(Ring::new(jain(n, d, t)).unwrap(), 1);
        let cycle = u64::from(n) * t + d;
        let statistics = bench.saturate(875, Picos::ZERO, Picos(3 * cycle), Picos(13 * cycle));
        let expected = (u64::from(n) * (t - d)) as f64 / cycle as f64;
        let found = statistics.utilisation();
        println!("n={n} D={d} T={t}: {found:.4} for {expected:.4}");
        assert!((found - expected).abs() < 0.002, "n={n}: {found:.4} for {expected:.4}");
    }
}

/// The longest time between a station's last bit and its next first one.
fn longest_access(parameters: RingParameters, end: Picos) -> Picos {
    let block = parameters.framing.block_time(875);
    let mut bench = Bench::new(Ring::new(parameters).unwrap(), 1);
    bench.saturate(875, Picos::ZERO, Picos::ZERO, end);
    let mut last = BTreeMap::new();
    let mut ends: Vec<_> =
        bench.done.iter().map(|(ticket, (at, _))| (*at, bench.requests[ticket].1.from)).collect();
    ends.sort_unstable();
    let mut longest = Picos::ZERO;
    for (at, from) in ends {
        if let Some(before) = last.insert(from, at) {
            longest = longest.max(at - block - before);
        }
    }
    longest
}

#[test]
fn the_longest_access_time_is_jain_s() {
    for (n, d, t) in [(16, MILLI, 8 * MILLI), (4, MILLI, 8 * MILLI)] {
        let expected = Picos((u64::from(n) - 1) * t + 2 * d);
        let found = longest_access(jain(n, d, t), Picos(20 * (u64::from(n) * t + d)));
        println!("n={n}: longest access {found} for {expected}");
        assert_eq!(found, expected);
    }
}

/// The timers of an idle ring start again at each visit of the token, however long it was idle: the first burst after it meets the
/// same allowances as one that meets the token in its second rotation.
#[test]
fn an_idle_spell_of_many_targets_leaves_no_trace_in_the_allowances() {
    let held = |idle: u64| {
        let parameters = jain(16, MILLI, 8 * MILLI);
        let block = parameters.framing.block_time(875);
        let mut bench = Bench::new(Ring::new(parameters).unwrap(), 1);
        let at = Picos(idle * MILLI + 1);
        for ticket in 0..300 {
            bench.request(at, asynchronous(ticket, 0, 1, 875));
        }
        bench.drain();
        let ends: Vec<_> = (0..300).map(|ticket| bench.delivered(ticket)).collect();
        let pauses = ends.windows(2).map(|pair| pair[1] - pair[0] > block);
        pauses.enumerate().filter(|(_, pause)| *pause).map(|(last, _)| last + 1).collect::<Vec<_>>()
    };
    assert_eq!(held(4), [100, 200], "T - D = 7 ms are 100 blocks of 70 us");
    for idle in [8, 9, 20, 1_000, 86_400_000] {
        assert_eq!(held(idle), held(4), "idle for {idle} ms");
    }
}

/// The hardest case: on an idle ring, all stations at once have as much to send as they may, of both classes.
#[test]
fn synchronous_messages_wait_at_most_two_targets() {
    let (stations, target) = (16, 8 * MILLI);
    let mut parameters = jain(stations, MILLI, target);
    parameters.synchronous_allocations = vec![Picos(420 * MICRO); usize::from(stations)];
    let mut bench = Bench::new(Ring::new(parameters).unwrap(), 1);
    let mut random = quintet_contract::Random::new(4, 4);
    let mut ticket = 0;
    for burst in 0..8 {
        let at = Picos(burst * 300 * MILLI + random.below(MILLI));
        for from in 0..stations {
            for count in 0..106 {
                let class = if count < 6 { Class::Synchronous } else { Class::Asynchronous };
                bench.request(at, Message { class, ..asynchronous(ticket, from, 0, 875) });
                ticket += 1;
            }
        }
    }
    bench.drain();
    let waits = bench.requests.iter().filter(|(_, (_, message))| message.class == Class::Synchronous);
    let longest = waits.map(|(ticket, (at, _))| bench.delivered(*ticket) - *at).max().unwrap();
    println!("longest synchronous wait {longest}, twice the target is 16 ms");
    assert!(longest <= Picos(2 * target), "{longest}");
    assert!(longest > Picos(target * 7 / 4), "the ring is loaded: {longest}");
}

#[test]
fn the_largest_fddi_frame_takes_its_time() {
    for stations in [2, 5] {
        let mut bench = Bench::new(Ring::new(RingParameters::fddi(stations)).unwrap(), 1);
        bench.request(Picos(12_345), asynchronous(1, 1, 0, 4_500));
        bench.drain();
        let found = (bench.delivered(1) - Picos(12_345)).as_seconds();
        assert!((found / 364.5e-6 - 1.0).abs() < 0.02, "{found}");
    }
}

/// An idle ring's token is where it would be if every hop had been followed.
#[test]
fn the_token_of_an_idle_ring_is_where_it_would_be() {
    let hop = 880_000;
    for (at, from) in
        [(0, 0), (1, 0), (100 * hop, 3), (100 * hop + 1, 3), (7 * MILLI, 2), (20 * MILLI + 17, 4)]
    {
        let mut bench = Bench::new(Ring::new(RingParameters::fddi(5)).unwrap(), 1);
        bench.request(Picos(at), asynchronous(1, from, 0, 10));
        bench.drain();
        let visit =
            (1..).map(|hops| hops * hop).find(|time| *time >= at && (time / hop - 1) % 5 == u64::from(from));
        assert_eq!(bench.delivered(1).0, visit.unwrap() + 10 * 80_000 + 2_240_000, "{at} {from}");
    }
}

#[test]
fn a_message_nearer_to_the_token_goes_first() {
    let mut bench = Bench::new(Ring::new(RingParameters::fddi(5)).unwrap(), 1);
    bench.request(Picos(1), asynchronous(1, 3, 0, 10));
    bench.request(Picos(2), asynchronous(2, 1, 0, 10));
    bench.drain();
    assert!(bench.delivered(2) < bench.delivered(1));
}

#[test]
fn what_cannot_be_sent_synchronously_is_dropped() {
    let mut parameters = RingParameters::fddi(2);
    parameters.synchronous_allocations[0] = Picos(100 * MICRO);
    let mut bench = Bench::new(Ring::new(parameters).unwrap(), 1);
    let class = Class::Synchronous;
    bench.request(Picos(0), Message { class, ..asynchronous(1, 0, 1, 4_500) });
    bench.request(Picos(0), Message { class, ..asynchronous(2, 0, 1, 1_000) });
    bench.request(Picos(0), Message { class, ..asynchronous(3, 1, 0, 1) });
    bench.drain();
    let why = |ticket: u64| match bench.done[&ticket].1 {
        Outcome::Dropped { why, .. } => Some(why),
        Outcome::Delivered { .. } => None,
    };
    assert_eq!([1, 2, 3].map(why), [Some(DropCause::NoAllocation), None, Some(DropCause::NoAllocation)]);
}

#[test]
fn a_target_that_cannot_be_kept_is_refused() {
    let good = RingParameters::fddi(100);
    assert_eq!(good.check(), Ok(100));
    let least = Picos(100 * 880_000 + 4_500 * 80_000 + 2_240_000);
    let target = least - Picos(1);
    let tight = RingParameters { target_rotation_time: target, ..good.clone() };
    assert_eq!(tight.check(), Err(DeviceError::RotationTime { target, least }));
    let open = RingParameters { framing: Framing::serial(100_000_000), ..good.clone() };
    assert_eq!(open.check(), Err(DeviceError::Unlimited));
    let instant = RingParameters { token_passing_time: Picos::ZERO, ..good };
    assert!(matches!(instant.check(), Err(DeviceError::Zero { .. })));
}

//! The switch, by hand.

use super::super::*;
use super::bench::{Bench, MICRO, asynchronous};

/// Three ports of 8 Mb/s, one of 80 Mb/s: a byte takes 1 us, or 0.1 us. Latency 10 us, blocks of 100 bytes, buffers of
/// 200.
fn parameters() -> SwitchParameters {
    let slow = Picos(125_000);
    SwitchParameters {
        framing: Framing { words_per_block: 100, ..Framing::serial(8_000_000) },
        cycle_times: vec![slow, slow, slow, Picos(12_500)],
        latency: Picos(10 * MICRO),
        forwarding: Forwarding::StoreAndForward,
        buffer_bytes: 200,
        when_full: WhenFull::Drop,
    }
}

fn run(parameters: SwitchParameters, messages: &[(u64, u16, u16, u64)]) -> Bench {
    let mut bench = Bench::new(Switch::new(parameters).unwrap(), 1);
    for (ticket, &(at, from, to, bytes)) in messages.iter().enumerate() {
        bench.request(Picos(at * MICRO), asynchronous(ticket as u64, from, to, bytes));
    }
    bench.drain();
    bench
}

fn times(bench: &Bench) -> Vec<u64> {
    bench.requests.keys().map(|ticket| bench.done[ticket].0.0 / MICRO).collect()
}

#[test]
fn store_and_forward_takes_both_ports_times_and_the_latency() {
    let bench = run(parameters(), &[(0, 0, 1, 100), (0, 2, 3, 100), (0, 3, 2, 100)]);
    assert_eq!(times(&bench), [100 + 10 + 100, 100 + 10 + 10, 10 + 10 + 100]);
    assert_eq!(bench.statistics().busy, 210 * u128::from(MICRO));
}

#[test]
fn blocks_follow_each_other_through_the_switch() {
    let bench = run(parameters(), &[(0, 0, 1, 250)]);
    assert_eq!(times(&bench), [210 + 100 + 50]);
    assert_eq!(bench.statistics().blocks, 3);
}

#[test]
fn cut_through_waits_for_the_header_alone() {
    let forwarding = Forwarding::CutThrough { header_bytes: 14 };
    let cut = SwitchParameters { forwarding, ..parameters() };
    let bench = run(cut.clone(), &[(0, 0, 1, 100), (0, 2, 3, 100), (0, 3, 2, 100)]);
    assert_eq!(
        times(&bench),
        [14 + 10 + 100, 100 + 10, 1 + 10 + 100],
        "none leaves before it came: {:?}",
        bench.done
    );
    let queued = run(cut, &[(0, 0, 1, 100), (20, 2, 1, 100)]);
    assert_eq!(times(&queued), [124, 224], "the second waits for the output");
}

#[test]
fn full_buffers_drop() {
    let messages = [(0, 0, 3, 100), (0, 1, 3, 100), (0, 2, 3, 100)];
    let bench = run(parameters(), &messages);
    assert_eq!(times(&bench), [120, 130, 100], "the third finds 200 bytes in the buffer");
    assert_eq!(bench.done[&2].1, Outcome::Dropped { ticket: 2, why: DropCause::BufferFull });
    let statistics = bench.statistics();
    assert_eq!((statistics.delivered, statistics.dropped, statistics.most_buffered), (2, 1, 200));
    assert_eq!(statistics.buffered, u128::from(100 * 20 * MICRO) + u128::from(100 * 30 * MICRO));
}

/// The third message starts when there is room, in the order of asking.
#[test]
fn full_buffers_pause() {
    let pause = SwitchParameters { when_full: WhenFull::Pause, ..parameters() };
    let messages = [(0, 0, 3, 100), (0, 1, 3, 100), (0, 2, 3, 100), (1, 2, 1, 100)];
    let bench = run(pause, &messages);
    let third = 120 + 100 + 10 + 10;
    assert_eq!(times(&bench), [120, 130, third, 220 + 100 + 10 + 100], "the fourth is behind the third");
    assert_eq!(bench.statistics().dropped, 0);
    assert_eq!(bench.statistics().waiting, u128::from((120 + 219) * MICRO));
}

#[test]
fn a_small_block_does_not_overtake_one_that_waits_for_room() {
    let pause = SwitchParameters { when_full: WhenFull::Pause, ..parameters() };
    let bench = run(pause, &[(0, 0, 3, 100), (0, 1, 3, 50), (0, 2, 3, 100), (1, 3, 3, 10)]);
    assert_eq!(times(&bench), [120, 65, 65 + 100 + 10 + 10, 120 + 1 + 10 + 1]);
}

#[test]
fn a_block_that_never_fits_is_dropped_at_once() {
    for when_full in [WhenFull::Drop, WhenFull::Pause] {
        let bench = run(SwitchParameters { when_full, buffer_bytes: 99, ..parameters() }, &[(5, 0, 1, 100)]);
        assert_eq!(
            bench.done[&0],
            (Picos(5 * MICRO), Outcome::Dropped { ticket: 0, why: DropCause::BufferFull })
        );
    }
}

/// After a lost block the rest of its message is not sent.
#[test]
fn a_message_that_lost_a_block_is_given_up() {
    let messages = [(0, 0, 3, 100), (0, 1, 3, 100), (0, 2, 3, 300), (0, 2, 1, 100)];
    let bench = run(parameters(), &messages);
    assert_eq!(times(&bench), [120, 130, 100, 100 + 210]);
    assert_eq!(bench.statistics().bytes, 300);
}

#[test]
fn a_link_has_a_rate_and_a_latency() {
    let bench = run(
        SwitchParameters::link(8_000_000, Picos(50 * MICRO)),
        &[(0, 0, 1, 1_000), (0, 0, 1, 1_000), (0, 1, 0, 10), (5_000, 0, 1, 0)],
    );
    assert_eq!(times(&bench), [1_050, 2_050, 60, 5_050]);
    assert_eq!(bench.statistics().busy, u128::from(2_010 * MICRO), "both directions carry at once");
}

#[test]
fn ports_that_cannot_be_are_refused() {
    let good = parameters();
    assert_eq!(good.check(), Ok(4));
    assert_eq!(
        SwitchParameters { cycle_times: vec![], ..good.clone() }.check(),
        Err(DeviceError::NoStations)
    );
    let still = SwitchParameters { cycle_times: vec![Picos::ZERO], ..good.clone() };
    assert_eq!(still.check(), Err(DeviceError::Zero { parameter: "cycle time of a port" }));
    assert!(matches!(
        SwitchParameters { buffer_bytes: 0, ..good.clone() }.check(),
        Err(DeviceError::Zero { .. })
    ));
    let many = SwitchParameters { cycle_times: vec![Picos(1); 70_000], ..good };
    assert_eq!(many.check(), Err(DeviceError::TooManyStations { found: 70_000 }));
}

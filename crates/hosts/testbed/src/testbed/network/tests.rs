//! Packets between machines whose lines are worse than perfect.

use super::*;
use core::time::Duration;
use proptest::prelude::*;

const MS: Duration = Duration::from_millis(1);
const EVERYBODY: HardwareAddress = [0xff; 6];
const DATA: [u8; 2] = [0x08, 0x00];

fn packet(to: HardwareAddress, kind: [u8; 2]) -> Vec<u8> {
    [&to[..], &[0; 6], &kind, b"data"].concat()
}

/// Sends a packet, and says to whom it came at once.
fn send(network: &mut Network, now: Instant, from: usize, to: HardwareAddress) -> Vec<usize> {
    send_kind(network, now, from, to, DATA)
}

fn send_kind(
    network: &mut Network,
    now: Instant,
    from: usize,
    to: HardwareAddress,
    kind: [u8; 2],
) -> Vec<usize> {
    let mut came = Vec::new();
    network.arrive(now, from, &packet(to, kind), &mut |to: usize, _: &[u8]| {
        came.push(to);
        true
    });
    came
}

/// To whom something comes that is due.
fn due(network: &mut Network, now: Instant) -> Vec<usize> {
    let mut came = Vec::new();
    network.deliver_due(now, &mut |to: usize, _: &[u8]| {
        came.push(to);
        true
    });
    came
}

fn counts(network: &Network, from: usize, to: usize) -> Counts {
    network.way(from, to).expect("a way").counts()
}

#[test]
fn a_packet_goes_to_whom_it_is_for_and_one_for_all_to_all_others() {
    let (mut network, now) = (Network::new(3, 1), Instant::now());
    assert_eq!(send(&mut network, now, 0, hardware_address(9, 2)), [2]);
    assert_eq!(send(&mut network, now, 1, EVERYBODY), [0, 2]);
    assert_eq!(send(&mut network, now, 1, [0x02, 0x99, 0, 0, 0, 0]), [0, 2], "who it is for is not known");
    assert_eq!(send(&mut network, now, 1, hardware_address(9, 1)), [0; 0], "nothing comes back");
    assert_eq!(counts(&network, 0, 2), Counts { forwarded: 1, forwarded_bytes: 18, ..Counts::default() });
    network.arrive(now, 0, &[0; 13], &mut |_: usize, _: &[u8]| panic!("it is no packet"));
    assert!(network.way(0, 0).is_none() && network.way(0, 3).is_none());
}

#[test]
fn a_line_that_is_cut_loses_what_is_on_its_way_and_the_way_back_stays() {
    let (mut network, now) = (Network::new(2, 1), Instant::now());
    let (a, b) = (hardware_address(0, 0), hardware_address(0, 1));
    assert!(network.change(0, 1, &Change { delay: Some(MS), ..Change::default() }));
    assert_eq!(send(&mut network, now, 0, b), [0; 0]);
    assert!(network.change(0, 1, &Change { cut: Some(true), ..Change::default() }));
    assert_eq!(send(&mut network, now, 0, b), [0; 0]);
    assert_eq!(due(&mut network, now + 9 * MS), [0; 0]);
    assert_eq!(send(&mut network, now, 1, a), [0]);
    assert_eq!(counts(&network, 0, 1), Counts { cut: 2, ..Counts::default() });
    assert!(network.heal(now, 0, 1));
    assert_eq!(send(&mut network, now, 0, b), [1]);
    assert!(!network.change(0, 2, &Change::default()) && !network.heal(now, 1, 1));
}

#[test]
fn addresses_are_found_over_every_line() {
    let (mut network, now) = (Network::new(3, 1), Instant::now());
    for to in 1..3 {
        network.change(0, to, &Change { cut: Some(true), ..Change::default() });
    }
    assert_eq!(send_kind(&mut network, now, 0, EVERYBODY, ADDRESS_RESOLUTION), [1, 2]);
    assert_eq!(counts(&network, 0, 1), Counts::default(), "they do not count");
}

#[test]
fn what_is_late_comes_in_order_and_healing_makes_it_come_at_once() {
    let (mut network, now) = (Network::new(2, 1), Instant::now());
    let b = hardware_address(0, 1);
    network.change(0, 1, &Change { delay: Some(5 * MS), ..Change::default() });
    (0..3).for_each(|_| assert_eq!(send(&mut network, now, 0, b), [0; 0]));
    assert_eq!(network.next_due(), Some(now + 5 * MS));
    assert_eq!(due(&mut network, now + 4 * MS), [0; 0]);
    assert_eq!(network.way(0, 1).expect("a way").held(), 3);
    assert!(network.heal(now + 4 * MS, 0, 1));
    assert_eq!(due(&mut network, now + 4 * MS), [1, 1, 1]);
    assert_eq!(network.next_due(), None);
}

#[test]
fn a_machine_without_power_takes_nothing() {
    let (mut network, now) = (Network::new(2, 1), Instant::now());
    network.arrive(now, 0, &packet(hardware_address(0, 1), DATA), &mut |_: usize, _: &[u8]| false);
    assert_eq!(counts(&network, 0, 1), Counts { cut: 1, ..Counts::default() });
}

#[test]
fn a_line_holds_no_more_than_it_may() {
    let (mut network, now) = (Network::new(2, 1), Instant::now());
    network.change(0, 1, &Change { delay: Some(MS), ..Change::default() });
    for _ in 0..MAX_HELD + 3 {
        send(&mut network, now, 0, hardware_address(0, 1));
    }
    assert_eq!(counts(&network, 0, 1).overflowed, 3);
    assert_eq!(due(&mut network, now + MS).len(), MAX_HELD);
}

proptest! {
    /// What was sent is counted once, whatever becomes of it, and the seed decides what that is.
    #[test]
    fn every_packet_is_accounted_for(seed: u64, drop in 0..=1_000_000u32, delays in prop::collection::vec(0..9u32, 1..100)) {
        let run = || {
            let (mut network, start) = (Network::new(2, seed), Instant::now());
            network.change(0, 1, &Change { drop_per_million: Some(drop), ..Change::default() });
            let mut came = Vec::new();
            for (at, delay) in delays.iter().enumerate() {
                let now = start + MS * at as u32;
                network.change(0, 1, &Change { delay: Some(MS * *delay), ..Change::default() });
                send(&mut network, now, 0, hardware_address(0, 1));
                came.push(due(&mut network, now).len());
            }
            let held = network.way(0, 1).expect("a way").held();
            (counts(&network, 0, 1), held, came)
        };
        let (counts, held, came) = run();
        prop_assert_eq!(counts.forwarded + counts.lost + held as u64, delays.len() as u64);
        prop_assert_eq!(counts.forwarded, came.iter().sum::<usize>() as u64);
        prop_assert_eq!(run(), (counts, held, came));
    }
}

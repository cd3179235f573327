//! A row of two ports with finite buffers that drop, as a Markov chain in discrete time, solved here.
//!
//! In each slot a number of packets comes to the first port, drawn anew; it holds at most `FIRST`, that being sent included, and
//! sends one in a slot. The second holds at most `SECOND` and sends one in two slots. What finds no room is lost.

use super::*;

const FIRST: usize = 4;
const SECOND: usize = 3;
/// The probabilities of 0, 1, 2 and 3 packets in a slot.
const BATCHES: [f64; 4] = [0.6, 0.2, 0.1, 0.1];

/// What is in the two ports at a slot's beginning, and how many slots the packet being sent at the second still takes.
type State = [[[f64; 3]; SECOND + 1]; FIRST + 1];

/// The shares of packets that are lost at the first and at the second port.
///
/// A slot: packets come to the first port; it sends for the slot. Half a slot is the delay of the link, so that what the first port sent
/// comes to the second half a slot after the slot's end, where none leaves at the same instant.
fn solve() -> (f64, f64) {
    let mut now: State = Default::default();
    now[0][0][0] = 1.0;
    let (mut lost, mut came) = ([0.0; 2], 0.0);
    for slot in 0..4_000 {
        let counts = slot >= 2_000;
        let mut next: State = Default::default();
        for (first, by_second) in now.iter().enumerate() {
            for (second, by_left) in by_second.iter().enumerate() {
                for (left, share) in by_left.iter().enumerate().filter(|(_, share)| **share > 0.0) {
                    for (batch, chance) in BATCHES.iter().enumerate() {
                        let weight = share * chance;
                        let taken = batch.min(FIRST - first);
                        let held = first + taken;
                        // The first sends one, and a packet of the second may leave, before that is there.
                        let sent = usize::from(held > 0);
                        let (mut second, mut left) = (second, left);
                        if second > 0 {
                            left -= 1;
                            if left == 0 {
                                second -= 1;
                                left = if second > 0 { 2 } else { 0 };
                            }
                        }
                        let dropped = sent == 1 && second == SECOND;
                        if sent == 1 && !dropped {
                            left = if second == 0 { 2 } else { left };
                            second += 1;
                        }
                        if counts {
                            came += weight * batch as f64;
                            lost[0] += weight * (batch - taken) as f64;
                            lost[1] += weight * f64::from(u8::from(dropped));
                        }
                        next[held - sent][second][left] += weight;
                    }
                }
            }
        }
        now = next;
    }
    (lost[0] / came, lost[1] / came)
}

#[test]
fn losses_are_those_of_the_chain() {
    let slot = 100 * MICRO;
    // A fast link before the first port, on which packets of a slot come one behind the other.
    let bytes = 100;
    let before = link(100_000.0);
    let first = LinkParameters { buffer_bytes: FIRST as u64 * bytes, delay: Picos(slot / 2), ..link(1.0) };
    let second = LinkParameters { buffer_bytes: SECOND as u64 * bytes, ..link(0.5) };
    let mut bench = network(row(&[before, first, second]));
    let (mut random, mut ticket) = (Random::new(9, 0), 0);
    let slots = 300_000_u64;
    for number in 0..slots {
        let mut draw = random.below(1_000) as f64 / 1_000.0;
        let batch = BATCHES.iter().position(|chance| {
            draw -= chance;
            draw < 0.0
        });
        for _ in 0..batch.unwrap_or(0) {
            ticket += 1;
            bench.request(Picos(number * slot), asynchronous(ticket, 0, 1, bytes));
        }
    }
    bench.drain();
    let part =
        |port: usize| bench.device.port(bench.now, port).expect("a port").dropped as f64 / ticket as f64;
    let (at_first, at_second) = solve();
    assert!(at_first > 0.01 && at_second > 0.05, "there is something to find: {at_first}, {at_second}");
    assert!((part(2) - at_first).abs() < 0.05 * at_first, "first: {} of the chain's {at_first}", part(2));
    assert!((part(4) - at_second).abs() < 0.05 * at_second, "second: {} of the chain's {at_second}", part(4));
}

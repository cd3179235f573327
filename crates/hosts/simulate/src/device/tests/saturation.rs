//! Switches whose inputs always have something for an output drawn evenly: what each port carries.
//!
//! Where an output holds no more than the block that is leaving it, blocks wait at their inputs, and the first of each keeps those
//! behind it from outputs that are free. Of N ports each carries what the chain of the heads of the lines says, and 2 - sqrt(2) of
//! its rate for many (Karol, Hluchyj and Morgan, "Input versus output queueing on a space-division packet switch", IEEE Trans.
//! Comm. 35, 1987, table I). Where outputs hold what comes, they carry everything.

use super::super::*;
use super::bench::{Bench, MICRO, asynchronous};
use quintet_contract::Random;

const BYTES: u64 = 100;
/// The time of a block.
const SLOT: u64 = 100 * MICRO;

/// What each output carries as a share of its rate, when in each slot a block comes to each input.
fn carried(ports: u16, buffer_bytes: u64, slots: u64) -> Vec<f64> {
    let parameters = SwitchParameters {
        framing: Framing { words_per_block: BYTES as u32, ..Framing::serial(8_000_000) },
        cycle_times: vec![Picos(125_000); usize::from(ports)],
        latency: Picos::ZERO,
        forwarding: Forwarding::CutThrough { header_bytes: 0 },
        buffer_bytes,
        when_full: WhenFull::Pause,
    };
    let mut bench = Bench::new(Switch::new(parameters).expect("a switch that can be"), 1);
    let (mut random, mut tickets) = (Random::new(2, 0), 0);
    let (warm_up, mut counts) = (slots / 10, vec![0_u64; usize::from(ports)]);
    for slot in 0..warm_up + slots {
        for from in 0..ports {
            tickets += 1;
            let to = random.below(u64::from(ports)) as u16;
            bench.request(Picos(slot * SLOT), asynchronous(tickets, from, to, BYTES));
        }
    }
    while bench.next_at() < Picos((warm_up + slots) * SLOT) {
        for outcome in bench.step().into_iter().flatten() {
            let to = bench.requests[&outcome.ticket()].1.to;
            counts[to.index()] += u64::from(bench.now > Picos(warm_up * SLOT));
        }
    }
    counts.into_iter().map(|count| count as f64 / slots as f64).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// What each of so many ports carries by the chain of the heads of the lines, whose state is the output that each is for. In a slot
/// each output that some are for takes one of them, behind which the next is drawn. Which one it takes makes no difference to how many
/// are for each output.
fn by_chain(ports: usize) -> f64 {
    let count = ports.pow(ports as u32);
    let heads = |state: usize| (0..ports).map(move |input| state / ports.pow(input as u32) % ports);
    let served = |state: usize| {
        let first = |output| heads(state).position(|head| head == output);
        (0..ports).filter_map(first).collect::<Vec<_>>()
    };
    let mut now = vec![1.0 / count as f64; count];
    for _ in 0..100 {
        let mut next = vec![0.0; count];
        for (state, share) in now.iter().enumerate() {
            let inputs = served(state);
            let kept: usize = state
                - inputs
                    .iter()
                    .map(|&input| ports.pow(input as u32) * (state / ports.pow(input as u32) % ports))
                    .sum::<usize>();
            let draws = ports.pow(inputs.len() as u32);
            for draw in 0..draws {
                let drawn = inputs.iter().enumerate().map(|(place, &input)| {
                    ports.pow(input as u32) * (draw / ports.pow(place as u32) % ports)
                });
                next[kept + drawn.sum::<usize>()] += share / draws as f64;
            }
        }
        now = next;
    }
    now.iter().enumerate().map(|(state, share)| share * served(state).len() as f64).sum::<f64>()
        / ports as f64
}

#[test]
fn the_chain_has_the_published_values() {
    for (ports, published) in [(1, 1.0), (2, 0.75), (3, 0.6825), (4, 0.6553)] {
        let found = by_chain(ports);
        assert!((found - published).abs() < 0.000_06, "{ports} ports: {found} for {published}");
    }
}

#[test]
fn heads_of_lines_keep_outputs_idle_as_karol_hluchyj_and_morgan_have_it() {
    let published = [(5, 0.6399), (6, 0.6302), (7, 0.6234), (8, 0.6184)];
    let solved = (1..=4).map(|ports| (ports, by_chain(usize::from(ports))));
    for (ports, expected) in solved.chain(published) {
        let found = carried(ports, BYTES, 20_000);
        assert!((mean(&found) - expected).abs() < 0.004, "{ports} ports: {found:?} for {expected}");
        assert!(found.iter().all(|one| (one - expected).abs() < 0.02), "each port: {found:?} for {expected}");
    }
    // 2 - sqrt(2) is the limit for many ports, from above: 8 are 0.033 above it.
    let many = mean(&carried(64, BYTES, 4_000));
    let limit = 2.0 - 2f64.sqrt();
    assert!(limit < many && many < limit + 0.010, "64 ports: {many} for {limit}");
}

#[test]
fn outputs_that_hold_what_comes_carry_everything() {
    let found = carried(8, 1_000 * BYTES, 20_000);
    assert!(found.iter().all(|one| *one > 0.98), "{found:?}");
}
